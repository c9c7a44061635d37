"""Valid means that JSON Schema and msgspec both say so; everything that is wrong is told at once."""

from typing import Annotated, Any

import msgspec
import pytest

from agent.structured.check import PROBLEMS_MAX, DocumentProblem, check_document
from agent.structured.pointer import FOUND_CHARACTERS
from agent.structured.schema import make_tool_shape


class Item(msgspec.Struct, forbid_unknown_fields=True):
    count: int
    digits: Annotated[str, msgspec.Meta(pattern=r"^\d+$")] = "0"
    more: dict[str, list[int]] = {}
    sizes: dict[int, str] = {}
    row: list[int] = []

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("thirteen is not allowed")


ITEM = make_tool_shape(Item)


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"count": 1.0}, "/count"),  # an integer to the schema only
        ({"count": 1, "digits": "٣"}, "/digits"),  # a digit to msgspec only
        ({"count": 1, "digits": "3\n"}, "/digits"),
        (
            {"count": 1, "more": {"a.b": [1, 2.0]}},
            "/more",
        ),  # msgspec's path has no key that could be followed
        ({"count": 1, "row": [1, 2.0]}, "/row/1"),
        ({"count": 13}, ""),
        ({"count": True}, "/count"),
        ([], ""),
        (None, ""),
    ],
)
def test_both_must_agree(document: Any, pointer: str) -> None:
    """Where one of them objects, the document is invalid, and the place is told as far as it is known."""
    value, problems = check_document(ITEM, document)
    assert value is None
    assert [problem.pointer for problem in problems] == [pointer]
    assert check_document(ITEM, {"count": 1, "digits": "3", "sizes": {"4": "x"}}) == (
        Item(1, "3", {}, {4: "x"}),
        (),
    )


def test_all_that_is_wrong_is_told_at_once() -> None:
    """What is missing and what is too much, each at its own place."""
    problems = check_document(ITEM, {"digits": 5, "x/y": 1, "z": "w"})[1]
    assert {(problem.pointer, problem.found) for problem in problems} == {
        ("/count", "nothing"),
        ("/digits", "5"),
        ("/x~1y", "1"),
        ("/z", '"w"'),
    }
    assert str(DocumentProblem("", "1", "2")) == "the whole: found 1; 2"


def test_problems_are_short_and_few() -> None:
    """However long a value is, and however many are wrong."""
    shape = make_tool_shape({"name": "x", "parameters": {"items": {"maxLength": 1}}})
    problems = check_document(shape, ["long" * 1000] * 500)[1]
    assert len(problems) == PROBLEMS_MAX
    assert all(
        len(problem.found) <= FOUND_CHARACTERS and len(problem.expected) <= 300 for problem in problems
    )


@pytest.mark.parametrize("document", ["\ud800", {"a": ["\udfff"]}, {1: 2}, {"a": object()}, 10**400])
def test_what_is_no_json_is_a_problem_and_no_error(document: Any) -> None:
    """The validator raises on some of it."""
    assert check_document(make_tool_shape({"name": "x", "parameters": {"type": "boolean"}}), document)[1]


def test_deep_documents_are_a_problem_and_no_error() -> None:
    """Also deeper than anything that can be walked."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert check_document(make_tool_shape({"name": "x"}), deep)[1]
