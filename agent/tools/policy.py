"""Whether a call waits for somebody's approval, and how risky it is: the one place that decides either.

Strategy: each word that may ask for approval is asked, and one is enough. What a model, a document or a result says
arrives here only as such a word, so nothing of it can take an approval away or lower a risk.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..ports.tools import Risk, ToolDefinition

Why: TypeAlias = Literal["definition", "model", "risk", "provenance"]
"""Who asked: the tool's definition, the model's word, the risk, or where the arguments come from."""

_HEIGHT: dict[Risk, int] = {"low": 0, "medium": 1, "high": 2}


@dataclass(frozen=True, slots=True)
class Approval:
    """What was decided about one call. why: everything that asked for approval, () where nothing did."""

    needed: bool
    risk: Risk
    why: tuple[Why, ...]


def strictest(
    definition: ToolDefinition,
    word_risk: Risk | None,
    word_approval: bool | None,
    approve_from: Risk,
    provenance_only_elsewhere: bool,
) -> Approval:
    """Return the strictest of all words about one call.

    word_risk, word_approval: the model's, None where it said nothing. approve_from: the risk from which every call
    waits. provenance_only_elsewhere: an identifier of the arguments stands only in documents, memory or results, not
    in what the user said; such a call waits whatever its risk, for somebody else may have written it there.
    """
    risk = definition.risk
    if word_risk is not None and _HEIGHT[word_risk] > _HEIGHT[risk]:
        risk = word_risk
    asked: tuple[tuple[Why, bool], ...] = (
        ("definition", definition.requires_approval),
        ("model", word_approval is True),
        ("risk", _HEIGHT[risk] >= _HEIGHT[approve_from]),
        ("provenance", provenance_only_elsewhere),
    )
    why = tuple(word for word, asks in asked if asks)
    return Approval(bool(why), risk, why)
