"""A tool is read from whatever was sent, or refused in one line with its place."""

import time
from typing import Any

import msgspec
import pytest

from agent.errors import BadTool
from agent.memory.item_suggestions import REMEMBER
from agent.ports.tools import Origin, ToolDefinition
from agent.structured.arguments import SchemaArguments
from agent.tools.definitions import TOOLS_PATTERNS, DefinitionReader, read_definition
from agent.tools.memory_tools import ADD, UPDATE
from agent.tools.settings import TOOLS_BYTES

ARGUMENTS = SchemaArguments()
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED = {**CITY, "additionalProperties": False}


def read(parameters: object, **more: object) -> dict[str, Any]:
    tool = read_definition({"name": "a", "parameters": parameters, **more}, "request", ARGUMENTS)
    return dict(tool.parameters)


def refusal(raw: object, origin: Origin = "request") -> str:
    with pytest.raises(BadTool) as bad:
        read_definition(raw, origin, ARGUMENTS)
    line = str(bad.value)
    assert "\n" not in line
    assert len(line) < 500
    return line


def laughs(levels: int) -> dict[str, Any]:
    steps = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**steps, f"a{levels}": {"type": "object"}}}


@pytest.mark.parametrize(
    "raw",
    [
        {"name": "find", "description": "Finds.", "parameters": CITY},
        {
            "name": "find",
            "description": "Finds.",
            "parameters": {"city": {"type": "string", "required": True}},
        },
        {
            "type": "function",
            "function": {"name": "find", "description": "Finds.", "parameters": CITY, "strict": True},
        },
        {"type": "function", "name": "find", "description": "Finds.", "parameters": CITY},
        {
            "name": "find",
            "description": "Finds.",
            "input_schema": CITY,
            "cache_control": {"type": "ephemeral"},
        },
        {
            "name": "find",
            "title": "F",
            "description": "Finds.",
            "inputSchema": CITY,
            "annotations": {"readOnlyHint": True},
        },
    ],
)
def test_every_spelling_is_one_tool(raw: object) -> None:
    """Ours in both forms, OpenAI's two, Anthropic's and MCP's; what a server hints lowers nothing."""
    assert read_definition(raw, "request", ARGUMENTS) == ToolDefinition(
        name="find", description="Finds.", parameters=CLOSED
    )


def test_what_a_tool_does_not_say_is_strict() -> None:
    """No parameters means none are allowed; approval is needed; a request's tool is known as one."""
    tool = read_definition({"name": "a"}, "request", ARGUMENTS)
    none = {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool == ToolDefinition(
        name="a",
        description="",
        parameters=none,
        requires_approval=True,
        risk="medium",
        runs_at="record",
        url=None,
        origin="request",
    )


def test_approval_and_risk_stand_within_or_beside_a_function() -> None:
    """Either place is read, and both at once are refused."""
    raw = {"requires_approval": False, "function": {"name": "a", "risk": "high"}}
    tool = read_definition(raw, "request")
    assert (tool.requires_approval, tool.risk) == (False, "high")
    assert refusal({"risk": "low", "function": {"name": "a", "risk": "high"}}).startswith("/risk: ")


def test_an_operators_tool_says_where_it_runs() -> None:
    """A URL means a webhook, a tool that says nothing runs where it is told, and both are read."""
    tool = read_definition({"name": "a", "url": "https://hook.test/a"}, "operator")
    assert (tool.runs_at, tool.url) == ("webhook", "https://hook.test/a")
    assert read_definition({"name": "a"}, "operator", runs_at="webhook").runs_at == "webhook"
    assert (
        read_definition({"name": "a", "runs_at": "record"}, "operator", runs_at="webhook").runs_at == "record"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": {"type": "string"}}, {"type": {"type": "string"}}),
        ({"properties": {"type": "string"}}, {"properties": {"type": "string"}}),
        ({"type": {"type": "string"}, "required": {"type": "boolean"}}, None),
        ({"items": {"type": "array", "items": {"type": "string"}}}, None),
        (
            {"a": {"type": "string", "enum": ["x"], "default": "x", "required": False}},
            {"a": {"type": "string", "enum": ["x"], "default": "x"}},
        ),
        ({"type": "object", "properties": {"type": {"type": "string"}}}, {"type": {"type": "string"}}),
        ({"properties": {"a": {"type": "string"}}}, {"a": {"type": "string"}}),
        ({}, {}),
    ],
)
def test_which_form_it_is_is_told_by_its_shape(
    given: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    """Also where a parameter is called like a word of JSON Schema."""
    got = read(given)
    assert (got["type"], got["additionalProperties"]) == ("object", False)
    assert got["properties"] == (given if expected is None else expected)
    assert "required" not in got


def test_the_simple_form_goes_down_into_objects_and_arrays() -> None:
    """A property of an object parameter has its own `required`."""
    street = {"street": {"type": "string", "required": True}}
    got = read(
        {
            "to": {"type": "object", "properties": street},
            "all": {"type": "array", "items": {"type": "object", "properties": street}},
        }
    )
    inner = {
        "type": "object",
        "properties": {"street": {"type": "string"}},
        "additionalProperties": False,
        "required": ["street"],
    }
    assert got["properties"] == {"to": inner, "all": {"type": "array", "items": inner}}


def test_a_schema_that_says_what_else_is_allowed_is_kept() -> None:
    """Additional properties stay as given, and a combination is closed as a whole, so that its parts still count."""
    assert read({"type": "object", "additionalProperties": True})["additionalProperties"] is True
    joined = read({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"b": {"type": "string"}}}}})
    check = ARGUMENTS.make_checker(joined)
    assert (check.find_problems({"b": "x"}), len(check.find_problems({"c": "x"}))) == ((), 1)


