"""Arguments and schemas that are small each, and much work together, are checked in no time, or not at all."""

import time
from typing import Any

import pytest

from agent.structured.arguments import ARGUMENT_WORK, ARGUMENT_WORK_TOLD, SchemaArguments, weigh_schema

MANY = {"a": [1] * 5000}
WORDS = {"anyOf": [{"const": str(n)} for n in range(800)]}


def listed(items: Any, **more: Any) -> dict[str, Any]:
    """Return the schema of an object with a list."""
    return {"type": "object", "properties": {"a": {"items": items}}, **more}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (listed(WORDS), MANY),
        (listed(WORDS), {"a": [1] * 150}),
        (listed({"$ref": "#/$defs/b"}, **{"$defs": {"b": {"anyOf": [False] * 1900}}}), MANY),
        (listed({"enum": [{"": [n]} for n in range(1200)]}), {"a": [{"": [1199]}] * 1200}),
        (listed(True, anyOf=[listed({"maximum": -n}) for n in range(200)]), {"a": [1] * 300}),
    ],
)
def test_no_arguments_hold_up_the_loop(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """They are refused in one sentence; every error of every branch would take up to a minute."""
    checker = SchemaArguments().make_checker(schema)
    began = time.thread_time()
    (problem,) = checker.find_problems(arguments)
    assert time.thread_time() - began < 0.2
    assert problem.pointer == ""


def test_what_is_too_much_to_be_told_is_still_checked() -> None:
    """What fits passes; what does not is refused, without why."""
    checker = SchemaArguments().make_checker(listed({"type": "integer"}))
    many = ARGUMENT_WORK_TOLD // weigh_schema(listed({"type": "integer"}))
    assert checker.find_problems({"a": [1] * int(many + 1)}) == ()
    (problem,) = checker.find_problems({"a": [1] * int(many) + ["x"]})
    assert (problem.pointer, problem.expected) == ("", "arguments as the tool's schema describes")
    (problem,) = checker.find_problems({"a": [1, "x"]})
    assert problem.pointer == "/a/1"
    assert weigh_schema(listed({"type": "integer"})) * len(MANY["a"]) < ARGUMENT_WORK
    assert checker.find_problems(MANY) == ()


def test_a_reference_weighs_what_it_leads_to() -> None:
    """Each time; one that leads back weighs more than anything, and one that leads nowhere nothing."""
    defs = {"$defs": {"b": [1, 2, 3]}}
    assert (
        weigh_schema({**defs, "c": {"$ref": "#/$defs/b"}})
        == weigh_schema({**defs, "c": {"$ref": "#/$defs/none"}}) + 4
    )
    assert weigh_schema({"c": {"$ref": "#/c"}}) == float("inf")
    assert weigh_schema({"c": {"$ref": "https://example.com"}}) == 3
    assert weigh_schema({"a": [{"$ref": "#/a/1"}, 5]}) == 6
    deep: dict[str, Any] = {
        "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(20)}
    }
    assert weigh_schema(deep) > 2**20
