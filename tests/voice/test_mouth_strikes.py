"""A mouth that is struck before any step of the loop is silent at once, and leaves nothing behind.

A run asks, is answered aloud, and may pause; its engine may fail, hang or take long to end, and its client read
slowly. It is struck before the k-th step: by a cancel, a newer message, a client that leaves, a lost socket, an engine
that breaks, a pause, or the end of the answer's thread or of an item that it repeats. Afterwards nothing that was
cancelled is heard, each speech has ended once, and the next answer is said to its end.

Every step is struck with VOICE_STRIDE=1 (minutes); else every so-manieth, each way of striking at others.
"""

import gc
import logging
import os
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog
import trio
import trio._core._run as trio_run
import trio.testing
from trio.testing import MockClock

from agent.memory.repeats import Repeats
from agent.ports.voice import CHUNK_SECONDS
from agent.session.events import MemoryErased, ThreadErased
from agent.voice.mouth import LONGEST_PAUSE
from agent.voice.playback import AHEAD
from tests.session.harness import ask, saying, world

from .talking import BrokenEngine, Talk, connect

STRIDE = int(os.environ.get("VOICE_STRIDE", "4"))
PROMPT = 0.1  # virtual seconds from a cancel to its `speech_end`
PATIENCE = 8.0
TEXT = "The door is open. Ask for more. "
LAST = "All is well here. "


