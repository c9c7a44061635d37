"""Makes sound drafts of the items that a message proposes (`agent.intents`), and finds the loops it ends. Pure."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final, TypeAlias

from ..errors import BadItem
from ..intents.item_proposals import ItemProposal
from ..intents.subjects import key_of
from ..intents.user_message import UserMessage
from ..lang import DEFAULT, LANGUAGES, Lang
from ..lexical.stems import stem
from ..ports.brain import MemoryNotice, Question
from ..ports.conversation import Exchange
from ..ports.memory import Draft, Item
from ..text.courtesy import find_courtesy
from ..text.sentences import find_line_sentences
from ..text.words import split_words
from .items import make_draft

_BEFORE: Final = 3  # past exchanges to search for the loop that "it is done" ends
_TOLD: Final = 2_000  # characters; a longer message is more than an order


@dataclass(frozen=True, slots=True)
class ProposedDraft:
    """A draft of an item.

    `is_ordered`: the user ordered to remember it, which approves it; otherwise the user is asked.
    """

    draft: Draft
    is_ordered: bool


@dataclass(frozen=True, slots=True)
class MessageItems:
    """The items that a user's words propose, with the keys of the open loops they end (`finished_keys`).

    `recent_stems`: if the words report an unnamed thing as done, the stems of each of the last exchanges, newest first.
    """

    drafts: tuple[ProposedDraft, ...] = ()
    finished_keys: tuple[tuple[str, ...], ...] = ()
    recent_stems: tuple[frozenset[str], ...] = ()

    def orders_item(self, item: Item) -> bool:
        """Return whether the user ordered to remember the text of `item`, word for word.

        An item with the same key in other words may be a model's and say more.
        """
        return any(
            each.is_ordered
            and (each.draft.key, each.draft.slot) == (item.key, item.slot)
            and each.draft.text == item.text
            for each in self.drafts
        )


ItemReader: TypeAlias = Callable[[Question, int], MessageItems]
"""Reads the proposed items of a question as of a time (Unix milliseconds); pure."""


def read_items(question: Question, at: int) -> MessageItems:
    """Return the items that `question` proposes. `at`: now, Unix milliseconds.

    Items that cannot be kept as they are (over 500 characters, or about nothing but numbers) are left out: the user was
    never promised them.
    """
    message = UserMessage.of(question)
    lang = question.lang or message.lang or DEFAULT
    noted: list[ProposedDraft] = []
    finished_keys: list[tuple[str, ...]] = []
    for proposed in message.propose_items(lang, question.key_or_id, local_day(at)):
        candidate = proposed.candidate
        with suppress(BadItem):
            if candidate.finishes:
                finished_keys.append(key_of(candidate.subject, candidate.lang))
            else:
                noted.append(ProposedDraft(make_draft(candidate, at), proposed.ordered))
    before: tuple[frozenset[str], ...] = ()
    if message.ends_unnamed_loop(lang):
        before = tuple(_stems(each) for each in reversed(question.history[-_BEFORE:]))
    return MessageItems(tuple(noted), tuple(finished_keys), before)


def _stems(exchange: Exchange) -> frozenset[str]:
    """Return the stems of an exchange's words, in every language, to compare with item keys."""
    words = {*split_words(exchange.question[:_TOLD]), *split_words(exchange.answer[:_TOLD])}
    return frozenset(stem(lang, word) for word in words for lang in LANGUAGES)


def is_only_orders(question: Question, lang: Lang, at: int) -> bool:
    """Return whether `question` consists of nothing but orders to remember things that can be kept.

    Such a question needs no search. `lang`: the language of the question.
    """
    reading = _read_whole(question, lang, at)
    return bool(reading) and all(each.ordered for each in reading)


def is_only_statements(question: Question, lang: Lang, at: int) -> bool:
    """Return whether `question` consists of nothing but items to remember, ordered or to be asked about.

    If a search for it finds nothing, no answer is missing. `lang`: the language of the question.
    """
    reading = _read_whole(question, lang, at)
    return bool(reading) and not any(each.candidate.finishes for each in reading)


def find_notice(question: Question, lang: Lang, at: int) -> MemoryNotice | None:
    """Return "noted" if `question` orders all the items it proposes, else "suggested"; None if it proposes none.

    None also for a message over 2,000 characters, which takes too long to read before the answer. `lang`: the language
    of the question.
    """
    if len(question.text) > _TOLD or question.results:
        return None
    noted = read_items(replace(question, lang=lang), at).drafts
    if not noted:
        return None
    return "noted" if all(each.is_ordered for each in noted) else "suggested"


def _read_whole(question: Question, lang: Lang, at: int) -> tuple[ItemProposal, ...]:
    """Return the proposals of `question` if they are sound and, courtesies aside, make up all of it; else ()."""
    if len(question.text) > _TOLD or question.results:
        return ()
    proposals = UserMessage.of(question).propose_items(lang, question.key_or_id, local_day(at))
    if not proposals:
        return ()
    try:
        for each in proposals:
            make_draft(each.candidate, at)
    except BadItem:
        return ()
    rest = question.text
    for each in proposals:
        rest = rest.replace(each.candidate.sources[0].quote, " ")
    pieces = [rest[start:end] for start, end in find_line_sentences(rest)]
    more = any(any(map(str.isalnum, each)) and find_courtesy(each) is None for each in pieces)
    return () if more else proposals


def local_day(at: int) -> date:
    """Return the date of `at` (Unix milliseconds) in the server's time zone."""
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().date()
