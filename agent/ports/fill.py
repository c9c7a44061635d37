"""Fills in the payload of an action from the user's words."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .draft import Prompt
from .search import Hit


class Filler(Protocol):
    """Fills in the payload of an action. It does not choose the action."""

    async def fill(self, action: str, prompt: Prompt, evidence: Sequence[Hit]) -> Mapping[str, Any]:
        """Return the fields of `action` that the user's words give, checked for their form only.

        Raises `agent.errors.ModelFailed` when the model gives no fields. Cancelled, its connection is closed before it
        returns.
        """
        ...
