"""The port behind which a payload is filled in: from what the user wrote to the fields of an action."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .draft import Prompt
from .search import Hit


class Filler(Protocol):
    """Fills in the payload of an action. Which action it is, is not its to choose."""

    async def fill(self, action: str, prompt: Prompt, evidence: Sequence[Hit]) -> Mapping[str, Any]:
        """Return the fields of an action as they were made of the user's words, unchecked but for their form.

        Raises `agent.errors.ModelFailed` when nothing came of it. Cancelled, its connection is closed before it
        returns.
        """
        ...
