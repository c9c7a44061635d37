"""Selects the memory items and past messages to include in a turn's prompt (implements `agent.ports.remember.Memory`).

Strategy: rules, preferences and the situation are told whole within their limits, and change only when an item does.
Past messages, and items that fit the question, are searched with its words. The user's own messages and every live item
are evidence, cited as `memory/ID` under their day. A user's words about an item that was rejected or superseded are
neither told nor cited, and a message that says no more than a found item is left to that item. Messages in the visible
part of the conversation are not told again, but may be cited. The agent's own earlier answers are told but are no
evidence, since their sources may be gone. A memory that cannot be read does not stop the answer, which then says that
it was made without. A turn waits while the server is busy, but not for a store that fails or a disk that stalls.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import structlog
import trio

from ..config import ITEM_QUOTE, MEMORY_READ
from ..errors import NotFound, StorageFailed
from ..intents.statements import makes_statement
from ..intents.subjects import clean_line
from ..lang import LANGUAGES, Lang
from ..ports.brain import MemoryNotice, Question
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.draft import Reminder
from ..ports.memory import Candidate, Draft, Item, ItemType, MemoryStore, Source
from ..ports.recall import NOTHING_RECALLED, Excerpt, Recaller, RecallQuery, RecallResult
from ..ports.remember import MEMORY_FILES, NO_BACKLOG, UNREAD_MEMORY, Backlog, MemoryOrder, TurnMemory
from ..ports.search import Hit, Passage, Snippet
from ..text.fences import fence_text
from ..text.sentences import find_line_sentences
from ..text.words import fold, split_words
from .items import METRIC_LASTS, draft_correction, make_draft
from .message_items import find_notice, is_only_orders, is_only_statements
from .note_checks import BY_RULE
from .prompt_items import make_picture, memory_section, situation_section
from .repeats import is_within

PICTURE_READ = 256  # newest live items of their types, of which a turn's prompt gets some
RECALLED = 12  # excerpts that a turn is given, of ...
RECALLED_TOKENS = 1_000  # ... together, estimated

_log = structlog.get_logger("agent.memory")

PICTURED: Final[tuple[ItemType, ...]] = ("rule", "preference", "lesson", "open_loop", "event", "idea")
"""The types of items that every turn is told of."""

_EVERYTHING: Final = {
    lang: re.compile(rf"\W*(?:{language.recalling.everything})\W*") for lang, language in LANGUAGES.items()
}
_FORGETTING: Final = {
    lang: re.compile(rf"\W*(?:{language.recalling.forgetting})\W*") for lang, language in LANGUAGES.items()
}
_LONGEST: Final = 120  # characters of a question for everything, or of an order to forget
_AROUND: Final = 6
"""Words of an order around the thing to remember: "please remember that ... , thank you"."""


class Recollection:
    """Loads the memory of a turn. It holds nothing of users between turns.

    `backlog`: the messages that are not stored yet.
    """

    def __init__(
        self, store: MemoryStore, recaller: Recaller, clock: Clock, backlog: Backlog = NO_BACKLOG
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._clock = clock
        self._backlog = backlog
        self._trouble = False  # the last read failed

    def find_order(self, question: Question, lang: Lang) -> MemoryOrder | None:
        """Return what a question orders that is nothing but an order to remember something, or to forget it."""
        if orders_to_forget(question.text, lang):
            return "forget"
        return "remember" if is_only_orders(question, lang, self._clock.now_ms()) else None

    def is_statement(self, question: Question, lang: Lang) -> bool:
        """Return whether a question is nothing but items to remember, ordered or not."""
        return is_only_statements(question, lang, self._clock.now_ms())

    def find_notice(self, question: Question, lang: Lang) -> MemoryNotice | None:
        """Return how the items that a question proposes are kept: "noted", "suggested" or None."""
        return find_notice(question, lang, self._clock.now_ms())

    async def load_memory(self, question: Question, text: str, lang: Lang) -> TurnMemory:
        """Return the memory for a turn, or `UNREAD_MEMORY` if it could not be read.

        It takes `MEMORY_READ` seconds at most, after the backlog's wait for the user's earlier messages.
        """
        complete = await self._backlog.wait_caught_up(question.scope)
        now = self._clock.now_ms()
        everything = asks_for_everything(text, lang)
        shown_messages = frozenset(each.message for each in question.history if each.message)
        search = RecallQuery(
            text=text,
            lang=lang,
            scope=question.scope,
            at=now,
            limit=RECALLED,
            tokens=RECALLED_TOKENS,
            visible_messages=shown_messages,
        )
        with trio.move_on_after(MEMORY_READ), suppress(StorageFailed):
            if everything:
                recalled = await self._recall_newest(question, now)
            else:
                recalled = await self._recaller.recall(search) if text else NOTHING_RECALLED
            live = _select_pictured(recalled.items)
            if live is None:
                live = await self._store.live_items(question.scope, now, PICTURED, PICTURE_READ)
            standing = recalled.standing
            if standing is None:
                cited_ids = [
                    each.id for each in (*recalled.excerpts, *recalled.visible_excerpts) if each.citable
                ]
                standing = await self._store.citable_ids(cited_ids, now) if cited_ids else frozenset()
            turn_memory = _build_memory(question, live, recalled, standing, lang, now)
            self._trouble = False
            return replace(turn_memory, is_asked_for=everything, unread=not complete)
        if not self._trouble:
            _log.warning("memory cannot be read now; turns go on without it and say so")
        self._trouble = True
        return UNREAD_MEMORY

    async def _recall_newest(self, question: Question, now: int) -> RecallResult:
        """Return the newest live items of a question's user, for a question about all of them."""
        live = await self._store.live_items(question.scope, now, most=RECALLED)
        return RecallResult(
            excerpts=tuple(
                Excerpt(
                    id=each.id,
                    kind="item",
                    text=each.text,
                    at=each.created_at,
                    by="",
                    thread="",
                    score=1.0,
                    citable=True,
                )
                for each in live
            )
        )

    async def find_live_item(self, question: Question, id: str) -> Item | None:
        """Return an item that the question's user may be told of now, within `MEMORY_READ` seconds; else None."""
        with trio.move_on_after(MEMORY_READ), suppress(StorageFailed, NotFound):
            item = await self._store.item(question.scope, id)
            if item.id in await self._store.citable_ids([item.id], self._clock.now_ms()):
                return item
        return None

    def draft_item(
        self,
        question: Question,
        about: ItemType | Item,
        subject: str,
        text: str,
        lang: Lang,
        sources: tuple[Source, ...],
        expires_at: int | None = None,
    ) -> Draft:
        """Return the draft of an item that a model proposes. Raises `BadItem`.

        `about`: the type of a new item, or the item that it corrects. `sources`: those besides the question itself.
        `expires_at`: the end of a new item, Unix milliseconds; None for the one of its type.
        """
        now = self._clock.now_ms()
        message_source = Source("message", question.key_or_id, quote=clean_line(question.text)[:ITEM_QUOTE])
        all_sources = (message_source, *sources)
        if isinstance(about, Item):
            return replace(draft_correction(about, text, lang, now, all_sources), replaces=about.id)
        if expires_at is None and about == "metric":
            expires_at = now + round(METRIC_LASTS * 1000)
        return make_draft(
            Candidate(
                type=about,
                subject=subject,
                text=text,
                lang=lang,
                sources=all_sources,
                expires_at=expires_at,
                by_rule=about in BY_RULE and makes_statement(question.text, text, lang),
            ),
            now,
        )

    async def are_citable(self, scope: Scope, files: Collection[str]) -> bool:
        """Return whether all of `files`, of the user of `scope`, may still be cited; raises `StorageFailed` if that
        cannot be read.
        """
        ids = {file.removeprefix(MEMORY_FILES) for file in files}
        with trio.move_on_after(MEMORY_READ):
            return ids == await self._recaller.standing_ids(scope, ids, self._clock.now_ms())
        raise StorageFailed("memory cannot be read now")


