"""What of a question documents of another language can be expected to hold: its names and its numbers.

Strategy: a language's own words stand in no document of another one, so that they are missing there says nothing; a
name or a number that is missing says that the question is about something else. A name is what has a letter beside a
digit, or begins with a capital within a sentence; a number alone is none, since any document may hold it. Of a question
without a known name, all that it names must be known, and stand in the headings. Where documents in the question's own
language know the names too, these have told already that they do not answer it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.lang import Lang
from agent.text.words import composed, fold

from .asked import UNIT_WORDS, Asked, asked
from .follow import content

_READ: Final = 500  # characters of a question that are looked at
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ENDS: Final = frozenset(".!?:\n")  # between two words, of which the second one begins a sentence

Holds = Callable[[str, Lang], bool]
"""Tells whether documents of a language hold a folded word, in whatever form."""


@dataclass(frozen=True, slots=True)
class Abroad:
    """What is looked for in documents of another language. named: it has a name, which is a subject by itself."""

    asked: Asked
    named: bool


def read_abroad(question: str, lang: Lang, other: Lang, holds: Holds) -> Abroad | None:
    """Return what of a question is looked for in documents of another language; None where nothing can be told there.

    lang: of the question. other: of the documents.
    """
    text = question[:_READ]
    names = names_in(text)
    said = [word for word in asked(content(text, lang), lang).words if word not in UNIT_WORDS]
    known = [word for word in said if holds(word, other)]
    unknown = set(said).difference(known)
    anchors = {word for word in known if word in names and not word.isdigit()}
    if not known or not names.isdisjoint(unknown) or (unknown and not anchors):
        return None
    if any(holds(word, lang) for word in anchors or known):
        return None
    return Abroad(Asked(tuple(known), asked(question, lang).kind), bool(anchors))


def names_in(text: str) -> frozenset[str]:
    """Return the folded words of a text that are names or numbers."""
    whole = composed(text)
    found, end = set(), 0
    for match in _WORD.finditer(whole):
        word, at = match.group(), match.start()
        within = end > 0 and _ENDS.isdisjoint(whole[end:at])
        if any(map(str.isdigit, word)) or (word[0].isupper() and within):
            found.add(fold(word))
        end = match.end()
    return frozenset(found)
