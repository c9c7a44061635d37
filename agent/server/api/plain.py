"""What is answered on a connection itself, without the HTTP server behind the edge: how the edge sees it."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Protocol, TypeAlias

import trio

from ...config import WRITE_TIMEOUT
from ...errors import WireClosed
from ...ports.observe import Observer
from ..http import SECURITY
from ..sniff import Head, Refusal

EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", **SECURITY, "X-Accel-Buffering": "no"}
_JSON = {"Content-Type": "application/json", **SECURITY}
_READ = 4096
Seated: TypeAlias = Callable[[trio.abc.Stream, trio.CancelScope, Callable[[], None]], Awaitable[None]]
"""Reads what follows a head, answers and hangs up, in a place.

Given the connection; a scope that is cancelled when the client gives its place away, as long as it has not said all;
and what is called when it has. Raises WireClosed when the client does not take its answer within WRITE_TIMEOUT.
Cancelled, or left by the client, nothing of it is left when it returns.
"""


class Plain(Protocol):
    """Answers plain requests for some paths."""

    own_keys: bool
    """Whether it finds out itself who may; else a POST needs the token."""

    def serves(self, head: Head) -> bool:
        """Whether a request is for one of its paths, by whatever method."""
        ...

    def render(self, refusal: Refusal, head: Head) -> bytes:
        """Return a refusal as the clients of its paths read one."""
        ...

    async def admit(self, head: Head, address: str | None) -> Refusal | bytes | Seated:
        """Return why a request is not served; the whole answer where it needs no place; or what answers it in one."""
        ...


async def until_it_leaves(stream: trio.abc.ReceiveStream, work: trio.CancelScope) -> None:
    """Drop what a client still sends, and cancel its work when it is gone."""
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while await stream.receive_some(_READ):
            pass
    work.cancel()


async def write(stream: trio.abc.Stream, data: bytes, observer: Observer) -> None:
    """Write some bytes of an answer. Raises WireClosed when that takes over WRITE_TIMEOUT seconds, or cannot be."""
    try:
        with trio.move_on_after(WRITE_TIMEOUT):
            await stream.send_all(data)
            return
        observer.count("aborts")
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    raise WireClosed


def is_json(head: Head) -> bool:
    """Whether a body says that it is JSON. No page of a foreign site can send this type without asking first."""
    kinds = [value.partition(b";")[0].strip().lower() for value in head.values(b"content-type")]
    return kinds == [b"application/json"] and is_plain(head)


def is_plain(head: Head) -> bool:
    """Whether a body comes as it is, in no Content-Encoding."""
    codings = [value.strip().lower() for value in head.values(b"content-encoding")]
    return all(each == b"identity" for each in codings)


def opening(headers: Mapping[str, str], status: int = 200) -> bytes:
    """Return an answer's head; the connection ends with the answer."""
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join((*lines, "Connection: close", "", "")).encode("ascii")


def whole(content: bytes) -> bytes:
    """Return a good answer of JSON."""
    return opening({**_JSON, "Content-Length": str(len(content))}) + content


def chunk(data: bytes) -> bytes:
    """Return data as one chunk (RFC 9112, 7.1); no data is the last one."""
    return b"%x\r\n%s\r\n" % (len(data), data)
