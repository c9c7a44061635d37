"""A server that is asked aloud for an action: it suggests, reads back, and a spoken yes confirms only after that."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock
from trio_websocket import ConnectionClosed, WebSocketConnection

from agent import tool
from agent.llm.payloads import PayloadFiller
from agent.ports.decide import Act, Noop
from agent.ports.model import Finish, TextDelta
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.fakes import ScriptedDecider
from agent.testing.models import FakeModel
from agent.testing.network import inline
from agent.voice.engines.tone import Tone

from .ears import SILENCE, BreakableRecognizer, sound
from .test_voice_server import served

CALL = "Please call me on 0701740605"
DOCUMENTS = (SourceFile.of("kb/pricing.md", "# Pricing\n\nThe Standard plan costs 299 kr a month.\n"),)


class NotedTone(Tone):
    """Beeps, and keeps the words."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def synthesize(self, words: str, lang: Any) -> Any:
        self.said.append(words)
        return super().synthesize(words, lang)


class Caller:
    """A client that talks, and keeps what comes."""

    def __init__(self, socket: WebSocketConnection, ear: BreakableRecognizer, mouth: NotedTone) -> None:
        self.frames: list[dict[str, Any]] = []
        self.mouth = mouth
        self._socket = socket
        self._ear = ear
        self._came = trio.Event()  # a frame

    async def read(self) -> None:
        """Keep the frames that come."""
        try:
            while True:
                message = await self._socket.get_message()
                if isinstance(message, str):
                    self.frames.append(json.loads(message))
                    self._came.set()
                    self._came = trio.Event()
        except ConnectionClosed:
            pass

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the frames of a type."""
        return [frame for frame in self.frames if frame["type"] == kind]

    async def send(self, kind: str, **fields: Any) -> None:
        """Send a frame."""
        await self._socket.send_message(json.dumps({"type": kind, **fields}))

    async def say(self, words: str, partial: str | None = None, silence: float = 1.0) -> None:
        """Say something aloud, and then nothing."""
        self._ear.partial, self._ear.words = words if partial is None else partial, words
        for pcm in (sound(1), sound(2), *[SILENCE] * round(silence * 10)):
            await self._socket.send_message(pcm)
            await trio.sleep(0.1)

    async def until(self, done: Callable[[], object]) -> None:
        """Wait until `done` holds."""
        with trio.fail_after(60):
            while not done():
                await self._came.wait()

    async def hear_out(self) -> None:
        """Listen until the mouth is silent, and tell that all was played."""
        begun = {frame["id"] for frame in self.of("speech")}
        await self.until(
            lambda: begun | {f["id"] for f in self.of("speech")} == self._ended() and self._ended()
        )
        await self.send("played", seq=self.of("speech")[-1]["seq"])
        await trio.sleep(0.1)

    def _ended(self) -> set[str]:
        return {frame["id"] for frame in self.of("speech_end")}


@asynccontextmanager
async def calling(
    confirms: bool = True, is_sure: bool = True, settings: Mapping[str, Any] = {}, **parts: Any
) -> AsyncGenerator[Caller]:
    """Connect a client to a server that speaks and hears."""
    own = Settings.of(pace_ms=0, rate_limit=0, voice_confirm=confirms, **settings)
    ear, mouth = BreakableRecognizer(is_sure=is_sure), NotedTone()
    knowledge = KnowledgeBase.build(DOCUMENTS)
    async with (
        served(own, knowledge=knowledge, recognizer=ear, synthesizer=mouth, **parts) as connect,
        trio.open_nursery() as nursery,
    ):
        caller = Caller(await connect("agent.voice.v1"), ear, mouth)
        nursery.start_soon(caller.read)
        await caller.send("listen", on=True, echoCancelled=True)
        yield caller
        nursery.cancel_scope.cancel()


@tool(requires_approval=False)
def find_stock(phone: str) -> str:
    """Find the customer who has a phone number."""
    return f"{phone}: none"


async def ask_for_a_call(caller: Caller) -> dict[str, Any]:
    """Ask aloud to be called, and listen to the read-back; return the suggestion."""
    await caller.say(CALL)
    await caller.until(lambda: caller.of("action_suggestion"))
    await caller.hear_out()
    return caller.of("action_suggestion")[-1]


async def test_what_was_heard_is_suggested_and_read_back_by_its_digits(autojump_clock: MockClock) -> None:
    """The suggestion says that it was heard."""
    async with calling() as caller:
        suggestion = await ask_for_a_call(caller)
        assert (suggestion["heard"], suggestion["payload"]["phone"]) == (True, "0701740605")
        assert "phone: zero seven zero one seven four zero six zero five" in caller.mouth.said[-1]
        assert not any(map(str.isdigit, "".join(caller.mouth.said)))
        assert not caller.of("action_executed")


async def test_a_tool_that_needs_no_approval_needs_it_for_what_was_heard(autojump_clock: MockClock) -> None:
    """Typed, the same call runs at once."""
    decider = ScriptedDecider(Act("find_stock", {"phone": "0701740605"}), Noop())
    async with calling(decider=decider, functions=(find_stock,)) as caller:
        await caller.send("message", id="m", text=CALL)
        await caller.until(lambda: caller.of("response"))
        assert not caller.of("action_suggestion")
    decider = ScriptedDecider(Act("find_stock", {"phone": "0701740605"}), Noop())
    async with calling(decider=decider, functions=(find_stock,)) as caller:
        suggestion = await ask_for_a_call(caller)
        assert (suggestion["action"], suggestion["heard"]) == ("find_stock", True)


@pytest.mark.parametrize("is_typed", [True, False])
async def test_a_number_that_completes_what_was_heard_is_marked_as_heard(
    is_typed: bool, autojump_clock: MockClock
) -> None:
    """Though no history tells that it was: none is kept."""
    filler = FakeModel([(0.0, TextDelta("{}"), Finish("stop"))] * 2)
    settings = {"payloads": "model", "history_tokens": 0}
    async with calling(settings=settings, filler=PayloadFiller(filler, inline)) as caller:
        await caller.say("Please call me, I am Anna")
        await caller.until(lambda: caller.of("response"))
        assert not caller.of("action_suggestion")
        if is_typed:
            await caller.send("message", id="typed", text="0701740605")
        else:
            await caller.say("0701740605")
        await caller.until(lambda: caller.of("action_suggestion"))
        (suggestion,) = caller.of("action_suggestion")
        assert (suggestion["heard"], suggestion["payload"]["phone"]) == (True, "0701740605")
        await trio.sleep(5)
        assert not caller.of("action_executed")


async def test_a_spoken_yes_confirms_what_was_read_back(autojump_clock: MockClock) -> None:
    """Once."""
    async with calling() as caller:
        suggestion = await ask_for_a_call(caller)
        await caller.say("yes")
        await caller.until(lambda: caller.of("action_executed"))
        await caller.say("yes")
        executed = [each["suggestionId"] for each in caller.of("action_executed")]
        assert executed == [suggestion["suggestionId"]]


@pytest.mark.parametrize("words", ["no, not yes", "yes but wait", "yes yes", "not yes", "yes, call me on 5"])
async def test_what_is_more_than_yes_confirms_nothing(words: str, autojump_clock: MockClock) -> None:
    """Though it begins as one."""
    async with calling() as caller:
        await ask_for_a_call(caller)
        await caller.say(words, partial="yes")
        await trio.sleep(5)
        assert not caller.of("action_executed")


@pytest.mark.parametrize("given", [{"confirms": False}, {"is_sure": False}])
async def test_a_yes_that_may_not_confirm_is_a_message(
    given: dict[str, Any], autojump_clock: MockClock
) -> None:
    """Without the setting, or where the recogniser is not sure."""
    async with calling(**given) as caller:
        await ask_for_a_call(caller)
        await caller.say("yes")
        await trio.sleep(5)
        assert not caller.of("action_executed")


async def test_a_yes_before_all_was_played_confirms_nothing(autojump_clock: MockClock) -> None:
    """All but the last sentence was."""
    async with calling() as caller:
        await caller.say(CALL)
        await caller.until(lambda: caller.of("action_suggestion"))
        await caller.until(lambda: caller.of("speech_end"))
        await caller.send("played", seq=caller.of("speech")[-1]["seq"] - 1)
        await caller.say("yes")
        await trio.sleep(5)
        assert not caller.of("action_executed")


async def test_a_yes_into_the_read_back_confirms_nothing(autojump_clock: MockClock) -> None:
    """Whatever the client says that it has played."""
    async with calling() as caller:
        await caller.say(CALL)
        await caller.until(lambda: caller.of("action_suggestion"))
        await caller.until(lambda: len(caller.mouth.said) > 1 and caller.of("speech"))
        await caller.send("played", seq=99)
        await caller.say("yes")
        await trio.sleep(5)
        assert not caller.of("action_executed")


@pytest.mark.parametrize(("partial", "ends"), [("yes", False), ("", False), ("yes", True), ("", True)])
async def test_a_yes_into_another_answer_confirms_nothing(
    partial: str, ends: bool, autojump_clock: MockClock
) -> None:
    """It breaks that answer off, or pauses it: neither makes the mouth one that did not speak."""
    async with calling() as caller:
        await ask_for_a_call(caller)
        count = len(caller.of("speech"))
        await caller.send("message", id="other", text="What does the standard plan cost?")
        await caller.until(lambda: len(caller.of("speech")) > count)
        await caller.say("yes", partial=partial, silence=0.0 if ends else 1.0)
        if ends:
            await caller.send("listen", on=False)
        await trio.sleep(5)
        assert not caller.of("action_executed")


async def test_of_two_suggestions_a_yes_confirms_none(autojump_clock: MockClock) -> None:
    """Though both were read back."""
    async with calling() as caller:
        await caller.say(f"{CALL} and open a ticket")
        await caller.until(lambda: len(caller.of("action_suggestion")) > 1)
        await caller.hear_out()
        await caller.say("yes")
        await trio.sleep(5)
        assert not caller.of("action_executed")
