"""The halves of voice: audio in and words out, text in and audio out, for the operator and without a session."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest
import trio
import trio.testing
from trio.testing import MockClock
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from agent.app import App
from agent.compose.adapters import Adapters
from agent.compose.halves import HalfMember
from agent.config import BAD_FRAMES, MAX_TEXT
from agent.errors import UsageError
from agent.lang import Lang
from agent.ports.voice import CHUNK_BYTES, CHUNK_SECONDS
from agent.settings import Settings
from agent.testing.network import inline
from agent.testing.wires import MemoryWire

from .ears import SILENCE, script, sound
from .talking import BrokenEngine
from .test_voice_server import NotedBrain

TOKEN = "an-operator-s-own-token-of-32-characters"
WORDS = "What does the standard plan cost?"
ENGINES = {"mouth": "tone", "ear": "script:none.json"}


class NotedEngine(BrokenEngine):
    """Beeps, and keeps the `words` that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def synthesize(self, words: str, lang: Lang) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self.words.append(words)
        return super().synthesize(words, lang)


@dataclass
class Server:
    """A server, its engine, and the clients that a test connects."""

    app: App
    nursery: trio.Nursery
    engine: NotedEngine

    async def connect(self, path: str, *offered: str) -> WebSocketConnection:
        """Connect to `path`, with subprotocols."""
        near, far = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self.app.serve_stream, far)
        return await wrap_client_stream(
            self.nursery, cast(Any, near), "localhost", path, subprotocols=offered or (f"bearer.{TOKEN}",)
        )


@asynccontextmanager
async def server(**settings: Any) -> AsyncGenerator[Server, None]:
    """Run a server with halves; at its end no engine and no session is left."""
    chosen = {"rate_limit": 0, "voice_halves": True, "token": TOKEN, **ENGINES, **settings}
    engine = NotedEngine()
    adapters = Adapters(
        run_sync=inline,
        brain=NotedBrain(),
        synthesizer=engine if chosen["mouth"] else None,
        recognizer=script({(1, 2): WORDS}) if chosen["ear"] else None,
    )
    app = App(Settings.of(**chosen), adapters)
    async with trio.open_nursery() as nursery:
        await nursery.start(app.run, False)
        yield Server(app, nursery, engine)
        app.stop()
        with trio.fail_after(60):
            await app.registry.wait_empty()
        await trio.sleep(1)
        assert engine.alive == 0
        nursery.cancel_scope.cancel()


async def send(client: WebSocketConnection, **frame: Any) -> None:
    await client.send_message(json.dumps(frame))


async def receive(client: WebSocketConnection, last: str) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return the frames up to one of the type `last`, and the audio between them."""
    frames: list[dict[str, Any]] = []
    audio: list[bytes] = []
    with trio.move_on_after(60) as waiting:
        while not frames or frames[-1]["type"] != last:
            message = await client.get_message()
            if isinstance(message, bytes):
                audio.append(message)
            else:
                frames.append(json.loads(message))
    assert not waiting.cancelled_caught, f"no {last} came"
    return frames, audio


async def until(client: WebSocketConnection, last: str) -> dict[str, Any]:
    """Return the next frame of the type `last`."""
    return (await receive(client, last))[0][-1]


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        ("/ws/stt", {"voice_halves": False}),
        ("/ws/tts", {"voice_halves": False}),
        ("/ws/stt", {"ear": None}),
        ("/ws/tts", {"mouth": None}),
    ],
)
async def test_a_half_that_is_not_served_is_no_path(
    path: str, settings: dict[str, Any], autojump_clock: MockClock
) -> None:
    """It is answered as any path that was never there."""
    async with server(**settings) as running:
        answers = []
        for each in (path, "/ws/none"):
            near, far = trio.testing.memory_stream_pair()
            running.nursery.start_soon(running.app.serve_stream, far)
            await near.send_all(
                f"GET {each} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                f"Authorization: Bearer {TOKEN}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            answers.append(bytes(await near.receive_some()))
            await near.aclose()
        assert answers[0].startswith(b"HTTP/1.1 404 ")
        assert answers[0] == answers[1]


@pytest.mark.parametrize("path", ["/ws/stt", "/ws/tts"])
@pytest.mark.parametrize(
    ("offered", "settings"),
    [
        (("agent.v1",), {}),
        (("agent.v1",), {"guests": True}),
        (("agent.v1", "bearer.wrong"), {}),
        (("agent.v1", "bearer.ak_0123456789012345678901"), {}),
    ],
)
async def test_a_half_is_the_operators(
    path: str, offered: tuple[str, ...], settings: dict[str, Any], autojump_clock: MockClock
) -> None:
    """A guest, a wrong token and a project's key are closed with 4401 before the first frame."""
    async with server(**settings) as running:
        client = await running.connect(path, *offered)
        with pytest.raises(ConnectionClosed) as caught:
            await client.get_message()
        assert caught.value.reason is not None
        assert caught.value.reason.code == 4401


