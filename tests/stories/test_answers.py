"""A teller's answers, read strictly: what is not what was asked for is nothing, and no error."""

import json
from typing import Any

import pytest

from agent.stories import settings
from agent.stories.answers import clean_short_text, parse_choices, parse_milestones


def test_choices_are_a_json_array() -> None:
    """Text around it, such as a fence, does no harm."""
    assert parse_choices('["Go on.", "Turn back."]') == ("Go on.", "Turn back.")
    assert parse_choices('Sure:\n```json\n["Gå  in.",\n "Vänta."]\n```') == ("Gå in.", "Vänta.")
    assert parse_choices('{"choices": ["Go on.", "Turn back."]}') == ("Go on.", "Turn back.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Go on, or turn back.",
        '["Go on."]',
        '["Go on.", "Go on.", ""]',
        '["Go on.", "' + "x" * 301 + '"]',
        '["Go on.", 5, null, ["Turn back."]]',
        '["Go on.", "Turn back."',
        '["…", "***", " "]',
        '{"a": "b"}',
        "[" * 3000,
        json.dumps(["Go on.", "Turn back.", "x" * settings.ANSWER_TEXT]),
        '["\\ud800", "b"]',
    ],
)
def test_what_is_no_list_of_choices_gives_none(text: str) -> None:
    """No JSON, one alone, empty, repeated, too long."""
    assert parse_choices(text) == ()


def test_too_many_choices_are_the_first_four() -> None:
    """And those without a word do not count."""
    assert parse_choices(json.dumps(["a\x07", " ", *"bcdefg"])) == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ('{"1": true, "2": false}', {1: True, 2: False}),
        ('Here:\n{"1": true}', {1: True}),
        ('{"1": "true", "2": 1, "3": true, "x": true, "-1": true}', {}),
        ('{"1": null, "2": true}', {2: True}),
        ("[true, true]", {}),
        ("1. true", {}),
        ('{"1": true', {}),
        ("", {}),
        ('{"1":' * 2000, {}),
    ],
)
def test_milestones_are_numbered_booleans(text: str, met: dict[int, bool]) -> None:
    """What is missing, unknown or no boolean changes nothing."""
    assert parse_milestones(text, (1, 2)) == met


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  It was\x00 so.\n", "It was so."),
        ("", ""),
        ("* …", ""),
        ("One is here. Two is here. Three", "One is here."),
        ("x" * 90, "x" * 20),
    ],
)
def test_a_short_text_ends_with_a_sentence(text: str, cleaned: Any) -> None:
    """Where it is too long."""
    assert clean_short_text(text, 20) == cleaned
