"""How an answer is worded without a language model: it quotes.

Strategy: the best statements of the best sections, whole and in the order of their pages, after a short lead that
names the section; a row of a table as "header: cell" pairs. Nothing is rewritten or said twice, and nothing that is
added holds a number: a heading with one is left out of the lead, and statements are joined so that each number reads
as it does alone. What a person reads in such an answer a person has written.
"""

import re
from collections.abc import Mapping, Sequence

from ..numbers.read import tokens
from ..ports.search import Hit, Lang, Passage

QUOTE_CHARS = 700
"""Characters of all that is quoted; the best statement is, however long."""

SECTIONS = 3
"""Sections that are quoted from."""

_HEADINGS = 2  # of a section, the innermost ones, that the lead names
# After these the next statement goes on in the same line; no number goes on behind one.
_ENDS = (".", "!", "?", "…", ":", '"', "”", ")")
_ITEMS = ("row", "item")  # statements that stand on a line of their own
_WORD = re.compile(r"\w+")

LEAD: Mapping[Lang, str] = {"en": "From “{section}”:", "sv": "Ur ”{section}”:"}
BARE_LEAD: Mapping[Lang, str] = {"en": "From our pages:", "sv": "Från våra sidor:"}
OTHER_LANGUAGE: Mapping[Lang, str] = {
    "en": "I only found this on a page in Swedish.",
    "sv": "Jag hittade det här bara på en sida på engelska.",
}
NOTHING: Mapping[Lang, str] = {
    "en": "The pages I was given do not say.",
    "sv": "Sidorna jag fick säger inget om det.",
}
ASKING: Mapping[Lang, str] = {
    "en": "ASK: I am not sure which of our pages you mean; what is it about?",
    "sv": "ASK: Jag är inte säker på vilken av våra sidor du menar; vad gäller det?",
}


def chosen(evidence: Sequence[Hit]) -> list[Hit]:
    """Return the statements to quote, best first: of at most SECTIONS sections, QUOTE_CHARS characters in all.

    Of those that say the same words only the best one.
    """
    found: list[Hit] = []
    passages: list[Passage] = []
    words: set[tuple[str, ...]] = set()
    size = 0
    for hit in evidence:
        said = statement(hit)
        its = tuple(_WORD.findall(said.casefold()))
        if found and (its in words or size + len(said) > QUOTE_CHARS):
            continue
        if hit.passage not in passages:
            if len(passages) >= SECTIONS:
                continue
            passages.append(hit.passage)
        found.append(hit)
        words.add(its)
        size += len(said)
    return found


def statement(hit: Hit) -> str:
    """Return what a hit says, in plain words where these are known."""
    return hit.snippet.said or hit.snippet.text


def compose(quoted: Sequence[Hit], lang: Lang) -> str:
    """Return a text that quotes statements, the section of the best one first, in a frame in `lang`."""
    if not quoted:
        return NOTHING[lang]
    passages = list(dict.fromkeys(hit.passage for hit in quoted))
    parts = [OTHER_LANGUAGE[lang]] if all(passage.lang != lang for passage in passages) else []
    for passage in passages:
        parts.append(f"{_lead(passage, lang)}\n{_said(passage, quoted)}")
    return "\n\n".join(parts)


def _lead(passage: Passage, lang: Lang) -> str:
    names = [name for name in passage.headings if name and not tokens(name)][-_HEADINGS:]
    return LEAD[lang].format(section=" › ".join(names)) if names else BARE_LEAD[lang]


def _said(passage: Passage, quoted: Sequence[Hit]) -> str:
    """Return the statements of one section in their order: sentences run on, items and rows have lines of their own."""
    wanted = [hit for hit in quoted if hit.passage is passage]
    text = before = ""
    for hit in sorted(wanted, key=lambda hit: passage.snippets.index(hit.snippet)):
        kind, said = hit.snippet.kind, statement(hit)
        if kind in _ITEMS:
            text = f"{text}\n- {said}" if text else f"- {said}"
        else:
            runs_on = before not in _ITEMS and "code" not in (kind, before) and text.endswith(_ENDS)
            text += f" {said}" if text and runs_on else f"\n\n{said}" if text else said
        before = kind
    return text
