"""Reads the ideas and the lessons that a clause states, by the words of one language.

Strategy: the user announces one with its name ("idea: ...", "lesson learned: ..."), or begins a clause as ideas and
lessons are begun ("maybe we should ...", "I learned that ..."). These words may doubt, as an idea does. A request to
the agent is no idea, and news of the user's own things is no lesson ("I learned that my order was cancelled").
"""

from typing import Final

from ..lang.remembering import Remembering
from ..ports.memory import ItemType
from ..text.words import split_words
from .clauses import Clause, ClauseOpening, ClauseProposal, compile_pattern
from .subjects import remove_numbers

_LEAST: Final = 2  # words that a text needs to be understood alone


class IdeaReader:
    """Reads ideas and lessons with the words `say` of one language. `opening`: the words that may open a clause."""

    def __init__(self, say: Remembering, opening: ClauseOpening) -> None:
        self._opening = opening
        self._news_of = say.mine | say.yours
        opened = opening.plain
        self._idea = compile_pattern(rf"{opened}(?:{say.idea})\s*(?P<said>(?P<rest>.+))")
        self._suggesting = compile_pattern(rf"{opened}(?P<said>(?:{say.suggesting})\b(?P<rest>.+))")
        self._lesson = compile_pattern(rf"{opened}(?:{say.lesson})\s*(?P<said>(?P<rest>.+))")
        self._learning = compile_pattern(rf"{opened}(?P<said>(?:{say.learning})\b(?P<rest>.+))")

    def read_idea(self, clause: Clause) -> ClauseProposal | None:
        """Return the idea that `clause` states."""
        return self._read_thought("idea", clause)

    def read_lesson(self, clause: Clause) -> ClauseProposal | None:
        """Return the lesson that `clause` states."""
        return self._read_thought("lesson", clause)

    def _read_thought(self, type: ItemType, clause: Clause) -> ClauseProposal | None:
        announced, begun = (
            (self._idea, self._suggesting) if type == "idea" else (self._lesson, self._learning)
        )
        match = announced.match(clause.text)
        if match is not None:
            text = clause.written[match.start("said") :]
        else:
            match = begun.match(clause.text)
            if match is None:
                return None
            text = self._opening.cut_opening(clause, match)
        words = split_words(match["rest"])
        if len(words) < _LEAST or (match.re is self._learning and words[0] in self._news_of):
            return None
        return ClauseProposal(type=type, subject=remove_numbers(match["rest"]), text=text)
