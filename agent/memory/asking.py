"""What a user is asked about something that is proposed; his yes is carried out by `executor`. Pure."""

from typing import Any, Final

from ..ports.brain import Proposal
from ..ports.memory import Proposed

REMEMBER: Final = "remember"
"""The action that makes a proposed item live; its payload names the item, its text and what it replaces."""


def suggested(proposed: Proposed) -> Proposal:
    """Return what a user is asked: the item's text, and what it would replace."""
    item = proposed.item
    payload: dict[str, Any] = {"item": item.id, "text": item.text}
    if proposed.conflicts:
        payload["replaces"] = [{"item": each.id, "text": each.text} for each in proposed.conflicts]
    return Proposal(REMEMBER, payload, item=item.id)