def asks_for_everything(text: str, lang: Lang) -> bool:
    """Tell whether a question asks for all remembered items of its user ("what do you know about me?")."""
    return len(text) <= _LONGEST and _EVERYTHING[lang].fullmatch(fold(text)) is not None


def orders_to_forget(text: str, lang: Lang) -> bool:
    """Tell whether a message is nothing but the order to forget something ("forget my address")."""
    return len(text) <= _LONGEST and _FORGETTING[lang].fullmatch(fold(text)) is not None


def _select_pictured(items: Sequence[Item] | None) -> Sequence[Item] | None:
    """Return the items of the types in `PICTURED`; None if `items` is None or they are over `PICTURE_READ`."""
    live = [each for each in items or () if each.type in PICTURED]
    return None if items is None or len(live) > PICTURE_READ else live


def _build_memory(
    question: Question,
    live: Sequence[Item],
    recalled: RecallResult,
    standing: Collection[str],
    lang: Lang,
    now: int,
) -> TurnMemory:
    """Return the memory of a turn from its parts. `standing`: the ids that may be cited."""
    pictured = make_picture(live, question.scope, now)
    # Of a turn that goes on with a call, the message that led to it has been kept: its words are the question's.
    repeated_messages = {each.message for each in question.history if each.question == question.text}
    before = [each for each in recalled.visible_excerpts if each.message not in repeated_messages]
    best, shown = (
        sorted((each for each in some if each.id in standing), key=lambda excerpt: -excerpt.score)
        for some in (recalled.excerpts, before)
    )
    items = [split_words(each.text) for each in best if each.kind == "item"]
    hits = [
        _make_hit(each, text, lang, is_shown)
        for some, is_shown in ((best, False), (shown, True))
        for each in some
        if (text := cut_questions(each.text)) and (each.kind == "item" or not _repeats_item(text, items))
    ]
    reminder = Reminder(
        memory_section(pictured, lang),
        situation_section(pictured, lang),
        _describe_unciteable(recalled, standing, lang),
    )
    return TurnMemory(reminder, tuple(hits))


