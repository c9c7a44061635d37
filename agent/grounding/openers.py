"""Opening questions, made of the documents' own headings.

A heading that is a question is used as it is; other headings are put into a fixed question. A heading with a number in
it, in digits or in words, is not used, since an opener has no citation; nor is a question that finds nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.ports.search import Passage

from .courtesies import has_number

OPENERS: Final = 3
"""Questions that are offered."""

_ASKED: Final = 2  # most openers that are headings in question form
_TRIED: Final = 8  # candidates that are looked up
_LONGEST: Final = 70  # characters of a heading


def find_openers(
    passages: Iterable[Passage], topics: Sequence[str], lang: Lang, has_hits: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return at most `OPENERS` opening questions in a language.

    `passages`: all sections. `topics`: of the documents in that language, the largest first. `has_hits`: tells whether
    a search for a question finds anything; called for at most `_TRIED` questions.
    """
    kept: list[str] = []
    for question in islice(_find_candidates(passages, topics, lang), _TRIED):
        if has_hits(question):
            kept.append(question)
        if len(kept) == OPENERS:
            break
    return tuple(kept)


def _find_candidates(passages: Iterable[Passage], topics: Sequence[str], lang: Lang) -> Iterator[str]:
    asking = dict.fromkeys(
        heading
        for passage in passages
        if passage.lang == lang and passage.headings
        for heading in passage.headings[-1:]
        if heading.endswith("?") and " " in heading and _is_fit(heading)
    )
    yield from list(asking)[:_ASKED]
    yield from (
        LANGUAGES[lang].courtesies.opener.format(topic)
        for topic in topics
        if not topic.endswith("?") and _is_fit(topic)
    )


def _is_fit(heading: str) -> bool:
    return len(heading) <= _LONGEST and heading.isprintable() and not has_number(heading)
