"""A clause of a user's message, what it proposes, and the days that it names."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from ..lang.remembering import Remembering
from ..numbers import days
from ..numbers.read import tokens
from ..ports.memory import ItemType
from ..text.words import fold

_SUBJECT: Final = 60  # characters before a verb in which is said what it is about
_OPENERS: Final = 6  # words and phrases before a clause that say nothing
WHEN: Final = 60
"""Characters of an adverbial before a clause."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a clause proposes. about: its subject. due: a day that the text means and does not name.

    finishes: what it is about is done. told: the user asks to remember it. single: it is so of one thing at a time,
    also where there is no number in it.
    """

    type: ItemType
    about: str
    text: str
    due: date | None = None
    finishes: bool = False
    told: bool = False
    single: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause. text: without what it quotes, each character in its place. written: with it. today: when it is said."""

    text: str
    written: str
    today: date

    def after(self, at: int) -> "Clause":
        """Return the clause from a place on."""
        return Clause(self.text[at:], self.written[at:], self.today)

    def until(self, at: int) -> "Clause":
        """Return the clause up to a place."""
        return Clause(self.text[:at], self.written[:at], self.today)


def pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that is the same for small letters and capitals."""
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def any_of(listed: frozenset[str]) -> str:
    """Return the alternatives of a pattern for some words, the longest first."""
    return "|".join(map(re.escape, sorted(listed, key=lambda word: (-len(word), word))))


class Opening:
    """What may open a clause, in the words of one language, as the beginning of a pattern.

    plain: words that say nothing. timed: an adverbial too. stated: a subject too; the group `said` is left open.
    """

    def __init__(self, say: Remembering) -> None:
        self.plain = rf"(?P<before>(?:(?:{say.joining}|{say.openers})\b[\s,!.:–-]+){{0,{_OPENERS}}})"
        self.timed = rf"{self.plain}(?P<when>(?:(?:{say.when})\b[^,;:?]{{1,{WHEN}}}?[,:]?\s+)??)"
        self.stated = rf"{self.plain}(?P<said>(?P<subject>[^,;:]{{1,{_SUBJECT}}}?)\s+"
        self._plain = pattern(self.plain)
        self._joining = pattern(rf"(?:{say.joining})\s+")

    def end(self, text: str) -> int:
        """Return where the words that say nothing end, with which a text begins."""
        opened = self._plain.match(text)
        return opened.end() if opened else 0

    def own(self, clause: Clause, match: re.Match[str]) -> str:
        """Return what a clause says, without what opens it where a mark parts the two. match: has a group `said`."""
        before = clause.text[: match.start("said")].rstrip()
        if before and before[-1].isalnum():
            joined = self._joining.match(clause.text)
            return clause.written[joined.end() if joined else 0 :]
        return clause.written[match.start("said") :]


def coming(text: str, today: date) -> date | None:
    """Return the one day to come that a text names or means, whether it tells of what was or of what will be.

    None where it is none, or it may be several.
    """
    meant = [each for each in _days(text, today) if each > today]
    return meant[0] if len(meant) == 1 and meant[0] in _days(text, today, sure=True) else None


def soonest(text: str, today: date) -> date | None:
    """Return the first day after today that a text names or means for what is to come, else today where it is that.

    None of what comes again and again.
    """
    meant = _days(text, today)
    return min((each for each in meant if each > today), default=today if today in meant else None)


def _days(text: str, today: date, sure: bool = False) -> frozenset[date]:
    found = tokens(text, source=True)
    said = days.mentions(fold(text), text, found)
    meant = [each.meaning for each in said if not each.often and (each.sure or not sure)]
    return days.whole(text, found) | days.all_days(meant, today)
