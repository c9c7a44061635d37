"""Reads the open loops that a clause opens or ends, by the words of one language: intentions, duties, deadlines, ends.

Strategy: a loop is proposed only with the day on which it is due. The subject of a duty must be the user or be left
open; the duty of somebody else is not the user's loop.
"""

import re
from typing import Final

from ..lang import LANGUAGES, Lang
from ..text.words import split_words
from .clauses import Clause, ClauseOpening, ClauseProposal, compile_pattern
from .due_days import find_due_day
from .subjects import remove_numbers

_SUBJECT: Final = 60  # characters of a loop in which its verb stands
_NEAR: Final = 40  # characters in which a day is named
_ENDS: Final = r"[;!]|,(?!\s*\d{4}\b)"  # of the words for a day, but for the comma before its year


class OpenLoopReader:
    """Reads open loops with the words of `lang`. `opening`: the words that may open a clause in it."""

    def __init__(self, lang: Lang, opening: ClauseOpening) -> None:
        say = self._say = LANGUAGES[lang].remembering
        self._opening = opening
        self._no_verbs = say.seeking | LANGUAGES[lang].acting.mood.articles
        opened, timed, stated = opening.plain, opening.timed, opening.stated
        self._deadline = compile_pattern(
            rf"{opened}(?P<said>(?:{say.deadline})\s+(?P<rest>[^,;:]+?)\s+(?:{say.equals})\s+(?P<day>.+))"
        )
        self._linking = compile_pattern(rf"(?:(?:{say.no})\s+)?(?:(?:{say.linking})\s+)+")
        self._intending = compile_pattern(rf"{timed}(?P<said>(?:{say.intending})\b\s*(?P<rest>.*))")
        self._obliging = compile_pattern(rf"{timed}(?P<said>(?:{say.obliging})\s+(?P<rest>.*))")
        self._obliged = compile_pattern(rf"{stated}(?:{say.obliged})\s*(?P<rest>.*))")
        self._waits = compile_pattern(rf"\b(?:{say.lasting})\b")
        self._until = compile_pattern(rf"\s(?:{say.until})\s+")
        self._done = compile_pattern(rf"{stated}(?:{say.done})\W*\Z)")
        self._all_done = compile_pattern(rf"{opened}(?:{say.all_done})(?:[\s,!.]+(?:{say.openers}))*\W*\Z")
        self._done_with = compile_pattern(rf"{opened}(?P<said>(?:{say.done_with})\s+(?P<rest>.*))")
        self._no = compile_pattern(rf"\b(?:{say.no})\b")

    def ends_unnamed(self, sentence: str) -> bool:
        """Tell whether `sentence` says that something is done which it does not name ("It is done.")."""
        return self._all_done.match(sentence) is not None

    def read_end(self, clause: Clause) -> ClauseProposal | None:
        """Return the loop that `clause` says is done."""
        match = self._done_with.match(clause.text)
        if match is not None:
            about = "" if self._linking.match(match["rest"]) else re.split(r"[,;]", match["rest"])[0]
        else:
            match = self._done.match(clause.text)
            if match is None or self.is_of_others(match["subject"]):
                return None
            about = match["subject"]
        if self._no.search(clause.text):
            return None
        text = self._opening.cut_opening(clause, match)
        return ClauseProposal(type="open_loop", subject=about, text=text, finishes=True)

    def read_intention(self, clause: Clause) -> ClauseProposal | None:
        """Return the loop that `clause` opens with an intention: the user will do something by a day."""
        match = self._intending.match(clause.text)
        if match is None or self._no.search(match["when"]):
            return None
        rest = match["rest"]
        if not self._begins_with_verb(rest):
            return None
        for until in self._until.finditer(rest):
            due = find_due_day(re.split(_ENDS, rest[until.end() : until.end() + _NEAR])[0], clause.today)
            if due is not None and not self._no.search(rest, 0, until.start()):
                about = remove_numbers(rest[: until.start()])
                text = self._opening.cut_opening(clause, match)
                return ClauseProposal(type="open_loop", subject=about, text=text, due=due)
        return None

    def read_duty(self, clause: Clause) -> ClauseProposal | None:
        """Return the loop that `clause` opens with a duty: of the user or left open, or the last day for a thing."""
        if self._no.search(clause.text):
            return None
        duty, passive = self._obliging.match(clause.text), self._obliged.match(clause.text)
        last = self._deadline.match(clause.text)
        if duty is not None:
            if not self._begins_with_verb(duty["rest"]) or self._waits.search(duty["rest"]):
                return None
            match, day, about = duty, duty["rest"], duty["rest"]
        elif last is not None:
            match, day, about = last, last["day"], last["rest"]
        elif passive is not None and not self.is_of_others(passive["subject"]):
            until = self._until.search(" " + passive["rest"])
            if until is None:
                return None
            match, day, about = passive, passive["rest"][until.end() - 1 :], passive["subject"]
        else:
            return None
        due = find_due_day(re.split(_ENDS, day)[0], clause.today)
        if due is None:
            return None
        text = self._opening.cut_opening(clause, match)
        return ClauseProposal(type="open_loop", subject=remove_numbers(about), text=text, due=due)

    def is_of_others(self, subject: str) -> bool:
        """Tell whether `subject` begins with a word for somebody else than the user."""
        return not self._say.yours.isdisjoint(split_words(subject)[:1])

    def _begins_with_verb(self, rest: str) -> bool:
        """Tell whether `rest` begins with something to do, and not with a thing or with asking for an answer."""
        first = split_words(rest[:_SUBJECT])[:1]
        return bool(first) and first[0] not in self._no_verbs
