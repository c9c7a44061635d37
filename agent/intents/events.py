"""Reads the events that a clause tells of, by the words of one language: past and coming changes with their day.

Strategy: a clause tells of an event where a thing, a verb of change and a day stand together, the day first or after
the verb ("yesterday the boiler broke", "the course starts on Friday"). The day may be any that the numbers and words of
`agent.numbers.days` name; a thing that happens every Friday is no event. Where the day stands first, some languages put
the verb before the thing: both orders are tried. The thing must be named, since "it broke yesterday" says nothing
alone.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from ..lang import LANGUAGES, Lang
from ..text.words import split_words
from .clauses import Clause, ClauseOpening, ClauseProposal, compile_pattern, join_words
from .due_days import find_event_day
from .subjects import remove_numbers

_SUBJECT: Final = 60  # characters of a thing before its verb
_MOVED: Final = 5  # words of a thing behind its verb
_NEAR: Final = 80  # characters between a verb and its day


class DatedEventReader:
    """Reads events with the words of `lang`. `opening`: the words that may open a clause in it."""

    def __init__(self, lang: Lang, opening: ClauseOpening) -> None:
        say, dating = LANGUAGES[lang].remembering, LANGUAGES[lang].dating
        self._opening = opening
        mood = LANGUAGES[lang].acting.mood
        self._no_things = say.yours | say.unclear | say.ordering
        self._pronouns = LANGUAGES[lang].writing.function_words - mood.speakers
        self._leading = mood.modals | mood.linking
        self._no = compile_pattern(rf"\b(?:{say.no})\b")
        self._this_day = compile_pattern(rf"\b(?:{say.this_day})\b")
        counted = frozenset(phrase for phrase, away in dating.days.items() if away)
        weekdays = join_words(frozenset((*dating.weekdays, *dating.gone)))
        near = join_words(dating.last | dating.following | dating.this)
        days = "|".join(
            (
                say.this_day,
                join_words(counted),
                rf"(?:(?:{say.on_day})\s+)?(?:(?:{near})\s+)?(?:{weekdays})",
                rf"(?:{near})\s+(?:{join_words(frozenset(dating.spans))})",
                rf"(?:{say.on_day})\s+(?:\d[\w.-]*\s+[^\W\d]+|[^\W\d]+\s+\d\w*|\d[\d-]+)",
            )
        )
        day = rf"(?P<day>{days})\b(?:\s+(?:{say.day_part})\b)?"
        told = rf"(?P<thing>[^,;:]{{1,{_SUBJECT}}}?)\s+(?:(?P<past>{say.happened})|(?:{say.happening}))\b"
        self._day = compile_pattern(rf"\b{day}")
        self._day_words = frozenset(
            phrase.split()[-1] for phrase in (*counted, *dating.weekdays, *dating.gone, *dating.spans)
        )
        self._first = compile_pattern(rf"{opening.plain}(?P<said>{day},?\s+(?P<rest>\S.*))")
        self._told = compile_pattern(told)
        self._last = compile_pattern(rf"{opening.plain}(?P<said>{told}[^,;:]{{0,{_NEAR}}}?\s{day})")

    def may_tell(self, words: Collection[str]) -> bool:
        """Tell whether a sentence of `words` may name a day, without which it tells of no event."""
        return not self._day_words.isdisjoint(words) or any(word[0].isdigit() for word in words)

    def read_event(self, clause: Clause) -> ClauseProposal | None:
        """Return the event that `clause` tells of."""
        if self._day.search(clause.text) is None or self._no.search(clause.text):
            return None
        match = self._first.match(clause.text)
        told = self._find_told(match["rest"]) if match is not None else None
        if match is None or told is None:
            match = told = self._last.match(clause.text)
            if match is None or not self._is_thing(match["thing"]):
                return None
        assert told is not None
        is_past = told["past"] is not None
        is_dated, day = find_event_day(clause.text[match.start("said") :], clause.today, is_past)
        if self._this_day.fullmatch(match["day"]):
            day = day or clause.today
        elif not is_dated:
            return None
        about = remove_numbers(clause.text[match.start("said") :].replace(match["day"], " ", 1))
        text = self._opening.cut_opening(clause, match)
        return ClauseProposal(type="event", subject=about, text=text, due=day)

    def _find_told(self, rest: str) -> re.Match[str] | None:
        """Return the match of a named thing and its verb at the beginning of `rest`, in either order."""
        for told in _reorder(rest):
            match = self._told.match(told)
            if match is not None and self._is_thing(match["thing"]):
                return match
        return None

    def _is_thing(self, thing: str) -> bool:
        """Tell whether `thing` names the subject of its verb: no pronoun ("it", "that") and no order or wish."""
        words = split_words(thing[self._opening.find_end(f"{thing} ") :])
        named = len(words) > 1 or (len(words) == 1 and words[0] not in self._pronouns)
        return named and words[0] not in self._no_things and words[-1] not in self._leading


def _reorder(rest: str) -> Iterator[str]:
    """Yield `rest`, and with its first word, a verb, behind each of the words after it."""
    yield rest
    verb, *words = rest.split(None, _MOVED + 1)
    for at in range(1, min(len(words), _MOVED) + 1):
        yield " ".join((*words[:at], verb, *words[at:]))
