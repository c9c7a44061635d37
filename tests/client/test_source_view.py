"""A source in the terminal: fetched from a server of ours, shown with marks, cleaned, and bounded."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from agent.client import source_view
from agent.client.client import CONNECT_TIMEOUT
from agent.client.source_view import CannotOpen, make_opener
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.admission import Admission
from agent.server.page_routes import PageContents
from agent.server.serve import serve_stream
from agent.server.settings import ServerSettings
from tests.server import later, page

PRICES = "# Prices\n\n| Plan | Price |\n| --- | --- |\n| Basic | 149 kr |\n| Standard | 299 kr |\n"
BASE = KnowledgeBase.build([SourceFile.of("kb/å b.md", PRICES)])


SERVER = page(
    PageContents(
        asyncapi=b"",
        session_diagram="",
        metrics=later(lambda: b""),
        unready=later(lambda: ""),
        sections=BASE.of_file,
    ),
    Admission.of(ServerSettings(token="s3cret")),
)
CITATION: dict[str, Any] = {
    "file": "kb/å b.md",
    "lines": [6, 6],
    "snippet": "| Plan | Price |\n| Standard | 299 kr |",
}
Serve = Callable[[trio.abc.HalfCloseableStream], Awaitable[None]]


async def ours(stream: trio.abc.HalfCloseableStream) -> None:
    """Answer one request as the server does."""
    await serve_stream(SERVER, stream)


async def open_from(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, token: str | None = "s3cret", citation: Any = CITATION
) -> list[str]:
    """Open a citation in a server at the other end of a memory stream."""
    client, server = trio.testing.memory_stream_pair()

    async def open_stream(url: str) -> tuple[trio.abc.Stream, str, str]:
        await trio.lowlevel.checkpoint()
        return client, "localhost", "/ws"

    monkeypatch.setattr(source_view, "open_stream", open_stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, server)
        try:
            return await make_opener("ws://localhost", token)(citation)
        finally:
            nursery.cancel_scope.cancel()


async def told(monkeypatch: pytest.MonkeyPatch, serve: Serve, **given: Any) -> str:
    """Return why a source cannot be opened."""
    with pytest.raises(BaseExceptionGroup) as caught:
        await open_from(monkeypatch, serve, **given)
    [error] = caught.value.exceptions
    assert isinstance(error, CannotOpen)
    return str(error)


async def test_the_cited_lines_and_their_numbers_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mark in front of the row and of its header, carets below the number, its neighbours plain."""
    assert await open_from(monkeypatch, ours) == [
        "kb/å b.md",
        "",
        "  Prices",
        ">       | Plan | Price |",
        "     5  | Basic | 149 kr |",
        ">    6  | Standard | 299 kr |",
        "                     ^^^^^^",
    ]


async def test_why_a_source_cannot_be_opened_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """No token, a file that is gone, a server that hangs up, or sends something else, or too much."""
    assert "--token" in await told(monkeypatch, ours, token=None)
    assert "have changed" in await told(monkeypatch, ours, citation=CITATION | {"file": "kb/gone.md"})

    def sends(answer: bytes) -> Serve:
        async def serve(stream: trio.abc.HalfCloseableStream) -> None:
            await stream.receive_some()
            await stream.send_all(answer)
            await stream.aclose()

        return serve

    assert "cannot be reached" in await told(monkeypatch, sends(b""))
    assert "cannot be reached" in await told(monkeypatch, sends(b"hello\r\n\r\n"))
    assert "HTTP status 500" in await told(
        monkeypatch, sends(b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")
    )
    for body in (b"{}", b"[]", b"7", b'{"parts": 5}', b"not json"):
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        assert "no source" in await told(monkeypatch, sends(head + body))
    monkeypatch.setattr(source_view, "MOST", 10)
    assert "too much" in await told(monkeypatch, ours)


async def test_a_server_that_hangs_is_given_up(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """After the time that a connection may take."""

    async def hangs(stream: trio.abc.HalfCloseableStream) -> None:
        await trio.sleep_forever()

    assert "did not answer" in await told(monkeypatch, hangs)
    assert trio.current_time() == CONNECT_TIMEOUT


def test_nothing_in_a_source_steers_the_terminal() -> None:
    """Neither a name, nor a heading, nor a line."""
    line = {"line": 1, "kind": "paragraph", "cited": True, "text": ["a\x1b[2J ", "5\r\n", "\u202e"]}
    found = {
        "file": "kb/\x1b]0;x\x07.md",
        "above": True,
        "below": 9,
        "parts": [{"heading": "H\x9b", "lines": [line]}],
    }
    shown = source_view.format_source(found, "")
    assert not any(ord(letter) < 32 or letter in "\x7f\x9b\u202e" for each in shown for letter in each)
    assert any("left out" in each for each in shown)
    assert any("cut here" in each for each in shown)


def test_a_long_line_is_wrapped_and_its_carets_follow() -> None:
    """Of a long line only what the citation shows is marked, under one number."""
    first: dict[str, Any] = {
        "line": 7,
        "kind": "paragraph",
        "cited": True,
        "text": ["word " * 30 + "costs ", "5 kr", " " + "x" * 200],
    }
    other = {"line": 7, "kind": "paragraph", "cited": True, "text": ["And ", "6 kr", "."]}
    found = {"file": "f", "above": False, "below": None, "parts": [{"heading": "", "lines": [first, other]}]}
    shown = source_view.format_source(found, "".join(first["text"]))
    assert all(len(each) <= source_view.WIDTH + 8 for each in shown)
    under = next(at for at, each in enumerate(shown) if "^" in each)
    start = shown[under].index("^")
    assert shown[under - 1][start : start + 4] == "5 kr"
    assert [each[:6] for each in shown[1:] if each[:6].strip(" >")] == [">    7"]
    assert shown[-1] == "        And 6 kr."
    assert sum("^" in each for each in shown) == 1
