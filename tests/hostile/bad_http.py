"""Bad requests over HTTP as one table: what is sent, piece by piece, and all that is answered.

An answer is told as `400 bad_json`: its status and the code of its problem, or of its error in OpenAI's shape; `plain`
where a path is nobody's API. `100` is asked for a body, `nothing` is a connection that ends without a word.
"""

import json
from collections.abc import Iterator
from typing import Any

from agent.config import HEAD_MAX, MAX_ID, UPLOAD_MAX
from agent.server.body import BODY_CHUNKS

from .bad_bodies import (
    CATEGORY,
    CHUNKED,
    END,
    FORM,
    KEY,
    NOTHING,
    Bad,
    Ids,
    Piece,
    Target,
    chunks,
    edited_wrongly,
    part,
    said_wrongly,
    tools_wrongly,
    uploaded_wrongly,
)

__all__ = ["NOTHING", "Bad", "Ids", "Target", "cases", "slow"]


def targets(ids: Ids) -> list[Target]:
    """Return every route that takes a body."""
    bodies: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/chat", {"user_id": "u", "message": "hello"}),
        ("POST", f"/calls/{ids.waits}/begin", {}),
        ("POST", f"/calls/{ids.waits}/approve", {"user_id": "anna"}),
        ("POST", "/tools/result", {"tool_call_id": ids.begun, "ok": True}),
        ("POST", "/projects", {"name": "a", "role_statement": "b"}),
        ("PUT", f"/projects/{ids.project}", {"name": "a"}),
        ("POST", f"/projects/{ids.project}/keys", {"name": "k"}),
        ("POST", f"/calls/{ids.waits}/reject", {}),
        ("POST", "/threads/none/cancel", {}),
    ]
    asks = [
        ("/ask", {"text": "hello"}),
        ("/v1/chat/completions", {"model": "agent", "messages": [{"role": "user", "content": "hello"}]}),
        ("/v1/responses", {"model": "agent", "input": "hello"}),
        ("/v1/embeddings", {"input": "hello"}),
        ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    ]
    return [
        Target("POST", f"/projects/{ids.project}/docs", CATEGORY + part("file", b"x", b"a.md") + END, FORM),
        *(Target("POST", path, json.dumps(body).encode(), openai=True) for path, body in asks),
        *(Target(method, path, json.dumps(body).encode()) for method, path, body in bodies),
    ]


# --- how a request is framed


def framed_wrongly(on: Target) -> Iterator[Bad]:
    """Yield what is refused before anybody looks at what a body says."""
    yield from _lengths(on)
    yield from _chunked(on)
    yield from _heads(on)
    yield from _admission(on)


def _lengths(on: Target) -> Iterator[Bad]:
    size = len(on.body)
    for name, *lines in (
        ("a negative length", "Content-Length: -1"),
        ("a signed length", f"Content-Length: +{size}"),
        ("a length in hex", "Content-Length: 0x10"),
        ("two lengths", f"Content-Length: {size}", f"Content-Length: {size + 1}"),
        ("two lengths in one line", f"Content-Length: {size}, {size + 1}"),
        ("a length of 5,000 digits", f"Content-Length: {'9' * 5000}"),
        ("a blank before the colon", f"Content-Length : {size}"),
        ("gzip in chunks", "Transfer-Encoding: gzip, chunked"),
        ("chunks twice", CHUNKED, CHUNKED),
        ("a vertical tab", "Transfer-Encoding: \x0bchunked"),
        ("no coding", "Transfer-Encoding: identity"),
    ):
        yield on.bad(name, "400 bad_request", on.head(*lines) + on.body)
    both = on.head("Content-Length: 4", CHUNKED)
    hidden = b"0\r\n\r\nGET /projects HTTP/1.1\r\nHost: localhost\r\n" + KEY.encode() + b"\r\n\r\n"
    yield on.bad("a request behind two lengths", "400 bad_request", both + hidden)
    huge = on.head(f"Content-Length: {10**19}")
    yield on.bad("a huge length", "413 too_large", huge + on.body)
    yield on.bad("requests behind a refused body", "413 too_large", huge + 3 * on.whole(on.body))
    cut = NOTHING if on.openai else "400 bad_request"
    yield on.bad("cut short", cut, on.head(f"Content-Length: {size + 5}") + on.body, "end")
    yield on.bad("cut at once", cut, on.head(f"Content-Length: {size}"), "end")


