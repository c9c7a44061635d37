"""Decides by a script (`agent.llm.script`): the text of an entry is a decision, as a model would have written it.

An entry with a `round` plays only after that many results of the turn, an entry without one after any number; the first
of those that matches the question plays. Its text is read like any model's, so a script can play every hostile or
broken decision. A second try plays the same entry again.
"""

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from ..ports.decide import Briefing, Decision
from .decision import decode_decision
from .script import ScriptEntry, find_entry, read_script


class ScriptDecider:
    """Decides by its script (implements `agent.ports.decide.Decider`)."""

    def __init__(self, entries: Sequence[ScriptEntry]) -> None:
        self._entries = tuple(entries)

    @classmethod
    def load(cls, path: Path) -> "ScriptDecider":
        """Read a script, as `agent.llm.script.read_script` does."""
        return cls(read_script(path))

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the decision of the first entry that matches the question, in this round.

        Raises `ModelFailed` with the entry's `error`, or when no entry matches; `BadDecision` when the text is no
        decision.
        """
        candidates = [each for each in self._entries if each.round in (None, len(briefing.results))]
        text = ""
        async with aclosing(find_entry(candidates, briefing.question).play()) as pieces:
            async for piece in pieces:
                text += piece
        return decode_decision(text)
