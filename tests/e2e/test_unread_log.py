"""A server whose log nobody reads: the real command, with a real pipe as its standard error, in real time."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
import trio

from agent.client.client import Client, connect
from agent.config import LOG_FLUSH
from agent.errors import CannotConnect

from ..both import Flags, both_at_length
from .test_process import KB, PATIENCE, URLS, command, environment

NOISE = "x" * 120  # in each message's id, which its log lines bear
QUESTION = "What does the Standard plan cost per month?"
ENOUGH = 500  # questions, whose lines are more than a pipe holds (64 KiB)


class Unread:
    """A server process and the end of the pipe that nobody reads."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: int, port: int) -> None:
        self.process = process
        self.log = log
        self.seen = bytearray()
        self.url = f"ws://127.0.0.1:{port}/ws"
        self.host = ("127.0.0.1", port)

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[Client, None]:
        """Connect, with the welcome behind."""
        async with connect(self.url) as client:
            await client.frames_until("welcome")
            yield client

    async def metric(self, name: str) -> float:
        """Return a figure of /metrics."""
        async with await trio.open_tcp_stream(*self.host) as stream:
            host = "{}:{}".format(*self.host)
            await stream.send_all(
                f"GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            )
            text = b"".join([data async for data in stream]).decode()
        return float(next(line for line in text.splitlines() if line.startswith(name)).split()[1])

    def read(self) -> None:
        """Read the log to its end, into `seen`."""
        while data := os.read(self.log, 1 << 16):
            self.seen += data

    def lines(self) -> list[dict[str, object]]:
        """Return what was read."""
        return [json.loads(line) for line in self.seen.splitlines()]


@contextmanager
def unread(folder: Path, *flags: str) -> Iterator[Unread]:
    """Run a server whose standard error is a pipe; its lines are JSON."""
    log, write = os.pipe()
    plain = ("--log-format", "json", "--vectors", "off")
    arguments = ("serve", "--port", "0", "--kb", str(KB), "--data", "memory", *plain, *flags)
    process = subprocess.Popen(
        command(*arguments), cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=write
    )
    os.close(write)
    try:
        assert process.stdout is not None
        match = URLS.fullmatch((process.stdout.readline() + process.stdout.readline()).decode())
        assert match
        yield Unread(process, log, int(match[1]))
    finally:
        process.kill()
        process.communicate()
        os.close(log)


async def fill(server: Unread) -> None:
    """Ask until nothing more fits into the pipe, by far."""
    async with server.client() as noisy:
        for number in range(ENOUGH):
            await noisy.ask(QUESTION, id=f"{number}-{NOISE}")
            with trio.fail_after(PATIENCE):
                await noisy.frames_until("response")


@pytest.mark.proof
@both_at_length
async def test_nobody_waits_for_the_reader_plain(tmp_path: Path, workers: Flags) -> None:
    """All are served: those who make the noise, an innocent client with its cancel, a newcomer, and SIGTERM."""
    with (
        unread(tmp_path, "--pace-ms", "0", "--rate-limit", "0", *workers) as server,
        trio.fail_after(4 * PATIENCE),
    ):
        async with server.client() as innocent:
            await fill(server)
            await innocent.ask(QUESTION)
            await innocent.cancel()
            ends = await innocent.frames_until("stream_end")
            assert ends[-1]["reason"] in ("cancelled", "done")
        async with server.client() as newcomer:
            await newcomer.ask(QUESTION)
            assert "299" in (await newcomer.frames_until("response"))[-1]["text"]
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert await trio.to_thread.run_sync(server.process.wait, PATIENCE) == 0
        assert time.monotonic() - began < LOG_FLUSH + 20
        server.read()
        assert len(server.lines()) > 100  # what the pipe held: it was full


@pytest.mark.proof
@both_at_length
async def test_what_was_lost_is_counted_and_said_when_somebody_reads_again(
    tmp_path: Path, workers: Flags
) -> None:
    """At debug, where lines are many: one line says how many, and the others are in order.

    Each worker's are: which of two that waited is read first is not for them to say.
    """
    flags = ("--pace-ms", "0", "--rate-limit", "0", "--log-level", "debug", *workers)
    with unread(tmp_path, *flags) as server, trio.fail_after(8 * PATIENCE):
        while not await server.metric("agent_log_lines_dropped_total"):
            await fill(server)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, server.read)
            while b"log lines dropped" not in server.seen:  # noqa: ASYNC110 - a pipe tells nobody
                await trio.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
        assert await trio.to_thread.run_sync(server.process.wait, PATIENCE) == 0
    lines = server.lines()
    events = [line["event"] for line in lines]
    assert events[-1] == "server ended"
    lost = [line.get("worker") for line in lines if line["event"] == "log lines dropped"]
    assert len(lost) == len(set(lost)) > 0
    # Of the loop's own lines; a library's come from threads, too, and the notice is newer than the line behind it.
    for speaker in {line.get("worker") for line in lines}:
        stamps = [
            str(line["timestamp"])
            for line in lines
            if line.get("worker") == speaker
            and "library" not in line
            and line["event"] != "log lines dropped"
        ]
        assert stamps == sorted(stamps) != []


@pytest.mark.proof
@both_at_length
async def test_a_second_signal_ends_it_now(tmp_path: Path, workers: Flags) -> None:
    """Also while the end of the log is being waited for."""
    with (
        unread(tmp_path, "--pace-ms", "0", "--rate-limit", "0", *workers) as server,
        trio.fail_after(4 * PATIENCE),
    ):
        await fill(server)
        async with server.client() as busy:
            await busy.ask(QUESTION)
            server.process.send_signal(signal.SIGTERM)
            await trio.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            assert await trio.to_thread.run_sync(server.process.wait, PATIENCE) in (0, -signal.SIGTERM)
            assert time.monotonic() - began < LOG_FLUSH + 20


@pytest.mark.proof
@both_at_length
async def test_a_full_standard_output_holds_up_nothing(tmp_path: Path, workers: Flags) -> None:
    """The two lines that say where it is wait alone: the server is reached, and ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with full_output(tmp_path, port, workers) as process, trio.fail_after(PATIENCE):
        await _reached(f"ws://127.0.0.1:{port}/ws")
        process.send_signal(signal.SIGTERM)
        assert await trio.to_thread.run_sync(process.wait, PATIENCE) == 0


@contextmanager
def full_output(folder: Path, port: int, workers: Flags) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server whose standard output is a pipe that is full already."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write, b"-" * 4096)
    os.set_blocking(write, True)
    arguments = command("serve", "--port", str(port), "--kb", str(KB), "--data", "memory", *workers)
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment(), stdout=write, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        os.close(read)
        os.close(write)


async def _reached(url: str) -> None:
    """Ask as soon as it listens."""
    while True:
        try:
            async with connect(url) as client:
                await client.ask(QUESTION)
                assert "299" in (await client.frames_until("response"))[-1]["text"]
                return
        except CannotConnect:
            await trio.sleep(0.1)
