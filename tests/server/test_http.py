"""Plain HTTP over memory streams: the routes of the page, their headers, and clients that take no answer."""

import re
from dataclasses import replace
from gzip import decompress
from importlib.resources import files

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.config import HTTP_TIMEOUT, WRITE_TIMEOUT
from agent.server.admission import Admission
from agent.server.page_routes import PageContents
from agent.server.responses import SECURITY
from agent.server.serve import serve_stream
from agent.server.settings import ServerSettings

from . import exchange, later, page, parted

UNREADY = [""]
CONTENTS = PageContents(
    asyncapi=b'{"asyncapi":"3.0.0"}',
    session_diagram="stateDiagram-v2\n",
    metrics=later(lambda: b"agent_x 1\n"),
    unready=later(lambda: UNREADY[0]),
)
SERVER = page(CONTENTS)
CLOSE = "Connection: close\r\n"


async def get(path: str, method: str = "GET", headers: str = "") -> tuple[int, dict[str, str], bytes]:
    """Ask for a path; return status, headers and body."""
    request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{CLOSE}{headers}\r\n".encode()
    return parted(await exchange(SERVER, request))


@pytest.mark.parametrize(
    ("path", "kind", "part"),
    [
        ("/", "text/html", b"<!doctype html>"),
        ("/static/app.js", "text/javascript", b"number_mismatch"),
        ("/agent.js", "text/javascript", b"WebSocket"),
        ("/agent.d.ts", "text/plain", b"export function connect"),
        ("/static/style.css", "text/css", b":focus-visible"),
        ("/static/icon.svg", "image/svg+xml", b"<svg"),
        ("/favicon.ico", "image/svg+xml", b"<svg"),
        ("/healthz", "text/plain", b"ok"),
        ("/metrics", "text/plain; version=0.0.4", b"agent_x 1"),
        ("/asyncapi.json", "application/json", b'{"asyncapi":"3.0.0"}'),
        ("/session.mmd", "text/plain", b"stateDiagram-v2"),
        ("/docs", "text/html", b'<script type="module" src="/static/docs.js">'),
        ("/static/docs.js", "text/javascript", b"openapi.json"),
        ("/guide", "text/html", b'<a href="/guide/quickstart">'),
        ("/guide/models", "text/html", b"<h1>Models</h1>"),
    ],
)
async def test_every_route_answers_get_and_head(path: str, kind: str, part: bytes) -> None:
    """With its type and the security headers; HEAD has the same headers and no body."""
    status, headers, body = await get(path)
    assert status == 200
    assert headers["content-type"].startswith(kind)
    assert part in body.lower() or part in body
    assert {name: headers[name] for name in SECURITY} == dict(SECURITY)
    assert headers["connection"] == "close"
    head_status, head_headers, head_body = await get(path, "HEAD")
    assert (head_status, head_body) == (200, b"")
    assert head_headers["content-length"] == str(len(body))


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/style.css", "/favicon.ico", "/guide/tools"])
async def test_a_file_that_a_browser_holds_is_not_sent_again(path: str) -> None:
    """Its ETag, as it is, weak or in a list, is answered 304 without a body; any other gets the file."""
    _, first, _ = await get(path)
    tag = first["etag"]
    for held in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        status, headers, body = await get(path, headers=f"If-None-Match: {held}\r\n")
        assert (status, body, headers["etag"]) == (304, b"", tag)
        assert {name: headers[name] for name in SECURITY} == dict(SECURITY)
    status, headers, body = await get(path, headers='If-None-Match: "other"\r\n')
    assert (status, headers["etag"]) == (200, tag)
    assert body
    tags = {(await get(each))[1]["etag"] for each in ("/", "/static/app.js", "/static/style.css")}
    assert len(tags) == 3


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("gzip; q=1.0", True),
        ("gzip;q=0", False),
        ("br", False),
        ("", False),
    ],
)
async def test_a_file_is_compressed_for_a_browser_that_accepts_it(accepted: str, packed: bool) -> None:
    """With an ETag of its own; the whole page takes less than 100 KB so."""
    plain_tag = (await get("/static/app.js"))[1]["etag"]
    status, headers, body = await get("/static/app.js", headers=f"Accept-Encoding: {accepted}\r\n")
    assert (status, headers["vary"]) == (200, "accept-encoding")
    assert (headers.get("content-encoding") == "gzip", headers["etag"] != plain_tag) == (packed, packed)
    assert b"number_mismatch" in (decompress(body) if packed else body)
    sizes = [
        len((await get(each, headers="Accept-Encoding: gzip\r\n"))[2])
        for each in ("/", "/static/app.js", "/static/style.css")
    ]
    assert sum(sizes) < 100_000


