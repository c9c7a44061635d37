"""Requests hidden in, behind and between others on one connection: none is answered that its client did not send.

However the bytes of well-formed requests are cut into pieces, what is answered is the beginning of what was asked, in
order. And behind a request whose end two readers may see in two places, nothing is answered at all.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from agent.compose.adapters import Adapters
from agent.llm.script import ScriptModel
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.faults import PipeEnd
from agent.testing.network import Network, network

from ..examples import sample

SETTINGS = Settings.of(pace_ms=0, rate_limit=0, api_rate=0)
ADAPTERS = Adapters(knowledge=KnowledgeBase.build([]), model=ScriptModel(()))
HOST = "Host: localhost"
JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"


def head(line: str, *headers: str, host: str = HOST) -> bytes:
    """A head."""
    return "\r\n".join((f"{line} HTTP/1.1", host, *headers, "", "")).encode()


def sized(line: str, body: bytes) -> bytes:
    """A request whose length is said."""
    return head(line, JSON, f"Content-Length: {len(body)}") + body


def chunked(line: str, body: bytes) -> bytes:
    """A request in two chunks."""
    half = len(body) // 2
    parts = (b"%x;x=y\r\n%s\r\n" % (len(each), each) for each in (body[:half], body[half:]))
    return head(line, JSON, CHUNKED) + b"".join(parts) + b"0\r\n\r\n"


def project(name: str) -> bytes:
    """The body of a new project, whose answer names it."""
    return f'{{"name":"{name}","role_statement":"GET /session.mmd HTTP/1.1\\r\\n"}}'.encode()


ASKED: tuple[tuple[bytes, bytes], ...] = (
    (head("GET /healthz"), b"ok\n"),
    (head("GET /session.mmd"), b"stateDiagram"),
    (head("GET /v1/models", "Content-Length: 0"), b'"object":"list"'),
    (head("GET /health"), b'"database"'),
    (sized("POST /projects", project("sized")), b'"name":"sized"'),
    (chunked("POST /projects", project("in-chunks")), b'"name":"in-chunks"'),
)
"""Requests, and what only their own answers hold."""


def told(came: bytes) -> Iterator[bytes]:
    """Yield the bodies of whole answers."""
    while came:
        first, _, came = came.partition(b"\r\n\r\n")
        assert first.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 201 ")), first
        (size,) = (line for line in first.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        length = int(size.partition(b":")[2])
        yield came[:length]
        came = came[length:]


async def send(end: PipeEnd, pieces: list[bytes]) -> bytes:
    """Send pieces one by one, each once the server waits; return all that comes."""
    came = b""
    for piece in pieces:
        end.feed(piece)
        await trio.testing.wait_all_tasks_blocked()
        came += end.take()
    return came


def run(data: bytes, cuts: set[int]) -> bytes:
    """Send bytes, cut at some places, over one connection; return all that comes."""

    async def main() -> bytes:
        async with network(SETTINGS, ADAPTERS) as net:
            places = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
            pieces = [data[at:end] for at, end in pairwise(places)]
            return await send(net.open(), pieces)

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def held_to(came: bytes, asked: list[int]) -> int:
    """Check that answers are those of the first of some requests, in order; return how many."""
    answers = [*told(came)]
    assert 1 <= len(answers) <= len(asked)
    for number, answer in zip(asked, answers, strict=False):
        holds = [part for _, part in ASKED if part in answer]
        assert holds == [ASKED[number][1]]
    return len(answers)


@given(
    st.lists(st.integers(0, len(ASKED) - 1), min_size=1, max_size=5),
    st.sets(st.integers(1, 1000), max_size=12),
)
def test_however_requests_are_cut_their_answers_are_theirs(asked: list[int], cuts: set[int]) -> None:
    """In order, and of the first ones: who sends on before its answer has come is answered no more."""
    held_to(run(b"".join(ASKED[number][0] for number in asked), cuts), asked)


def test_requests_one_by_one_are_all_answered() -> None:
    """Also byte by byte."""
    asked = [5, 0, 4, 1, 2, 5, 3, 4]
    data = [ASKED[number][0] for number in asked]
    ends = {sum(map(len, data[:count])) for count in range(len(data))}
    assert held_to(run(b"".join(data), ends), asked) == len(asked)
    whole = b"".join(data)
    assert held_to(run(whole, set(range(len(whole)))), asked) == len(asked)


HIDDEN = head("GET /session.mmd")
EVIL = head("GET /session.mmd", host="Host: evil.example")
BODY = project("visible")
LENGTH = f"Content-Length: {len(BODY)}"


def hidden_behind(line: str, *headers: str) -> bytes:
    return head(line, *headers) + BODY + HIDDEN


TRIES = {
    "CL.TE": head("POST /projects", JSON, f"Content-Length: {5 + len(HIDDEN)}", CHUNKED)
    + b"0\r\n\r\n"
    + HIDDEN,
    "TE.CL": head("POST /projects", JSON, "Content-Length: 4", CHUNKED)
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
    "TE.CL on a page": head("GET /", "Content-Length: 4", CHUNKED)
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
    "TE.TE": hidden_behind("POST /projects", JSON, CHUNKED, "Transfer-Encoding: x"),
    "TE in other letters": hidden_behind("POST /projects", JSON, LENGTH, "tRANSFER-eNCODING: ChunKed"),
    "TE behind a tab": hidden_behind("POST /projects", JSON, LENGTH, "Transfer-Encoding:\tchunked"),
    "TE with a blank in its name": hidden_behind(
        "POST /projects", JSON, LENGTH, "Transfer-Encoding : chunked"
    ),
    "TE that is quoted": hidden_behind("POST /projects", JSON, LENGTH, 'Transfer-Encoding: "chunked"'),
    "TE in a folded line": hidden_behind("POST /projects", JSON, LENGTH, "Transfer-Encoding:\r\n chunked"),
    "TE in a fold of another": hidden_behind(
        "POST /projects", JSON, LENGTH, "X: y\r\n Transfer-Encoding: chunked"
    ),
    "TE behind a line feed": hidden_behind(
        "POST /projects", JSON, LENGTH, "X: y\nTransfer-Encoding: chunked"
    ),
    "TE behind a carriage return": hidden_behind(
        "POST /projects", JSON, LENGTH, "X: y\rTransfer-Encoding: chunked"
    ),
    "TE with U+0000": hidden_behind("POST /projects", JSON, LENGTH, "Transfer-Encoding: chunked\0"),
    "TE of HTTP/1.0": hidden_behind("POST /projects", JSON, CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0", 1),
    "two lengths": hidden_behind("POST /projects", JSON, LENGTH, "Content-Length: 3"),
    "two lengths in one": hidden_behind("POST /projects", JSON, f"{LENGTH}, 3"),
    "a length with a sign": hidden_behind("POST /projects", JSON, LENGTH.replace(": ", ": +")),
    "a length in hex": hidden_behind("POST /projects", JSON, "Content-Length: 0x10"),
    "a length that is less than it is": head("POST /projects", JSON, "Content-Length: 1") + BODY + HIDDEN,
    "a length in a folded line": hidden_behind("POST /projects", JSON, "X: y", "Content-Length:\r\n 0"),
    "a length of a GET": head("GET /healthz", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "chunks of a GET": head("GET /healthz", CHUNKED) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
    "a length of a HEAD": head("HEAD /healthz", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a length of a DELETE": head("DELETE /projects/x", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a chunk's size with a sign": head("POST /projects", JSON, CHUNKED)
    + b"+5\r\nhello\r\n0\r\n\r\n"
    + HIDDEN,
    "a chunk that is longer": head("POST /projects", JSON, CHUNKED) + b"1\r\nhello\r\n0\r\n\r\n" + HIDDEN,
    "chunks that end in line feeds": head("POST /projects", JSON, CHUNKED) + b"5\nhello\n0\n\n" + HIDDEN,
    "a request in a chunk's extension": head("POST /projects", JSON, CHUNKED)
    + b"5;\nGET /session.mmd HTTP/1.1\r\nhello\r\n0\r\n\r\n"
    + HIDDEN,
    "a request in a trailer": head("POST /projects", JSON, CHUNKED) + b"0\r\n" + HIDDEN + HIDDEN,
    "a body that is not asked for": head(
        "POST /projects", JSON, "Expect: 100-continue", "Content-Length: 9999999"
    )
    + HIDDEN,
    "an odd expectation": head("GET /healthz", "Expect: x", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a foreign host behind": head("GET /healthz") + EVIL,
    "an upgrade with a body": head(
        "GET /ws",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Content-Length: {len(HIDDEN)}",
    )
    + HIDDEN,
    "an upgrade that is refused": head("GET /ws", "Connection: Upgrade", "Upgrade: websocket") + HIDDEN,
    "an upgrade to HTTP/2": head("GET /", "Connection: Upgrade", "Upgrade: h2c") + HIDDEN,
    "an empty line before": b"\r\n" + HIDDEN,
    "a line without a version": b"GET /\r\n\r\n" + HIDDEN,
    "a target with a line in it": head("GET /%0d%0aHost:%20x") + HIDDEN,
    "no host": head("GET /healthz", host="X: y") + HIDDEN,
}


async def one_answer(net: Network, data: bytes, before: bool) -> None:
    """Send a try, and the hidden request once more when it was answered: one answer at most, and the end."""
    end = net.open()
    if before:
        assert (await send(end, [head("GET /healthz")])).startswith(b"HTTP/1.1 200 ")
    for pieces in ([data], [HIDDEN], [HIDDEN]):
        came = await send(end, pieces)
        assert len(re.findall(rb"HTTP/1\.1 [2-5]\d\d ", came)) <= (pieces == [data])
        assert b"stateDiagram" not in came
        assert b"keep-alive" not in came
    with trio.fail_after(60):
        assert b"stateDiagram" not in bytes(await end.receive_some())
    end.close()


@pytest.mark.parametrize("data", sample(TRIES.values(), 3), ids=TRIES)
async def test_nothing_that_is_hidden_is_answered(
    data: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """Neither on a fresh connection nor on one that was kept; and a client beside it gets its own answers."""
    async with network(SETTINGS, ADAPTERS) as net:
        beside = net.open()
        for before in (False, True):
            await one_answer(net, data, before)
            assert [*told(await send(beside, [head("GET /healthz")]))] == [b"ok\n"]
            await trio.sleep(1)
        edge = net.app._edge
        assert edge is not None
        beside.close()
        await trio.sleep(60)
        assert (edge.limits.used, edge.limits.places.used, edge.limits.door.used) == (0, 0, 0)
