"""Fakes of the ports around a session: a model and an executor that break on demand, a decider, a ledger, and more."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trio

from ..config import ACTION_TIMEOUT
from ..lang import DEFAULT
from ..ports.action import Call, Payload
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.decide import Briefing, Decision
from ..ports.draft import Delta, Prompt
from ..ports.search import Hit, Lang, Passage, Query, Snippet
from ..storage.memory_ledger import MemoryLedger

SENTINEL = "31337"
SNIPPETS = ("The Standard plan costs 299 kr a month.", "The notice period is 14 days.")


@dataclass(frozen=True, slots=True)
class DraftScript:
    """A draft: `think` seconds of thought, then `text` in two deltas with a pause between them."""

    text: str
    think: float = 0.1
    hang: bool = False  # after the first delta
    fail: bool = False


@dataclass(frozen=True, slots=True)
class EffectBegan:
    """The effect of an action began: `begin()` was granted."""

    suggestion_id: str
    action: str
    payload: Payload


@dataclass(frozen=True, slots=True)
class EffectFinished:
    """The effect of an action was carried out to its end."""

    suggestion_id: str


@dataclass(frozen=True, slots=True)
class EffectFailed:
    """An action had no effect, and reported it."""

    suggestion_id: str


@dataclass(frozen=True, slots=True)
class EffectCutOff:
    """The effect of an action was cancelled before its deadline, `ACTION_TIMEOUT` after `begin()`."""

    suggestion_id: str


class _Breakable:
    """Pauses, and raises out of the next pause after `fault`."""

    def __init__(self) -> None:
        self._poke = trio.Event()
        self._fault = False

    def fault(self) -> None:
        """Break the next pause, or the present one, with a `RuntimeError`: a bug, not an expected failure."""
        self._fault = True
        self._poke.set()

    async def pause(self, seconds: float) -> None:
        """Wait `seconds`, or break."""
        with trio.move_on_after(seconds):
            await self._poke.wait()
        if self._fault:
            self._fault = False
            self._poke = trio.Event()
            raise RuntimeError(f"{type(self).__name__} broke at {SENTINEL}")


class BreakableModel(_Breakable):
    """Streams drafts (a `Drafter`), one `DraftScript` per attempt; the last `DraftScript` repeats."""

    def __init__(self, drafts: Sequence[DraftScript]) -> None:
        super().__init__()
        self._drafts = drafts

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft of this attempt."""
        say = self._drafts[min(prompt.attempt, len(self._drafts) - 1)]
        await self.pause(say.think)
        half = len(say.text) // 2
        yield Delta(say.text[:half])
        await self.pause(float("inf") if say.hang else 0.01)
        if say.fail:
            raise RuntimeError(f"the model failed at {SENTINEL}")
        yield Delta(say.text[half:])


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


class BreakableExecutor(_Breakable):
    """Sleeps before and after `begin()`, and notes the outcome of every effect.

    `deaf`: notice a cancel only at `begin()`, like an executor that prepares its effect in a thread. `note`: called
    with each `EffectBegan`, `EffectFinished` and `EffectCutOff`.
    """

    def __init__(
        self, before: float, after: float, deaf: bool = False, note: Callable[[Any], None] = lambda what: None
    ) -> None:
        super().__init__()
        self.before = before
        self.after = after
        self.deaf = deaf
        self.begun: list[str] = []
        self._note = note

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Carry out a call, slowly."""
        with trio.move_on_after(ACTION_TIMEOUT, shield=self.deaf):
            await self.pause(self.before)
        begin()
        self.begun.append(call.suggestion_id)
        self._note(EffectBegan(call.suggestion_id, call.action, call.payload))
        deadline = trio.current_time() + ACTION_TIMEOUT
        try:
            await self.pause(self.after)
        except trio.Cancelled:
            if trio.current_time() < deadline:
                self._note(EffectCutOff(call.suggestion_id))
            raise
        self._note(EffectFinished(call.suggestion_id))
        return {"ran": call.action}


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


_TERMS = tuple(Snippet(file="kb/terms.md", text=text, first=n, last=n) for n, text in enumerate(SNIPPETS, 1))
_PASSAGE = Passage("kb/terms.md", ("Terms",), DEFAULT, _TERMS)


class OneFile:
    """A retriever that always finds the same two snippets.

    All searches share the same objects: caches keep facts about a passage, and each census would count a new one.
    """

    def __init__(self) -> None:
        self._hits = tuple(Hit(snippet, _PASSAGE, 0.9) for snippet in _TERMS)

    async def load_snapshot(self) -> "OneFile":
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