def _repeats_item(text: str, items: Iterable[Sequence[str]]) -> bool:
    """Return whether `text` only repeats one of `items`, with no more around it than an order to remember it."""
    words = split_words(text)
    return any(len(words) - len(item) <= _AROUND and is_within(item, words) for item in items)


def cut_questions(text: str) -> str:
    """Return the sentences of `text` that are not questions: "is it 70 000?" does not state that it is."""
    if "?" not in text:
        return text
    spans = find_line_sentences(text)
    return "".join(text[start:end] for start, end in spans if "?" not in text[start:end]).strip()


def _make_hit(excerpt: Excerpt, text: str, lang: Lang, shown: bool) -> Hit:
    """Return an excerpt as evidence, with its day and author as the heading that its citation shows.

    `text`: the part that is evidence. `shown`: it stands in the visible conversation.
    """
    file = f"{MEMORY_FILES}{excerpt.id}"
    day = _format_day(excerpt.at)
    heading = f"{day}, {excerpt.by}" if excerpt.by else day
    lines = text.count("\n") + 1
    snippet = Snippet(
        file=file,
        text=text,
        first=1,
        last=lines,
        plain_text=text,
        headings=(heading,),
        when=day,
        by=excerpt.by,
    )
    return Hit(snippet, Passage(file, (heading,), lang, (snippet,)), excerpt.score, shown)


def _describe_unciteable(recalled: RecallResult, standing: Collection[str], lang: Lang) -> str:
    """Return the excerpts that are told but are no evidence: the agent's own words, and notes on disagreements."""
    prompting = LANGUAGES[lang].prompting
    own = [each for each in recalled.excerpts if not each.citable]
    lines = [f"[{each.id} {_format_day(each.at)} {each.by}] {' '.join(each.text.split())}" for each in own]
    parts = [f"{prompting.said}\n{fence_text(chr(10).join(lines))}"] if lines else []
    parts += [
        prompting.disagree.format(older=older, newer=newer)
        for older, newer in recalled.disagreements
        if {older, newer} <= set(standing)
    ]
    return "\n\n".join(parts)


def _format_day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()
