"""What a turn is told of what is remembered (implements `agent.ports.remember.Memory`).

Strategy: rules and preferences, and how things stand, are told whole within their bounds, and change only when an item
does. What was said, and the items that fit the question, are looked for with its words: what its user said and every
live item is evidence, to be cited as `memory/ID` under the day that it is of. What its user said of an item that was
rejected or superseded is neither told nor cited, and what says no more than an item beside it is left to that. What
fits of the conversation that a model is shown is not told again, and may be cited like all that its user said. The
agent's own earlier answers are told and are no evidence, since what they were made of may be gone. A memory that cannot
be read is no reason for no answer; the answer then says that it was made without. While the server is busy a turn
waits: only a store that fails, or whose disk stalls, is not waited for.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import structlog
import trio

from ..config import ITEM_QUOTE, MEMORY_READ, PICTURE_READ, RECALLED, RECALLED_TOKENS
from ..errors import BadItem, NotFound, StorageFailed
from ..lang import LANGUAGES, Lang
from ..ports.brain import Beside, Question
from ..ports.clock import Clock
from ..ports.draft import Reminder
from ..ports.memory import Candidate, Draft, Item, ItemType, MemoryStore, Source
from ..ports.recall import NOTHING, Excerpt, Recalled, Recaller, Search
from ..ports.remember import MEMORY_FILES, NO_BACKLOG, UNREAD, Backlog, Remembered
from ..ports.search import Hit, Passage, Snippet
from ..text.fences import fenced
from ..text.sentences import by_line
from ..text.words import fold, words
from .found import BY_RULE
from .hearing import found_beside, only_stated, only_told
from .items import cleaned, corrected, draft
from .picture import memory_section, picture, situation_section
from .repeats import within

_log = structlog.get_logger("agent.memory")

PICTURED: Final[tuple[ItemType, ...]] = ("rule", "preference", "lesson", "open_loop", "event", "idea")
"""The types of items that are told of whatever the question is."""

_EVERYTHING: Final = {
    lang: re.compile(rf"\W*(?:{language.recalling.everything})\W*") for lang, language in LANGUAGES.items()
}
_LONGEST: Final = 120  # characters of a question for everything
_AROUND: Final = 6
"""Words of an order around what is to be remembered: "please remember that ... , thank you"."""


class Recollection:
    """Tells turns what is remembered of their users. It keeps nothing of that between them.

    backlog: what they said that is not kept yet.
    """

    def __init__(
        self, store: MemoryStore, recaller: Recaller, clock: Clock, backlog: Backlog = NO_BACKLOG
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._clock = clock
        self._backlog = backlog
        self._trouble = False  # it could not be read, the last time

    def told(self, question: Question, lang: Lang) -> bool:
        """Return whether a question is nothing but the order to remember something."""
        return only_told(question, lang, self._clock.now_ms())

    def stated(self, question: Question, lang: Lang) -> bool:
        """Return whether a question is nothing but what can be remembered, ordered or not."""
        return only_stated(question, lang, self._clock.now_ms())

    def beside(self, question: Question, lang: Lang) -> Beside | None:
        """Return whether some of a question is to be remembered."""
        return found_beside(question, lang, self._clock.now_ms())

    async def remembered(self, question: Question, text: str, lang: Lang) -> Remembered:
        """Return what a question's user should be answered with in mind, or that it could not be read.

        It takes MEMORY_READ seconds at most, after those that the backlog takes until it has what the user said before.
        """
        complete = await self._backlog.caught_up(question.scope)
        now = self._clock.now_ms()
        everything = asks_for_everything(text, lang)
        shown = frozenset(each.message for each in question.history if each.message)
        search = Search(text, lang, question.scope, now, RECALLED, RECALLED_TOKENS, shown=shown)
        with trio.move_on_after(MEMORY_READ), suppress(StorageFailed):
            if everything:
                recalled = await self._everything(question, now)
            else:
                recalled = await self._recaller.recall(search) if text else NOTHING
            live = _pictured(recalled.items)
            if live is None:
                live = await self._store.live(question.scope, now, PICTURED, PICTURE_READ)
            said = [each.id for each in (*recalled.excerpts, *recalled.shown) if each.citable]
            standing = await self._store.standing(said, now) if said else frozenset()
            found = _remembered(question, live, recalled, standing, lang, now)
            self._trouble = False
            return replace(found, asked=everything, unread=not complete)
        if not self._trouble:
            _log.warning("what is remembered cannot be read now, turns go on without it and say so")
        self._trouble = True
        return UNREAD

    async def _everything(self, question: Question, now: int) -> Recalled:
        """Return what is remembered of a question's user, whatever of it: the newest items."""
        live = await self._store.live(question.scope, now, most=RECALLED)
        return Recalled(
            tuple(Excerpt(each.id, "item", each.text, each.created_at, "", "", 1.0, True) for each in live)
        )

    async def live(self, question: Question, id: str) -> Item | None:
        """Return an item that a question's user may be told of now, within MEMORY_READ seconds; else None."""
        with trio.move_on_after(MEMORY_READ), suppress(StorageFailed, NotFound):
            item = await self._store.item(question.scope, id)
            if item.id in await self._store.standing([item.id], self._clock.now_ms()):
                return item
        return None

    def drafted(
        self,
        question: Question,
        about: ItemType | Item,
        subject: str,
        text: str,
        lang: Lang,
        sources: tuple[Source, ...],
    ) -> Draft:
        """Return what a model proposes to remember; raises `BadItem`."""
        now = self._clock.now_ms()
        asked = Source("message", question.known_as, quote=cleaned(question.text)[:ITEM_QUOTE])
        every = (asked, *sources)
        if (about.type if isinstance(about, Item) else about) in BY_RULE:
            raise BadItem("by_rule", "only its user's own words make this, since it becomes true at once")
        if isinstance(about, Item):
            return replace(corrected(about, text, lang, now, every), replaces=about.id)
        return draft(Candidate(about, subject, text, lang, every), now)

    async def stands(self, files: Collection[str]) -> bool:
        """Return whether all of these may still be cited; raises `StorageFailed` where that cannot be read."""
        ids = {file.removeprefix(MEMORY_FILES) for file in files}
        with trio.move_on_after(MEMORY_READ):
            return ids == await self._store.standing(ids, self._clock.now_ms())
        raise StorageFailed("what is remembered: it cannot be read now")


