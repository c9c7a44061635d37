"""A model and an executor that break on demand, and the facts that the executor notes."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trio

from ..config import ACTION_TIMEOUT
from ..ports.action import Call, Payload
from ..ports.draft import Delta, Prompt
from ..ports.search import Hit

SENTINEL = "31337"
"""The number in the text of each fault, which no client, log line or label may show."""


@dataclass(frozen=True, slots=True)
class DraftScript:
    """A draft: `think` seconds of thought, then `text` in two deltas with a pause between them."""

    text: str
    think: float = 0.1
    hang: bool = False  # after the first delta
    fail: bool = False  # before the second delta


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
        self._wake = trio.Event()
        self._fault = False

    def fault(self) -> None:
        """Break the next pause, or the present one, with a `RuntimeError`: a bug, not an expected failure."""
        self._fault = True
        self._wake.set()

    async def pause(self, seconds: float) -> None:
        """Wait `seconds`, or break."""
        with trio.move_on_after(seconds):
            await self._wake.wait()
        if self._fault:
            self._fault = False
            self._wake = trio.Event()
            raise RuntimeError(f"{type(self).__name__} broke at {SENTINEL}")


class BreakableModel(_Breakable):
    """Streams drafts (a `Drafter`), one `DraftScript` per attempt; the last `DraftScript` repeats."""

    def __init__(self, drafts: Sequence[DraftScript]) -> None:
        super().__init__()
        self._drafts = drafts

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft of this attempt."""
        draft = self._drafts[min(prompt.attempt, len(self._drafts) - 1)]
        await self.pause(draft.think)
        half = len(draft.text) // 2
        yield Delta(draft.text[:half])
        await self.pause(float("inf") if draft.hang else 0.01)
        if draft.fail:
            raise RuntimeError(f"the model failed at {SENTINEL}")
        yield Delta(draft.text[half:])


class BreakableExecutor(_Breakable):
    """Sleeps before and after `begin()`, and notes the outcome of every effect.

    `deaf`: notice a cancel only at `begin()`, like an executor that prepares its effect in a thread. `note`: called
    with each `EffectBegan`, `EffectFinished` and `EffectCutOff`.
    """

    def __init__(
        self,
        before: float,
        after: float,
        deaf: bool = False,
        note: Callable[[Any], None] = lambda effect: None,
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
