"""What one clause of a user's message proposes, by the words of one language (`agent.lang.remembering`).

Strategy: each kind of proposal has one pattern for how its clause begins, and a few conditions on what follows. A
subject is what stands before the verb, else all of what is said; what of it counts is left to the key. What a clause
denies, supposes or has from others proposes nothing, except where the user asks to remember it, or orders it.
"""

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Final

from ..lang import LANGUAGES, Lang
from ..numbers import days
from ..numbers.read import Kind, tokens
from ..ports.memory import ItemType
from ..text.words import fold, words
from .items import key_of, unnumbered

_SUBJECT: Final = 60  # characters before a verb in which is said what it is about
_NAMED: Final = 6  # words of what has a number of its own
_OPENERS: Final = 6  # words and phrases before a clause that say nothing
_WHEN: Final = 60  # characters of an adverbial before a clause
_EARLY: Final = 5  # words of an order, of which one is "always" or "never"
_NEAR: Final = 40  # characters in which a number or a day is named
_LEAST: Final = 2  # words of what can be understood alone
_NO_VALUES: Final = frozenset({Kind.ROMAN, Kind.SYMBOL, Kind.UNREAD})


@dataclass(frozen=True, slots=True)
class Said:
    """What a clause proposes. about: its subject. due: a day that the text means and does not name.

    finishes: what it is about is done. told: the user asks to remember it.
    """

    type: ItemType
    about: str
    text: str
    due: date | None = None
    finishes: bool = False
    told: bool = False


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


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def _any(listed: frozenset[str]) -> str:
    return "|".join(map(re.escape, sorted(listed, key=lambda word: (-len(word), word))))


