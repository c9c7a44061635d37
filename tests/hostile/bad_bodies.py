"""What bodies of bad requests say: JSON that is none, tools that mean harm, forms and files that lead elsewhere.

How a request and its answer are told stands here too; `bad_http` has all of the table.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agent.config import BODY_MAX, TOOLS_REQUEST
from agent.server.api.uploads import UPLOAD_FIELDS

from ..e2e.flow import TOKEN

Piece: TypeAlias = bytes | float | Literal["end", "asked"]
"""Bytes; seconds of silence; the end of what is sent, half-closed; waiting until the body is asked for, or refused."""
CHUNKED = "Transfer-Encoding: chunked"
FORM = "multipart/form-data; boundary=b"
KEY = f"Authorization: Bearer {TOKEN}"
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Bad:
    """One of them. told: every answer to it, in order. method, path: as the document names them."""

    name: str
    told: str
    method: str
    path: str
    send: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Ids:
    """What there is to be asked for: a project, a call that waits, one that was begun, and one of a tool `MATCHING`."""

    project: str
    waits: str
    begun: str
    matches: str


@dataclass(frozen=True, slots=True)
class Target:
    """A route with a body, and a good one. kind: its type. openai: it speaks of errors with the words of OpenAI's."""

    method: str
    path: str
    body: bytes
    kind: str = "application/json"
    openai: bool = False

    def head(self, *headers: str, version: str = "1.1", **other: str) -> bytes:
        """Return a head for it with its key and type. other: `method` or `target` in place of its own."""
        line = f"{other.get('method', self.method)} {other.get('target', self.path)} HTTP/{version}"
        about = ("Host: localhost", KEY, f"Content-Type: {self.kind}", *headers)
        return "\r\n".join((line, *about, "", "")).encode("latin-1")

    def whole(self, body: bytes, *headers: str, **other: str) -> bytes:
        """Return a request of some length."""
        return self.head(f"Content-Length: {len(body)}", *headers, **other) + body

    def bad(self, name: str, told: str, *send: Piece) -> Bad:
        """Return one of the table."""
        return Bad(f"{name}: {self.method} {self.path}", told, self.method, self.path, send)


def chunks(*data: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """Return a body in chunks."""
    return b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in data) + end


# --- what a body says

_GOOD = {
    "/chat": (b'{"user_id":"u","message":"hello","tools":[{"name":"x","parameters":{"a":%s}}]}', "bad_tool"),
    "/approve": (b'{"user_id":"anna","outcome":"edit","arguments":{"order":%s}}', "bad_edit"),
    "/result": (b'{"tool_call_id":"none","ok":true,"data":%s}', "not_found"),
    "/ask": (b'{"text":%s}', "bad_request"),
    "/completions": (b'{"messages":[{"role":"user","content":%s}]}', "bad_request"),
    "/responses": (b'{"input":[{"role":"user","content":%s}]}', "bad_request"),
    "/embeddings": (b'{"input":%s}', "bad_request"),
    "/mcp": (b'{"jsonrpc":"2.0","method":"ping","id":%s}', "bad_request"),
}
_NO_JSON = {
    "NaN": b"NaN",
    "infinity": b"Infinity",
    "minus infinity": b"-Infinity",
    "half a character": b'"\\ud800"',
    "halves the wrong way round": b'"\\udc00\\ud800"',
    "half a character in UTF-8": b'"\xed\xa0\x80"',
    "no UTF-8": b'"\xff\xfe"',
    "a slash in two bytes": b'"\xc0\xaf"',
    "U+0000": b'"\0"',
    "a line break": b'"a\nb"',
    "100,000 brackets": b"[" * 100_000 + b"]" * 100_000,
    "30,000 objects": b'{"a":' * 30_000 + b"1" + b"}" * 30_000,
    "brackets that stay open": b"[" * 200_000,
    "a comment": b'"a"/**/,"b":1',
    "single quotes": b"'a'",
    "a leading zero": b"01",
    "nothing": b"",
}
_NO_VALUE = {
    "5,000 digits": b"1" * 5000,
    "200,000 digits": b"1" * 200_000,
    "1e999": b"1e999",
    "an exponent of 5,000 digits": b"1e" + b"9" * 5000,
    "a field twice": b'{"a":1,"a":2}',
}
_NO_FIT = {
    "2^64": b"18446744073709551616",
    "4,000 digits": b"1" * 4000,
    "50,000 numbers": b"[" + b"1.5," * 50_000 + b"1]",
    "15,000 keys": b"{" + b",".join(b'"k%d":1' % n for n in range(15_000)) + b"}",
    "true": b"true",
}


