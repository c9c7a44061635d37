"""What a clause orders for good, by the words of one language: from now on, always, never, whenever.

Strategy: an order is for good where it says so: with "from now on", with "always" or "never" among its first words, for
every case of some kind, or by what it orders ("call me Kim"). Every other order is for this one answer.
"""

import re
from typing import Final

from ..lang.remembering import Remembering
from ..text.words import words
from .clauses import WHEN, Clause, Opening, Said, pattern
from .items import unnumbered

_EARLY: Final = 5  # words of an order, of which one is "always" or "never"
_LEAST: Final = 2  # words of what can be understood alone


class Orders:
    """The rules with the words of one language. opening: what may open a clause in it."""

    def __init__(self, say: Remembering, opening: Opening) -> None:
        self._say = say
        self._opening = opening
        opened = opening.plain
        self._henceforth = pattern(rf"{opened}(?P<said>(?:{say.henceforth})\b[\s,:]*(?P<rest>.*))")
        self._some_henceforth = pattern(rf"\b(?:{say.henceforth})\b")
        self._standing = pattern(say.standing)
        self._wanting = pattern(rf"{opened}(?P<said>(?:{say.requesting})\s+(?P<rest>(?:{say.standing})\b.+))")
        self._whenever = pattern(rf"{opened}(?P<said>(?:{say.whenever})[^,;:]{{1,{WHEN}}},\s+(?P<rest>.+))")
        self._commanding = pattern(
            rf"{opened}(?P<said>(?:{say.commanding})\s+(?P<rest>(?:{say.standing})\b.+))"
        )
        self._conditional = pattern(
            rf"{opened}(?P<said>(?:{say.conditional})\b[^,;:?]{{1,{WHEN}}}?"
            rf"(?:,\s+|\s+(?=(?:{say.commanding})\b))(?P<rest>.+))"
        )
        self._for_good = pattern(rf"{opened}(?P<said>(?P<rest>(?:{say.lasting_order}).*))")
        self._defining = pattern(rf"{opened}(?P<said>(?P<rest>(?:{say.defining}).+))")

    def said(self, clause: Clause) -> Said | None:
        """Return the rule of a clause: from now on; always and never, of orders only; an order that is for good."""
        begins = self._henceforth.match(clause.text)
        if begins is not None:
            return Said("rule", unnumbered(begins["rest"]), self._opening.own(clause, begins))
        for way in (self._wanting, self._commanding, self._for_good, self._whenever, self._defining):
            match = way.match(clause.text)
            if match is not None and (way is not self._whenever or self._orders(match["rest"])):
                return Said("rule", unnumbered(match["said"]), self._opening.own(clause, match))
        if (match := self._in_case(clause.text)) is not None:
            return Said("rule", unnumbered(match["said"]), self._opening.own(clause, match))
        order = self.ordered(clause.text)
        return None if order is None else Said("rule", unnumbered(order), clause.written[-len(order) :])

    def conditional(self, sentence: str) -> bool:
        """Tell whether a sentence that begins as a question may is an order for a case, or says what a word means."""
        return self._defining.match(sentence) is not None or self._in_case(sentence) is not None

    def ordered(self, text: str) -> str | None:
        """Return an order for good, without what opens it; None where a text is none."""
        order = text[self._opening.end(text) :]
        said = order.partition(":")[0]  # what follows is what the order is about
        first = words(said[: 2 * WHEN])[:_EARLY]
        lasting = [self._standing.fullmatch(word) is not None for word in first]
        orders = [word in self._say.ordering for word in first]
        if orders[:1] == [True] and (any(lasting) or self._some_henceforth.search(said)):
            return order
        return order if lasting[:1] == [True] and orders[1:2] == [True] and len(first) > _LEAST else None

    def _in_case(self, text: str) -> re.Match[str] | None:
        """Return an order for good that is for a case ("if I am late, always call")."""
        match = self._conditional.match(text)
        if match is None:
            return None
        rest = match["rest"]
        return match if self.ordered(rest) is not None or self._commanding.match(rest) is not None else None

    def _orders(self, text: str) -> bool:
        """Tell whether a text begins with an order."""
        first = words(text[self._opening.end(text) :][:WHEN])[:1]
        return bool(first) and first[0] in self._say.ordering
