"""Uploads: one file and its category, whole, named plain_text and of a kind that is read."""

import logging
from collections.abc import Callable
from io import BytesIO
from typing import TypeVar

import pytest
import trio
import trio.testing
from docx import Document as docx_document
from fpdf import FPDF

from agent.config import UPLOAD_MAX, UPLOADS_AT_ONCE
from agent.errors import BadRequest
from agent.ports.projects import ReadingReport
from agent.protocol.problems import ProblemError
from agent.retrieval.effort import Effort
from agent.retrieval.texts import UPLOAD_TEXT, UploadedText
from agent.server.api.upload_reader import READING_TIMEOUT, UploadReader
from agent.server.api.uploads import UPLOAD_FIELDS
from agent.server.http_server import UPLOAD_TIMEOUT
from agent.server.serve import serve_stream
from agent.testing.faults import pipe
from agent.testing.network import inline

from ...logs import logged
from . import asker, code_in, request

T = TypeVar("T")
DOCS = "/projects/default/docs"
TEXT = b"# Prices\n\nThe plan costs 299 kr.\n"


def form(
    data: bytes | None = TEXT,
    filename: str | bytes = "prices.md",
    mime: str = "text/markdown",
    boundary: str = "a-boundary",
    **fields: str,
) -> tuple[bytes, str]:
    """Return a multipart body and its header."""
    line = f"--{boundary}\r\n".encode()
    parts = [
        line + f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if data is not None:
        named = filename if isinstance(filename, bytes) else filename.encode()
        about = b'Content-Disposition: form-data; name="file"; filename="%s"\r\n' % named
        parts.append(line + about + f"Content-Type: {mime}\r\n\r\n".encode() + data + b"\r\n")
    return b"".join(
        (*parts, f"--{boundary}--\r\n".encode())
    ), f"Content-Type: multipart/form-data; boundary={boundary}"


async def test_a_document_is_kept_replaced_and_deleted() -> None:
    """The same bytes again are the same document; others under its name a new version of it."""
    ask = asker()
    body, kind = form(category="FACTS")
    status, _, made = await ask.ask("POST", DOCS, body, kind)
    assert (status, made["filename"], made["mime"], made["bytes"]) == (
        201,
        "prices.md",
        "text/markdown",
        len(TEXT),
    )
    assert (made["status"], made["error"], made["version"], made["chunks_count"]) == ("indexed", None, 1, 1)
    assert ask.house.documents[made["id"]][1] == TEXT.decode()
    status, _, again = await ask.ask("POST", DOCS, body, kind)
    assert (status, again) == (200, made)
    body, kind = form(b"New.", category="FACTS")
    status, _, new = await ask.ask("POST", DOCS, body, kind)
    assert (status, new["id"], new["version"]) == (200, made["id"], 2)
    assert (await ask.ask("GET", f"{DOCS}/{made['id']}"))[2] == new
    assert (await ask.ask("GET", DOCS))[2]["items"] == [new]
    assert (await ask.ask("DELETE", f"{DOCS}/{made['id']}"))[0] == 204
    assert await ask.code("GET", f"{DOCS}/{made['id']}") == "not_found"


async def test_a_body_may_come_in_any_pieces() -> None:
    """Byte by byte, in chunks, and with Expect: the same document."""
    ask = asker()
    body, kind = form(category="STATE")
    whole = request("POST", DOCS, body, kind)
    assert (await ask.raw(*(whole[n : n + 1] for n in range(len(whole)))))[0] == 201
    chunked = request("POST", DOCS, None, kind, "Transfer-Encoding: chunked", "Expect: 100-continue")
    pieces = b"".join(
        b"%x\r\n%s\r\n" % (len(body[n : n + 7]), body[n : n + 7]) for n in range(0, len(body), 7)
    )
    status, _, rest = await ask.raw(chunked + pieces + b"0\r\n\r\n")
    assert status == 100
    assert rest.startswith(b"HTTP/1.1 200 ")
    assert len(ask.house.documents) == 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../secret.md",
        "a/b.md",
        "a\\b.md",
        "..",
        ".",
        "a\x01.md",
        " a.md",
        "a" * 201,
        b"\xff.md",
        "a\u202eb.md",
    ],
)
async def test_a_name_with_a_place_in_it_is_refused(name: str | bytes) -> None:
    """And one that cannot be shown; never repeated."""
    ask = asker()
    body, kind = form(filename=name, category="FACTS")
    status, _, value = await ask.ask("POST", DOCS, body, kind)
    assert (status, code_in(value)) == (400, "bad_upload")
    assert "secret" not in repr(value)
    assert ask.house.documents == {}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (form(None, category="FACTS"), 400, "bad_request"),
        (form(), 400, "bad_request"),
        (form(category="OTHER"), 400, "bad_upload"),
        (form(b"", category="FACTS"), 400, "bad_upload"),
        (form(b"\xff\xfe", category="FACTS"), 400, "bad_upload"),
        (form(b"x", "a.bin", "application/octet-stream", category="FACTS"), 415, "unsupported_media_type"),
        (form(b"%PDF nothing", "a.pdf", "application/pdf", category="FACTS"), 422, "unreadable"),
        (form(b"x" * (UPLOAD_TEXT + 1), category="FACTS"), 413, "text_too_long"),
        (form(b"too many", category="RULES"), 409, "rules_too_long"),
        (form(category="x" * 2000), 400, "bad_upload"),
        (form(TEXT, "a.md", "", "b", **{f"n{n}": "x" for n in range(UPLOAD_FIELDS + 1)}), 400, "bad_upload"),
        ((b"nonsense", "Content-Type: multipart/form-data; boundary=x"), 400, "bad_upload"),
        ((b"", "Content-Type: multipart/form-data; boundary=x"), 400, "bad_upload"),
        ((b"x", "Content-Type: multipart/form-data; boundary=" + "x" * 300), 400, "bad_upload"),
        ((b"x", "Content-Type: multipart/form-data"), 415, "unsupported_media_type"),
        ((b"{}", "Content-Type: application/json"), 415, "unsupported_media_type"),
        ((form(category="FACTS")[0][:-5], form()[1]), 400, "bad_upload"),
        ((form(category="FACTS")[0][:60], form()[1]), 400, "bad_upload"),
    ],
)
async def test_what_is_no_upload_says_why(body: tuple[bytes, str], status: int, code: str) -> None:
    """A typed problem each, and nothing is kept."""
    ask = asker()
    got, _, value = await ask.ask("POST", DOCS, *body)
    assert (got, code_in(value)) == (status, code)
    assert ask.house.documents == {}


