"""What everything that checks the arguments of tools must do. A new one joins by a line in ARGUMENTS."""

from typing import Any

import pytest

from agent.config import PAYLOAD_BYTES
from agent.errors import BadTool
from agent.ports.tools import CheckerFactory
from agent.structured.arguments import ARGUMENT_FOUND, SchemaArguments

ARGUMENTS = {"jsonschema": SchemaArguments}
ORDER = {
    "type": "object",
    "properties": {"id": {"type": "string", "maxLength": 8}, "count": {"type": "integer"}},
    "required": ["id", "count"],
    "additionalProperties": False,
}


@pytest.fixture(params=sorted(ARGUMENTS))
def arguments(request: pytest.FixtureRequest) -> CheckerFactory:
    made: CheckerFactory = ARGUMENTS[request.param]()
    return made


def test_valid_arguments_have_no_problem(arguments: CheckerFactory) -> None:
    """And a checker can be asked again, as can the same parameters."""
    for _ in range(2):
        check = arguments.make_checker(ORDER)
        assert (
            check.find_problems({"id": "o1", "count": 2}) == check.find_problems({"count": 3, "id": ""}) == ()
        )


def test_everything_that_is_wrong_is_told_at_once(arguments: CheckerFactory) -> None:
    """Each with its place: what is missing, too much, and of another type; the values shortened."""
    problems = arguments.make_checker(ORDER).find_problems({"id": "x" * 1000, "more": 1})
    assert sorted(problem.pointer for problem in problems) == ["/count", "/id", "/more"]
    assert all(len(problem.found) <= ARGUMENT_FOUND for problem in problems)
    assert all(problem.expected and "\n" not in str(problem) for problem in problems)


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        "x",
        float("nan"),
        {"id": "\ud800", "count": 1},
        {1: 2},
        {"id": {1, 2}},
        {"id": "x", "count": 10**400},
    ],
)
def test_whatever_is_no_such_object_is_a_problem_and_no_error(arguments: CheckerFactory, value: Any) -> None:
    """Also what is not JSON at all."""
    if value == {"id": "x", "count": 10**400}:
        assert isinstance(arguments.make_checker(ORDER).find_problems(value), tuple)
    else:
        assert arguments.make_checker(ORDER).find_problems(value)


def test_what_is_larger_or_deeper_than_a_payload_is_one_problem(arguments: CheckerFactory) -> None:
    """Before anything looks at it closely, also where the parameters would allow it."""
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"x": deep}
    for value in (deep, {"x": "a" * PAYLOAD_BYTES}):
        assert [each.pointer for each in arguments.make_checker({"type": "object"}).find_problems(value)] == [
            ""
        ]


def test_no_reference_leaves_the_parameters(arguments: CheckerFactory) -> None:
    """Nothing is fetched; one that leads within is followed."""
    for reference in ("http://127.0.0.1:9/x", "file:///etc/hostname", "other.json", "#/$defs/none"):
        with pytest.raises(BadTool):
            arguments.make_checker({"type": "object", "properties": {"a": {"$ref": reference}}})
    check = arguments.make_checker(
        {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}
    )
    assert (len(check.find_problems({"a": "x"})), check.find_problems({"a": 1})) == (1, ())


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", r"(\w{80}){80}"])
def test_a_pattern_that_may_take_long_is_refused_with_its_place(
    arguments: CheckerFactory, pattern: str
) -> None:
    """It looks around or back, is none, or is too large; its text is not repeated."""
    with pytest.raises(BadTool) as bad:
        arguments.make_checker(
            {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
        )
    assert bad.value.pointer == "/properties/a/pattern"
    assert "\n" not in str(bad.value)
    assert pattern == "(" or pattern not in str(bad.value)


@pytest.mark.parametrize(
    "parameters", [{"type": "strin"}, {"required": True}, {"x": "\ud800"}, {"x": "a" * 70_000}]
)
def test_what_is_no_schema_is_a_bad_tool(arguments: CheckerFactory, parameters: Any) -> None:
    """In one line."""
    with pytest.raises(BadTool) as bad:
        arguments.make_checker(parameters)
    assert "\n" not in str(bad.value)