async def told(contents: PageContents, path: str) -> tuple[int, bytes]:
    """Return status and body of what a server with these contents answers."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{CLOSE}\r\n".encode()
    status, _, body = parted(await exchange(page(contents), request))
    return status, body


async def test_the_page_has_the_name_and_the_greeting_of_its_operator() -> None:
    """Escaped, in its title and for its script; without them it is as it was."""
    named = replace(CONTENTS, name='Help & "more" <b>', greeting="Hello <script>!")
    for path in ("/", "/static/index.html"):
        _, page = await told(named, path)
        assert b"<title>Help &amp; &quot;more&quot; &lt;b&gt;</title>" in page
        assert b'<meta name="agent-name" content="Help &amp; &quot;more&quot; &lt;b&gt;">' in page
        assert b'<meta name="agent-greeting" content="Hello &lt;script&gt;!">' in page
        assert b'<meta name="agent-quotes" content="">' in page
        assert b'<meta name="agent-copies" content="">' in page
    _, page = await told(replace(CONTENTS, quotes=True), "/")
    assert b"<title>Ask</title>" in page
    assert b'<meta name="agent-quotes" content="yes">' in page
    assert b'"agent-greeting" content=""' in page


async def test_questions_to_begin_with_come_in_the_language_asked_for() -> None:
    """As JSON; 503 while the documents are read."""
    asking = replace(CONTENTS, openers=lambda lang: (f"Fråga {lang}?",))
    assert await told(asking, "/openers.json?lang=sv") == (200, b'["Fr\\u00e5ga sv?"]')
    assert (await told(asking, "/openers.json?lang=xx"))[1] == b'["Fr\\u00e5ga en?"]'
    assert (await told(replace(CONTENTS, openers=lambda _: None), "/openers.json")) == (200, b"[]")


async def test_readiness_follows_the_server() -> None:
    """503 with the reason while there is one."""
    assert (await get("/readyz"))[0] == 200
    UNREADY[0] = "The server is going down."
    status, _, body = await get("/readyz")
    UNREADY[0] = ""
    assert (status, body) == (503, b"not ready: The server is going down.\n")


async def test_what_does_not_work_is_told_though_clients_are_welcome() -> None:
    """200, so that nobody takes the server out for it."""
    limping = replace(CONTENTS, trouble=lambda: "What is said is not remembered: the disk is full.")
    assert await told(limping, "/readyz") == (
        200,
        b"ready, but: What is said is not remembered: the disk is full.\n",
    )


async def test_an_unknown_path_is_404_in_plain_words() -> None:
    """Headers included, and the path is not repeated."""
    status, headers, body = await get("/secret-path")
    assert (status, headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert b"chat page is at /" in body
    assert b"secret" not in body
    assert headers["x-content-type-options"] == "nosniff"


async def test_a_post_is_405() -> None:
    """Nothing takes one; its body is never read as a request."""
    answer = await exchange(
        SERVER,
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 44\r\n\r\n"
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("connection", [b"", b"Connection: keep-alive\r\n"])
async def test_a_second_request_on_a_connection_is_never_served(connection: bytes) -> None:
    """Only the first was checked."""
    first = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + connection + b"\r\n"
    second = b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    answer = await exchange(SERVER, first + second)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"agent_x" not in answer


@pytest.mark.parametrize(
    "upgrade",
    [
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n",
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n",
    ],
    ids=["h2c", "websocket"],
)
async def test_another_protocol_is_not_entered(upgrade: bytes) -> None:
    """A plain request that would like to be something else is answered as what it is."""
    answer = await exchange(SERVER, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + upgrade + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\nok\n")


async def test_a_client_that_half_closes_still_gets_its_answer() -> None:
    """As netcat does."""
    client, stream = trio.testing.memory_stream_pair()
    await client.send_all(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
    await client.send_eof()
    await serve_stream(SERVER, stream)
    answer = bytearray()
    while data := await client.receive_some():
        answer += data
    assert answer.endswith(b"ok\n")


class Stuck(trio.abc.HalfCloseableStream):
    """A client that sent its request and never takes a byte of the answer."""

    def __init__(self) -> None:
        self._request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the request, then wait for ever."""
        await trio.lowlevel.checkpoint()
        if self._request:
            request, self._request = self._request, b""
            return request
        await trio.sleep_forever()
        raise AssertionError

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Wait for ever."""
        await trio.sleep_forever()

    async def wait_send_all_might_not_block(self) -> None:
        """Wait for ever."""
        await trio.sleep_forever()

    async def send_eof(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""


async def test_a_client_that_takes_nothing_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """A blocked write has a deadline."""
    started = trio.current_time()
    await serve_stream(SERVER, Stuck())
    assert trio.current_time() - started < WRITE_TIMEOUT + 5


async def test_a_cancel_ends_a_blocked_answer_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """The server can go down while someone does not read."""
    started = trio.current_time()
    with trio.move_on_after(1):
        await serve_stream(SERVER, Stuck())
    assert trio.current_time() - started == pytest.approx(1)


async def test_an_answer_that_takes_too_long_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """One request cannot hold its connection for ever."""

    async def hangs() -> bytes:
        await trio.sleep_forever()
        raise AssertionError

    started = trio.current_time()
    status, body = await told(replace(CONTENTS, metrics=hangs), "/metrics")
    assert (status, b"too long" in body) == (503, True)
    assert trio.current_time() - started == pytest.approx(HTTP_TIMEOUT)


async def test_a_fault_of_a_route_is_500() -> None:
    """And nothing of it is told, but an id that is in the log."""

    async def breaks() -> bytes:
        raise ZeroDivisionError("secret")

    with capture_logs() as logs:
        status, body = await told(replace(CONTENTS, metrics=breaks), "/metrics")
    assert (status, body) == (500, b"Something broke here; ask again, or report fault fault.\n")
    assert [(each["event"], each["fault"]) for each in logs] == [("request broke", "fault")]
    assert "secret" not in str(logs)


@pytest.mark.parametrize(
    ("shown", "status"),
    [("", 401), ("bearer s3cret-x", 405), ("Bearer s3cret", 401), ("Basic s3cret-x", 401)],
)
async def test_the_token_guards_every_post(shown: str, status: int) -> None:
    """Whatever answers it, and whether or not anything does."""
    locked = page(CONTENTS, Admission.of(ServerSettings(token="s3cret-x")))
    header = f"Authorization: {shown}\r\n" if shown else ""
    for path, there in (("/", True), ("/nothing", False)):
        request = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode()
        told = parted(await exchange(locked, request))[0]
        assert told == (status if there or status == 401 else 404)


def test_the_page_loads_nothing_from_elsewhere_and_inserts_no_markup() -> None:
    """No outside address, no inline script or style, and only text is put into the page."""
    folder = files("agent.server").joinpath("static")
    page = folder.joinpath("index.html").read_text(encoding="utf-8")
    script = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("app.js", "words.js"))
    client = files("agent").joinpath("client", "js", "agent.js").read_text(encoding="utf-8")
    assert re.findall(r"document|https?://(?!127\.0\.0\.1)\w", client) == []
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    assert re.findall(r"(?:src|href)=\"(?!/static/)([^\"]*)\"", page) == [
        "/guide",
        "/docs",
        "/story",
    ]  # links, on this server
    assert re.findall(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page) == []
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://", script) == []
    )
    assert re.findall(r"@import|url\(", style) == []
