"""Judges an answer by its case: whether it holds the right words, and cites the right lines."""

import re
from collections.abc import Sequence

from ..ports.brain import VerifiedText
from ..ports.search import Snippet
from .cases import Case, CasePlace

_PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "})
_MARKS = re.compile(r"[*`]|\\(?=\W)")
_SPACE = re.compile(r"\s+")


def is_right(texts: Sequence[VerifiedText], case: Case) -> bool:
    """Return whether the texts of an answer, no refusal, answer a case's question, and cite a place of its answer."""
    said = "".join([each.text for each in texts])
    return holds_answer(said, case.answer) and cites_place(
        [each for text in texts for each in text.citations], case
    )


def is_first_right(texts: Sequence[VerifiedText], case: Case) -> bool:
    """Return whether the cited statement that an answer quotes first answers the question by itself."""
    for text in texts:
        places = [(spans, each) for spans, each in zip(text.places, text.citations, strict=False) if spans]
        if places:
            spans, first = min(places, key=lambda place: place[0])
            quoted = "\n".join([text.text[start:end] for start, end in spans])
            return holds_answer(quoted, case.answer) and cites_place([first], case)
    return False


def holds_answer(text: str, answers: Sequence[str]) -> bool:
    """Return whether a text holds one of the `answers`, not within a longer word or number."""
    normal = normalize(text)
    return any(_stands_in(normalize(each), normal) for each in answers if each.strip())


def cites_place(snippets: Sequence[Snippet], case: Case) -> bool:
    """Return whether one of some snippets has a line of the case's places; True where it names none."""
    places = case.places
    return not places or any(_overlaps(snippet, place) for place in places for snippet in snippets)


def normalize(text: str) -> str:
    """Return a text without case, marks of emphasis and runs of white space."""
    return _SPACE.sub(" ", _MARKS.sub("", text.translate(_PLAIN))).strip().casefold()


def _overlaps(snippet: Snippet, place: CasePlace) -> bool:
    if snippet.file not in (place.file, f"kb/{place.file}"):
        return False
    return place.lines is None or (snippet.first <= place.lines[1] and place.lines[0] <= snippet.last)


def _stands_in(answer: str, text: str) -> bool:
    before = (
        r"(?<![^\W_])(?<!\d[.,])" if answer[:1].isdigit() else r"(?<![^\W_])" if answer[:1].isalnum() else ""
    )
    after = (
        r"(?!\d|[.,]\d)(?![^\W_])"
        if answer[-1:].isdigit()
        else r"(?![^\W_])"
        if answer[-1:].isalnum()
        else ""
    )
    return re.search(before + re.escape(answer) + after, text) is not None
