"""A server with an ear: the handshake, and a question that is asked aloud."""

import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing
from trio.testing import MockClock
from trio_websocket import WebSocketConnection, wrap_client_stream

from agent.app import App
from agent.compose.adapters import Adapters
from agent.config import MEMORY
from agent.ports.brain import DraftCompleted, Question, RunCall, TurnEvent, VerifiedPart
from agent.settings import Settings
from agent.testing.network import inline
from agent.voice.engines.script import Script

from ..session.driver import text
from .ears import BreakableRecognizer, sound

Emit = Callable[[TurnEvent], None]
WORDS = "What does the standard plan cost?"
HASH = hashlib.sha256(sound(1) + sound(2)).hexdigest()


class NotedBrain:
    """Answers everything with one text, and keeps the questions."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    async def answer(self, question: Question, emit: Emit, act: RunCall | None = None) -> None:
        await trio.lowlevel.checkpoint()
        self.questions.append(question)
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("It costs 299 kr.")))


@asynccontextmanager
async def server(
    **parts: Any,
) -> AsyncGenerator[tuple[Callable[..., Awaitable[WebSocketConnection]], NotedBrain]]:
    """Run a server, and give a function that connects to it with subprotocols."""
    brain = NotedBrain()
    async with served(Settings.of(pace_ms=0, rate_limit=0), brain=brain, **parts) as connect:
        yield connect, brain


@asynccontextmanager
async def served(
    settings: Settings, **parts: Any
) -> AsyncGenerator[Callable[..., Awaitable[WebSocketConnection]]]:
    """Run a server of `settings`, as `server` does."""
    app = App(settings, Adapters(run_sync=inline, **parts))
    async with trio.open_nursery() as nursery:
        await nursery.start(app.run, False)

        async def connect(*offered: str, path: str = "/ws") -> WebSocketConnection:
            near, far = trio.testing.memory_stream_pair()
            nursery.start_soon(app.serve_stream, far)
            return await wrap_client_stream(nursery, cast(Any, near), "localhost", path, subprotocols=offered)

        yield connect
        app.stop()
        nursery.cancel_scope.cancel()


async def frames(client: WebSocketConnection, last: str) -> list[dict[str, Any]]:
    """Return the frames up to one of the type `last`."""
    found: list[dict[str, Any]] = []
    with trio.fail_after(60):
        while not found or found[-1]["type"] != last:
            found.append(json.loads(await client.get_message()))
    return found


@pytest.mark.parametrize("path", ["/ws", "/"])
@pytest.mark.parametrize(
    ("offered", "has_ear", "confirmed"),
    [
        (("agent.voice.v1", "agent.v1"), True, "agent.voice.v1"),
        (("agent.v1", "agent.voice.v1"), True, "agent.voice.v1"),
        (("agent.voice.v1",), True, "agent.voice.v1"),
        (("agent.v1",), True, "agent.v1"),
        ((), True, None),
        (("agent.voice.v1", "agent.v1"), False, "agent.v1"),
        (("agent.voice.v1",), False, None),
    ],
)
async def test_the_handshake_tells_who_may_talk(
    path: str, offered: tuple[str, ...], has_ear: bool, confirmed: str | None, autojump_clock: MockClock
) -> None:
    """A server without voice serves a client that offers it as any other; `welcome` names the languages."""
    parts = {"recognizer": Script({})} if has_ear else {}
    async with server(**parts) as (connect, _):
        client = await connect(*offered, path=path)
        assert client.subprotocol == confirmed
        if confirmed is not None:
            (welcome,) = await frames(client, "welcome")
            voice = {"speaks": [], "hears": ["en", "sv"]} if confirmed == "agent.voice.v1" else None
            assert welcome.get("voice") == voice


async def test_a_question_that_is_asked_aloud_is_answered(autojump_clock: MockClock) -> None:
    """It is marked as heard, and has the id that its `heard` frames have."""
    async with server(recognizer=Script({HASH: WORDS})) as (connect, brain):
        client = await connect("agent.voice.v1", "agent.v1")
        await client.send_message(json.dumps({"type": "listen", "on": True, "echoCancelled": True}))
        for pcm in (sound(1), sound(2), *[bytes(3200)] * 8):
            await client.send_message(pcm)
        got = await frames(client, "response")
        heard = [frame for frame in got if frame["type"] == "heard"]
        assert [(each["text"], each.get("final", False)) for each in heard] == [(WORDS, False), (WORDS, True)]
        assert (got[-1]["id"], got[-1]["text"]) == (heard[-1]["id"], "It costs 299 kr.")
        assert [(each.text, each.heard) for each in brain.questions] == [(WORDS, True)]


async def test_text_goes_on_beside_audio(autojump_clock: MockClock) -> None:
    """What is typed is no heard message; its history remembers which was."""
    async with server(recognizer=Script({HASH: WORDS})) as (connect, brain):
        client = await connect("agent.voice.v1")
        await client.send_message(json.dumps({"type": "listen", "on": True}))
        for pcm in (sound(1), sound(2), *[bytes(3200)] * 8):
            await client.send_message(pcm)
        await frames(client, "response")
        await client.send_message(json.dumps({"type": "message", "id": "m", "text": "And the other one?"}))
        await frames(client, "response")
        first, second = brain.questions
        assert (first.heard, second.heard, second.follows_speech) == (True, False, True)


async def test_a_thread_that_is_opened_again_knows_what_was_heard(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """By another connection of its user, whose typed message follows speech too."""
    users = tmp_path / "users.toml"
    users.write_text('ana = "anas-own-secret-token"\n', encoding="utf-8")
    settings = Settings.of(
        token="the-operators-own-token", users=users, memory="on", data=MEMORY, pace_ms=0, rate_limit=0
    )
    brain = NotedBrain()
    async with served(settings, brain=brain, recognizer=Script({HASH: WORDS})) as connect:
        offered = ("agent.voice.v1", "bearer.anas-own-secret-token")
        client = await connect(*offered)
        await client.send_message(json.dumps({"type": "open_thread"}))
        opened = (await frames(client, "thread"))[-1]
        await client.send_message(json.dumps({"type": "listen", "on": True}))
        for pcm in (sound(1), sound(2), *[bytes(3200)] * 8):
            await client.send_message(pcm)
        await frames(client, "response")
        await client.aclose()
        await trio.sleep(1)
        again = await connect(*offered)
        await again.send_message(json.dumps({"type": "open_thread", "thread": opened["thread"]}))
        await frames(again, "thread")
        await again.send_message(json.dumps({"type": "message", "id": "m", "text": "And the other one?"}))
        await frames(again, "response")
    question = brain.questions[-1]
    assert [each.question for each in question.history] == [WORDS]
    assert (question.heard, question.follows_speech) == (False, True)


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ({"type": "listen"}, "Add the field on to the listen: true or false."),
        ({"type": "listen", "on": 1}, "Make the field on of the listen true or false."),
        (
            {"type": "listen", "on": True, "echoCancelled": 2},
            "Make the field echoCancelled of the listen true or",
        ),
        ({"type": "played", "seq": -1}, "Give the played the field seq"),
    ],
)
async def test_a_bad_frame_about_voice_is_refused_as_all_others(
    frame: dict[str, Any], sentence: str, autojump_clock: MockClock
) -> None:
    """By the session, which counts it."""
    async with server(recognizer=BreakableRecognizer()) as (connect, _):
        client = await connect("agent.voice.v1")
        await client.send_message(json.dumps(frame))
        error = (await frames(client, "error"))[-1]
        assert error["code"] == "bad_message"
        assert error["message"].startswith(sentence)


async def test_a_binary_frame_without_voice_is_refused_as_today(autojump_clock: MockClock) -> None:
    """The sentence is the same."""
    async with server(recognizer=BreakableRecognizer()) as (connect, _):
        client = await connect("agent.v1")
        await client.send_message(sound(1))
        error = (await frames(client, "error"))[-1]
        assert error["message"] == "Send text frames only; this frame was binary."