LONG = "SECRET" * 100
HOSTILE: dict[str, tuple[object, str]] = {
    "no object": ([], "must be an object"),
    "no name": ({}, "/name: "),
    "a name of a path": ({"name": "../a"}, "/name: "),
    "a long name": ({"name": LONG}, "/name: "),
    "a long description": ({"name": "a", "description": LONG * 4}, "/description: "),
    "a risk that is none": ({"name": "a", "risk": LONG}, "/risk: "),
    "a risk that is no word": ({"name": "a", "risk": ["low"]}, "/risk: "),
    "an approval that is none": ({"name": "a", "requires_approval": "no"}, "/requires_approval: "),
    "a word with a slip": ({"name": "a", "requires_aproval": True}, "/requires_aproval: "),
    "a key that is no name": ({"name": "a", LONG + "\n": 1}, "/*: "),
    "a type that is none": ({"type": "web_search", "name": "a"}, "/type: "),
    "a type that is no word": ({"type": {}, "name": "a"}, "/type: "),
    "two schemas": ({"name": "a", "parameters": CITY, "inputSchema": CITY}, "/inputSchema: "),
    "a URL": ({"name": "a", "url": "http://h/"}, "/url: only the operator"),
    "a place": ({"name": "a", "runs_at": "record"}, "/runs_at: only the operator"),
    "a place within": (
        {"function": {"name": "a", "runs_at": "record"}},
        "/function/runs_at: only the operator",
    ),
    "an array of parameters": ({"name": "a", "parameters": []}, "/parameters: must be an object"),
    "another type": ({"name": "a", "parameters": {"type": "array"}}, "/parameters/type: "),
    "no type": ({"name": "a", "parameters": {"city": {"description": LONG}}}, "/parameters/city/type: "),
    "half of both forms": (
        {"name": "a", "parameters": {"type": "object", "city": {"type": "string"}}},
        "/parameters/city: ",
    ),
    "an odd required": (
        {"name": "a", "parameters": {"x": {"type": "string", "required": "yes"}}},
        "/parameters/x/required: ",
    ),
    "a schema that is none": (
        {"name": "a", "input_schema": {"type": "object", "properties": {"x": {"type": LONG}}}},
        "/input_schema/properties/x/type: ",
    ),
    "a look-around": (
        {"name": "a", "parameters": {"x": {"type": "string", "pattern": f"(?={LONG})"}}},
        "/parameters/x/pattern: ",
    ),
    "a large pattern": (
        {"name": "a", "parameters": {"x": {"type": "string", "pattern": r"(\w{80}){80}"}}},
        "/parameters/x/pattern: ",
    ),
    "many patterns": (
        {"name": "a", "parameters": {"type": "object", "allOf": [{"pattern": "a"}] * 33}},
        "/parameters: holds over 32 patterns",
    ),
    "many patterns of names": (
        {"name": "a", "parameters": {"type": "object", "patternProperties": {str(i): {} for i in range(33)}}},
        "/parameters: holds over 32 patterns",
    ),
    "patterns of one's own": (
        {"name": "a", "parameters": {"x": {"type": "string", "format": "regex"}}},
        "/parameters/x/format: ",
    ),
    "a cycle": (
        {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "#"}}}},
        "/parameters/properties/x/$ref: a $ref leads back",
    ),
    "a cycle of two": (
        {
            "name": "a",
            "parameters": {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
        },
        "/parameters/$ref/$ref/$ref: a $ref leads back",
    ),
    "a remote one": (
        {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "http://h/" + LONG}}}},
        "/parameters/properties/x/$ref: must lead",
    ),
    "a file": (
        {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}}},
        "/parameters/properties/x/$ref: must lead",
    ),
    "one that leads nowhere": (
        {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}}},
        "/parameters/properties/x/$ref: leads to nothing",
    ),
    "one that is encoded": (
        {"name": "a", "parameters": {"$ref": "#/$defs/a%20b", "$defs": {"a%20b": {}, "a b": laughs(3)}}},
        "/parameters/$ref: must lead",
    ),
    "one that moves": (
        {"name": "a", "parameters": {"type": "object", "properties": {"x": {"$id": "http://h/"}}}},
        "/parameters/properties/x/$id: ",
    ),
    "a dialect": (
        {"name": "a", "parameters": {"$schema": "http://h/" + LONG, "type": "object"}},
        "/parameters/$schema: ",
    ),
    "a million schemas": ({"name": "a", "parameters": laughs(20)}, "/parameters: holds over 2000 schemas"),
    "endlessly many": ({"name": "a", "parameters": laughs(150)}, "/parameters"),
    "a large schema": (
        {"name": "a", "parameters": {"type": "object", "description": "x" * 17_000}},
        "/parameters: has ",
    ),
    "not a number": (
        {"name": "a", "parameters": {"x": {"type": "number", "default": float("nan")}}},
        "is not JSON",
    ),
    "half a character": ({"name": "a", "description": "\ud800"}, "is not JSON"),
    "what is no JSON": ({"name": "a", "description": object()}, "is not JSON"),
}


