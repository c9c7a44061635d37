"""Fetches a source for `agent chat` over HTTP from the same server, and shows it as lines of a terminal.

Strategy: one GET on a connection of its own, bounded in time and in bytes, so that a server that hangs costs the user
a moment and no more. Cited lines have a mark in front, and the numbers in them a row of carets below: that needs no
colour. The server's text is cleaned like everything else.
"""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

import h11
import msgspec
import trio

from ..errors import AgentError, CannotConnect
from ..text.terminal import printable_line
from .client import CONNECT_TIMEOUT, Frame, open_stream

MOST = 1024 * 1024  # bytes of an answer; the server's bound is far below
WIDTH = 96  # most characters of a row
_MARGIN = 8  # characters before a row: a mark, and the line's number
_READ = 16_384

_TROUBLE = {
    401: "the server wants its token: --token or AGENT_TOKEN",
    404: "the documents have changed since the answer: ask again",
    503: "the documents are being read; try again in a moment",
}

SourceOpener = Callable[[Frame], Awaitable[list[str]]]
"""Returns the lines that show a citation in its source; raises `CannotOpen`."""


class CannotOpen(AgentError):
    """A source cannot be shown; the message is one line."""


def make_opener(url: str, token: str | None) -> SourceOpener:
    """Return a function that fetches sources from the server at `url`."""

    async def open_source(citation: Frame) -> list[str]:
        source = await _fetch_source(url, token, citation)
        try:
            return format_source(
                source, citation["snippet"], shutil.get_terminal_size().columns - _MARGIN - 1
            )
        except (KeyError, TypeError, AttributeError):
            raise CannotOpen("the server sent no source") from None

    return open_source


async def _fetch_source(url: str, token: str | None, citation: Frame) -> Any:
    """Return the source around a citation, as JSON values."""
    first, last = citation.get("lines", (None, None))
    query = "" if first is None else f"?lines={first}-{last}"
    target = f"/source/{quote(citation['file'], safe='/', errors='replace')}{query}"
    try:
        with trio.fail_after(CONNECT_TIMEOUT):
            stream, host, _ = await open_stream(url)
            async with stream:
                status, body = await send_get(stream, host, target, token)
    except trio.TooSlowError:
        raise CannotOpen(f"the server did not answer within {CONNECT_TIMEOUT:g} s") from None
    except (CannotConnect, OSError, trio.BrokenResourceError, h11.RemoteProtocolError):
        raise CannotOpen("the server cannot be reached") from None
    if status != 200:
        raise CannotOpen(_TROUBLE.get(status, f"the server answered with HTTP status {status}"))
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        raise CannotOpen("the server sent no source") from None


async def send_get(stream: trio.abc.Stream, host: str, target: str, token: str | None) -> tuple[int, bytes]:
    """Send one GET over a connected stream; return the status and the body of the answer.

    Raises `CannotOpen` for a body over `MOST` bytes, and the exceptions of the stream and of h11.
    """
    headers = [("Host", host), ("Accept", "application/json"), ("Connection", "close")]
    if token is not None:
        headers.append(("Authorization", f"Bearer {token}"))
    wire = h11.Connection(h11.CLIENT)
    await stream.send_all(wire.send(h11.Request(method="GET", target=target, headers=headers)) or b"")
    await stream.send_all(wire.send(h11.EndOfMessage()) or b"")
    status, body = 0, bytearray()
    while True:
        event = wire.next_event()
        if event is h11.NEED_DATA:
            wire.receive_data(bytes(await stream.receive_some(_READ)))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MOST:
                raise CannotOpen("the server sent too much")
        else:
            return status, bytes(body)


def format_source(source: Any, snippet: str, width: int = WIDTH) -> list[str]:
    """Return a source as lines of a terminal.

    `source`: the server's JSON. `snippet`: the text of the citation, which may be a part of a long line. `width`:
    characters of a row, `WIDTH` at most. Raises `KeyError`, `TypeError` or `AttributeError` for JSON that is no source.
    """
    all_lines = [line for part in source["parts"] for line in part["lines"]]
    cited = [line for line in all_lines if line["cited"]]
    shown_as_cited = [line for line in cited if "".join(line["text"]) in snippet] or cited
    rows = [printable_line(str(source["file"]))]
    if source["above"]:
        rows.append("  (the text above this under the same heading is left out)")
    for part in source["parts"]:
        rows += ["", f"  {printable_line(part['heading'])}"] if part["heading"] else [""]
        before = None
        for line in part["lines"]:
            number = line["line"]
            rows += _format_line(
                line["text"],
                "" if number in (None, before) else str(number),
                line in shown_as_cited,
                max(20, min(width, WIDTH)),
            )
            before = number
    if source["below"] is not None:
        rows.append("  (cut here: a source is shown up to this length)")
    return rows


def _format_line(runs: Sequence[str], number: str, cited: bool, width: int) -> list[str]:
    """Return one line of a source, wrapped, with carets below its numbers when it is cited."""
    clean = [printable_line(run) for run in runs]
    text = "".join(clean)
    under = "".join(("^" if at % 2 and cited else " ") * len(run) for at, run in enumerate(clean))
    rows = []
    front = f"{'>' if cited else ' '}{number:>5}  "
    for start, end in _wrap_text(text, width):
        rows.append((front + text[start:end]).rstrip())
        if "^" in under[start:end]:
            rows.append((" " * len(front) + under[start:end]).rstrip())
        front = f"{'>' if cited else ' '}{'':>5}  "
    return rows


def _wrap_text(text: str, width: int) -> list[tuple[int, int]]:
    """Return the start and end of each row of a text, cut at spaces where there are any."""
    places = []
    at = 0
    while len(text) - at > width:
        space = text.rfind(" ", at + 1, at + width + 1)
        end = space + 1 if space > at else at + width
        places.append((at, end))
        at = end
    return [*places, (at, len(text))]