@pytest.mark.parametrize("path", ["/ws/stt", "/ws/tts"])
async def test_a_server_without_a_token_takes_everybody_for_the_operator(
    path: str, autojump_clock: MockClock
) -> None:
    """As its other routes for the operator do: it listens to this machine only, unless told otherwise."""
    async with server(token=None) as running:
        client = await running.connect(path, "agent.v1")
        assert (await until(client, "welcome"))["vouched"] is False
        await client.aclose()


def test_halves_need_an_engine() -> None:
    """Else the setting would do nothing."""
    with pytest.raises(UsageError, match="voice-halves needs mouth, ear or both"):
        Settings.of(voice_halves=True)


async def test_audio_is_heard(autojump_clock: MockClock) -> None:
    """The first frame says that nothing vouches for it; no message and no session follows."""
    async with server() as running:
        client = await running.connect("/ws/stt")
        welcome = await until(client, "welcome")
        assert (welcome["vouched"], welcome["hears"]) == (False, ["en", "sv"])
        assert "nothing vouches" in welcome["message"]
        await send(client, type="listen", on=True)
        for pcm in (sound(1), sound(2), *[SILENCE] * 8):
            await client.send_message(pcm)
        frames, _ = await receive(client, "heard")
        final = await until(client, "heard")
        assert [(each["text"], each.get("final", False)) for each in (*frames, final)] == [
            (WORDS, False),
            (WORDS, True),
        ]
        await send(client, type="message", id="m", text="hello")
        assert (await until(client, "error"))["message"] == "Use a type that exists: listen."
        await client.aclose()


async def test_a_text_is_said(autojump_clock: MockClock) -> None:
    """Numbers are said in words, as those of an answer, and what cannot be read back is not said."""
    async with server() as running:
        client = await running.connect("/ws/tts")
        welcome = await until(client, "welcome")
        assert (welcome["vouched"], welcome["speaks"]) == (False, ["en", "sv"])
        assert "nothing vouches" in welcome["message"]
        text = "It costs 25 kr. Ask for ⅔ of ½⅓ cups."
        await send(client, type="say", id="a", text=text)
        frames, audio = await receive(client, "speech_end")
        told = [(each["seq"], text[each["from"] : each["to"]]) for each in frames[:-1]]
        assert told == [(1, "It costs 25 kr."), (2, "Ask for ⅔ of ½⅓ cups.")]
        assert frames[-1] == {"type": "speech_end", "id": "a", "reason": "done"}
        assert running.engine.words == ["It costs twenty-five kronor.", "The figure is on your screen."]
        assert {len(each) for each in audio} == {CHUNK_BYTES}
        await send(client, type="played", seq=1)
        await client.aclose()


async def test_a_cancel_silences_within_a_word(autojump_clock: MockClock) -> None:
    """Its `speech_end` comes at once, no audio after it, and a cancel of another text changes nothing."""
    async with server() as running:
        client = await running.connect("/ws/tts")
        await send(client, type="say", id="a", text="one two three four five six seven eight nine ten")
        await until(client, "speech")
        await send(client, type="cancel", id="b")
        await trio.sleep(0.5)
        await send(client, type="cancel", id="a")
        begun = trio.current_time()
        frames, audio = await receive(client, "speech_end")
        assert frames[-1]["reason"] == "cancelled"
        assert trio.current_time() - begun < 0.1
        assert len(audio) * CHUNK_SECONDS < 1.0
        with trio.move_on_after(3) as quiet:
            await client.get_message()
        assert quiet.cancelled_caught
        assert running.engine.alive == 0
        await client.aclose()


async def test_a_second_text_replaces_the_first(autojump_clock: MockClock) -> None:
    """One place is enough for both, and only one engine runs at a time."""
    async with server(voice_streams=1) as running:
        client = await running.connect("/ws/tts")
        await send(client, type="say", id="a", text="one two three four five six seven eight nine ten")
        await until(client, "speech")
        await send(client, type="say", id="b", text="Hello there")
        assert await until(client, "speech_end") == {
            "type": "speech_end",
            "id": "a",
            "reason": "cancelled",
        }
        frames, audio = await receive(client, "speech_end")
        assert {each["id"] for each in frames} == {"b"}
        assert frames[-1]["reason"] == "done"
        assert audio
        assert running.engine.most == 1
        await client.aclose()


async def test_streams_count_both_halves(autojump_clock: MockClock) -> None:
    """The next is told `busy` with a sentence, until a place is free; a silent connection has none."""
    async with server(voice_streams=1) as running:
        speaker, other = [await running.connect("/ws/tts") for _ in range(2)]
        talker = await running.connect("/ws/stt")
        await send(speaker, type="say", id="a", text="one two three four five six seven eight nine ten")
        await until(speaker, "speech")
        await send(other, type="say", id="b", text="Hello")
        refusal = await until(other, "error")
        assert (refusal["code"], refusal["id"]) == ("busy", "b")
        await send(talker, type="listen", on=True)
        assert (await until(talker, "error"))["code"] == "busy"
        await until(speaker, "speech_end")
        await send(talker, type="listen", on=True)
        await trio.sleep(0.1)
        await send(speaker, type="say", id="c", text="Hello")
        assert (await until(speaker, "error"))["code"] == "busy"
        await talker.aclose()
        await trio.sleep(1)
        await send(other, type="say", id="d", text="Hello")
        assert (await until(other, "speech_end"))["reason"] == "done"
        await speaker.aclose()
        await other.aclose()


