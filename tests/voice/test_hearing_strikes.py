"""A hearing that is struck before any step of the loop takes each utterance at most once, and leaves nothing behind.

A client talks: in silence, into an answer that is spoken, without a word, or with its `listen` ended in a word; its ear
may be slow, fail or hang. It is struck before the k-th step: by more sound, bad audio, `listen` either way, a cancel, a
newer message, an ear that breaks or hangs, a client that leaves, or a lost socket. Afterwards each utterance that was
shown has ended once, only a final has become a message, once, no sound without `listen` was heard, and what is said
next is heard; in the end no ear, task or place is left.

Every step is struck with VOICE_STRIDE=1; else every so-manieth, each way of striking at others.
"""

import os
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio._core._run as trio_run
from trio.testing import MockClock

from agent.voice.hearing import OPEN_TIMEOUT
from agent.voice.states import MouthState
from tests.session.harness import World, ask, saying, world

from .ears import SILENCE, BreakableRecognizer, parts_of, sound
from .talking import Talk, connect
from .test_mouth_strikes import Striker, quiet

STRIDE = int(os.environ.get("VOICE_STRIDE", "24"))
PLACES = 4
TEXT = "The door is open. Ask for more. "


def listen(talk: Talk, on: bool = True) -> None:
    """Ask to be heard, or not."""
    talk.wire.push({"type": "listen", "on": on, "echoCancelled": True})


async def say(talk: Talk, *frames: bytes) -> None:
    """Send audio as fast as it is spoken."""
    for pcm in frames:
        talk.wire.push(pcm)
        await trio.sleep(0.1)


async def in_silence(talk: Talk) -> None:
    """Say two sounds, then nothing."""
    await say(talk, sound(1), sound(2), *[SILENCE] * 9)


async def into_speech(talk: Talk) -> None:
    """Break an answer off."""
    talk.wire.push(ask())
    await talk.wire.until("speech")
    await trio.sleep(0.331)
    await in_silence(talk)


async def cut_off(talk: Talk) -> None:
    """End `listen` in a word, and begin it again at once."""
    await say(talk, sound(1), sound(2))
    listen(talk, on=False)
    listen(talk)
    await in_silence(talk)


SCENARIOS: dict[str, tuple[Callable[[Talk], Awaitable[None]], dict[str, Any]]] = {
    "in silence": (in_silence, {}),
    "into speech": (into_speech, {}),
    "a cough": (into_speech, {"partial": "", "words": ""}),
    "cut off": (cut_off, {"seconds": 0.3}),
    "crash in a word": (in_silence, {"fails": ["feed"]}),
    "crash at the end": (into_speech, {"fails": ["finish"], "partial": ""}),
    "crash when cut off": (cut_off, {"seconds": 0.3, "fails": ["finish"]}),
    "hang": (in_silence, {"hangs": ["finish"]}),
}


def break_ear(_: Talk, ear: BreakableRecognizer) -> None:
    """Let the ear fail at whatever is next."""
    ear.fails = ("open", "feed", "finish")


def hang_ear(_: Talk, ear: BreakableRecognizer) -> None:
    """Let the ear answer no more."""
    ear.hangs = ("open", "feed", "finish")


STRIKES: dict[str, Callable[[Talk, BreakableRecognizer], object]] = {
    "sound": lambda talk, _: talk.wire.push(sound(3)),
    "bad audio": lambda talk, _: talk.wire.push(b"odd"),
    "listen": lambda talk, _: listen(talk),
    "listen off": lambda talk, _: listen(talk, on=False),
    "cancel": lambda talk, _: talk.wire.push({"type": "cancel"}),
    "newer message": lambda talk, _: talk.wire.push(ask("x")),
    "crash": break_ear,
    "hang": hang_ear,
    "leaves": lambda talk, _: talk.wire.leave(),
    "lost": lambda talk, _: talk.wire.abort(),
}


