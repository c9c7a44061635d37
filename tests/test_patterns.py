"""No regular expression of the package takes more than linearly long, whatever the text."""

import re

import pytest

from .patterns import ONCE, Found, hostile, patterns, slow


def found(text: str, *uses: str) -> Found:
    """Return a pattern that is used in some ways."""
    return Found(re.compile(text), "tests", "PLANTED", frozenset(uses))


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (r"\s*\bago\b", "search"),
        (r"[.!?]+\s", "finditer"),
        (r"#\s*\w*\s*$", "match"),
        (r"(?:ab)+c", "search"),
        (r"<[^>]*>", "sub"),
    ],
)
def test_a_quadratic_pattern_is_found(text: str, use: str) -> None:
    """Whatever it may repeat, and whatever has to stand before that."""
    assert slow(found(text, use), 2000, 0.0005)


@pytest.mark.parametrize(
    ("text", "use"),
    [(r"\bago\b", "search"), (r"\s*\bago\b", "match"), (r"[.!?]\s++", "finditer"), (r"\d+", "sub")],
)
def test_a_linear_pattern_is_not(text: str, use: str) -> None:
    """One that is only matched from its place on may look at all that follows."""
    assert slow(found(text, use), 2000, 0.0005) == ""


def test_what_a_pattern_may_repeat_is_in_its_texts() -> None:
    """With what leads to it."""
    texts = {make(9) for make in hostile(re.compile(r"(?i:set\s+(\d{2,}|[^\W\d]*))"))}
    assert texts >= {"         ", "111111111"}
    assert any(each.startswith("set") for each in texts)


@pytest.mark.proof
def test_every_pattern_of_the_package_is_linear() -> None:
    """On 8,000 characters of blanks, digits, letters, marks, and of what itself repeats."""
    every = patterns()
    assert len(every) > 300
    assert {each.module.split(".")[1] for each in every} >= {
        "text",
        "memory",
        "numbers",
        "documents",
        "intents",
    }
    assert {True, False} == {bool(each.uses and each.uses <= ONCE) for each in every}
    said = [f"{each.module}.{each.name}: {text!r}" for each in every if (text := slow(each))]
    assert said == []
