"""One clock for all texts that are streamed with a pace: a wheel of ticks, and one task that turns it.

A task and a sleep for each word of each session cost ten times the cost of the word. Here a voice returns when its next
piece is due, and is called in the first tick that is not before that: an absolute moment, so that one late piece does
not delay all pieces after it. A voice whose moment has passed, or that has no pace, is called once a pass; passes are
bounded, and between two of them all other tasks get their turn.

Ticks are whole numbers: moments that are sums of floats would never quite be reached on a virtual clock.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import Protocol

import trio

PULSE_TICK = 0.005  # seconds between two moments at which deltas may go out
VOICES_A_PASS = 256  # turns, before other tasks have theirs: up to 15 ms without a pace

_SLACK = 1e-6  # of a tick: the most that rounding adds


class Voice(Protocol):
    """A text that is streamed piece by piece."""

    def step(self, now: float) -> float | None:
        """Send the pieces that are due at `now`; return when the next is due, in seconds on the loop's clock.

        Return `None` when no piece is due by itself; the voice is added again when one is. Never blocks. An exception
        ends the voice through `fail`.
        """
        ...

    def fail(self, error: Exception) -> None:
        """End the owner of this voice, and nothing else, because `step` raised `error`. Never raises."""
        ...


class Pulse:
    """Calls every voice when it is due, while `run` runs."""

    def __init__(self) -> None:
        self._wheel: dict[int, dict[Voice, None]] = {}
        self._ticks: dict[Voice, int] = {}
        # The tick of the last pass: a voice that is added again comes after those that wait since then.
        self._at = 0
        self._asleep_until: int | None = None
        self._wake: trio.Event | None = None

    def __len__(self) -> int:
        return len(self._ticks)

    def add(self, voice: Voice, due: float) -> None:
        """Call `voice` in the first tick that is not before `due`, in place of an earlier `add` of it."""
        if voice in self._ticks:
            self.discard(voice)
        tick = ceil(due / PULSE_TICK - _SLACK)
        if tick < self._at:
            tick = self._at
        self._ticks[voice] = tick
        voices = self._wheel.get(tick)
        if voices is None:
            voices = self._wheel[tick] = {}
        voices[voice] = None
        if self._wake is not None and (self._asleep_until is None or tick < self._asleep_until):
            self._wake.set()

    def discard(self, voice: Voice) -> None:
        """Stop calling `voice`. Idempotent."""
        tick = self._ticks.pop(voice, None)
        if tick is None or tick not in self._wheel:
            return  # it does not wait, or is among those being called
        voices = self._wheel[tick]
        voices.pop(voice, None)
        if not voices:
            del self._wheel[tick]

    def hurry(self) -> None:
        """Call every waiting voice in the next pass, also those that are not due."""
        for voice in tuple(self._ticks):
            self.add(voice, 0.0)

    async def run(self) -> None:
        """Call the voices until cancelled; cancelled, nothing is left behind."""
        while True:
            await self._wait_until_due()
            self._run_pass(trio.current_time())

    async def _wait_until_due(self) -> None:
        """Wait for the next tick in which a voice is due; always a checkpoint."""
        if self._due:
            await trio.lowlevel.checkpoint()
        while not self._due:
            self._asleep_until = min(self._wheel, default=None)
            self._wake = trio.Event()
            until = float("inf") if self._asleep_until is None else self._asleep_until * PULSE_TICK
            with trio.move_on_at(until):
                await self._wake.wait()

    @property
    def _due(self) -> bool:
        return bool(self._wheel) and min(self._wheel) <= _tick_of(trio.current_time())

    def _run_pass(self, now: float) -> None:
        """Call the voices that are due, the longest due first, up to a bound; the rest come first in the next pass."""
        self._at = _tick_of(now)
        due: list[tuple[int, list[Voice]]] = []
        room = VOICES_A_PASS
        for tick in sorted([tick for tick in self._wheel if tick <= self._at]):
            voices = [*self._wheel.pop(tick)]
            if len(voices) > room:
                self._wheel[tick] = dict.fromkeys(voices[room:])
                del voices[room:]
            due.append((tick, voices))
            room -= len(voices)
            if room == 0:
                break
        for tick, voices in due:
            self._call_voices(voices, tick, now)

    def _call_voices(self, voices: Sequence[Voice], tick: int, now: float) -> None:
        """Call those of `voices` that are still due in `tick`: a voice called earlier may have discarded them."""
        ticks = self._ticks
        for voice in voices:
            if ticks.get(voice) != tick:
                continue
            del ticks[voice]
            try:
                next_due = voice.step(now)
            except Exception as error:  # noqa: BLE001 - the edge of one voice
                voice.fail(error)
                continue
            if next_due is not None:
                self.add(voice, next_due)


def _tick_of(now: float) -> int:
    return floor(now / PULSE_TICK + _SLACK)
