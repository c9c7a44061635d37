"""Decides what a script says (`agent.llm.script`): an entry's text is a decision, as a model would have written it.

An entry with a `round` plays only after so many results of the turn, one without after any number; of those the first
that matches the question. What it says is read as any model's, so a script can play every hostile or broken decision.
A second try plays the same entry again.
"""

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from ..ports.decide import Briefing, Decision
from .decision import decode
from .script import Entry, found, read


class ScriptDecider:
    """Decides what its script says (implements `agent.ports.decide.Decider`)."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = tuple(entries)

    @classmethod
    def load(cls, path: Path) -> "ScriptDecider":
        """Read a script, as `agent.llm.script.read` does."""
        return cls(read(path))

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the decision of the first entry that matches the question, in this round.

        Raises `ModelFailed` with the entry's `error`, or when no entry matches; `BadDecision` for another text.
        """
        played = [each for each in self._entries if each.round in (None, len(briefing.results))]
        said = ""
        async with aclosing(found(played, briefing.question).play()) as pieces:
            async for piece in pieces:
                said += piece
        return decode(said)
