"""How an answer is worded without a language model: it quotes.

Strategy: the best statements of the best sections, whole and in the order of their pages, after a short lead that names
the section; a row of a table as "header: cell" pairs. What is remembered is told as its user's own words, of which a
search finds more than fits, since it finds them by their neighbours too: so of these only what holds most of the
question's words, before the documents where it holds as many as they do. Nothing is rewritten or said twice, and
nothing that is added holds a number: a heading with one is left out of the lead, and statements are joined so that each
number reads as it does alone. What a person reads in such an answer a person has written.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from ..lang import LANGUAGES, Lang
from ..numbers.read import tokens
from ..ports.remember import MEMORY_FILES
from ..ports.search import Hit, Passage
from ..text.sentences import sentences
from ..text.words import fold, words
from .choosing import EMPTY, Stems, stems

QUOTE_CHARS = 700
"""Characters of all that is quoted; the best statement is, however long."""

SECTIONS = 3
"""Sections that are quoted from."""

TOLD_CHARS = 350
"""Characters of what is remembered beside that."""

_HEADINGS = 2  # of a section, the innermost ones, that the lead names
_KEPT = 4096  # headings of which it is kept whether they hold a number
_ITEMS = ("row", "item")  # statements that stand on a line of their own
_HALF = 0.5  # of a question's words; what holds fewer than something else does is beside the question
_READ = 4096  # characters that are looked at for these
_REQUESTS = re.compile(rf"\b(?:{'|'.join(each.recalling.requests for each in LANGUAGES.values())})\b")
_WORD = re.compile(r"\w+")


def chosen(evidence: Sequence[Hit], question: str = "") -> list[Hit]:
    """Return the statements to quote, the best of what comes first in front.

    Of documents those of at most SECTIONS sections, QUOTE_CHARS characters in all; of what is remembered as many, in
    TOLD_CHARS, of those that hold more than half of the question's words that any of it holds. question: where it has
    no words of its own, documents come first; without these all that is remembered may be quoted.
    """
    told = [hit for hit in evidence if hit.snippet.file.startswith(MEMORY_FILES)]
    if not told:
        return _fitting(evidence, QUOTE_CHARS)
    rest = _fitting([hit for hit in evidence if hit not in told], QUOTE_CHARS)
    asked = _subject(question)
    shares = [_share(asked, statement(hit)) for hit in told]
    most = max(shares)
    documents = max((_share(asked, _whole(hit)) for hit in rest), default=0.0)
    told = [hit for hit, share in zip(told, shares, strict=True) if not asked or share > most / 2]
    quoted = _fitting(told, TOLD_CHARS) if asked or rest else _fitting(told, QUOTE_CHARS, len(told))
    if most == 1 and documents < _HALF:
        return quoted
    if most < documents or not asked:
        return rest + (quoted if most >= _HALF or not asked else [])
    return quoted + rest


def _subject(question: str) -> list[Stems]:
    """Return the words of a question that carry its subject, without what only asks for an answer."""
    said = dict.fromkeys(words(_REQUESTS.sub(" ", fold(question[:_READ]))))
    return [stems(word) for word in said if word not in EMPTY and (len(word) > 1 or word.isdigit())]


def _share(asked: Sequence[Stems], text: str) -> float:
    """Return what share of some words a text holds, 0..1."""
    if not asked:
        return 0.0
    held = frozenset().union(*(stems(word) for word in words(text[:_READ])))
    return sum(not each.isdisjoint(held) for each in asked) / len(asked)


def _whole(hit: Hit) -> str:
    """Return what a statement of a document says, with what it stands under."""
    return " ".join([*hit.snippet.headings, hit.snippet.lead, statement(hit)])


def _fitting(evidence: Sequence[Hit], characters: int, sections: int = SECTIONS) -> list[Hit]:
    """Return the best statements of the best sections within so many characters; the best one however long.

    Of those that say the same words only the best one.
    """
    found: list[Hit] = []
    passages: list[Passage] = []
    said_before: set[tuple[str, ...]] = set()
    size = 0
    for hit in evidence:
        said = statement(hit)
        if found and size + len(said) > characters:
            continue
        its = tuple(_WORD.findall(said.casefold()))
        if its in said_before:
            continue
        if hit.passage not in passages:
            if len(passages) >= sections:
                continue
            passages.append(hit.passage)
        found.append(hit)
        said_before.add(its)
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
    told = [each for each in passages if each.file.startswith(MEMORY_FILES)]
    read = [each for each in passages if each not in told]
    parts = [f"{_lead(each, lang)}\n{_said(each, quoted)}" for each in read]
    if read and all(each.lang != lang for each in passages):
        parts.insert(0, _elsewhere(lang, read[0].lang))
    if told:
        lead = LANGUAGES[lang].quoting.remembered
        lines = "\n".join([lead, *(f"- {_said(each, quoted)}" for each in told)])
        parts.insert(0 if passages[0] in told else len(parts), lines)
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
