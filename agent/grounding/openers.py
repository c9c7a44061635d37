"""Finds the questions that stand in the documents, as candidates for opening questions.

A question stands there as a heading, or as a statement that another one follows ("Q: How do I pay?"), and is taken in
its own words: no heading is made into a question. A candidate begins as a question of its language does, names the
thing that it asks about ("How does it work?" does not), and has no number in it, in digits or in words, since an opener
has no citation. Whether the documents answer it is for `agent.answering.openers` to find out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.ports.search import Passage
from agent.text.words import FUNCTION_WORDS, split_words

from .courtesies import has_number

_LONGEST: Final = 80  # characters of a question
_MARK: Final = 9  # characters of the longest mark before a question, as in "Question:"


@dataclass(frozen=True, slots=True)
class QuestionCandidate:
    """A question that stands in the documents. `file`, `headings`: of the section that should answer it."""

    text: str
    file: str
    headings: tuple[str, ...]


def find_questions(passages: Iterable[Passage], lang: Lang) -> Iterator[QuestionCandidate]:
    """Yield the questions that stand in the `passages` of a language, some of them repeatedly.

    Most passages hold no question mark, which takes less than a microsecond to see.
    """
    for passage in passages:
        if passage.lang != lang:
            continue
        if passage.headings and (text := _read_question(passage.headings[-1], lang)):
            yield QuestionCandidate(text, passage.file, passage.headings)
        for snippet, _ in pairwise(passage.snippets if passage.may_hold("?") else ()):
            if snippet.text.rstrip("*_ ").endswith("?") and (
                text := _read_question(snippet.plain_text, lang)
            ):
                yield QuestionCandidate(text, passage.file, passage.headings)


def _read_question(line: str, lang: Lang) -> str:
    """Return the question that is the whole of `line`, without a mark such as "Q:"; "" where it is none."""
    mark, colon, rest = line.partition(":")
    text = (rest if colon and len(mark) <= _MARK and " " not in mark else line).strip()
    mark, dot, rest = text.partition(". ")
    text = rest if dot and len(mark) == 1 else text
    if not text.endswith("?") or len(text) > _LONGEST or not text.isprintable() or has_number(text):
        return ""
    if any(sign in text[:-1] for sign in "?!.:;[]{}<>|"):
        return ""
    words = split_words(text)
    language = LANGUAGES[lang]
    mood = language.acting.mood
    begins = words[:1] and words[0] in mood.asking | mood.inverting | mood.modals
    names = any(word not in FUNCTION_WORDS for word in words[1:])
    return text if begins and names and language.searching.referring.isdisjoint(words) else ""