@pytest.mark.parametrize("origin", ["operator", "request"])
@pytest.mark.parametrize(
    "name", [ADD, UPDATE, "memory.x", "Memory.Propose_Add", "MEMORY.other", REMEMBER, "Remember"]
)
def test_the_servers_own_names_are_nobodys(name: str, origin: Origin) -> None:
    """Of whoever sends the tool, in whatever capitals and spelling; a name that is only like one may be taken."""
    for raw, at in (
        ({"name": name}, "/name"),
        ({"type": "function", "function": {"name": name}}, "/function/name"),
    ):
        with pytest.raises(BadTool) as bad:
            read_definition(raw, origin)
        assert bad.value.pointer == at
        assert bad.value.why.endswith("the server's own; give the tool another")
    for like in ("memory", "memory_propose_add", "my.memory.propose_add", "remember_me"):
        assert read_definition({"name": like}, origin).name == like


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_used_is_refused_with_its_place(name: str) -> None:
    """One line, with the part, and nothing of what was sent but names."""
    raw, expected = HOSTILE[name]
    line = refusal(raw)
    assert line.startswith(expected)
    assert "SECRET" not in line


def test_a_reference_counts_as_all_that_it_leads_to() -> None:
    """Also where nobody compiles the schema; what it leads to twice is counted twice, patterns too."""
    with pytest.raises(BadTool, match="holds over 2000 schemas"):
        read_definition({"name": "a", "parameters": laughs(11)}, "request")
    read_definition({"name": "a", "parameters": laughs(6)}, "request")
    twice = {"allOf": [{"$ref": "#/$defs/p"}] * 2, "$defs": {"p": {"allOf": [{"pattern": "a"}] * 16}}}
    with pytest.raises(BadTool, match="holds over 32 patterns"):
        read_definition({"name": "a", "parameters": twice}, "request")