def _chunked(on: Target) -> Iterator[Bad]:
    cut = NOTHING if on.openai else "400 bad_request"
    head, size = on.head(CHUNKED), len(on.body)
    for name, body in (
        ("a chunk of no size", b"zz\r\n" + on.body),
        ("a negative chunk", b"-5\r\n" + on.body),
        ("a chunk in 0x", b"0x5\r\n" + on.body),
        ("a chunk of 21 digits", b"f" * 21 + b"\r\n"),
        ("a chunk's head of 64 KB", b"0" * 65536),
        ("a chunk's extension of 64 KB", b"5;" + b"a" * 65536),
        ("a chunk that goes on", b"2\r\n--bcd\r\n0\r\n\r\n"),
        ("a trailer that is none", chunks(on.body, end=b"0\r\nX\r\n\r\n")),
        ("trailers of 70 KB", chunks(on.body, end=b"0\r\nX: " + b"a" * 70_000)),
    ):
        yield on.bad(name, "400 bad_request", head + body)
    for name, body in (
        ("a huge chunk", b"f" * 19 + b"\r\n" + on.body),
        ("a chunk cut short", b"%x\r\n%s" % (size + 10, on.body)),
        ("a chunk's head cut short", b"1"),
        ("no last chunk", b"%x\r\n%s\r\n" % (size, on.body)),
    ):
        if name == "a huge chunk" and on.kind != "application/json":
            continue  # the form in it is whole
        yield on.bad(name, cut, head + body, "end")
    yield on.bad("chunks of HTTP/1.0", "400 bad_request", on.head(CHUNKED, version="1.0") + chunks(on.body))
    if on.kind == "application/json":
        many = chunks(*[b" "] * (BODY_CHUNKS + 1))
        yield on.bad("too many chunks", "413 too_large", head + many)
        yield on.bad("too much in chunks", "413 too_large", head + chunks(*[b" " * 65536] * 4, b" "))


def _heads(on: Target) -> Iterator[Bad]:
    size = f"Content-Length: {len(on.body)}"
    large = f"431 {'request_header_fields_too_large' if on.openai else 'head_too_large'}"
    method = "405 method_not_allowed"
    yield on.bad("a header of 17 KB", large, on.head("X: " + "b" * HEAD_MAX, size) + on.body)
    yield on.bad("a header of 1 MB", large, on.head("X: " + "b" * 1_000_000, size) + on.body)
    yield on.bad("3,000 headers", large, on.head(*(f"A{n}: b" for n in range(3000)), size) + on.body)
    yield on.bad("a query of 20 KB", large, on.head(target=f"{on.path}?{'a' * 20_000}"))
    version = "505 http_version_not_supported" if on.openai else "505 unknown_version"
    yield on.bad("HTTP/2.0", version, on.head(size, version="2.0") + on.body)
    yield on.bad("no version", "400 bad_request", f"{on.method} {on.path}\r\n\r\n".encode())
    yield on.bad("U+0000 in a header", "400 bad_request", on.head("X: a\0b", size) + on.body)
    yield on.bad("a line in a header", "400 bad_request", on.head("X: a\rX-Y: b", size) + on.body)
    yield on.bad("a path that is no ASCII", "400 bad_request", on.head(target=f"{on.path}?\xff"))
    for other in ("BREW", "TRACE", on.method.lower(), "PATCH", "OPTIONS"):
        yield on.bad(f"{other} it", method, on.head(method=other))
    address = "405 plain" if on.method == "PUT" else "400 plain"
    yield on.bad("a whole address", address, on.head(size, target=f"http://evil.example{on.path}"))


def _admission(on: Target) -> Iterator[Bad]:
    good = on.whole(on.body)
    misdirected = "421 misdirected_request" if on.openai else "421 misdirected"
    yield on.bad("no host", "400 bad_request", good.replace(b"Host: localhost\r\n", b""))
    yield on.bad("two hosts", "400 bad_request", on.whole(on.body, "Host: localhost"))
    yield on.bad("a foreign host", misdirected, good.replace(b"localhost", b"evil.example"))
    yield on.bad("a foreign origin", "403 forbidden", on.whole(on.body, "Origin: http://evil.example"))
    yield on.bad("no key", "401 unauthorized", good.replace(KEY.encode(), b"X: y"))
    yield on.bad("gzip", "415 unsupported_media_type", on.whole(on.body, "Content-Encoding: gzip"))
    form = good.replace(on.kind.encode(), b"application/x-www-form-urlencoded")
    yield on.bad("a form", "415 unsupported_media_type", form)
    asks = on.head("Expect: 100-continue", f"Content-Length: {len(on.body)}")
    cut = NOTHING if on.openai else "400 bad_request"
    yield on.bad(
        "asked for, and it does not come", "100" if on.openai else f"100, {cut}", asks, "asked", "end"
    )
    large = on.head("Expect: 100-continue", f"Content-Length: {2 * UPLOAD_MAX}")
    yield on.bad("not asked for: too large", "413 too_large", large, "asked", on.body)
    yield on.bad("not asked for: no key", "401 unauthorized", asks.replace(KEY.encode(), b"X: y"), "asked")
    for name, lines in (
        (
            "a WebSocket",
            ("Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {'A' * 22}=="),
        ),
        ("HTTP/2", ("Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")),
    ):
        upgrade = on.head("Connection: Upgrade", *lines, f"Content-Length: {len(on.body) + 1}")
        yield on.bad(f"an upgrade to {name}", cut, upgrade + on.body, "end")
    if on.openai:
        return
    yield on.bad("two keys", "401 unauthorized", on.whole(on.body, "X-AGENT-KEY: another"))
    yield on.bad("a query that it has not", "400 bad_request", on.whole(on.body, target=f"{on.path}?x=1"))
    if on.method == "POST":
        for name, key in (("long", "a" * 129), ("blank", "a b"), ("not ASCII", "\xe5")):
            yield on.bad(
                f"an idempotency key that is {name}",
                "400 bad_request",
                on.whole(on.body, f"Idempotency-Key: {key}"),
            )


