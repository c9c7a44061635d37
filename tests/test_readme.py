"""The README is short, and the two commands that it begins with are the ones that are run before a change lands."""

from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_it_is_read_in_three_minutes() -> None:
    """At most 700 words; the rest stands in the guide."""
    assert len(TEXT.split()) <= 700


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/agent serve",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest",
    ],
)
def test_the_two_commands_stand_word_for_word(command: str) -> None:
    """A newcomer copies them; the second is what is run before every change lands."""
    assert command in TEXT
    if "pytest" in command:
        assert command in (README.parent / ".ci" / "run").read_text(encoding="utf-8")