def test_what_is_nested_too_deep_is_refused() -> None:
    """At seventeen levels, at ten thousand, and when it holds itself."""
    for levels in (17, 10_000):
        deep: dict[str, Any] = {}
        for _ in range(levels):
            deep = {"x": deep}
        assert (
            "deep" in refusal({"name": "a", "parameters": {"type": "object", "default": deep}}) or levels > 17
        )
    around: list[Any] = []
    around.append(around)
    assert refusal({"name": "a", "description": around}) == "is not JSON"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"runs_at": "mcp"}, "/runs_at: must be record, webhook or caller"),
        ({"runs_at": "record", "url": "http://h/"}, "/url: "),
        ({"url": "ftp://user:SECRET@h/"}, "/url: "),
        ({"url": 7}, "/url: "),
    ],
)
def test_an_operators_tool_runs_where_something_can(more: dict[str, Any], expected: str) -> None:
    """A place that there is none of, and a URL that cannot be called, are refused without their text."""
    line = refusal({"name": "a", **more}, "operator")
    assert line.startswith(expected)
    assert "SECRET" not in line


def test_a_list_is_refused_with_the_place_of_its_tool() -> None:
    """The pointer begins with the tool's index, and an operator is told its name."""
    tools = DefinitionReader(ARGUMENTS)
    with pytest.raises(BadTool) as bad:
        tools.read_list([{"name": "a"}, {"name": "b", "risk": "x"}], "operator")
    assert str(bad.value) == "/1/risk: must be low, medium or high (tool b)"
    wrong: tuple[object, ...] = (
        {},
        None,
        [{"name": "a"}] * 65,
        [{"name": "a", "description": "\ud800"}],
        [7],
    )
    for raw in wrong:
        with pytest.raises(BadTool):
            tools.read_list(raw, "request")
    with pytest.raises(BadTool, match="all tools have"):
        tools.read_list([{"name": "a", "description": "x" * TOOLS_BYTES}], "request")


def test_a_list_seen_before_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very tools are given back, an operator's are no request's, and what is kept is bounded."""
    monkeypatch.setattr("agent.tools.definitions.TOOLS_KEPT_BYTES", 20_000)
    tools = DefinitionReader(ARGUMENTS)
    raw = [{"name": "a", "parameters": CITY}]
    first = tools.read_list(raw, "request")
    assert tools.read_list(msgspec.json.decode(msgspec.json.encode(raw)), "request") is first
    assert tools.read_list(raw, "operator")[0].origin == "operator"
    for number in range(12):
        tools.read_list([{"name": f"t{number}", "description": "x" * 1900}], "request")
        assert tools._bytes <= 20_000
    assert tools._bytes == sum(size for size, _ in tools._cached.values())
    assert tools.read_list(raw, "request") is not first


def test_a_hostile_schema_takes_little_time() -> None:
    """What was accepted is compiled and asked on the event loop: the worst that the bounds let through is bounded."""
    worst = [{"pattern": rf"(\w{{20}}){{{30 - i % 4}}}"} for i in range(32)]
    schema = read({"type": "object", "properties": {"x": {"allOf": worst}}})
    check = ARGUMENTS.make_checker(schema)
    began = time.thread_time()
    assert check.find_problems({"x": "ab" * 7000 + "!"}) == ()
    assert time.thread_time() - began < 1.0


def test_a_request_has_few_patterns() -> None:
    """Each frame of a client may bring other ones, and each is compiled before anything else happens."""

    def brought(count: int) -> list[dict[str, Any]]:
        return [
            {
                "name": f"t{number}",
                "parameters": {"properties": {"a": {"type": "string", "pattern": f"^{count}x{number}$"}}},
            }
            for number in range(count)
        ]

    reader = DefinitionReader(SchemaArguments())
    assert len(reader.read_list(brought(TOOLS_PATTERNS), "request")) == TOOLS_PATTERNS
    two = brought(2)
    two[0]["parameters"]["properties"] |= {
        f"b{number}": {"pattern": f"y{number}"} for number in range(TOOLS_PATTERNS)
    }
    with pytest.raises(BadTool, match="patterns"):
        reader.read_list(two, "request")
    keyed: dict[str, Any] = {f"^{number}": {} for number in range(30)}
    three = [{"name": f"t{at}", "parameters": {"patternProperties": keyed}} for at in range(3)]
    with pytest.raises(BadTool, match="patterns"):
        reader.read_list(three, "request")
    assert len(reader.read_list(brought(TOOLS_PATTERNS + 1), "operator")) == TOOLS_PATTERNS + 1