def said_wrongly(on: Target) -> Iterator[Bad]:
    """Yield bodies of JSON that is none, or that nothing here takes."""
    found = next((key for key in _GOOD if on.path.endswith(key)), None)
    if found is None:
        return
    body, usual = _GOOD[found]
    broken = "400 bad_request" if on.openai and on.path != "/mcp" else "400 bad_json"
    for name, value in _NO_JSON.items():
        yield on.bad(name, broken, on.whole(body % value))
    for name, value in _NO_VALUE.items():
        if name != "a field twice" or not on.openai or on.path == "/mcp":
            yield on.bad(name, "400 bad_request", on.whole(body % value))
    status = 404 if usual == "not_found" else 400
    for name, value in _NO_FIT.items():
        if usual != "not_found" or name in ("2^64", "4,000 digits", "true"):
            yield on.bad(name, f"{status} {usual}", on.whole(body % value))
    good = on.body
    for name, sent in (
        ("a mark at its beginning", b"\xef\xbb\xbf" + good),
        ("UTF-16", good.decode().encode("utf-16")),
        ("two bodies", good + good),
        ("no body", b""),
    ):
        yield on.bad(name, broken, on.whole(sent))
    unfit = "400 bad_request"
    for name, sent in (("a list", b"[]"), ("null", b"null"), ("a number", b"1")):
        yield on.bad(name, unfit, on.whole(sent))
    yield on.bad("a body of 256 KB and a byte", "413 too_large", on.whole(b" " * (BODY_MAX + 1)))
    yield on.bad("a number of 1 MB", "413 too_large", on.whole(b"1" * 1_000_000))


def _deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"properties": {"a": found}}
    return found


_BOMB = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(20)} | {"a20": {}}
_SCHEMAS: dict[str, Any] = {
    "a pattern that nobody can match": {"pattern": "(a{1000}){1000}"},
    "a pattern of 2,000 brackets": {"pattern": "(" * 2000 + "a+" + ")" * 2000},
    "a pattern that looks ahead": {"pattern": "(?=a)b"},
    "a pattern that looks back": {"pattern": r"(a)\1"},
    "a pattern that is none": {"pattern": "("},
    "a reference to itself": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "a reference to a server": {"$ref": "http://127.0.0.1:1/x"},
    "a reference to a file": {"$ref": "file:///etc/passwd"},
    "a reference to a path": {"$ref": "../x.json"},
    "a reference to the standard": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    "a million references": {"$ref": "#/$defs/a0", "$defs": _BOMB},
    "a moving reference": {"$dynamicRef": "#a"},
    "a name of its own": {"$id": "http://x/", "type": "string"},
    "another standard": {"$schema": "http://evil.example/"},
    "a type that is none": {"type": "evil"},
    "a division by nothing": {"multipleOf": 0},
    "fewer than none": {"minItems": -1},
    "a format of patterns": {"format": "regex"},
    "a schema too deep": _deep(10),
    "a schema that is a list": [1],
    "33 patterns": {"properties": {f"p{n}": {"pattern": "^(a+)+$"} for n in range(33)}},
}


MATCHING: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"allOf": [{"pattern": f"^(A-17|(a|aa)+b?(a*)*c{{{n}}})$"} for n in range(30)]}},
}
"""What tries for ever to match, where it goes back and tries again."""


