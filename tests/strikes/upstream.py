"""A service of language models on real sockets of this machine, with every fault that one has.

It takes one reply a request from those that it was given, writes it step by step, and notes when its client closed the
connection. A reply is bytes and pauses, so a fault is a change of these; `spoken` makes the bytes that a service sends.
What asks is told nothing by it that a service would not tell, and its keys are only noted.
"""

import json
import socket
import struct
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import trio

_HEAD_MAX = 64 * 1024
_BODY_MAX = 16 * 1024 * 1024
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError)
Ending: TypeAlias = Literal["whole", "cut", "reset", "hang"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered: bytes that go out one after the other, with pauses in seconds between them.

    ending: whole ends the body as HTTP wants it, cut closes the connection instead, reset resets it, hang says nothing
    more. head: sent in place of a proper head and body where it is not None.
    """

    steps: tuple[bytes | float, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    ending: Ending = "whole"
    head: bytes | None = None


def reply(events: Iterable[bytes]) -> Reply:
    """Return a good reply of these events."""
    return Reply(tuple(events))


def refused(
    status: int, retry_after: str | None = None, body: bytes = b'{"error": {"message": "SECRET"}}'
) -> Reply:
    """Return a reply of another status."""
    headers = {"content-type": "application/json"} | ({"retry-after": retry_after} if retry_after else {})
    return Reply((body,), status, headers)


def slow(good: Reply, seconds: float) -> Reply:
    """Return the reply with a pause before each of its parts."""
    return replace(good, steps=tuple(part for step in good.steps for part in (seconds, step)))


def after(good: Reply, parts: int, ending: Ending) -> Reply:
    """Return the first parts of the reply, and another end: a stall (hang), a cut, a reset, or an end too soon."""
    return replace(good, steps=good.steps[:parts], ending=ending)


def cut_inside(good: Reply, ending: Ending = "cut") -> Reply:
    """Return half of the reply, cut in the middle of an event."""
    whole = _bytes(good)
    return replace(good, steps=(whole[: whole.index(b"\n\n", len(whole) // 2) - 5],), ending=ending)


def split(good: Reply, size: int) -> Reply:
    """Return the reply in parts of `size` bytes; with 1, every character beyond ASCII is cut."""
    whole = _bytes(good)
    return replace(good, steps=tuple(whole[at : at + size] for at in range(0, len(whole), size)))


def ended(good: Reply, line: bytes) -> Reply:
    """Return the reply with other ends of lines: CR LF, or CR."""
    return changed(good, lambda part: part.replace(b"\n", line))


def commented(good: Reply) -> Reply:
    """Return the reply with a comment before each part, as services send to keep a connection open."""
    return changed(good, lambda part: b": keep-alive\n\n" + part)


def changed(good: Reply, change: Callable[[bytes], bytes]) -> Reply:
    """Return the reply with each of its parts changed."""
    return replace(
        good, steps=tuple(change(step) if isinstance(step, bytes) else step for step in good.steps)
    )


def _bytes(good: Reply) -> bytes:
    return b"".join(step for step in good.steps if isinstance(step, bytes))


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. body: its JSON, None where there is none."""

    path: str
    headers: Mapping[str, str]
    body: Any


class Upstream:
    """The service. replies: those still to be given; the last is given to all that follow.

    requests: what was asked. closed: when clients closed a connection whose reply had not ended, as
    `trio.current_time()`. open: connections that stand.
    """

    def __init__(self, port: int, replies: Iterable[Reply]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.replies = deque(replies)
        self.requests: list[Asked] = []
        self.closed: list[float] = []
        self.open = 0
        self._changed = trio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` does, which is asked whenever something has come or gone."""
        while not holds():
            await self._changed.wait()

    def _note(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Answer the one request of a connection."""
        self.open += 1
        try:
            async with stream:
                asked = await _read(stream)
                if asked is None:
                    return
                self.requests.append(asked)
                self._note()
                given = self.replies.popleft() if len(self.replies) > 1 else self.replies[0]
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._watch, stream, nursery.cancel_scope)
                    await _write(stream, given)
                    nursery.cancel_scope.cancel()
        except* _GONE:
            pass
        finally:
            self.open -= 1
            self._note()

    async def _watch(self, stream: trio.SocketStream, scope: trio.CancelScope) -> None:
        """Note when the client leaves: it has said all, so anything that can be read is its end."""
        with suppress(*_GONE):
            await stream.receive_some(1)
        self.closed.append(trio.current_time())
        self._note()
        scope.cancel()


@asynccontextmanager
async def upstream(*replies: Reply) -> AsyncGenerator[Upstream, None]:
    """Serve these replies on a free port of 127.0.0.1; on leaving, connections that still stand are closed."""
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        made = Upstream(listener.socket.getsockname()[1], replies)
        nursery.start_soon(partial(trio.serve_listeners, made.serve, [listener]))
        try:
            yield made
        finally:
            nursery.cancel_scope.cancel()


async def _read(stream: trio.SocketStream) -> Asked | None:
    """Return the request; None from a client that leaves before its end."""
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        piece = await stream.receive_some(_HEAD_MAX)
        if not piece or len(data) > _HEAD_MAX:
            return None
        data += piece
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body, wanted = data[end + 4 :], min(int(headers.get("content-length", "0")), _BODY_MAX)
    while len(body) < wanted:
        piece = await stream.receive_some(_HEAD_MAX)
        if not piece:
            return None
        body += piece
    return Asked(first.split(" ")[1], headers, json.loads(body) if body else None)


async def _write(stream: trio.SocketStream, given: Reply) -> None:
    if given.head is not None:
        await stream.send_all(given.head)
    else:
        told = {"transfer-encoding": "chunked", "connection": "close", **given.headers}
        lines = (f"HTTP/1.1 {given.status} Told", *(f"{name}: {value}" for name, value in told.items()))
        await stream.send_all("\r\n".join((*lines, "", "")).encode())
    for step in given.steps:
        if isinstance(step, bytes):
            await stream.send_all(b"%x\r\n%b\r\n" % (len(step), step))
        else:
            await trio.sleep(step)
    if given.ending == "hang":
        await trio.sleep_forever()
    elif given.ending == "reset":
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif given.ending == "whole" and given.head is None:
        await stream.send_all(b"0\r\n\r\n")
