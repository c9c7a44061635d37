"""The way back to a session that is not there (implements `agent.ports.remember.ReturnPath`)."""

from collections.abc import Sequence
from typing import Any

from ..ports.brain import Proposal, Question


class NotedReturnPath:
    """Notes its calls. `proposals`: those offered. `frames`: those sent."""

    def __init__(self) -> None:
        self.proposals: list[Proposal] = []
        self.frames: list[Any] = []

    def offer(self, question: Question, proposal: Proposal) -> None:
        """Note a proposal."""
        self.proposals.append(proposal)

    def send_frames(self, frames: Sequence[Any]) -> None:
        """Note frames."""
        self.frames.extend(frames)
