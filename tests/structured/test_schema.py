"""Tools as they are given, compiled once and bounded."""

import datetime
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.config import DOCUMENT_DEPTH
from agent.ports.model import Tool
from agent.structured import schema
from agent.structured.check import check_document, find_problems
from agent.structured.schema import SCHEMA_BYTES, SCHEMAS_KEPT, BadSchema, compile_validator, make_tool_shape

OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}


class Node(msgspec.Struct):
    """Something in a tree."""

    name: str
    children: list["Node"] = []


class Leaf(msgspec.Struct):
    at: datetime.date
    node: Node | None = None


@dataclass
class Plain:
    size: int


@pytest.mark.parametrize(
    "given",
    [
        Tool("x", "says", OBJECT),
        {"name": "x", "description": "says", "parameters": OBJECT},
        {"type": "function", "function": {"name": "x", "description": "says", "parameters": OBJECT}},
        {"name": "x", "description": "says", "input_schema": OBJECT},
        {"name": "x", "description": "says", "inputSchema": OBJECT, "parameters": None},
    ],
)
def test_each_common_form_of_a_tool_is_taken(given: Any) -> None:
    """Whoever made it, it becomes the same tool."""
    assert make_tool_shape(given).tool == Tool("x", "says", OBJECT)


def test_a_type_becomes_a_schema_with_an_object_at_the_top() -> None:
    """Also one that holds itself; and a valid document becomes a value of it."""
    node, leaf, plain = make_tool_shape(Node), make_tool_shape(Leaf), make_tool_shape(Plain)
    assert node.tool.schema["type"] == leaf.tool.schema["type"] == "object"
    assert (node.name, node.tool.description) == ("Node", "Something in a tree.")
    assert "$defs" not in plain.tool.schema
    assert check_document(plain, {"size": 3}) == (Plain(3), ())
    tree = {"name": "a", "children": [{"name": "b", "children": []}]}
    assert check_document(node, tree) == (Node("a", [Node("b")]), ())
    assert check_document(leaf, {"at": "2026-11-22", "node": tree})[0].at == datetime.date(2026, 11, 22)
    assert [problem.pointer for problem in check_document(leaf, {"at": "soon", "node": {}})[1]] == [
        "/at",
        "/node",
    ]


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    """As OpenAI has it."""
    assert check_document(make_tool_shape({"name": "x"}), {}) == ({}, ())


def test_a_schema_cannot_be_changed_afterwards() -> None:
    """It was copied through JSON."""
    given = {"name": "x", "parameters": {"properties": {"a": {"type": "integer"}}}}
    shape = make_tool_shape(given)
    given["parameters"]["properties"]["a"] = {}  # type: ignore[index]
    assert shape.tool.schema == {"properties": {"a": {"type": "integer"}}}


def nested(depth: int) -> Any:
    value: Any = True
    for _ in range(depth):
        value = {"not": value}
    return value


class Odd:
    pass


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "x", "parameters": {"type": "foo"}}, "schema of x"),
        ({"name": "x", "parameters": {"pattern": "(?=a)b"}}, "regex"),
        ({"name": "x", "parameters": {"enum": ["a" * SCHEMA_BYTES]}}, "bytes"),
        ({"name": "x", "parameters": nested(DOCUMENT_DEPTH + 1)}, "deep"),
        ({"name": "x", "parameters": nested(5000)}, "schema of x"),
        ({"name": "x", "parameters": {"enum": ["\ud800"]}}, "not JSON"),
        ({"name": "x", "parameters": {"enum": [object()]}}, "not JSON"),
        ({"name": "x", "parameters": {"$ref": "#/nowhere"}}, "schema of x"),
        ({"name": "x", "parameters": [1]}, "no object"),
        ({"name": "two words"}, "name must be"),
        ({"name": "ignore\nall"}, "name must be"),
        ({"function": 3}, "function"),
        (3, "not int"),
        (Odd, "Odd has no JSON Schema"),
    ],
)
def test_what_cannot_work_is_said(given: Any, why: str) -> None:
    """In one line of ours, whatever the library raised."""
    with pytest.raises(BadSchema, match=why) as error:
        make_tool_shape(given)
    assert "\n" not in str(error.value)


def test_nothing_is_fetched(tmp_path: Path) -> None:
    """Neither a file nor from a server: a reference to either is refused, and neither hears of it."""
    path = tmp_path / "open.json"
    path.write_text("{}")
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.path)
            self.send_error(404)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        for reference in (path.as_uri(), f"http://127.0.0.1:{server.server_port}/open.json"):
            with pytest.raises(BadSchema):
                compile_validator({"$ref": reference})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert heard == []


def test_formats_count_and_patterns_are_linear() -> None:
    """Neither is what the library does by itself."""
    formats = {
        "date": "x",
        "date-time": "x",
        "email": "x",
        "uuid": "x",
        "ipv4": "x",
        "uri": "x y",
        "time": "x",
    }
    for name, value in formats.items():
        assert find_problems(compile_validator({"type": "string", "format": name}), value), name
    assert find_problems(compile_validator({"pattern": "^(a+)+$"}), "a" * 5000 + "b")


def test_compiled_schemas_are_kept_by_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same schema is compiled once, and only so many are kept: the one that was used longest ago goes."""
    monkeypatch.setattr(schema, "_compiled", type(schema._compiled)())
    first = compile_validator({"maximum": -1})
    assert compile_validator({"maximum": -1}) is first
    assert compile_validator({"maximum": -1.0}) is not first
    for number in range(SCHEMAS_KEPT - 2):
        compile_validator({"maximum": number})
    assert compile_validator({"maximum": -1}) is first
    compile_validator({"maximum": SCHEMAS_KEPT})
    assert len(schema._compiled) == SCHEMAS_KEPT
    assert compile_validator({"maximum": -1}) is first
