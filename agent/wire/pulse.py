"""One clock for everything that is said with a pace: a wheel of ticks, and one task that turns it.

A task and a sleep for each word of each session cost ten times what the word does. Here a voice says when it has
something to say next, and is called in the first tick that is not before that: an absolute moment, so that what is late
once does not make everything after it late. A voice whose moment has passed, or that knows no pace, is called once a
pass, and between two passes, which are bounded, all other tasks get their turn.

Ticks are whole numbers: moments that are sums of floats would never quite be reached on a virtual clock.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import Protocol

import trio

from ..config import PULSE_TICK, VOICES_A_PASS

_SLACK = 1e-6  # of a tick: what rounding may add


class Voice(Protocol):
    """Something that is said bit by bit."""

    def step(self, now: float) -> float | None:
        """Say what is due at `now`; return when there is more to say, in seconds on the loop's clock.

        None: not by itself, it is added again when there is. Never blocks. What it raises ends it, by `broke`.
        """
        ...

    def broke(self, error: Exception) -> None:
        """Be told that `step` has raised; ends what the voice belongs to, and nothing else. Never raises."""
        ...


class Pulse:
    """Calls every voice at its moments while `run` runs."""

    def __init__(self) -> None:
        self._wheel: dict[int, dict[Voice, None]] = {}
        self._ticks: dict[Voice, int] = {}
        self._at = 0  # the tick of the last pass: who speaks again is behind those who wait since then
        self._asleep_until: int | None = None
        self._wake: trio.Event | None = None

    def __len__(self) -> int:
        return len(self._ticks)

    def add(self, voice: Voice, due: float) -> None:
        """Call a voice in the first tick that is not before `due`; in place of what was said of it before."""
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
        """Do not call a voice, after all. Idempotent."""
        tick = self._ticks.pop(voice, None)
        if tick is None or tick not in self._wheel:
            return  # it does not wait, or is among those who are called
        voices = self._wheel[tick]
        voices.pop(voice, None)
        if not voices:
            del self._wheel[tick]

    def hurry(self) -> None:
        """Call every voice that waits in the next pass, whatever its moment."""
        for voice in tuple(self._ticks):
            self.add(voice, 0.0)

    async def run(self) -> None:
        """Call the voices until cancelled; cancelled, nothing is left behind."""
        while True:
            await self._until_due()
            self._pass(trio.current_time())

    async def _until_due(self) -> None:
        """Wait for the next tick in which somebody speaks; always a checkpoint."""
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
        return bool(self._wheel) and min(self._wheel) <= _tick(trio.current_time())

    def _pass(self, now: float) -> None:
        """Call those who are due, the longest due first, up to a bound: the others are first in the next pass."""
        self._at = _tick(now)
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
            self._call(voices, tick, now)

    def _call(self, voices: Sequence[Voice], tick: int, now: float) -> None:
        """Call those that are still due in this tick: one may have been discarded by one called before it."""
        ticks = self._ticks
        for voice in voices:
            if ticks.get(voice) != tick:
                continue
            del ticks[voice]
            try:
                again = voice.step(now)
            except Exception as error:  # noqa: BLE001 - the edge of one voice
                voice.broke(error)
                continue
            if again is not None:
                self.add(voice, again)


def _tick(now: float) -> int:
    return floor(now / PULSE_TICK + _SLACK)
