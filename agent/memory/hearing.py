"""What a user's message has to remember, made sound: what the rules propose, checked, with what it ends. Pure."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final, TypeAlias

from ..errors import BadItem
from ..lang import DEFAULT, LANGUAGES, Lang
from ..lexical.stems import stem
from ..ports.brain import Beside, Question
from ..ports.conversation import Exchange
from ..ports.memory import Draft, Item
from ..text.courtesy import courtesy
from ..text.language import language
from ..text.sentences import by_line
from ..text.words import words
from .items import draft, key_of
from .propose import Proposal, ends_what_was_named, propose

_BEFORE: Final = 3  # exchanges in which a loop is named that "it is done" ends
_TOLD: Final = 2_000  # characters of a message that is nothing but an order


@dataclass(frozen=True, slots=True)
class Noted:
    """Something to remember. told: its user's words order it, which approves it; else he is to be asked."""

    draft: Draft
    told: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """What a user's words have to remember. done: keys of the open loops that they end.

    before: where they say that something is done, and not what, the stems of each of the last exchanges, newest first.
    """

    noted: tuple[Noted, ...] = ()
    done: tuple[tuple[str, ...], ...] = ()
    before: tuple[frozenset[str], ...] = ()

    def told(self, item: Item) -> bool:
        """Return whether the words order to remember what an item says, in just these words.

        What says the same in other words may be a model's, and say more.
        """
        return any(
            each.told
            and (each.draft.key, each.draft.slot) == (item.key, item.slot)
            and each.draft.text == item.text
            for each in self.noted
        )


Hear: TypeAlias = Callable[[Question, int], Heard]
"""Reads a question as of a time (Unix milliseconds); pure."""


def hear(question: Question, at: int) -> Heard:
    """Return what a question has to remember. at: now, Unix milliseconds.

    What cannot be kept as it is (over 500 characters, about nothing but numbers) is left out: nobody was promised it.
    """
    lang = question.lang or language(question.text) or DEFAULT
    noted: list[Noted] = []
    done: list[tuple[str, ...]] = []
    for proposed in propose(question.text, lang, question.known_as, day(at)):
        candidate = proposed.candidate
        with suppress(BadItem):
            if candidate.finishes:
                done.append(key_of(candidate.subject, candidate.lang))
            else:
                noted.append(Noted(draft(candidate, at), proposed.told))
    before: tuple[frozenset[str], ...] = ()
    if ends_what_was_named(question.text, lang):
        before = tuple(_stems(each) for each in reversed(question.history[-_BEFORE:]))
    return Heard(tuple(noted), tuple(done), before)


def _stems(exchange: Exchange) -> frozenset[str]:
    """Return what may stand in the key of what an exchange speaks of."""
    said = {*words(exchange.question[:_TOLD]), *words(exchange.answer[:_TOLD])}
    return frozenset(stem(lang, word) for word in said for lang in LANGUAGES)


def only_told(question: Question, lang: Lang, at: int) -> bool:
    """Return whether a question is an order to remember something, that can be done, and nothing else.

    Then there is nothing to search for. lang: of the question.
    """
    found = _all_of_it(question, lang, at)
    return bool(found) and all(each.told for each in found)


def only_stated(question: Question, lang: Lang, at: int) -> bool:
    """Return whether a question is nothing but what can be remembered, whether its user orders that or is to be asked.

    Where nothing is found on it, nothing was asked. lang: of the question.
    """
    found = _all_of_it(question, lang, at)
    return bool(found) and not any(each.candidate.finishes for each in found)


def found_beside(question: Question, lang: Lang, at: int) -> Beside | None:
    """Return whether some of a question is to be remembered: its user is asked, or has told to. lang: of the question.

    Of a message over 2,000 characters nothing is said, which costs too much to be read before its answer.
    """
    if len(question.text) > _TOLD or question.results:
        return None
    noted = hear(replace(question, lang=lang), at).noted
    if not noted:
        return None
    return "noted" if all(each.told for each in noted) else "suggested"


def _all_of_it(question: Question, lang: Lang, at: int) -> tuple[Proposal, ...]:
    """Return what a question proposes where that is sound and, but for courtesies, all of it; else nothing."""
    if len(question.text) > _TOLD or question.results:
        return ()
    found = propose(question.text, lang, question.known_as, day(at))
    try:
        for each in found:
            draft(each.candidate, at)
    except BadItem:
        return ()
    rest = question.text
    for each in found:
        rest = rest.replace(each.candidate.sources[0].quote, " ")
    pieces = [rest[start:end] for start, end in by_line(rest)]
    more = any(any(map(str.isalnum, each)) and courtesy(each) is None for each in pieces)
    return () if more else found


def day(at: int) -> date:
    """Return the day of a time by the server's own clock."""
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().date()
