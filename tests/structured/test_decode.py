"""Strictly where that is possible; what is nearly JSON is mended, bounded, and marked."""

import time
from typing import Any

import pytest

from agent.structured.decode import (
    REPAIR_CHARACTERS,
    ParsedJson,
    UnparsedJson,
    find_json_part,
    mend_json,
    parse_strictly,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("null", None), ("{}", {}), (' {"a": [1, 1.0, "å\\ud83d\\ude00"]} ', {"a": [1, 1.0, "å😀"]})],
)
def test_json_is_read_as_it_is(text: str, value: Any) -> None:
    """Nothing of it is mended, and types are kept."""
    read = parse_strictly(text)
    assert read == ParsedJson(value)
    assert repr(read) == repr(ParsedJson(value))
    assert parse_strictly(" \n") == ParsedJson({}, repaired=True)


@pytest.mark.parametrize(
    ("text", "reason", "mendable"),
    [
        ("NaN", "not JSON", True),
        ('{"a": Infinity}', "not JSON", True),
        ('{"a": 1e999}', "out of range", False),
        ('{"a": "\\ud800"}', "not JSON", True),
        ('{"a": "\ud800"}', "UTF-16", False),
        ("[" * 33 + "]" * 33, "deep", False),
        ("[" * 100_000, "deep", False),
        ("{'a': " * 33, "not JSON", False),
        ("{'a': '" + "x" * REPAIR_CHARACTERS, "not JSON", False),
    ],
)
def test_what_is_no_json_is_an_error(text: str, reason: str, mendable: bool) -> None:
    """Values that JSON does not have, halves of characters, and depth; only what is short and flat may be mended."""
    read = parse_strictly(text)
    assert isinstance(read, UnparsedJson)
    assert reason in read.reason
    assert read.mendable is mendable


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 1,}", {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": "x" "b": [1, 2}', {"a": "x", "b": [1, 2]}),
        ("[1, 2,", [1, 2]),
        ("{'a': True}", {"a": True}),
        ('{"a": "}{",}', {"a": "}{"}),
    ],
)
def test_what_is_nearly_json_is_mended_and_marked(text: str, value: Any) -> None:
    """As far as it is one object or array."""
    assert mend_json(text) == ParsedJson(value, repaired=True)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot do that.",
        'Sure: {"a": 1',
        '{"a": 1} {"b": 2}',
        "{'a': 1} or {'b': 2}",
        '{"a": 1e999,}',
        '{"a": "\\ud800",}',
        "[" + "9" * 5000 + ",",
        "",
    ],
)
def test_what_would_be_guessed_is_not_mended(text: str) -> None:
    """Prose before it, two values, what JSON does not have."""
    read = mend_json(text)
    assert isinstance(read, UnparsedJson) or read.document == ["9" * 5000]


def test_no_text_that_may_be_mended_takes_long() -> None:
    """On many open braces the library hangs; such a text does not reach it."""
    began = time.thread_time()
    assert parse_strictly("{" * REPAIR_CHARACTERS) == UnparsedJson("it is not JSON", '"' + "{" * 78 + "…")
    assert time.thread_time() - began < 1


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('Here: [{"a": 1}] - done.', '[{"a": 1}]'),
        ('Text {not this}\n```json\n{"a": "```"}\n```\nmore {or this}', '{"a": "```"}'),
        ('~~~\n["x"]\n~~~', '["x"]'),
        ('{"a": 1} {"b": 2}', '{"a": 1} {"b": 2}'),
        ('{"a": 1', '{"a": 1'),
        ('Here: {"a": 1', None),
        ("No.", None),
        ("", None),
    ],
)
def test_one_object_or_array_is_found_in_a_text(text: str, part: str | None) -> None:
    """Fenced or not; two side by side are not parted."""
    assert find_json_part(text) == part
