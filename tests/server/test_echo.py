"""The echo that stands in for codec and session when the connection path itself is examined."""

import io
import sys
from typing import Any

import pytest
import trio
import trio.testing
from trio_websocket import wrap_client_stream

from agent.server.serve import serve_stream
from tests.server.echo import echo_edge, run


async def test_text_comes_back_as_text_and_binary_as_binary(autojump_clock: trio.testing.MockClock) -> None:
    """Each message comes back as what it was, and nothing is left when its client has gone."""
    edge = echo_edge(8787)
    pair: Any = trio.testing.memory_stream_pair()
    client, server = pair
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, edge, server)
        websocket = await wrap_client_stream(nursery, client, "localhost:8787", "/ws")
        for message in ("grön", b"\x00\xff", ""):
            await websocket.send_message(message)
            assert message == await websocket.get_message()
        await websocket.aclose()
    assert edge.limits.used == 0


async def test_it_prints_where_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The URL that is printed is one that is listened on, with the server's own rules for who may speak."""
    printed, done = io.StringIO(), trio.Event()
    monkeypatch.setattr(printed, "flush", done.set)
    monkeypatch.setattr(sys, "stdout", printed)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        with trio.fail_after(5):
            await done.wait()
            host, port = printed.getvalue().removeprefix("ws://").removesuffix("/ws\n").split(":")
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                await stream.send_all(b"GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n")
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 421 ")
        nursery.cancel_scope.cancel()