class Wording:
    """The rules with the words of one language."""

    def __init__(self, lang: Lang) -> None:
        language = LANGUAGES[lang]
        say = self._say = language.remembering
        mood = language.acting.mood
        self._lang = lang
        self._function = language.writing.function_words
        self._articles = mood.articles
        self._questions = mood.asking | mood.inverting
        opened = rf"(?P<before>(?:(?:{say.joining}|{say.openers})\b[\s,!.:–-]+){{0,{_OPENERS}}})"
        timed = rf"{opened}(?P<when>(?:(?:{say.when})\b[^,;:?]{{1,{_WHEN}}}?,?\s+)??)"
        stated = rf"{opened}(?P<said>(?P<subject>[^,;:]{{1,{_SUBJECT}}}?)\s+"
        self._worth = _pattern(
            rf"\b(?:{say.telling}|{say.henceforth}|{say.standing}|{say.preferring}|{say.deciding}|{say.intending}"
            rf"|{say.done}|{say.done_with}|{say.no}|{_any(say.mine)})"
        )
        self.separator = _pattern(rf"(?:\s*[,;–-])?\s+(?:{say.joining})\s+(?=\w)|;\s+")
        self.supposing = _pattern(rf"\b(?:{say.supposing})\b")
        self.saying = _pattern(rf"\b(?:{say.saying})\b")
        self._leading = _pattern(r":(?:\s|\Z)")
        self._reporting = _pattern(rf"[,–-]\s*(?:\w+\s+){{0,2}}(?:{say.saying})\b[^,]{{0,{_NEAR}}}\Z")
        self._imagining = _pattern(rf"{opened}(?:{say.imagining})\b")
        self._opening = _pattern(opened)
        self._joining = _pattern(rf"(?:{say.joining})\s+")
        self._telling = _pattern(rf"{opened}(?:{say.telling})\W*")
        self._recalling = _pattern(rf"(?:{say.recalling})\b")
        self._henceforth = _pattern(rf"{opened}(?P<said>(?:{say.henceforth})\b[\s,:]*(?P<rest>.*))")
        self._some_henceforth = _pattern(rf"\b(?:{say.henceforth})\b")
        self._standing = _pattern(say.standing)
        self._preferring = _pattern(rf"{opened}(?P<said>(?:{say.preferring})\b\s*(?P<rest>.*))")
        self._rather = _pattern(rf"(?<=\w)\s+(?:{say.rather})\s")
        self._deciding = _pattern(rf"{timed}(?P<said>(?:{say.deciding})\b\s*(?P<rest>.*))")
        self._linking = _pattern(rf"(?:(?:{say.no})\s+)?(?:(?:{say.linking})\s+)+")
        self._topic = _pattern(rf"\s(?:{say.topic})\s+(?P<topic>.+)")
        self._intending = _pattern(rf"{timed}(?P<said>(?:{say.intending})\b\s*(?P<rest>.*))")
        self._until = _pattern(rf"\s(?:{say.until})\s+")
        self._done = _pattern(rf"{stated}(?:{say.done})\W*\Z)")
        self._done_with = _pattern(rf"{opened}(?P<said>(?:{say.done_with})\s+(?P<rest>.*))")
        self._stating = _pattern(rf"{stated}(?:{say.equals})\s+(?P<rest>.*))")
        denied = _any(frozenset(say.denied))
        self._not_but = _pattern(
            rf"{stated}(?P<denied>{denied})\s+(?P<old>[^,;]{{1,{_NEAR}}}?),?\s+(?:{say.but})\s+(?P<new>.+))"
        )
        self._equals = _pattern(rf"\s+(?:{say.equals})\s")
        self._nearly = _pattern(rf"(?:(?:{say.nearly})\s+)*")
        self._behind = _pattern(rf"\s*(?:[.,;:!)–-]|\Z|(?:{say.behind})\b)")
        self._and_not = _pattern(
            rf"{stated}(?P<verb>{say.equals}|{say.has})\s+"
            rf"(?P<new>[^;]{{1,{_SUBJECT}}}?),?\s+(?:{say.no})\s+(?P<old>[^,;]{{1,{_NEAR}}})\Z)"
        )
        self._no = _pattern(rf"\b(?:{say.no})\b")

    def worth_reading(self, sentence: str) -> bool:
        """Tell whether a sentence has a word at all without which nothing is proposed."""
        return self._worth.search(sentence) is not None

    def sets_a_scene(self, sentence: str) -> bool:
        """Tell whether nothing is meant as said from a sentence on."""
        return self._imagining.match(sentence) is not None and self._ordered(sentence) is None

    def asks(self, sentence: str) -> bool:
        """Tell whether a sentence is a question, with its mark or without."""
        first = words(self._unopened(sentence)[:_WHEN])[:1]
        begins = bool(first) and first[0] in self._questions and not self.tells(sentence)
        return begins or "?" in sentence

    def leads_in(self, sentence: str) -> bool:
        """Tell whether a sentence leads in something, of which the next sentences may be a part."""
        return self._leading.search(sentence) is not None and not self.tells(sentence)

    def reports(self, sentence: str) -> bool:
        """Tell whether a sentence ends with whose words it was."""
        return self._reporting.search(sentence) is not None

    def told(self, clause: Clause) -> Said | None:
        """Return what a clause asks to remember: what it would propose by itself, else a fact.

        What is said of others than the user is asked like everything else.
        """
        asked = self._telling.match(clause.text)
        if asked is None:
            return None
        rest = clause.after(asked.end())
        if self._recalling.match(rest.text) or len(words(rest.text)) < _LEAST:
            return None
        said = self.said(rest, sure=True) or Said("fact", self._subject(rest.text), rest.written)
        return replace(said, told=not self._theirs(rest.text)) if self._names(said.about) else None

    def tells(self, clause: str) -> bool:
        """Tell whether a clause asks to remember something."""
        return self._telling.match(clause) is not None

    def said(self, clause: Clause, sure: bool, first: bool = True) -> Said | None:
        """Return what a clause proposes by itself.

        sure: nothing before it says that it is not meant. first: it begins its sentence, as an order does.
        """
        said = self._rule(clause) if first else None
        if (
            said is None
            and sure
            and not self.saying.search(clause.text)
            and not self.supposing.search(clause.text)
        ):
            kinds = (
                self._preference,
                self._decision,
                self._finished,
                self._loop,
                self._replaced,
                self._owned,
            )
            said = next((found for kind in kinds if (found := kind(clause)) is not None), None)
        return said if said is not None and self._names(said.about) else None

    def _rule(self, clause: Clause) -> Said | None:
        """From now on; always and never, of orders only."""
        begins = self._henceforth.match(clause.text)
        if begins is not None:
            return Said("rule", unnumbered(begins["rest"]), self._own(clause, begins))
        order = self._ordered(clause.text)
        return None if order is None else Said("rule", unnumbered(order), clause.written[-len(order) :])

    def _ordered(self, text: str) -> str | None:
        """Return an order for good, without what opens it; None where a text is none."""
        order = self._unopened(text)
        said = order.partition(":")[0]  # what follows is what the order is about
        first = words(said[: 2 * _WHEN])[:_EARLY]
        lasting = [self._standing.fullmatch(word) is not None for word in first]
        orders = [word in self._say.ordering for word in first]
        if orders[:1] == [True] and (any(lasting) or self._some_henceforth.search(said)):
            return order
        return order if lasting[:1] == [True] and orders[1:2] == [True] and len(first) > _LEAST else None

    def _preference(self, clause: Clause) -> Said | None:
        match = self._preferring.match(clause.text)
        if match is None or (self._no.match(match["rest"]) and not self._linking.match(match["rest"])):
            return None
        return Said("preference", self._preferred(match["rest"]), self._own(clause, match))

    def _preferred(self, rest: str) -> str:
        """Return what a preference is about: the kind of thing, not which of it ("window seats" are seats).

        Of two things it is both; of something to do, that.
        """
        linked = self._linking.match(rest)
        rest = unnumbered(rest[linked.end() :] if linked else rest)
        rather = self._rather.search(rest)
        if rather is not None:
            return rest
        said = words(rest)
        content = [word for word in said if word not in self._function]
        if not content:
            return ""
        begins = said.index(content[0])
        of = next((at for at in range(begins, len(said)) if said[at] in self._function), len(said))
        kind = said[begins] if linked else said[of - 1]
        return " ".join([kind, *(word for word in said[of:] if word not in self._function)])

    def _decision(self, clause: Clause) -> Said | None:
        match = self._deciding.match(clause.text)
        if match is None or self._no.search(match["when"]):
            return None
        rest = match["rest"]
        linked = self._linking.match(rest)
        rest = rest[linked.end() :] if linked else rest
        topic = self._topic.search(rest)
        about = topic["topic"] if topic and self._names(topic["topic"]) else self._subject(rest)
        return Said("decision", about, self._own(clause, match))

    def _finished(self, clause: Clause) -> Said | None:
        match = self._done_with.match(clause.text)
        if match is not None:
            about = "" if self._linking.match(match["rest"]) else match["rest"]
        else:
            match = self._done.match(clause.text)
            if match is None or self._theirs(match["subject"]):
                return None
            about = match["subject"]
        if self._no.search(clause.text):
            return None
        return Said("open_loop", about, self._own(clause, match), finishes=True)

    def _loop(self, clause: Clause) -> Said | None:
        match = self._intending.match(clause.text)
        if match is None or self._no.search(match["when"]):
            return None
        rest = match["rest"]
        first = words(rest[:_SUBJECT])[:1]
        if not first or first[0] in self._say.seeking | self._articles:
            return None
        for until in self._until.finditer(rest):
            due = _coming(re.split(r"[,;!]", rest[until.end() : until.end() + _NEAR])[0], clause.today)
            if due is not None and not self._no.search(rest, 0, until.start()):
                return Said("open_loop", unnumbered(rest[: until.start()]), self._own(clause, match), due)
        return None

    def _replaced(self, clause: Clause) -> Said | None:
        """A number in place of another one: what is said is the right one only."""
        match = self._not_but.match(clause.text) or self._and_not.match(clause.text)
        if match is None or self._theirs(match["subject"]):
            return None
        if not _is_number(match["old"], self._nearly) or not _numbered(match["new"]):
            return None
        verb = self._say.denied[fold(match["denied"])] if "denied" in match.re.groupindex else match["verb"]
        subject, new = (clause.written[slice(*match.span(name))] for name in ("subject", "new"))
        is_it = self._equals.fullmatch(f" {verb} ") is not None
        about = match["subject"] if is_it else unnumbered(f"{subject} {new}")
        return Said("fact", about, f"{subject} {verb} {new}")

    def _owned(self, clause: Clause) -> Said | None:
        """A number of one's own, and nothing but the number."""
        match = self._stating.match(clause.text)
        if match is None:
            return None
        named = words(match["subject"])
        if named[:1] == [] or named[0] not in self._say.mine or not self._say.talk.isdisjoint(named):
            return None
        rest = match["rest"]
        nearly = self._nearly.match(rest)
        first = next((each for each in tokens(rest[: 2 * _NEAR]) if each.kind not in _NO_VALUES), None)
        if nearly is None or first is None or first.start > nearly.end() or len(named) > _NAMED:
            return None
        if not self._behind.match(rest, first.end):
            return None
        return Said("fact", " ".join(named[1:]), self._own(clause, match))

    def _own(self, clause: Clause, match: re.Match[str]) -> str:
        """Return what a clause says, without what opens it where a mark parts the two."""
        before = clause.text[: match.start("said")].rstrip()
        if before and before[-1].isalnum():
            joined = self._joining.match(clause.text)
            return clause.written[joined.end() if joined else 0 :]
        return clause.written[match.start("said") :]

    def _unopened(self, text: str) -> str:
        opened = self._opening.match(text)
        return text[opened.end() :] if opened else text

    def _names(self, about: str) -> bool:
        return bool(key_of(about, self._lang))

    def _subject(self, text: str) -> str:
        """Return what a sentence is about: of what something is, that; else all that is said ("Ana has dogs")."""
        verb = self._equals.search(text)
        return text[: verb.start()] if verb and self._names(text[: verb.start()]) else unnumbered(text)

    def _theirs(self, subject: str) -> bool:
        return not self._say.yours.isdisjoint(words(subject)[:1])


