"""The prompt of a message, to be looked at."""

from collections.abc import Sequence
from typing import Protocol

from .conversation import Exchange


class PromptPart(Protocol):
    """A part of a prompt. tokens: an estimate."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def tokens(self) -> int:
        """How many tokens it takes, about."""
        ...

    @property
    def text(self) -> str:
        """What it says."""
        ...


class ShowPrompt(Protocol):
    """Shows what a model would be asked, and asks none."""

    async def __call__(
        self, project: str, message: str, history: tuple[Exchange, ...] = ()
    ) -> Sequence[PromptPart]:
        """Return the parts of the prompt that a project's message would be answered with, in their order.

        history: what was said before in its thread. Raises `agent.errors.NotFound` for a project that is not there,
        `agent.errors.ModelFailed` for a prompt that is too long, and `agent.errors.StorageFailed`.
        """
        ...
