"""Attempts to get an invented number past the rule, and plain good answers that it must let through.

The cases are lines of `tests/data/number_attacks.jsonl`, one test per kind.
"""

import json
from pathlib import Path

import pytest

from agent.grounding.verify import check_numbers, snippets_of

FILE = Path(__file__).resolve().parents[1] / "data" / "number_attacks.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def _wrong(kind: str, want: str) -> list[tuple[str, str]]:
    """Return (snippet, answer) of the cases of a kind whose verdict is not the wanted one."""
    return [
        (case["snippet"], case["answer"])
        for case in CASES
        if (case["kind"], case["want"]) == (kind, want)
        and check_numbers(case["answer"], snippets_of(case["snippet"])).is_supported != (want == "pass")
    ]


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES if case["want"] == "block"}))
def test_attack(kind: str) -> None:
    """No attack of a kind gets a number past the rule."""
    assert _wrong(kind, "block") == []


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES if case["want"] == "pass"}))
def test_plain_answer(kind: str) -> None:
    """No plain answer of a kind is refused."""
    assert _wrong(kind, "pass") == []
