"""The shared cases of the number rule: none lets an invented number pass, and hardly one blocks a good answer."""

import json
import os
from pathlib import Path

import pytest

from agent.grounding.verify import check_numbers, snippets_of

SHARED = Path(os.environ.get("AGENT_SHARED") or Path(__file__).resolve().parents[3] / "shared")
FILES = [SHARED / "data" / name for name in ("number_cases.jsonl", "number_cases_2.jsonl")]
CASES = [json.loads(line) for file in FILES if file.exists() for line in file.read_text("utf-8").splitlines()]


SUPERSEDED = {"rate: var tredje"}
"""Cases that were labelled when no ordinal below the fourth was a number: "varje dag" supports no "var tredje dag"."""

LACKING = pytest.mark.skipif(not CASES, reason="number_cases*.jsonl of the shared data are absent")


def _wrong(want: str) -> list[str]:
    """Return the names of the cases whose verdict is not the wanted one."""
    return [
        case["name"]
        for case in CASES
        if case["want"] == want
        and check_numbers(case["answer"], snippets_of(case["snippet"])).is_supported != (want == "pass")
    ]


@LACKING
def test_no_case_leaks() -> None:
    """No invented number of the shared cases passes."""
    assert _wrong("block") == []


@LACKING
def test_good_cases_pass() -> None:
    """Of the shared good answers none is blocked."""
    assert {*_wrong("pass")} == SUPERSEDED
