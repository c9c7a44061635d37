"""Reads the orders for good that a clause gives, by the words of one language: from now on, always, never, whenever.

Strategy: an order is for good where it says so: with "from now on", with "always" or "never" among its first words, for
every case of some kind, or by its own verb ("call me Kim"). Every other order is for this one answer.
"""

import re
from typing import Final

from ..lang.remembering import Remembering
from ..text.words import split_words
from .clauses import WHEN, Clause, ClauseOpening, ClauseProposal, compile_pattern
from .subjects import remove_numbers

_EARLY: Final = 5  # words of an order, of which one is "always" or "never"
_LEAST: Final = 2  # words that a text needs to be understood alone


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
        self._for_good = compile_pattern(rf"{opened}(?P<said>(?P<rest>(?:{say.lasting_order}).*))")
        self._defining = compile_pattern(rf"{opened}(?P<said>(?P<rest>(?:{say.defining}).+))")

    def read_rule(self, clause: Clause) -> ClauseProposal | None:
        """Return the rule that `clause` sets: "from now on", an order with "always" or "never", or one for good."""
        begins = self._henceforth.match(clause.text)
        if begins is not None:
            return self._make_rule(clause, begins, begins["rest"])
        for way in (self._wanting, self._commanding, self._for_good, self._whenever, self._defining):
            match = way.match(clause.text)
            if match is not None and (way is not self._whenever or self._is_order(match["rest"])):
                return self._make_rule(clause, match, match["said"])
        if (match := self._match_conditional(clause.text)) is not None:
            return self._make_rule(clause, match, match["said"])
        order = self.find_standing_order(clause.text)
        if order is None:
            return None
        text = clause.written[-len(order) :]
        return ClauseProposal(type="rule", subject=remove_numbers(order), text=text)

    def is_conditional(self, sentence: str) -> bool:
        """Tell whether a sentence with the opening of a question is an order for a case, or defines a word."""
        return self._defining.match(sentence) is not None or self._match_conditional(sentence) is not None

    def find_standing_order(self, text: str) -> str | None:
        """Return the order for good that `text` is, without its opening words; None where `text` is none."""
        order = text[self._opening.find_end(text) :]
        object_text = order.partition(":")[0]  # the object of the order follows the colon
        first = split_words(object_text[: 2 * WHEN])[:_EARLY]
        lasting = [self._standing.fullmatch(word) is not None for word in first]
        orders = [word in self._say.ordering for word in first]
        if orders[:1] == [True] and (any(lasting) or self._some_henceforth.search(object_text)):
            return order
        return order if lasting[:1] == [True] and orders[1:2] == [True] and len(first) > _LEAST else None

    def _make_rule(self, clause: Clause, match: re.Match[str], about: str) -> ClauseProposal:
        text = self._opening.cut_opening(clause, match)
        return ClauseProposal(type="rule", subject=remove_numbers(about), text=text)

    def _match_conditional(self, text: str) -> re.Match[str] | None:
        """Match an order for good that holds for a case ("if I am late, always call")."""
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