async def test_what_is_no_upload_is_not_logged_either(capfd: pytest.CaptureFixture[str]) -> None:
    """Its parser would say a line of each, with a byte of it: whoever sends such would fill the log."""
    ask = asker()
    kind = "Content-Type: multipart/form-data; boundary=x"
    handlers = [*logging.getLogger("python_multipart").handlers]
    with logged("warning") as log:
        assert await ask.code("POST", DOCS, b"nonsense", kind) == "bad_upload"
    assert (log.getvalue(), capfd.readouterr().err) == ("", "")
    assert logging.getLogger("python_multipart").handlers == handlers  # one more for each upload is a leak


def pdf() -> bytes:
    """Return a PDF file of one line."""
    made = FPDF()
    made.add_page()
    made.set_font("helvetica", size=12)
    made.cell(text="The plan costs 299 kr.")
    return bytes(made.output())


def docx() -> bytes:
    """Return a DOCX file of one paragraph."""
    made, file = docx_document(), BytesIO()
    made.add_paragraph("The plan costs 299 kr.")
    made.save(file)
    return file.getvalue()


@pytest.mark.parametrize(("name", "data"), [("prices.pdf", pdf), ("prices.docx", docx)])
async def test_other_formats_are_read(name: str, data: Callable[[], bytes]) -> None:
    """By their names where their type is not told."""
    ask = asker()
    body, kind = form(data(), name, "application/octet-stream", category="FACTS")
    status, _, made = await ask.ask("POST", DOCS, body, kind)
    assert (status, made["chunks_count"]) == (201, 1)
    assert ask.house.documents[made["id"]][1].strip() == "The plan costs 299 kr."
    assert made["mime"].startswith("application/")