class Run:
    """One struck run: `broken` lists the rules that it broke."""

    def __init__(self, scenario: str, strike: str, k: int) -> None:
        self.broken: list[str] = []
        self.steps = 0
        self._script, faults = SCENARIOS[scenario]
        self._ear = BreakableRecognizer(**faults)
        self._parts = parts_of(self._ear, PLACES)
        self._strike = strike
        self._k = k
        self._talk: Talk | None = None

    async def __call__(self) -> None:
        async with world() as w, trio.open_nursery() as nursery:
            w.brain.script = saying(TEXT)
            talk = self._talk = await connect(w, nursery, ears=self._parts)
            striker = Striker(self._k, self._hit)
            trio.lowlevel.add_instrument(striker)
            listen(talk)
            with trio.move_on_after(3.0):
                await self._script(talk)
            await trio.sleep(1.0)
            trio.lowlevel.remove_instrument(striker)
            if striker.error is not None:
                raise striker.error
            self.steps = striker.steps
            for _ in range(2):  # an ear hangs, and the one that the next `listen` has opened
                await trio.sleep(OPEN_TIMEOUT + 3.0)
                talk.wire.push({"type": "played", "seq": 0})  # the client is there
            self._note("the mouth is paused for ever", talk.mouth.state is MouthState.PAUSED)
            await self._talk_without_listen(talk)
            await self._talk_again(talk)
            talk.wire.leave()
            await trio.sleep(1.0)
            self._check_frames(talk)
            self._note("an ear is left", self._ear.open)
            self._note("a place is left", self._parts.places.free != PLACES)
            tasks = [task.name for task in nursery.child_tasks]
            self._note(f"tasks are left: {tasks}", tasks)
            talk = self._talk = None  # type: ignore[assignment]
            self._check_rest(w)
            nursery.cancel_scope.cancel()

    def _hit(self) -> None:
        assert self._talk is not None
        STRIKES[self._strike](self._talk, self._ear)

    async def _talk_without_listen(self, talk: Talk) -> None:
        """No ear hears it, whatever was struck."""
        self._mend()
        if talk.wire.has_ended:
            return
        listen(talk, on=False)
        await trio.sleep(1.0)
        fed, opened = self._ear.fed, self._ear.opened
        await say(talk, sound(1), sound(2))
        self._note("audio without listen is heard", (self._ear.fed, self._ear.opened) != (fed, opened))

    async def _talk_again(self, talk: Talk) -> None:
        """A client that is still there is heard, and once."""
        if talk.wire.has_ended:
            return
        self._ear.words = "the last words"
        listen(talk)
        await in_silence(talk)
        await trio.sleep(2.0)
        said = [each["text"] for _, kind, each in talk.transcript if kind == "taken" and "text" in each]
        self._note(f"the last words: {said}", said.count("the last words") != 1)

    def _mend(self) -> None:
        self._ear.fails = self._ear.hangs = ()
        self._ear.partial, self._ear.words, self._ear.seconds = "word", "two words", 0.0

    def _check_frames(self, talk: Talk) -> None:
        shown: set[str] = set()
        finals: dict[str, list[str]] = {}
        taken: Counter[str] = Counter()
        for _, kind, frame in talk.transcript:
            if kind == "taken" and frame["type"] == "message":
                self._note(f"taken without its final: {frame}", finals.get(frame["id"]) != [frame["text"]])
                taken[frame["id"]] += 1
            elif kind == "taken":
                self._note(f"taken: {frame}", frame["type"] != "cancel")
            elif kind == "frame" and frame["type"] == "heard":
                self._note(f"heard after its final: {frame}", frame["id"] in finals)
                shown.add(frame["id"])
                if frame.get("final"):
                    finals.setdefault(frame["id"], []).append(frame["text"])
        said = {id for id, texts in finals.items() if texts != [""]}
        self._note(f"taken: {taken}", set(taken.values()) - {1} or set(taken) - said)
        if self._strike not in ("leaves", "lost"):  # a client that is gone is not answered
            self._note(f"not taken: {said - set(taken)}", said - set(taken))
            self._note(f"without a final: {shown - set(finals)}", shown - set(finals))

    def _check_rest(self, w: World) -> None:
        try:
            w.nothing_is_left()
        except AssertionError as error:
            self.broken.append(f"something is left: {str(error).splitlines()[:1]}")

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


def test_nothing_strikes() -> None:
    """Each scenario keeps the rules by itself."""
    with quiet():
        assert {each: run(each, "cancel", 0).broken for each in SCENARIOS} == {each: [] for each in SCENARIOS}


def test_a_struck_onset_leaves_nothing() -> None:
    """One step of each way of striking; the proof takes the others."""
    with quiet():
        broken = {each: run("into speech", each, 60).broken for each in STRIKES}
    assert broken == {each: [] for each in STRIKES}


@pytest.mark.proof
@pytest.mark.parametrize("strike", STRIKES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_struck_hearing_leaves_nothing(scenario: str, strike: str) -> None:
    """At every step of listening, talking and ending."""
    broken = []
    with quiet():
        steps = run(scenario, strike, 0).steps
        first = 1 + list(STRIKES).index(strike) % STRIDE
        for k in range(first, steps + 1, STRIDE):
            broken += [f"step {k}: {each}" for each in run(scenario, strike, k).broken]
    assert broken == []
