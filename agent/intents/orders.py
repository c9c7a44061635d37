"""Reads the standing orders that a clause gives, by the words of one language: from now on, always, never, whenever.

Strategy: an order stands if it says so: by "from now on", by "always" or "never" among its first words, by a condition
("whenever ..."), or by its verb ("call me Kim"). Any other order is for one answer only.
"""

import re
from typing import Final

from ..lang.remembering import Remembering
from ..text.words import split_words
from .clauses import WHEN, Clause, ClauseOpening, ClauseProposal, compile_pattern
from .subjects import remove_numbers

_OPENING_WORDS: Final = 5  # first words of an order, among which "always" or "never" makes it stand
_CONTEXT_FREE: Final = 2  # words above which an order is understood without its context


class OrderReader:
    """Reads orders with the words `say` of one language. `opening`: the words that may open a clause in it."""

    def __init__(self, say: Remembering, opening: ClauseOpening) -> None:
        self._say = say
        self._opening = opening
        opened = opening.plain
        self._henceforth = compile_pattern(rf"{opened}(?P<said>(?:{say.henceforth})\b[\s,:]*(?P<rest>.*))")
        self._some_henceforth = compile_pattern(rf"\b(?:{say.henceforth})\b")
        self._standing = compile_pattern(say.standing)
        self._wanting = compile_pattern(
            rf"{opened}(?P<said>(?:{say.requesting})\s+(?P<rest>(?:{say.standing})\b.+))"
        )
        self._whenever = compile_pattern(
            rf"{opened}(?P<said>(?:{say.whenever})[^,;:]{{1,{WHEN}}},\s+(?P<rest>.+))"
        )
        self._commanding = compile_pattern(
            rf"{opened}(?P<said>(?:{say.commanding})\s+(?P<rest>(?:{say.standing})\b.+))"
        )
        self._conditional = compile_pattern(
            rf"{opened}(?P<said>(?:{say.conditional})\b[^,;:?]{{1,{WHEN}}}?"
            rf"(?:,\s+|\s+(?=(?:{say.commanding})\b))(?P<rest>.+))"
        )
        self._lasting = compile_pattern(rf"{opened}(?P<said>(?P<rest>(?:{say.lasting_order}).*))")
        self._defining = compile_pattern(rf"{opened}(?P<said>(?P<rest>(?:{say.defining}).+))")

    def read_rule(self, clause: Clause) -> ClauseProposal | None:
        """Return the rule that `clause` sets with a standing order, or None."""
        match = self._henceforth.match(clause.text)
        if match is not None:
            return self._make_rule(clause, match, match["rest"])
        for pattern in (self._wanting, self._commanding, self._lasting, self._whenever, self._defining):
            match = pattern.match(clause.text)
            if match is not None and (pattern is not self._whenever or self._is_order(match["rest"])):
                return self._make_rule(clause, match, match["said"])
        if (match := self._match_conditional(clause.text)) is not None:
            return self._make_rule(clause, match, match["said"])
        order = self.find_standing_order(clause.text)
        if order is None:
            return None
        text = clause.written[-len(order) :]
        return ClauseProposal(type="rule", subject=remove_numbers(order), text=text)

    def is_conditional(self, sentence: str) -> bool:
        """Tell whether a sentence that opens like a question is a conditional order, or defines a word."""
        return self._defining.match(sentence) is not None or self._match_conditional(sentence) is not None

    def find_standing_order(self, text: str) -> str | None:
        """Return `text` without its opening words if it is a standing order, else None."""
        order = text[self._opening.find_end(text) :]
        object_text = order.partition(":")[0]  # the object of the order follows the colon
        first = split_words(object_text[: 2 * WHEN])[:_OPENING_WORDS]
        is_standing = [self._standing.fullmatch(word) is not None for word in first]
        is_verb = [word in self._say.ordering for word in first]
        if is_verb[:1] == [True] and (any(is_standing) or self._some_henceforth.search(object_text)):
            return order  # "write always in French"
        if is_standing[:1] == [True] and is_verb[1:2] == [True] and len(first) > _CONTEXT_FREE:
            return order  # "always write in French"
        return None

    def _make_rule(self, clause: Clause, match: re.Match[str], about: str) -> ClauseProposal:
        text = self._opening.cut_opening(clause, match)
        return ClauseProposal(type="rule", subject=remove_numbers(about), text=text)

    def _match_conditional(self, text: str) -> re.Match[str] | None:
        """Match a standing order that holds in one case ("if I am late, always call")."""
        match = self._conditional.match(text)
        if match is None:
            return None
        rest = match["rest"]
        is_order = self.find_standing_order(rest) is not None or self._commanding.match(rest) is not None
        return match if is_order else None

    def _is_order(self, text: str) -> bool:
        """Tell whether `text` begins with an order."""
        first = split_words(text[self._opening.find_end(text) :][:WHEN])[:1]
        return bool(first) and first[0] in self._say.ordering