def edited_wrongly(ids: Ids) -> Iterator[Bad]:
    """Yield arguments that nearly match."""
    on = Target("POST", f"/calls/{ids.matches}/approve", b"")
    for name, value in (
        ("letters", "a" * 15_000 + "!"),
        ("letters of two bytes", "å" * 7500),
        ("nothing", ""),
    ):
        body = {"user_id": "anna", "outcome": "edit", "arguments": {"a": value}}
        yield on.bad(f"{name} that nearly match", "400 bad_edit", on.whole(json.dumps(body).encode()))


def tools_wrongly(on: Target) -> Iterator[Bad]:
    """Yield messages with tools that mean harm."""
    if on.path != "/chat":
        return

    def tools(name: str, *given: Any, told: str = "400 bad_tool") -> Bad:
        return on.bad(
            name, told, on.whole(json.dumps({"user_id": "u", "message": "hi", "tools": given}).encode())
        )

    for name, schema in _SCHEMAS.items():
        inside = {"type": "object", "properties": {"a": schema}}
        deep = name == "a schema too deep"
        yield tools(name, {"name": "x", "input_schema": inside})
        if not deep:
            yield tools(f"{name}, alone", {"name": "x", "input_schema": schema})
    for named in ("../x", "", "a" * 129, "å", "\0", "a\n", "refund"):
        yield tools(f"a tool named {named[:9]!r}", {"name": named, "parameters": {}})
    yield tools("two tools of a name", *[{"name": "x", "parameters": {}}] * 2)
    many = ({"name": f"x{n}", "parameters": {}} for n in range(TOOLS_REQUEST + 1))
    yield tools("too many tools", *many, told="400 bad_request")
    matching = {"type": "object", "properties": {f"p{n}": {"pattern": "^(a+)+$"} for n in range(30)}}
    yield tools("too many patterns", *({"name": f"x{n}", "input_schema": matching} for n in range(64)))


# --- forms

END = b"--b--\r\n"


def part(name: str, data: bytes, filename: bytes | None = None, *headers: bytes) -> bytes:
    """Return a part of a form."""
    named = b"" if filename is None else b'; filename="%s"' % filename
    about = b"".join(each + b"\r\n" for each in headers)
    return b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n%s\r\n%s\r\n' % (
        name.encode(),
        named,
        about,
        data,
    )


CATEGORY = part("category", b"FACTS")
_FILE = part("file", b"x", b"a.md")
_NAMES = (
    *(b"../../etc/passwd", b"..\\..\\x.md", b"/etc/passwd.md", b"", b".", b"..", b" a.md"),
    *(b"a" * 201, b"\xff\xfe.md", b"\xe2\x80\xae.md", b"a\tb.md", "å".encode() * 201, b"x" * 900),
)
_FORMS: dict[str, bytes] = {
    "no end": CATEGORY + _FILE,
    "half an end": CATEGORY + _FILE + b"--b-",
    "another boundary": (CATEGORY + _FILE + END).replace(b"--b", b"--c"),
    "words before it": b"words\r\n" + CATEGORY + _FILE + END,
    "10,001 parts": b"".join(part(f"f{n}", b"x") for n in range(10_001)) + END,
    "10,001 files": _FILE * 10_001 + END,
    "a field too many": b"".join(part(f"f{n}", b"x") for n in range(UPLOAD_FIELDS + 2)) + END,
    "a part's header of 1 MB": CATEGORY + part("file", b"x", b"a.md", b"X: " + b"a" * 1_000_000) + END,
    "100,000 headers of a part": CATEGORY + part("file", b"x", b"a.md", *[b"X: a"] * 100_000) + END,
    "a header without a name": CATEGORY + part("file", b"x", b"a.md", b": a") + END,
    "a header without a colon": CATEGORY + part("file", b"x", b"a.md", b"Xa") + END,
    "a part without headers": b"--b\r\n\r\nx\r\n" + END,
    "line feeds alone": (CATEGORY + _FILE + END).replace(b"\r\n", b"\n"),
    "a megabyte of dashes": b"-" * 1_000_000,
    "nothing": b"",
    "a field of a megabyte": part("category", b"\r" * 1_000_000) + _FILE + END,
    "a field twice": CATEGORY * 2 + _FILE + END,
    "two names of a file": CATEGORY + _FILE.replace(b'.md"', b'.md"; filename="../b"') + END,
    "a file as its category": part("category", b"FACTS", b"c.md") + _FILE + END,
    "U+0000 in a field's name": CATEGORY + part("fi\0le", b"x", b"a.md") + END,
    "U+0000 in its category": part("category", b"FACTS\0") + _FILE + END,
    "UTF-16": CATEGORY + part("file", "hello".encode("utf-16"), b"a.md") + END,
    "half a character": CATEGORY + part("file", b"\xed\xa0\x80", b"a.md") + END,
    "gzip": CATEGORY
    + part("file", b"\x1f\x8b\x08\0" + b"\xff" * 99, b"a.md", b"Content-Encoding: gzip")
    + END,
    "an empty file": CATEGORY + part("file", b"", b"a.md") + END,
}
_KINDS = {
    "a long boundary": f"multipart/form-data; boundary={'b' * 9000}",
    "a boundary that does not come": "multipart/form-data; boundary=c",
    "a boundary with quotes": 'multipart/form-data; boundary="a b\\"c',
    "a boundary that is no ASCII": "multipart/form-data; boundary=\xff",
}
_OTHERS = {
    "no boundary": "multipart/form-data",
    "a boundary in parts": "multipart/form-data; boundary*0=b; boundary*1=b",
    "mixed parts": "multipart/mixed; boundary=b",
    "8,000 quotes": "multipart/form-data" + ';"' * 7000,
}


