"""The shared cases of the number rule, one test each."""

import json
import os
from pathlib import Path

import pytest

from agent.grounding.verify import check, snippets_of

SHARED = Path(os.environ.get("AGENT_SHARED") or Path(__file__).resolve().parents[3] / "shared")
FILE = SHARED / "data" / "number_cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()] if FILE.exists() else []


@pytest.mark.skipif(not CASES, reason="number_cases.jsonl of the shared data is absent")
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_case(case: dict[str, str]) -> None:
    """The verdict on a shared case is the wanted one."""
    verdict = check(case["answer"], snippets_of(case["snippet"]))
    assert case["want"] == ("pass" if verdict.passed else "block")