# --- names

_PLACES = (
    "../x",
    "..%2fx",
    "%2e%2e",
    "a" * (MAX_ID + 1),
    "a%00b",
    "%00",
    "a\\b",
    "a;b",
    "a'--",
    "%ff",
    "..",
    "%",
)
_QUERIES = (
    *("limit=0", "limit=-1", "limit=201", f"limit={'9' * 5000}", "limit=1&limit=1", "x=1", "%", "a" * 3000),
    *("&" * 3000, f"cursor={'A' * 5000}", "user_id=%ff", "limit=1%00"),
)


def named_wrongly(ids: Ids) -> Iterator[Bad]:
    """Yield paths and queries that lead nowhere, and what is not HTTP."""
    for name in _PLACES:
        for method, path in (
            ("GET", f"/projects/{name}"),
            ("GET", f"/projects/{ids.project}/docs/{name}"),
            ("DELETE", f"/projects/{ids.project}/docs/{name}"),
            ("DELETE", f"/threads/{name}"),
            ("GET", f"/calls/{name}"),
        ):
            on = Target(method, path, b"")
            yield on.bad("a name", "404 not_found", on.head())
    for path in ("/projects", "/threads", "/calls", f"/projects/{ids.project}/docs"):
        on = Target("GET", path, b"")
        for query in _QUERIES:
            if query != "user_id=%ff" or path == "/threads":
                yield on.bad(f"?{query[:12]}", "400 bad_request", on.head(target=f"{path}?{query}"))
        for cursor in ("A", "%00", "bWVzc2FnZXMgMQ", "Y2FsbHMg2aE"):
            yield on.bad(f"?{cursor}", "400 bad_cursor", on.head(target=f"{path}?cursor={cursor}"))
    for path in ("/static/../../etc/passwd", "/static/%2e%2e/x", "//projects", "/projects;x", "/%2e%2e"):
        on = Target("GET", path, b"")
        yield on.bad("a file", "404 plain", on.head())
    nobody = Target("GET", "/", b"")
    for said, data in (
        ("TLS", bytes.fromhex("16030100a5010000a10303") + bytes(150)),
        ("binary", bytes(range(256)) * 9 + b"\r\n\r\n"),
        ("an empty line", b"\r\n\r\n" + nobody.head()),
        ("CONNECT", b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ):
        yield nobody.bad(said, "405 plain" if said == "CONNECT" else "400 plain", data)
    yield nobody.bad("HTTP/2", "505 plain", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    yield nobody.bad("silence that ends", NOTHING, "end")
    yield nobody.bad("half a head that ends", NOTHING, nobody.head()[:-2], "end")


def cases(ids: Ids, every: bool = True) -> list[Bad]:
    """Return the table. every: all ways of framing on every route, and not only on one of each kind."""
    found = [*named_wrongly(ids), *edited_wrongly(ids)]
    for number, on in enumerate(targets(ids)):
        found += [*said_wrongly(on), *tools_wrongly(on), *uploaded_wrongly(on)]
        if every or number in (0, 1, 4, 5):
            found += framed_wrongly(on)
    return found


def slow(ids: Ids) -> list[Bad]:
    """Return what comes too slowly, or not at all; each takes as long as it may."""
    nobody = Target("GET", "/", b"")
    found = [nobody.bad("silence", "408 plain"), nobody.bad("no HTTP", "408 plain", b"SSH-2.0-OpenSSH_9\r\n")]
    for on in targets(ids):
        line, _, lines = on.head(f"Content-Length: {len(on.body)}").partition(b"\r\n")
        head = line + b"\r\n" + lines
        asks = on.head("Expect: 100-continue", f"Content-Length: {len(on.body)}")
        late = "408 request_timeout" if on.openai else "408 too_slow"
        found += [
            on.bad("half a head", late, head[:-2]),
            on.bad("a head's byte each 0.2 s", late, line, *_dripping(b"\r\n" + lines, 0.2)),
            on.bad("a body's byte a second", "408 too_slow", head, *_dripping(on.body[:-1], 1.0)),
            on.bad("it is asked for and does not come", "100, 408 too_slow", asks),
        ]
        if on.kind == "application/json":
            feeds = on.head(CHUNKED) + b"1\n{\n0\n\n"
            found.append(on.bad("chunks that end in line feeds", "408 too_slow", feeds))
    return found


def _dripping(data: bytes, every: float) -> Iterator[Piece]:
    """Yield it byte by byte."""
    for at in range(len(data)):
        yield data[at : at + 1]
        yield every