@cache
def wording(lang: Lang) -> Wording:
    """Return the rules of a language."""
    return Wording(lang)


def coming(text: str, today: date) -> date | None:
    """Return the one day to come that a text names or means; None where it is none, or it may be several."""
    meant = _days(text, today)
    return next(iter(meant)) if len(meant) == 1 else None


def _coming(text: str, today: date) -> date | None:
    """Return the first day after today that a text names or means, else today where it is that."""
    return min(_days(text, today) or {today} & _all_days(text, today), default=None)


def _days(text: str, today: date) -> frozenset[date]:
    return frozenset(each for each in _all_days(text, today) if each > today)


def _all_days(text: str, today: date) -> frozenset[date]:
    found = tokens(text, source=True)
    return days.whole(text, found) | days.all_days(days.meanings(fold(text), text, found), today)


def _numbered(text: str) -> bool:
    return any(each.kind not in _NO_VALUES for each in tokens(text, source=True))


def _is_number(text: str, nearly: re.Pattern[str]) -> bool:
    """Tell whether a text is a number, and nothing but what may stand before one."""
    text = text.strip(" .!")
    found = tokens(text, source=True)
    before = nearly.match(text)
    return (
        bool(found) and before is not None and before.end() >= found[0].start and found[-1].end == len(text)
    )
