"""Fakes of the ports around a session that need no script of faults: a decider, a ledger, a retriever, a clock."""

from collections.abc import Sequence

import trio

from ..lang import DEFAULT
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.decide import Briefing, Decision
from ..ports.search import Hit, Lang, Passage, Query, Snippet
from ..storage.memory_ledger import MemoryLedger

_SNIPPETS = ("The Standard plan costs 299 kr a month.", "The notice period is 14 days.")


class ScriptedDecider:
    """Plays decisions in their order, for any briefing (a `Decider`); the last play repeats.

    A hostile model is a script of hostile decisions. A number in `plays` waits so many seconds before the next play;
    an exception is raised. `briefings`, `problems`: the arguments of each call.
    """

    def __init__(self, *plays: Decision | Exception | float) -> None:
        self._plays = plays
        self._at = 0
        self.briefings: list[Briefing] = []
        self.problems: list[tuple[str, ...]] = []

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the next decision."""
        self.briefings.append(briefing)
        self.problems.append(tuple(problems))
        await trio.lowlevel.checkpoint()
        while True:
            play = self._plays[min(self._at, len(self._plays) - 1)]
            self._at += 1
            if isinstance(play, Exception):
                raise play
            if not isinstance(play, int | float):
                return play
            await trio.sleep(play)


class SlowLedger(MemoryLedger):
    """A ledger that takes `seconds` for a claim; a claim that is cancelled meanwhile has no effect."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim, slowly."""
        if self._seconds:
            await trio.sleep(self._seconds)
        return await super().claim(suggestion_id, action, at, scope)


_TERMS = tuple(Snippet(file="kb/terms.md", text=text, first=n, last=n) for n, text in enumerate(_SNIPPETS, 1))
_PASSAGE = Passage("kb/terms.md", ("Terms",), DEFAULT, _TERMS)


class FixedRetriever:
    """A retriever that always finds the same two snippets.

    All searches share the same objects: caches keep facts about a passage, and each census would count a new one.
    """

    def __init__(self) -> None:
        self._hits = tuple(Hit(snippet, _PASSAGE, 0.9) for snippet in _TERMS)

    async def load_snapshot(self) -> "FixedRetriever":
        """Return the retriever itself, which never changes."""
        return self

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Return both hits, unless the question has no words."""
        await trio.lowlevel.checkpoint()
        return () if "nothing" in query.text else self._hits[: query.limit]

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return both hits for any question."""
        return self._hits[: query.limit]

    def topics(self, lang: Lang) -> Sequence[str]:
        """Return no topics."""
        return ()


class Figures:
    """An `Observer` that keeps the levels and the labels of its metrics."""

    def __init__(self) -> None:
        self.levels: dict[str, int] = {}
        self.words: set[str] = set()

    def count(self, metric: str, label: str = "") -> None:
        """Keep the label."""
        self.words.add(label)

    def measure(self, metric: str, seconds: float) -> None:
        """Ignore the duration."""

    def gauge(self, metric: str, change: int) -> None:
        """Keep the level."""
        self.levels[metric] = self.levels.get(metric, 0) + change


class Noon:
    """A clock that always shows the same moment."""

    def now_ms(self) -> int:
        """Return that moment in Unix milliseconds."""
        return 1_700_000_000_000