def uploaded_wrongly(on: Target) -> Iterator[Bad]:
    """Yield forms that are none, and names of files that lead elsewhere."""
    if not on.path.endswith("/docs"):
        return
    for name in _NAMES:
        yield on.bad(
            f"a file named {name[:12]!r}",
            "400 bad_upload",
            on.whole(CATEGORY + part("file", b"x", name) + END),
        )
    for kind, body in _FORMS.items():
        yield on.bad(kind, "400 bad_upload", on.whole(body))
    starred = _FILE.replace(b"filename=", b"filename*=utf-8''")
    for kind, body in (
        ("no file", CATEGORY + END),
        ("no category", _FILE + END),
        ("only an end", END),
        ("another spelling of its name", CATEGORY + starred + END),
        ("parts in a part", CATEGORY + part("file", b"--c\r\n\r\nx\r\n--c--", None) + END),
    ):
        yield on.bad(kind, "400 bad_request", on.whole(body))
    for kind, said in _KINDS.items():
        yield on.bad(kind, "400 bad_upload", _as(on, said).whole(on.body))
    for kind, said in _OTHERS.items():
        yield on.bad(kind, "415 unsupported_media_type", _as(on, said).whole(on.body))
    for kind, body in (
        ("a kind that is not read", part("file", b"x", b"a.bin")),
        ("a kind that is nothing", part("file", b"x", b"a.md", b"Content-Type: ../x")),
    ):
        yield on.bad(kind, "415 unsupported_media_type", on.whole(CATEGORY + body + END))
    for kind, body in (
        (
            "a PDF that is none",
            part("file", b"%PDF-1.7\n" + b"1 0 obj<<" * 9999, b"a.pdf", b"Content-Type: application/pdf"),
        ),
        ("a DOCX that is none", part("file", b"PK\3\4" + bytes(99), b"a.docx")),
    ):
        yield on.bad(kind, "422 unreadable", on.whole(CATEGORY + body + END))
    for kind, data in (("9 MB of carriage returns", b"\r" * 9_000_000), ("too many lines", b"a\n" * 900_000)):
        yield on.bad(kind, "413 text_too_long", on.whole(CATEGORY + part("file", data, b"a.md") + END))
    much = on.head(CHUNKED) + chunks(CATEGORY + part("file", b"", b"a.md")[:-2], *[bytes(65536)] * 162)
    yield on.bad("11 MB in chunks", "413 upload_too_large", much)


def _as(on: Target, kind: str) -> Target:
    return Target(on.method, on.path, on.body, kind)
