"""The composed server over memory streams: drain, stop, and the parts that can be swapped."""

import gc
import weakref
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from agent.app import App
from agent.client.chat import ask_once
from agent.client.client import connect_over
from agent.client.descriptions import TO_CONFIRM
from agent.compose.adapters import Adapters
from agent.config import DRAIN_TIMEOUT
from agent.errors import UsageError, WireClosed
from agent.host import WallClock, WorkerThreads, new_id
from agent.retrieval.load import SourceFile
from agent.retrieval.watch import TouchedPaths
from agent.settings import Settings
from agent.testing.network import inline, network

KB = (SourceFile.of("kb/pricing.md", "# Pricing\n\nThe Standard plan costs 299 kr a month.\n"),)
QUIET = Settings.of(pace_ms=0, rate_limit=0)


@pytest.mark.parametrize(("model", "quotes"), [("mock", b"yes"), ("openai:m", b"")])
async def test_the_page_says_that_no_language_model_is_set(
    model: str, quotes: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """And nothing of it where a model is set."""
    settings = Settings.of(model=model, base_url=None if quotes else "http://localhost:9/v1")
    async with network(settings, documents=KB) as net:
        pipe = net.open()
        await pipe.send_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        page = b"".join([part async for part in pipe])
    assert b'<meta name="agent-quotes" content="%s">' % quotes in page


@pytest.mark.parametrize(("guests", "stories"), [(False, b"yes"), (True, b"")])
async def test_the_page_links_to_stories_where_visitors_have_some(
    guests: bool, stories: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """Not for guests: a story needs a name."""
    settings = Settings.of(token="t" * 20 if guests else None, guests=guests)
    async with network(settings, documents=KB) as net:
        pipe = net.open()
        await pipe.send_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        page = b"".join([part async for part in pipe])
    assert b'<meta name="agent-stories" content="%s">' % stories in page


async def test_ask_prints_every_suggestion_of_an_answer(autojump_clock: trio.testing.MockClock) -> None:
    """They follow the answer, and are taken before the client leaves."""
    printed: list[str] = []
    async with network(QUIET, documents=KB) as net, net.connect() as client:
        text = "Call me on 070-174 06 05. Send an SMS to 070-174 06 05: hello."
        assert await ask_once(client, text, printed.append, printed.append) == 0
    lines = "".join(printed).splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        "Please confirm this.",
        "Suggested, not done: schedule_callback",
        "Suggested, not done: send_sms",
        TO_CONFIRM,
    ]


def hanging(folder: Path) -> str:
    path = folder / "script.json"
    path.write_text('[{"match": "standard", "hang": true}]', encoding="utf-8")
    return f"script:{path}"


async def test_a_question_is_answered_from_the_knowledge_base(autojump_clock: trio.testing.MockClock) -> None:
    """The whole path: upgrade, session, retrieval, model, verifier, page of sources."""
    async with network(QUIET, documents=KB) as net, net.connect() as client:
        await client.ask("What does the standard plan cost?")
        frames = await client.frames_until("response")
        assert frames[0]["type"] == "welcome"
        assert "299" in frames[-1]["text"]
        assert frames[-1]["citations"][0]["file"] == "kb/pricing.md"


async def test_a_question_that_is_asked_again_needs_no_search(autojump_clock: trio.testing.MockClock) -> None:
    """Nor does another client's; the figures tell."""
    async with network(QUIET, documents=KB) as net:
        told = []
        for _ in range(2):
            async with net.connect() as client:
                await client.ask("What does the standard plan cost?")
                told.append((await client.frames_until("response"))[-1])
        assert told[0]["citations"] == told[1]["citations"]
        figures = net.app.metrics.text().decode()
    for hits in ("searched", "kept"):
        assert f'agent_searches_total{{hits="{hits}"}} 1.0' in figures


async def test_a_greeting_is_answered_with_what_the_documents_are_about(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The same path without a search: an answer that cites nothing."""
    async with network(QUIET, documents=KB) as net, net.connect() as client:
        await client.ask("Hello!")
        said = (await client.frames_until("response"))[-1]
        assert said["text"].endswith("They are about:\n• Pricing")
        assert (said["citations"], "confidence" in said) == ([], False)


async def test_a_drain_closes_idle_sessions_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """They are told 1012 and the server ends without waiting."""
    async with network(QUIET, documents=KB) as net, net.connect() as client:
        await client.next_frame()
        net.app.drain()
        net.app.drain()
        with pytest.raises(WireClosed) as closed:
            await client.next_frame()
        assert closed.value.code == 1012
        assert trio.current_time() == 0


async def test_a_drain_gives_a_busy_session_its_time(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """After 25 seconds its turn is cancelled, and it closes with 1012."""
    settings = Settings.of(pace_ms=0, model=hanging(tmp_path), turn_timeout=1000)
    async with network(settings, documents=KB) as net, net.connect() as client:
        await client.next_frame()
        await client.ask("What does the standard plan cost?", id="q")
        await trio.testing.wait_all_tasks_blocked()
        net.app.drain()
        end = await client.next_frame()
        assert end == {"type": "stream_end", "reason": "cancelled", "id": "q"}
        assert trio.current_time() == DRAIN_TIMEOUT
        with pytest.raises(WireClosed) as closed:
            await client.next_frame()
        assert closed.value.code == 1012


async def test_a_stop_ends_everything_now(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """A second SIGTERM waits for nothing."""
    settings = Settings.of(pace_ms=0, model=hanging(tmp_path))
    async with trio.open_nursery() as nursery:
        async with network(settings, documents=KB) as net, net.connect() as client:
            await client.next_frame()
            await client.ask("What does the standard plan cost?")
            await trio.testing.wait_all_tasks_blocked()
            net.app.drain()
            net.app.stop()
            with pytest.raises(WireClosed):
                await client.frames_until("response")
            assert len(net.app.registry) == 0
        assert trio.current_time() < 1
        assert not nursery.child_tasks


async def test_a_connection_that_comes_after_the_stop_is_closed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody is served by a server that has ended: its timers and its actions are gone."""
    async with network(QUIET, documents=KB) as net:
        net.app.stop()
        end = net.open()
        with trio.move_on_after(1) as late:
            assert await end.receive_some() == b""
        assert not late.cancelled_caught, "it is served"


@pytest.mark.parametrize("end", ["close", "cancel and close", "drop", "drop while it thinks"])
async def test_a_client_that_has_left_is_freed_without_a_garbage_collection(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, end: str
) -> None:
    """A full collection stops the loop for everybody, so the clients that come and go must not ask for one."""
    thinks = end in ("cancel and close", "drop while it thinks")
    settings = Settings.of(pace_ms=0, rate_limit=0, model=hanging(tmp_path) if thinks else QUIET.model.model)
    gc.disable()
    try:
        async with network(settings, documents=KB) as net:
            pipe = net.open()
            async with connect_over(pipe) as client:
                await client.next_frame()
                asked = await client.ask("What does the standard plan cost?")
                if not thinks:
                    await client.frames_until("response")
                await trio.testing.wait_all_tasks_blocked()
                (session,) = net.app.registry
                kept = [weakref.ref(session), weakref.ref(session._wire)]  # type: ignore[attr-defined]
                del session
                if end == "cancel and close":
                    await client.cancel(asked)
                    await client.frames_until("stream_end")
                elif end.startswith("drop"):
                    await trio.aclose_forcefully(pipe)
            await trio.testing.wait_all_tasks_blocked()
            assert len(net.app.registry) == 0
            assert [each() for each in kept] == [None, None]
    finally:
        gc.enable()


async def test_a_changed_file_is_what_the_next_turn_answers_from(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """A session goes on over a reload, and the watch ends with the server."""
    (tmp_path / "pricing.md").write_text("The Standard plan costs 299 kr a month.")
    send, receive = trio.open_memory_channel[TouchedPaths](0)
    watched: list[Path] = []

    @asynccontextmanager
    async def watch(folder: Path) -> AsyncGenerator[AsyncIterator[TouchedPaths], None]:
        watched.append(folder)
        try:
            yield receive
        finally:
            watched.clear()

    adapters = Adapters(run_sync=inline, watch=watch)
    async with (
        network(Settings.of(kb=tmp_path, pace_ms=0, vectors="off"), adapters) as net,
        net.connect() as client,
    ):
        for price in ("299", "349"):
            (tmp_path / "pricing.md").write_text(f"The Standard plan costs {price} kr a month.")
            await send.send(())
            await trio.testing.wait_all_tasks_blocked()
            await client.ask("What does the standard plan cost?")
            answer = (await client.frames_until("response"))[-1]
            assert price in answer["text"]
            assert [price in citation["snippet"] for citation in answer["citations"]] == [True]
        assert watched == [tmp_path]
    assert watched == []


async def test_the_system_watches_the_folder_by_default(tmp_path: Path) -> None:
    """Nothing swapped: real threads, the real watch, and an answer from what was written a moment ago."""
    path = tmp_path / "pricing.md"
    path.write_text("The Standard plan costs 299 kr a month.")
    app = App(Settings.of(kb=tmp_path, pace_ms=0, rate_limit=0, vectors="off"))
    near, far = trio.testing.memory_stream_pair()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            await nursery.start(app.run, False)
            nursery.start_soon(app.serve_stream, far)
            async with connect_over(near, f"127.0.0.1:{app.port}") as client:
                path.write_text("The Standard plan costs 349 kr a month.")
                said = ""
                while "349" not in said:
                    await client.ask("What does the standard plan cost?")
                    said = (await client.frames_until("response"))[-1]["text"]
                    await trio.sleep(0.05)
            app.stop()


async def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    """The error names the host, the port and what to do."""
    async with trio.open_nursery() as nursery:
        first: App = await nursery.start(App(Settings.of(port=0), Adapters(run_sync=inline)).run)
        second = App(Settings.of(port=first.port), Adapters(run_sync=inline))
        with pytest.raises(UsageError, match=f"port {first.port}.*--port"):
            await second.run()
        first.stop()


async def test_a_missing_knowledge_base_is_said_in_one_line(tmp_path: Path) -> None:
    """The error names the folder."""
    app = App(Settings.of(kb=tmp_path / "nothing"), Adapters(run_sync=inline))
    with pytest.raises(UsageError, match="nothing"):
        await app.run(False)


@pytest.mark.parametrize("model", ["mock", "script:x.json"])
async def test_payloads_of_a_model_need_one(model: str) -> None:
    """What drafts without one cannot fill in; the error says what to choose."""
    app = App(Settings.of(payloads="model", model=model), Adapters(run_sync=inline))
    kind = model.partition(":")[0]
    with pytest.raises(
        UsageError, match=f"payloads model needs a language model, and {kind} is none: .*words"
    ):
        await app.run(False)


async def test_blocking_work_runs_in_a_thread_and_returns() -> None:
    """The real `RunSync`."""
    assert await WorkerThreads()(lambda: 6 * 7) == 42


def test_ids_are_unguessable_and_the_clock_is_the_world_s() -> None:
    """128 random bits, and Unix milliseconds."""
    assert len({new_id() for _ in range(1000)}) == 1000
    assert len(new_id()) >= 22
    assert WallClock().now_ms() > 1_700_000_000_000
