"""Decides whether a call waits for approval, and how risky it is: the one place that decides either.

Strategy: every party (`ApprovalReason`) that may ask for approval is asked, and one is enough. The word of a model, a
document or a result arrives here only as such a request, so it can neither take an approval away nor lower a risk.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..ports.tools import Risk, ToolDefinition

ApprovalReason: TypeAlias = Literal["definition", "model", "risk", "provenance"]
"""The party that asked for approval: the tool's definition, the model, the risk, or the source of the arguments."""

_HEIGHT: dict[Risk, int] = {"low": 0, "medium": 1, "high": 2}


@dataclass(frozen=True, slots=True)
class Approval:
    """The decision about one call. `why`: every reason for approval, () for none."""

    needed: bool
    risk: Risk
    why: tuple[ApprovalReason, ...]


def decide_approval(
    definition: ToolDefinition,
    word_risk: Risk | None,
    word_approval: bool | None,
    approve_from: Risk,
    provenance_only_elsewhere: bool,
) -> Approval:
    """Return the strictest decision of all parties about one call.

    `word_risk`, `word_approval`: the model's, None when it gave none. `approve_from`: the risk from which every call
    waits. `provenance_only_elsewhere`: an identifier of the arguments stands only in documents, memory or results, not
    in the user's written words: someone else may have written it there, or a recogniser may have misheard it. Such a
    call waits at any risk.
    """
    risk = definition.risk
    if word_risk is not None and _HEIGHT[word_risk] > _HEIGHT[risk]:
        risk = word_risk
    requests: tuple[tuple[ApprovalReason, bool], ...] = (
        ("definition", definition.requires_approval),
        ("model", word_approval is True),
        ("risk", _HEIGHT[risk] >= _HEIGHT[approve_from]),
        ("provenance", provenance_only_elsewhere),
    )
    why = tuple(word for word, asks in requests if asks)
    return Approval(bool(why), risk, why)
