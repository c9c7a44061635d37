"""What waits for approval: the strictest word counts, and nothing takes it back."""

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest

from agent.ports.tools import Risk, ToolDefinition
from agent.tools.policy import Approval, decide_approval

RISKS: tuple[Risk, ...] = get_args(Risk)
WORDS: tuple[Risk | None, ...] = (None, *RISKS)


def tool(risk: Risk = "low", approval: bool = False) -> ToolDefinition:
    return ToolDefinition(
        name="get_order", description="", parameters={"type": "object"}, requires_approval=approval, risk=risk
    )


def every() -> Iterator[tuple[Any, ...]]:
    return product(RISKS, (False, True), WORDS, (None, False, True), RISKS, (False, True))


def decided(risk: Risk, approval: bool, word: Risk | None, asked: bool | None, *rest: Any) -> Approval:
    return decide_approval(tool(risk, approval), word, asked, *rest)


def test_no_combination_lowers_anything() -> None:
    """Over all of them: the rule as it is written, the higher risk, and each word that asks is named."""
    count = 0
    for risk, approval, word, asked, approve_from, elsewhere in every():
        got = decided(risk, approval, word, asked, approve_from, elsewhere)
        height = max(RISKS.index(risk), RISKS.index(word) if word else 0)
        assert RISKS.index(got.risk) == height
        by = {
            "definition": approval,
            "model": asked is True,
            "risk": height >= RISKS.index(approve_from),
            "provenance": elsewhere,
        }
        assert got == Approval(any(by.values()), got.risk, tuple(name for name, asks in by.items() if asks))  # type: ignore[misc]
        count += 1
    assert count == 3 * 2 * 4 * 3 * 3 * 2


def test_whatever_a_model_says_is_at_least_as_strict_as_its_silence() -> None:
    """Neither its word on risk nor its word on approval, nor where arguments come from, takes anything away."""
    for risk, approval, word, asked, approve_from, elsewhere in every():
        silent = decided(risk, approval, None, None, approve_from, False)
        said = decided(risk, approval, word, asked, approve_from, elsewhere)
        assert said.needed >= silent.needed
        assert RISKS.index(said.risk) >= RISKS.index(silent.risk)
        assert set(said.why) >= set(silent.why)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (decide_approval(tool(), None, None, "high", False), Approval(False, "low", ())),
        (decide_approval(tool("medium"), None, False, "high", False), Approval(False, "medium", ())),
        (decide_approval(tool("high"), "low", False, "high", False), Approval(True, "high", ("risk",))),
        (decide_approval(tool(), None, None, "high", True), Approval(True, "low", ("provenance",))),
        (decide_approval(tool(), "medium", None, "high", True), Approval(True, "medium", ("provenance",))),
        (
            decide_approval(tool(approval=True), None, False, "high", False),
            Approval(True, "low", ("definition",)),
        ),
    ],
)
def test_some_cases_by_hand(got: Approval, expected: Approval) -> None:
    """A few written out, so that the rule is not only compared with itself."""
    assert got == expected
