"""How an answer is worded without a language model: it quotes.

Strategy: the best statements of the best sections, whole and in the order of their pages, after a short lead that names
the section; a row of a table as "header: cell" pairs. What is remembered comes last, as its user's own words. Nothing
is rewritten or said twice, and nothing that is added holds a number: a heading with one is left out of the lead, and
statements are joined so that each number reads as it does alone. What a person reads in such an answer a person has
written.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from ..lang import LANGUAGES, Lang
from ..numbers.read import tokens
from ..ports.remember import MEMORY_FILES
from ..ports.search import Hit, Passage
from ..text.sentences import sentences

QUOTE_CHARS = 700
"""Characters of all that is quoted; the best statement is, however long."""

SECTIONS = 3
"""Sections that are quoted from."""

_HEADINGS = 2  # of a section, the innermost ones, that the lead names
_KEPT = 4096  # headings of which it is kept whether they hold a number
_ITEMS = ("row", "item")  # statements that stand on a line of their own
_WORD = re.compile(r"\w+")


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
        if found and size + len(said) > QUOTE_CHARS:
            continue
        its = tuple(_WORD.findall(said.casefold()))
        if its in words:
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
        return LANGUAGES[lang].quoting.nothing
    passages = list(dict.fromkeys(hit.passage for hit in quoted))
    parts = [_elsewhere(lang, passages[0].lang)] if all(each.lang != lang for each in passages) else []
    told = [each for each in passages if each.file.startswith(MEMORY_FILES)]
    parts += [f"{_lead(each, lang)}\n{_said(each, quoted)}" for each in passages if each not in told]
    if told:
        parts.append(
            "\n".join([LANGUAGES[lang].quoting.remembered, *(f"- {_said(each, quoted)}" for each in told)])
        )
    return "\n\n".join(parts)


def _lead(passage: Passage, lang: Lang) -> str:
    names = [name for name in passage.headings if name and not _counted(name)][-_HEADINGS:]
    quoting = LANGUAGES[lang].quoting
    return quoting.lead.format(section=" › ".join(names)) if names else quoting.bare_lead


@lru_cache(maxsize=_KEPT)
def _counted(heading: str) -> bool:
    """Return whether a heading holds a number."""
    return bool(tokens(heading))


def _elsewhere(lang: Lang, other: Lang) -> str:
    """Return that what is quoted stands on pages in another language only."""
    quoting = LANGUAGES[lang].quoting
    return quoting.other_language.format(language=quoting.names.get(other, LANGUAGES[other].name))


def _said(passage: Passage, quoted: Sequence[Hit]) -> str:
    """Return the statements of one section in their order: sentences run on, items and rows have lines of their own."""
    wanted = [hit for hit in quoted if hit.passage is passage]
    text = before = ""
    for hit in sorted(wanted, key=lambda hit: passage.snippets.index(hit.snippet)):
        kind, said = hit.snippet.kind, statement(hit)
        if kind in _ITEMS:
            text = f"{text}\n- {said}" if text else f"- {said}"
        else:
            prose = before not in _ITEMS and "code" not in (kind, before)
            text += f" {said}" if text and prose and _parted(text, said) else f"\n\n{said}" if text else said
        before = kind
    return text


def _parted(text: str, said: str) -> bool:
    """Return whether a statement that runs on after a text is a sentence of its own, so that one citation holds it."""
    line = text[text.rfind("\n") + 1 :]
    return any(start == len(line) + 1 for start, _ in sentences(f"{line} {said}"))
