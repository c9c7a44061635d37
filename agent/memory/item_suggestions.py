"""Makes the suggestion that asks a user about a proposed item; `executor` carries out the user's yes. Pure."""

from typing import Any, Final

from ..ports.brain import Proposal
from ..ports.memory import ProposalOutcome

REMEMBER: Final = "remember"
"""The action that makes a proposed item live; its payload names the item, its text and what it replaces."""


def make_suggestion(proposed: ProposalOutcome) -> Proposal:
    """Return the suggestion for `proposed`: the item's text and the items that it would replace."""
    item = proposed.item
    payload: dict[str, Any] = {"item": item.id, "text": item.text}
    if proposed.conflicts:
        payload["replaces"] = [{"item": each.id, "text": each.text} for each in proposed.conflicts]
    return Proposal(action=REMEMBER, payload=payload, item=item.id)
