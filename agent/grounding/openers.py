"""Questions to begin with, made of the documents' own headings.

A heading that is a question is asked as it stands; of others it is asked what there is about them. One that has a
number in it, in digits or in words, is no such question, since nothing is cited beside it; nor is one that finds
nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.ports.search import Passage

from .courtesies import counted

OPENERS: Final = 3
"""Questions that are offered."""

_ASKED: Final = 2  # of them that are headings which ask
_TRIED: Final = 8  # candidates that are looked up
_LONGEST: Final = 70  # characters of a heading


def openers(
    passages: Iterable[Passage], topics: Sequence[str], lang: Lang, found: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the at most OPENERS questions to begin with in a language.

    passages: all sections. topics: what the documents of that language are about, the largest first. found: whether
    something is found for a question; asked of _TRIED of them at most.
    """
    kept: list[str] = []
    for question in islice(_candidates(passages, topics, lang), _TRIED):
        if found(question):
            kept.append(question)
        if len(kept) == OPENERS:
            break
    return tuple(kept)


def _candidates(passages: Iterable[Passage], topics: Sequence[str], lang: Lang) -> Iterator[str]:
    asking = dict.fromkeys(
        heading
        for passage in passages
        if passage.lang == lang and passage.headings
        for heading in passage.headings[-1:]
        if heading.endswith("?") and " " in heading and _fit(heading)
    )
    yield from list(asking)[:_ASKED]
    yield from (
        LANGUAGES[lang].courtesies.opener.format(topic)
        for topic in topics
        if not topic.endswith("?") and _fit(topic)
    )


def _fit(heading: str) -> bool:
    return len(heading) <= _LONGEST and heading.isprintable() and not counted(heading)