def asks_for_everything(text: str, lang: Lang) -> bool:
    """Return whether a question is for all that is remembered of its user ("what do you know about me?")."""
    return len(text) <= _LONGEST and _EVERYTHING[lang].fullmatch(fold(text)) is not None


def _pictured(items: Sequence[Item] | None) -> Sequence[Item] | None:
    """Return those of a user's live items that are told of; None where they are not known, or too many."""
    live = [each for each in items or () if each.type in PICTURED]
    return None if items is None or len(live) > PICTURE_READ else live


def _remembered(
    question: Question,
    live: Sequence[Item],
    recalled: Recalled,
    standing: Collection[str],
    lang: Lang,
    now: int,
) -> Remembered:
    """Return what was found as a turn is told of it. standing: ids of what of it may be cited."""
    pictured = picture(live, question.scope, now)
    # Of a turn that goes on with a call, the message that led to it has been kept: its words are the question's.
    asked = {each.message for each in question.history if each.question == question.text}
    before = [each for each in recalled.shown if each.message not in asked]
    best, shown = (
        sorted((each for each in some if each.id in standing), key=lambda excerpt: -excerpt.score)
        for some in (recalled.excerpts, before)
    )
    items = [words(each.text) for each in best if each.kind == "item"]
    hits = [
        _hit(each, text, lang, each in shown)
        for each in (*best, *shown)
        if (text := stated_in(each.text)) and (each.kind == "item" or not _repeats(text, items))
    ]
    reminder = Reminder(
        memory_section(pictured, lang), situation_section(pictured, lang), _said(recalled, standing, lang)
    )
    return Remembered(reminder, tuple(hits))


def _repeats(text: str, items: Iterable[Sequence[str]]) -> bool:
    """Return whether what was said is what an item says, with no more around it than the order to remember it."""
    said = words(text)
    return any(len(said) - len(item) <= _AROUND and within(item, said) for item in items)


def stated_in(text: str) -> str:
    """Return what of a text is stated: who asks "is it 70 000?" does not say that it is."""
    if "?" not in text:
        return text
    spans = by_line(text)
    return "".join(text[start:end] for start, end in spans if "?" not in text[start:end]).strip()


def _hit(excerpt: Excerpt, text: str, lang: Lang, shown: bool) -> Hit:
    """Return an excerpt as evidence: under the day that it is of and who said it, which its citation shows.

    text: what of it is evidence. shown: it stands in the conversation.
    """
    file = f"{MEMORY_FILES}{excerpt.id}"
    day = _day(excerpt.at)
    heading = f"{day}, {excerpt.by}" if excerpt.by else day
    lines = text.count("\n") + 1
    snippet = Snippet(file, text, 1, lines, text, headings=(heading,), when=day, by=excerpt.by)
    return Hit(snippet, Passage(file, (heading,), lang, (snippet,)), excerpt.score, shown)


def _said(recalled: Recalled, standing: Collection[str], lang: Lang) -> str:
    """Return what is told and is no evidence: the agent's own words, and which excerpts do not agree."""
    said = LANGUAGES[lang].prompting
    own = [each for each in recalled.excerpts if not each.citable]
    lines = [f"[{each.id} {_day(each.at)} {each.by}] {' '.join(each.text.split())}" for each in own]
    parts = [f"{said.said}\n{fenced(chr(10).join(lines))}"] if lines else []
    parts += [
        said.disagree.format(older=older, newer=newer)
        for older, newer in recalled.disagreements
        if {older, newer} <= set(standing)
    ]
    return "\n\n".join(parts)


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()