class Striker(trio.abc.Instrument):
    """Counts the steps of all tasks, and strikes before the k-th."""

    def __init__(self, k: int, strike: Callable[[], None]) -> None:
        self.steps = 0
        self.error: Exception | None = None
        self._k = k
        self._strike = strike

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step; an error is kept, since trio would only log it."""
        self.steps += 1
        if self.steps == self._k:
            try:
                self._strike()
            except Exception as error:  # noqa: BLE001 - see above
                self.error = error


async def plain(talk: Talk) -> None:
    """Listen to the end."""
    await talk.wire.until("speech_end")


async def paused(talk: Talk) -> None:
    """Pause in a word, and go on."""
    await talk.wire.until("speech")
    await trio.sleep(0.331)
    talk.mouth.pause()
    await trio.sleep(0.3)
    talk.mouth.resume()
    await talk.wire.until("speech_end")


async def slow(talk: Talk) -> None:
    """Read nothing for some time."""
    await talk.wire.until("speech")
    talk.wire.block()
    await trio.sleep(1.4)
    talk.wire.unblock()
    await talk.wire.until("speech_end")


async def newer(talk: Talk) -> None:
    """Ask again in the middle of a word."""
    await talk.wire.until("speech")
    await trio.sleep(0.331)
    talk.wire.push(ask("n"))
    await trio.sleep(2.0)


SCENARIOS: dict[str, tuple[Callable[[Talk], Awaitable[None]], dict[str, Any]]] = {
    "plain": (plain, {}),
    "paused": (paused, {}),
    "slow client": (slow, {}),
    "newer message": (newer, {}),
    "crash": (plain, {"fails": 3}),
    "hang": (plain, {"hangs": 3}),
    "slow to die": (newer, {"dies": 0.4}),
}


def forget(talk: Talk) -> None:
    """Forget an item whose words the answer repeats; nothing of the answer may be heard after it."""
    none: frozenset[str] = frozenset()
    again = Repeats(["The door is open"])
    talk.session.post(MemoryErased(none, none, trio.current_time(), talk.scope, again))
    talk.transcript.append((trio.current_time(), "silence", None))


def delete(talk: Talk) -> None:
    """Delete the thread; nothing of its answers may be heard after it."""
    talk.session.post(ThreadErased(talk.scope, "fresh", trio.current_time()))
    talk.transcript.append((trio.current_time(), "silence", None))


STRIKES: dict[str, Callable[[Talk, BrokenEngine], object]] = {
    "cancel": lambda talk, _: talk.wire.push({"type": "cancel"}),
    "cancel of the message": lambda talk, _: talk.wire.push({"type": "cancel", "id": "m"}),
    "newer message": lambda talk, _: talk.wire.push(ask("x")),
    "leaves": lambda talk, _: talk.wire.leave(),
    "lost": lambda talk, _: talk.wire.abort(),
    "engine": lambda _, engine: engine.shatter(),
    "pause": lambda talk, _: talk.mouth.pause(),
    "forget": lambda talk, _: forget(talk),
    "delete": lambda talk, _: delete(talk),
}


class Run:
    """One struck run: `broken` lists the rules that it broke."""

    def __init__(self, scenario: str, strike: str, k: int) -> None:
        self.broken: list[str] = []
        self.steps = 0
        self._script, faults = SCENARIOS[scenario]
        self._engine = BrokenEngine(**faults)
        self._strike = strike
        self._k = k
        self._talk: Talk | None = None

    async def __call__(self) -> None:
        async with world() as w, trio.open_nursery() as nursery:
            w.brain.script = saying(TEXT)
            talk = self._talk = await connect(w, nursery, self._engine)
            striker = Striker(self._k, self._hit)
            trio.lowlevel.add_instrument(striker)
            talk.wire.push(ask())
            with trio.move_on_after(3.0):
                await self._script(talk)
            await trio.sleep(0.5)
            trio.lowlevel.remove_instrument(striker)
            if striker.error is not None:
                raise striker.error
            self.steps = striker.steps
            talk.wire.unblock()
            await trio.sleep(LONGEST_PAUSE + 2.0)
            self._engine.mend()
            await self._ask_again(w, talk)
            talk.wire.leave()
            await trio.sleep(1.0)
            self._note("an engine is left", self._engine.alive)
            self._note("two engines ran at once", self._engine.most > 1)
            gone = weakref.ref(talk.mouth)
            self._check_frames(talk)
            tasks = [task.name for task in nursery.child_tasks]
            self._note(f"tasks are left: {tasks}", tasks)
            talk = self._talk = None  # type: ignore[assignment]
            self._note("a mouth is left", gone() is not None)
            try:
                w.nothing_is_left()
            except AssertionError as error:
                self.broken.append(f"something is left: {str(error).splitlines()[:1]}")
            nursery.cancel_scope.cancel()

    def _hit(self) -> None:
        assert self._talk is not None
        STRIKES[self._strike](self._talk, self._engine)

    async def _ask_again(self, w: Any, talk: Talk) -> None:
        """The next answer of a client that is still there is said whole."""
        if talk.wire.has_ended:
            return
        w.brain.script = saying(LAST)
        talk.wire.push(ask("last"))
        with trio.move_on_after(PATIENCE):
            count = len(talk.wire.sent("speech_end"))
            while "last" not in [each["id"] for each in talk.wire.sent("speech_end")]:
                count += 1
                await talk.wire.until("speech_end", count)
            said = talk.count_audio("last") * CHUNK_SECONDS
            ended = [each["reason"] for each in talk.wire.sent("speech_end") if each["id"] == "last"]
            self._note(
                f"the next answer: {ended}, {said:.2f} s", ended != ["done"] or abs(said - 0.72) > 0.05
            )
            return
        self.broken.append("the next answer is not said")

    def _check_frames(self, talk: Talk) -> None:
        begun: dict[str, int] = {}
        ended: dict[str, list[str]] = {}
        stream_ends: dict[str, int] = {}
        silenced: dict[str, float] = {}
        spoken, first = "", 0.0
        for at, kind, frame in talk.transcript:
            if kind == "silence":
                for message in begun if frame is None else [frame]:
                    if message in begun and message not in ended:
                        silenced.setdefault(message, at)
            elif kind == "audio":
                self._note(f"audio of {spoken} after its end", spoken in ended)
                self._note(f"audio of {spoken} after it was silenced", spoken in silenced)
                begun[spoken] += 1
                ahead = begun[spoken] * CHUNK_SECONDS - (at - first)
                self._note(f"{ahead:.3f} s ahead", ahead > AHEAD + 1e-6)
            elif frame["type"] == "speech":
                if frame["id"] not in begun:
                    spoken, first = frame["id"], at
                    begun[spoken] = 0
            elif frame["type"] == "speech_end":
                ended.setdefault(frame["id"], []).append(frame["reason"])
                late = at - silenced.get(frame["id"], at)
                self._note(f"{frame['id']} ended {late:.3f} s late", late > PROMPT and not talk.was_blocked)
            elif frame["type"] == "stream_end":
                stream_ends[frame["id"]] = stream_ends.get(frame["id"], 0) + 1
        self._note(f"ends: {ended}", any(len(each) != 1 for each in ended.values()))
        self._note(f"ends of text: {stream_ends}", any(count != 1 for count in stream_ends.values()))
        if self._strike not in ("leaves", "lost"):
            self._note(f"without an end: {begun} {ended}", set(begun) - set(ended))

    def _note(self, fault: str, is_fault: object) -> None:
        if is_fault:
            self.broken.append(fault)


def run(scenario: str, strike: str, k: int) -> Run:
    """Strike once; the same run in every process."""
    setattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)  # noqa: B010 - a Final, for tests of trio's own
    trio_run._r.seed(1)
    made = Run(scenario, strike, k)
    trio.run(made, clock=MockClock(autojump_threshold=0))
    return made


@contextmanager
def quiet() -> Iterator[None]:
    """Keep no line of the log, and the census cheap."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    gc.collect()
    gc.freeze()  # for good: every census of a later test would look at all of it again
    try:
        yield
    finally:
        structlog.configure(**before)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_strikes(scenario: str) -> None:
    """Each scenario keeps the rules by itself."""
    with quiet():
        assert run(scenario, "cancel", 0).broken == []


@pytest.mark.proof
@pytest.mark.parametrize("strike", STRIKES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_struck_mouth_is_silent_and_leaves_nothing(scenario: str, strike: str) -> None:
    """At every step of asking, speaking, pausing and ending."""
    broken = []
    with quiet():
        steps = run(scenario, strike, 0).steps
        first = 1 + list(STRIKES).index(strike) % STRIDE
        for k in range(first, steps + 1, STRIDE):
            broken += [f"step {k}: {each}" for each in run(scenario, strike, k).broken]
    assert broken == []
