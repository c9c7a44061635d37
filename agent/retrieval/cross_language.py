"""Finds the names and numbers of a question that documents in another language can be expected to hold.

Strategy: the ordinary words of one language stand in no document of another, so their absence there says nothing; the
absence of a name or number says that the question is about something else. A name is a word that has a letter beside
a digit, or that begins with a capital within a sentence. A number alone is no subject, since any document may hold
it. A question without a known name is searched only when all of its names and numbers are known, and then they must
stand in the headings. When documents in the question's own language know the names too, the search there has already
shown that they do not answer the question.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.lang import Lang
from agent.text.words import fold, normalize_text

from .follow_up import strip_asking
from .parsed_question import UNIT_WORDS, ParsedQuestion, parse_question

_READ: Final = 500  # characters of a question that are read
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ENDS: Final = frozenset(".!?:\n")  # marks after which a word begins a sentence

HasWord = Callable[[str, Lang], bool]
"""Tells whether documents in a language hold a folded word, in any of its forms."""


@dataclass(frozen=True, slots=True)
class CrossLanguageQuestion:
    """The part of a question that is searched in another language.

    `has_name`: it has a name, which is a subject by itself.
    """

    parsed: ParsedQuestion
    has_name: bool


def read_cross_language(
    question: str, lang: Lang, other: Lang, holds: HasWord
) -> CrossLanguageQuestion | None:
    """Return the part of a question that documents in another language can answer, or None.

    `lang`: of the question. `other`: of the documents. `holds`: see `HasWord`.
    """
    text = question[:_READ]
    names = find_names(text)
    subject = [
        word for word in parse_question(strip_asking(text, lang), lang).words if word not in UNIT_WORDS
    ]
    known = [word for word in subject if holds(word, other)]
    unknown = set(subject).difference(known)
    anchors = {word for word in known if word in names and not word.isdigit()}
    if not known or not names.isdisjoint(unknown) or (unknown and not anchors):
        return None
    if any(holds(word, lang) for word in anchors or known):
        return None
    return CrossLanguageQuestion(
        ParsedQuestion(tuple(known), parse_question(question, lang).kind), bool(anchors)
    )


def find_names(text: str) -> frozenset[str]:
    """Return the folded words of `text` that are names or numbers."""
    whole = normalize_text(text)
    found, end = set(), 0
    for match in _WORD.finditer(whole):
        word, at = match.group(), match.start()
        within = end > 0 and _ENDS.isdisjoint(whole[end:at])
        if any(map(str.isdigit, word)) or (word[0].isupper() and within):
            found.add(fold(word))
        end = match.end()
    return frozenset(found)