@pytest.mark.parametrize(
    ("path", "frame", "sentence"),
    [
        ("/ws/stt", b"\0" * 3, "Send audio as PCM"),
        ("/ws/stt", sound(1), "Send listen with on true before audio"),
        ("/ws/stt", {"type": "listen"}, "Add the field on to the listen"),
        ("/ws/stt", {"type": "say", "id": "a", "text": "b"}, "Use a type that exists: listen."),
        ("/ws/tts", sound(1), "Send text frames only"),
        ("/ws/tts", {"type": "say", "text": "b"}, "Add the field id to the say"),
        ("/ws/tts", {"type": "say", "id": "a", "text": ""}, "Do not leave the field text of the say empty."),
        (
            "/ws/tts",
            {"type": "say", "id": "a", "text": "b" * (MAX_TEXT + 1)},
            f"Shorten the field text of the say to at most {MAX_TEXT}",
        ),
        ("/ws/tts", {"type": "say", "id": "a", "text": "b", "lang": "xx"}, "Set the field lang of the say"),
        ("/ws/tts", {"type": "played"}, "Give the played the field seq"),
        ("/ws/tts", {"type": "cancel", "id": 1}, "Make the field id of the cancel a string"),
        ("/ws/tts", {"type": "message"}, "Use a type that exists: say, cancel or played."),
    ],
)
async def test_a_bad_frame_is_refused_with_a_sentence(
    path: str, frame: dict[str, Any] | bytes, sentence: str, autojump_clock: MockClock
) -> None:
    """The connection stays."""
    async with server() as running:
        client = await running.connect(path)
        await client.send_message(frame if isinstance(frame, bytes) else json.dumps(frame))
        error = await until(client, "error")
        assert error["code"] == "bad_message"
        assert error["message"].startswith(sentence)
        assert client.closed is None
        await client.aclose()


@pytest.mark.parametrize("path", ["/ws/stt", "/ws/tts"])
async def test_too_many_bad_frames_close(path: str, autojump_clock: MockClock) -> None:
    """As those of a session do."""
    async with server() as running:
        client = await running.connect(path)
        for _ in range(BAD_FRAMES):
            await client.send_message("{")
        with pytest.raises(ConnectionClosed) as caught:
            await until(client, "never")
        assert caught.value.reason is not None
        assert (caught.value.reason.code, caught.value.reason.reason) == (1008, "too many bad frames")


@pytest.mark.parametrize("path", ["/ws/stt", "/ws/tts"])
async def test_a_drain_ends_a_half(path: str, autojump_clock: MockClock) -> None:
    """At once, in the middle of a word; a client that asks is not sent away for want of a message."""
    async with server(idle_timeout=5.0) as running:
        client = await running.connect(path)
        ask = (
            {"type": "listen", "on": True} if path == "/ws/stt" else {"type": "say", "id": "a", "text": "A b"}
        )
        await client.send_message(json.dumps(ask))
        await trio.sleep(20)
        assert client.closed is None
        await client.send_message(json.dumps(ask))
        running.app.drain()
        with pytest.raises(ConnectionClosed) as caught:
            await until(client, "never")
        assert caught.value.reason is not None
        assert caught.value.reason.code == 1012


async def test_a_client_that_leaves_leaves_nothing(autojump_clock: MockClock) -> None:
    """No engine, no ear and no place, wherever it was."""
    async with server(voice_streams=1) as running:
        for path, ask in (
            ("/ws/tts", {"type": "say", "id": "a", "text": "one two three four five six"}),
            ("/ws/stt", {"type": "listen", "on": True}),
        ) * 4:
            client = await running.connect(path)
            await send(client, **ask)
            await until(client, "welcome")
            await trio.sleep(0.3)
            await client.aclose()
            await trio.sleep(3)
            assert len(running.app.registry) == 0
            assert running.engine.alive == 0
        assert running.engine.begun == 4


class StubHalf:
    """A half on a wire in memory (stands in for `VoiceHalf`)."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.connection = MemoryWire(nursery)

    def close(self, code: int, reason: str) -> None:
        self.connection.close(code, reason)


async def test_a_half_whose_client_answers_no_ping_is_closed(autojump_clock: MockClock) -> None:
    """As a session is: at the second ping, and not while bytes come."""
    async with trio.open_nursery() as nursery:
        half = StubHalf(nursery)
        member = HalfMember(cast(Any, half))
        for _ in range(3):
            member.keepalive()
            await trio.sleep(20)
            half.connection.received_at = trio.current_time()
        await trio.sleep(1)
        member.keepalive()
        assert half.connection.raw == [b"PING"] * 4
        await trio.sleep(20)
        member.keepalive()
        half.connection.flush()
        assert half.connection.raw[4:] == [b"CLOSE 1011"]
        nursery.cancel_scope.cancel()
