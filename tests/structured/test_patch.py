"""RFC 6902: one operation at a time, on a copy, all or nothing."""

import copy
from typing import Any

import pytest

from agent.config import DOCUMENT_DEPTH
from agent.structured.patch import DOCUMENT_VALUES, PATCH_OPERATIONS, PatchFailed, apply_patch
from agent.structured.pointer import are_equal, make_pointer, measure_json, parse_pointer

DOC = {"a": [1, 2, {"b/c": "x", "~": None}], "": 5, "z": {"y": True}}


def op(name: str, path: object, **rest: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **rest}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([], DOC),
        ([op("add", "/a/-", value=3)], {**DOC, "a": [*DOC["a"], 3]}),  # type: ignore[misc]
        ([op("remove", "/a/2/b~1c"), op("replace", "/a/2/~0", value=0)], {**DOC, "a": [1, 2, {"~": 0}]}),
        ([op("replace", "/", value=6)], {**DOC, "": 6}),
        ([op("replace", "", value=None)], None),
        ([op("move", "/a/0", **{"from": "/a/1"})], {**DOC, "a": [2, 1, DOC["a"][2]]}),  # type: ignore[index]
        ([op("copy", "/c", **{"from": "/z"}), op("add", "/c/y", value=1)], {**DOC, "c": {"y": 1}}),
        ([op("move", "/z", **{"from": "/z"}), op("test", "/a/1", value=2.0)], DOC),
    ],
)
def test_operations_are_applied_in_order(operations: list[Any], expected: Any) -> None:
    """What no operation names stays, and the document given is not changed."""
    before = copy.deepcopy(DOC)
    assert apply_patch(DOC, operations) == expected
    assert before == DOC


@pytest.mark.parametrize(
    ("operations", "index", "reason"),
    [
        ("remove it", -1, "array"),
        ([op("test", "", value=DOC)] * (PATCH_OPERATIONS + 1), -1, "over"),
        ([[]], 0, "no object"),
        ([op("merge", "")], 0, "op must be"),
        ([op("add", "/x")], 0, "value is missing"),
        ([op("add", None, value=1)], 0, "path is missing"),
        ([op("move", "/x")], 0, "from is missing"),
        ([op("test", "/z/y", value=True), op("test", "/z/y", value=1)], 1, "another"),
        ([op("remove", "/x")], 0, 'no "x"'),
        ([op("replace", "/x", value=1)], 0, 'no "x"'),
        ([op("remove", "")], 0, "whole document"),
        ([op("add", "x", value=1)], 0, "JSON Pointer"),
        ([op("add", "/a~2", value=1)], 0, "JSON Pointer"),
        ([op("add", "/a/4", value=1)], 0, "no place"),
        ([op("remove", "/a/3")], 0, "no place"),
        ([op("remove", "/a/-")], 0, "no index"),
        ([op("add", "/a/01", value=1)], 0, "no index"),
        ([op("add", "/a/\u0661", value=1)], 0, "no index"),
        ([op("add", "/a/" + "9" * 5000, value=1)], 0, "no place"),
        ([op("add", "/a/0/x", value=1)], 0, "no object or array"),
        ([op("remove", "/a/0/x")], 0, "no object or array"),
        ([op("replace", "/z/y/0", value=1)], 0, "no object or array"),
        ([op("move", "/z/y/w", **{"from": "/z"})], 0, "into itself"),
        (
            [
                op("add", "/z/n", value=1),
                op("remove", "/a/0"),
                op("replace", "/", value=6),
                op("remove", "/x"),
            ],
            3,
            "no",
        ),
    ],
)
def test_the_first_that_fails_is_told(operations: Any, index: int, reason: str) -> None:
    """With its index and a reason; nothing of the patch is left."""
    before = copy.deepcopy(DOC)
    with pytest.raises(PatchFailed) as failed:
        apply_patch(DOC, operations)
    assert failed.value.index == index
    assert reason in failed.value.reason
    assert before == DOC


def test_a_copy_that_doubles_is_bounded() -> None:
    """In values and in depth, however few the operations are."""
    doubling = [op("copy", "/a/-", **{"from": "/a"})] * 60
    with pytest.raises(PatchFailed, match=str(DOCUMENT_VALUES)):
        apply_patch({"a": [1]}, doubling)
    with pytest.raises(PatchFailed, match="deep"):
        apply_patch([], [op("add", "/0" * depth, value=[]) for depth in range(1, 40)])
    wide = [op("copy", f"/{number}", **{"from": ""}) for number in range(DOCUMENT_DEPTH)]
    with pytest.raises(PatchFailed, match=str(DOCUMENT_VALUES)):
        apply_patch({"x": 1}, wide)
    deep: Any = 1
    for _ in range(DOCUMENT_DEPTH):
        deep = [deep]
    with pytest.raises(PatchFailed, match="deep"):
        apply_patch([], [op("add", "/0", value=deep)])
    with pytest.raises(PatchFailed, match="deep"):
        apply_patch([0], [op("replace", "/0", value=deep)])
    with pytest.raises(PatchFailed, match="deep"):
        apply_patch([], [op("add", "", value=[deep])])
    with pytest.raises(PatchFailed, match=str(DOCUMENT_VALUES)):
        apply_patch([0], [op("replace", "/0", value=[0] * DOCUMENT_VALUES)])
    assert measure_json(apply_patch([], [op("replace", "", value=deep)]))[0] == DOCUMENT_DEPTH


def test_what_a_patch_brings_is_its_own() -> None:
    """A value that was added is not shared with the operations, nor a copy with its source."""
    value: list[int] = []
    result = apply_patch(
        {}, [op("add", "/a", value=value), op("copy", "/b", **{"from": "/a"}), op("add", "/b/-", value=1)]
    )
    assert (value, result) == ([], {"a": [], "b": [1]})


def test_room_that_is_freed_can_be_used() -> None:
    """The bound is of what a document holds, not of what passed through it."""
    many = list(range(DOCUMENT_VALUES - 10))
    operations = [
        op("replace", "", value=many),
        op("replace", "", value={"a": many}),
        op("replace", "/a", value=many),
    ]
    assert apply_patch(0, operations) == {"a": many}


def test_pointers_are_read_and_written() -> None:
    """~0 and ~1 stand for ~ and /; anything else after ~ is no pointer."""
    assert parse_pointer("") == []
    assert parse_pointer("/a~1b/~01/") == ["a/b", "~1", ""]
    assert make_pointer(["a/b", "~1", "", 3]) == "/a~1b/~01//3"
    assert parse_pointer("a") is parse_pointer("/~") is parse_pointer("/~2") is None


def test_equality_is_that_of_json() -> None:
    """Numbers by value; true is not 1; objects whatever their order."""
    assert are_equal({"a": [1, None], "b": 2}, {"b": 2.0, "a": [1.0, None]})
    assert not are_equal(True, 1)
    assert not are_equal([0], [False])
    assert not are_equal([1], [1, 2])
    assert not are_equal({"a": 1}, {"b": 1})