async def test_a_reader_of_others_is_given_up_when_nobody_waits(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What it refuses has the API's codes; one that takes too long is told to stop."""
    efforts: list[Effort] = []

    def refuses(filename: str, mime: str, data: bytes, effort: Effort) -> UploadedText:
        raise BadRequest("too_long", "Split it.")

    with pytest.raises(ProblemError) as told:
        await UploadReader(inline, refuses)("a.md", "", b"x")
    assert (told.value.code, told.value.detail) == ("text_too_long", "Split it.")

    async def slow(function: Callable[[], T]) -> T:
        read = function()
        await trio.sleep(2 * READING_TIMEOUT)
        return read

    def reads(filename: str, mime: str, data: bytes, effort: Effort) -> UploadedText:
        effort.begin()
        return UploadedText("", 0, ReadingReport())

    class Watched(Effort):
        def __init__(self) -> None:
            super().__init__()
            efforts.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.server.api.upload_reader.Effort", Watched)
        with pytest.raises(ProblemError, match="unreadable"):
            await UploadReader(slow, reads)("a.md", "", b"x")
    assert [each.given_up for each in efforts] == [True]


async def test_who_waits_for_a_reader_in_vain_is_told_to_come_again(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whose file is still being read then that it is the file: neither that nothing can be kept."""
    body, kind = form(category="FACTS")

    async def no_thread(function: Callable[[], T]) -> T:
        await trio.sleep_forever()
        raise AssertionError

    async def too_long(function: Callable[[], T]) -> T:
        function()
        return await no_thread(function)

    for runs, status, code in ((no_thread, 503, "too_many_uploads"), (too_long, 422, "unreadable")):
        monkeypatch.setattr("tests.server.api.stores.inline", runs)
        ask = asker()
        got, headers, value = await ask.ask("POST", DOCS, body, kind)
        assert (got, code_in(value), "retry-after" in headers) == (status, code, status == 503)
        assert ask.house.documents == {}


async def test_a_file_is_so_large_and_takes_so_long(autojump_clock: trio.testing.MockClock) -> None:
    """Announced or not; a slow one is let go of."""
    ask = asker()
    _, kind = form(category="FACTS")
    huge = request("POST", DOCS, None, kind, f"Content-Length: {UPLOAD_MAX * 2}")
    status, _, _ = await ask.raw(huge)
    assert status == 413
    big, kind = form(bytes(UPLOAD_MAX + 1), category="FACTS")
    assert await ask.code("POST", DOCS, big, kind) == "upload_too_large"
    slow = request("POST", DOCS, None, kind, "Content-Length: 1000")
    status, _, _ = await ask.raw(slow)
    assert status == 408
    assert trio.current_time() == pytest.approx(UPLOAD_TIMEOUT, abs=3)


async def test_so_many_are_read_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """The next is told to come back, and can when one is done."""
    ask = asker()
    body, kind = form(category="FACTS")
    async with trio.open_nursery() as nursery:
        ends = []
        for _ in range(UPLOADS_AT_ONCE):
            ours, theirs = pipe(1 << 30)
            nursery.start_soon(serve_stream, ask.edge, theirs)
            ours.feed(request("POST", DOCS, body, kind)[:-1])
            ends.append(ours)
        await trio.testing.wait_all_tasks_blocked()
        end, theirs = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, theirs)
        end.feed(request("POST", DOCS, body, kind))
        assert b'"code":"too_many_uploads"' in await end.receive_some(1 << 16)
        end.close()
        for each in ends:
            each.close()
    assert (await ask.ask("POST", DOCS, body, kind))[0] == 201


@pytest.mark.parametrize("category", ["FACTS", "OTHER"])
async def test_who_was_answered_is_no_longer_read(
    category: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Good or bad: another upload has its turn, though the client has not closed its connection yet."""
    ask = asker()
    body, kind = form(category=category)
    async with trio.open_nursery() as nursery:
        ends = []
        for _ in range(UPLOADS_AT_ONCE):
            ours, theirs = pipe(1 << 30)
            nursery.start_soon(serve_stream, ask.edge, theirs)
            ours.feed(request("POST", DOCS, body, kind))
            assert await ours.receive_some(1 << 16)
            ends.append(ours)
        end, theirs = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, theirs)
        end.feed(request("POST", DOCS, *form(category="STATE")))
        assert b'"category":"STATE"' in await end.receive_some(1 << 16)
        for each in (*ends, end):
            each.close()


async def test_who_is_refused_and_does_not_read_it_takes_nobodys_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its refusal waits to be taken, and another upload is read meanwhile."""
    ask = asker()
    async with trio.open_nursery() as nursery:
        deaf = []
        for _ in range(UPLOADS_AT_ONCE):
            ours, theirs = pipe(16)
            nursery.start_soon(serve_stream, ask.edge, theirs)
            ours.feed(request("POST", DOCS, *form(category="NONE")))
            deaf.append(ours)
        await trio.testing.wait_all_tasks_blocked()
        end, theirs = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, theirs)
        end.feed(request("POST", DOCS, *form(category="STATE")))
        assert b'"category":"STATE"' in await end.receive_some(1 << 16)
        for each in (*deaf, end):
            each.close()
