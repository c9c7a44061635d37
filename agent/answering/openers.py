"""Finds the opening questions of the chat page: those that the documents answer with high confidence.

Strategy: the candidates are questions that stand in the documents (`agent.grounding.openers`). Each is asked as a user
would ask it, without a language model, and is offered only where the answer has the confidence `high` and cites nothing
but the section under the question. Where no candidate passes, none is offered. The search runs beside the turns of
users: one question at a time, as long as a user's own, with a longer break after each, within `_TIMEOUT` seconds for
each language. A change of the documents makes the questions anew, once they are asked for; until then the old ones
stand.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Final, Protocol

import trio

from ..grounding.openers import QuestionCandidate, find_questions
from ..lang import LANGUAGES, Lang
from ..ports.brain import Brain, Question, TurnEvent, VerifiedPart
from ..ports.search import Library, Passage

OPENERS: Final = 3
"""Questions that are offered in a language, where the operator gave none."""

_ASKED: Final = 96  # candidates of a language that are asked
_FOUND: Final = 2000  # candidates of a language that are chosen from
_PASSAGES: Final = 200  # passages that are looked through in one step: some 4 ms
_SHARE: Final = 4  # times as long as a step took, until the next step
_BREAK: Final = 0.01  # seconds between two steps at least
_TIMEOUT: Final = 60.0  # seconds for one language


class SearchedDocuments(Library, Protocol):
    """One snapshot of the documents, which never changes."""

    @property
    def passages(self) -> Sequence[Passage]:
        """Return all sections."""
        ...


class Openers:
    """The opening questions, by language.

    `snapshot`: returns the present documents, None until all are read; it is itself None without documents.
    `make_brain`: returns a brain that answers from some documents without a language model. `starters`: the operator's
    own questions; where there are some, no question is looked for.
    """

    def __init__(
        self,
        snapshot: Callable[[], SearchedDocuments | None] | None,
        make_brain: Callable[[Library], Brain],
        starters: Mapping[Lang, Sequence[str]],
    ) -> None:
        self._snapshot = None if starters else snapshot
        self._make_brain = make_brain
        self._questions: Mapping[Lang, Sequence[str]] | None = None if self._snapshot else starters
        self._searched: Callable[[], SearchedDocuments | None] = lambda: None
        self._outdated = trio.Event()

    def of_language(self, lang: Lang) -> Sequence[str] | None:
        """Return the questions in `lang`, or in the first other language that has some; None until they are known."""
        if self._snapshot is not None and self._searched() is not self._snapshot():
            self._outdated.set()
        if self._questions is None:
            return None
        langs = (lang, *(each for each in LANGUAGES if each != lang))
        return next(filter(None, (self._questions.get(each) for each in langs)), ())

    async def run(self) -> None:
        """Find the questions of the present documents, and again when they are asked for after a change.

        Runs until cancelled, which leaves nothing; returns at once where there is nothing to look for.
        """
        if self._snapshot is None:
            return
        while True:
            self._outdated = trio.Event()
            await self._search(self._snapshot())
            await self._outdated.wait()

    async def _search(self, snapshot: SearchedDocuments | None) -> None:
        """Replace the questions by those of `snapshot`, of which nothing is kept then."""
        if snapshot is not None:
            brain = self._make_brain(snapshot)
            self._questions = {lang: await _find_openers(snapshot, brain, lang) for lang in LANGUAGES}
            self._searched = weakref.ref(snapshot)


async def _find_openers(snapshot: SearchedDocuments, brain: Brain, lang: Lang) -> tuple[str, ...]:
    """Return at most `OPENERS` candidates that `brain` answers well, of different files where possible."""
    kept: list[str] = []
    with trio.move_on_after(_TIMEOUT):
        candidates = await _collect_candidates(snapshot.passages, lang)
        for candidate in _choose_candidates(candidates):
            if await _is_answered(brain, candidate, lang):
                kept.append(candidate.text)
            if len(kept) == OPENERS:
                break
    return tuple(kept)


async def _collect_candidates(passages: Sequence[Passage], lang: Lang) -> list[QuestionCandidate]:
    """Return the candidates of a language, each question once."""
    found: dict[str, QuestionCandidate] = {}
    for first in range(0, len(passages), _PASSAGES):
        began = trio.current_time()
        for candidate in find_questions(passages[first : first + _PASSAGES], lang):
            found.setdefault(candidate.text, candidate)
        await _rest(began)
        if len(found) >= _FOUND:
            break
    return list(found.values())


def _choose_candidates(candidates: Iterable[QuestionCandidate]) -> list[QuestionCandidate]:
    """Return at most `_ASKED` candidates: the first of each file, then the second of each, and so on."""
    by_file: dict[str, list[QuestionCandidate]] = {}
    for candidate in candidates:
        by_file.setdefault(candidate.file, []).append(candidate)
    turns = chain.from_iterable(zip_longest(*by_file.values()))
    return [each for each in turns if each is not None][:_ASKED]


async def _is_answered(brain: Brain, candidate: QuestionCandidate, lang: Lang) -> bool:
    """Tell whether the answer to a question has a high confidence, and rests on the question's own section alone."""
    began = trio.current_time()
    events: list[TurnEvent] = []
    await brain.answer(Question(id="opener", text=candidate.text, lang=lang, at=began), events.append)
    await _rest(began)
    last = events[-1] if events else None
    if not isinstance(last, VerifiedPart) or last.text.confidence != "high" or not last.text.citations:
        return False
    own, depth = candidate.headings, len(candidate.headings)
    return all(
        each.file == candidate.file and each.headings[:depth] == own and candidate.text not in each.plain_text
        for each in last.text.citations
    )


async def _rest(began: float) -> None:
    """Wait after a step that began at `began`, so that the steps take a small share of the processor."""
    await trio.sleep(max(_BREAK, _SHARE * (trio.current_time() - began)))
