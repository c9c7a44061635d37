"""Attacks where the kernel has a part: resets, full buffers, and no file descriptors left; over real sockets."""

import resource
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
import trio

from agent.app import App
from agent.client.client import Client, connect
from agent.compose.adapters import Adapters
from agent.errors import CannotConnect
from agent.llm.script import ScriptModel
from agent.settings import Settings
from agent.wire import outbox
from tests.strikes.steps import steps

from ..both import Flags, both, both_at_length
from .attacks import ATTACKS, LONG
from .enemy import RESET, SocketEnemy
from .process import server_process
from .test_attacks import PLAYS, SCRIPT, Innocent, knowledge

QUESTION = "What does the standard plan cost per month?"
OVER_SOCKETS = (
    "reset before the upgrade",
    "reset after the upgrade",
    "messages, PING and drop while busy",
    "close without waiting",
    "a 70 KB frame",
    "invalid UTF-8",
    "ping flood",
    "guessed and foreign ids",
    "a request behind a question",
    "questions that nobody waits for",
)


@asynccontextmanager
async def listening() -> AsyncGenerator[App, None]:
    """Run a server on a free port for the time of a block."""
    settings = Settings.of(port=0, pace_ms=0)
    async with trio.open_nursery() as nursery:
        app: App = await nursery.start(
            App(settings, Adapters(knowledge=knowledge(), model=ScriptModel(SCRIPT))).run
        )
        yield app
        app.stop()


@asynccontextmanager
async def innocent(port: int) -> AsyncGenerator[Innocent, None]:
    """Connect, with the welcome behind."""
    async with connect(f"ws://127.0.0.1:{port}/ws") as client:
        assert (await client.next_frame())["type"] == "welcome"
        yield Innocent(client)


async def read_all(stream: trio.abc.ReceiveStream) -> None:
    """Read to the end."""
    while await stream.receive_some():
        pass


async def price(client: Client) -> str:
    """Ask for a price and return the answer."""
    await client.ask(QUESTION)
    return str((await client.frames_until("response"))[-1]["text"])


@pytest.mark.proof
async def test_attacks_over_sockets_harm_nobody() -> None:
    """The kernel's resets and half-closed connections change nothing for anybody else, and no step takes long."""
    with trio.fail_after(120):
        async with listening() as app, innocent(app.port) as before:
            for _ in range(PLAYS):
                with steps() as measured:  # from here on: a server that begins has nobody to serve yet
                    enemy = SocketEnemy(app.port)
                    for name in OVER_SOCKETS:
                        told = await ATTACKS[name].run(enemy)
                        assert tuple(told) in (ATTACKS[name].told, ("reset",)), name
                        await before.ask()
                    async with innocent(app.port) as after:
                        await after.ask()
                if not measured.slow():
                    break
    assert measured.slow() == []


async def test_a_client_that_never_reads_is_cut_off_and_its_kernel_buffers_freed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a small receive buffer: the outbox fills, the write's deadline passes, and the connection is reset."""
    monkeypatch.setattr(outbox, "WRITE_TIMEOUT", 0.2)
    with trio.fail_after(120):
        async with listening() as app, innocent(app.port) as before:
            stream = await SocketEnemy(app.port).upgraded(2048)
            while b"agent_aborts_total 0.0" in app.metrics.text():
                with suppress(trio.BrokenResourceError):
                    await stream.send_all(LONG)
                await trio.sleep(0.06)
                await before.ask()
            with pytest.raises(trio.BrokenResourceError):  # not the end of the stream: a reset
                await read_all(stream)
            await trio.aclose_forcefully(stream)
            async with innocent(app.port) as after:
                await after.ask()


@pytest.mark.proof
@both_at_length
@pytest.mark.parametrize(("say", "served"), [(LONG, 999), (b"", 2000)], ids=["speaking", "silent"])
async def test_two_thousand_connections_against_a_thousand(say: bytes, served: int, workers: Flags) -> None:
    """A thousand that speak are served, the rest are told to come back; of the silent the oldest give way to the rest.

    Who was there before and has spoken stays, and when they have left everybody gets in.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("too few file descriptors here to open 2,000 connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    try:
        with server_process("--pace-ms", "0", *workers) as server, trio.fail_after(180):
            enemy = SocketEnemy(server.port)
            async with connect(server.url) as before:
                assert "299" in await price(before)
                resident = server.resident()
                told: list[str] = []
                streams: list[trio.SocketStream] = []
                for _ in range(2000):
                    stream = await enemy.open()
                    streams.append(stream)
                    await stream.send_all(enemy.upgrade() + say)
                    told.append((await stream.receive_some(64))[9:12].decode())
                assert (told.count("101"), told.count("503")) == (served, 2000 - served)
                assert "299" in await price(before)
                assert server.resident() - resident < 2000 * 64 * 1024
                for stream in streams:
                    await trio.aclose_forcefully(stream)
                await _in_soon(server.url)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.proof
@both
async def test_no_file_descriptors_left(workers: Flags) -> None:
    """A server that cannot accept serves those it has, and accepts again when it can."""
    with server_process("--pace-ms", "0", *workers, files=64) as server, trio.fail_after(180):
        enemy = SocketEnemy(server.port)
        async with connect(server.url) as before:
            assert "299" in await price(before)
            streams = [await enemy.open() for _ in range(120)]
            for stream in streams:
                await stream.send_all(enemy.upgrade())
            for _ in range(20):
                assert "299" in await price(before)
                await trio.sleep(0.05)
            for stream in streams:
                await trio.aclose_forcefully(stream)
            await _in_soon(server.url)
            assert "299" in await price(before)


async def _in_soon(url: str) -> None:
    """Get in and be answered, within a second on a quiet machine; who is told to come back does so."""
    with trio.fail_after(10):
        while True:
            try:
                async with connect(url) as after:
                    assert "299" in await price(after)
                return
            except CannotConnect:
                await trio.sleep(0.02)


async def test_who_has_left_before_being_looked_at_is_not_served() -> None:
    """Requests of clients that reset behind them cost next to nothing, so that who comes next is not kept waiting."""
    with trio.fail_after(60):
        async with listening() as app:
            enemy = SocketEnemy(app.port)
            for data in (enemy.upgrade(), enemy.get("/"), enemy.get("/", host="evil.example")):
                for _ in range(
                    10
                ):  # without a checkpoint, so that the server accepts them when they are gone
                    with socket.create_connection(("127.0.0.1", app.port)) as gone:
                        gone.sendall(data)
                        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            async with innocent(app.port) as after:
                await after.ask()
            figures = app.metrics.text().decode()
    assert 'agent_connections_total{kind="left"} 30.0' in figures
    assert 'agent_connections_total{kind="websocket"} 1.0' in figures
    assert 'kind="http"' not in figures
    assert "agent_rejections_total{" not in figures
