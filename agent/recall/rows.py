"""Holds the data of each turn, item and statement that the index needs, in columns: some 300 bytes a row and its text.

Strategy: a row is a number that is never used again; a forgotten row loses its text and is no longer live. Turns of one
thread and sitting are chained, so that a turn's neighbours are found across messages of other threads; of statements,
those that were added together. All words are in one array, by stem number.
"""

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.lang import DEFAULT, Lang
from agent.ports.conversation import Scope
from agent.ports.memory import Item, StoredTurn
from agent.text.language import detect_language
from agent.text.words import split_words

from .columns import NONE, TextColumn, TurnNumbers
from .documents import (
    SentenceSpan,
    TextTerms,
    comparison_form,
    content_words,
    context_terms,
    month_of,
    reach_of,
    read_terms,
    split_sentences,
    trim_stem,
)
from .place_directory import PlaceDirectory, reach_name
from .query import ASSISTANT, USER

FOR_EVER: Final = 2**63 - 1
_TIMED, _USERS, _LIVE, _BARE = 1, 2, 4, 8
_MANY: Final = 65_535  # words that are counted
_CUT: Final = 512  # rows whose sentences are known, some 2 KB of each


@dataclass(slots=True)
class _ThreadEnd:
    """`last`: the row of its last turn. `sitting`: that turn's. `lang`: the language spoken last."""

    last: int = NONE
    sitting: int = 0
    lang: Lang = DEFAULT


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a text that has neither a scope, a speaker nor a time.

    `source`: the id of the text. `place`, `seq`: where the text stands, as in `bounds.Lineage`. `lang`: of its stems.
    """

    text: str
    source: str
    place: int
    seq: int
    lang: Lang


class RecallRows:
    """Turns, items and statements by row, from 0. One thread may add while others read.

    `texts`: "" for a removed row. `messages`: ids of messages, or a statement's source. `at`: Unix milliseconds.
    `place`: the number of its scope in `whose`, or a statement's place. `seq`: the number of a turn, 0 for an item, or
    a statement's seq. `by`: the number of its speaker in `speakers`. `sizes`: words. `asks`: the share of questions in
    it, in 1/255.
    """

    def __init__(self) -> None:
        self.texts = TextColumn()
        self.messages: list[str] = []
        self.at = array("q")
        self.place = array("I")
        self.seq = array("q")
        self.by = array("I")
        self.sizes = array("H")
        self.asks = bytearray()
        self.whose = PlaceDirectory()
        self.speakers: list[str] = []
        self.langs: dict[Lang, None] = {}
        self.stems: list[str] = [""]  # number 0 replaces the words of a forgotten turn
        self._numbers: dict[str, int] = {}  # stem -> its number
        self._words = array("I")
        self._ends = array("I", [0])
        self._parts: dict[int, tuple[int, ...]] = {}
        self._letters: dict[int, str] = {}  # of rows not yet in the index
        self._sentences: dict[int, tuple[SentenceSpan, ...]] = {}  # of recently searched rows
        self._marks = bytearray()
        self._items: dict[int, Item] = {}
        self._item_rows: dict[str, int] = {}
        self._of_scope: dict[str, dict[str, Item]] = {}  # items by id, by the name of their scope
        self._taken_back: dict[str, Collection[int]] = {}  # by item: the numbers of its turns
        self._turn_rows = TurnNumbers()
        self._before = array("i")
        self._after = array("i")
        self._lang_of = array("H")
        self._threads: dict[int, _ThreadEnd] = {}
        self._spoke: set[tuple[int, int]] = set()  # pairs of place and speaker
        self._speaker_numbers: dict[str, int] = {}

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""
        return len(self.texts)

    def add_turn(self, turn: StoredTurn) -> int:
        """Add a turn and return its row; NONE for a turn that is there already, or that holds a refused answer."""
        remark = turn.remark
        if remark.blocked or self._turn_rows.find(turn.n) != NONE:
            return NONE
        place = self.whose.place(turn.scope)
        thread = self._threads.setdefault(place, _ThreadEnd())
        thread.lang = detect_language(remark.text) or thread.lang
        row = len(self)
        before = thread.last if thread.last != NONE and thread.sitting == remark.sitting else NONE
        thread.last, thread.sitting = row, remark.sitting
        self._turn_rows.add(turn.n, row)
        speaker = self._number_speaker(remark.speaker or remark.role, place)
        terms = read_terms(remark.text, thread.lang)
        marks = _LIVE | (_USERS if remark.role == USER else 0) | (_TIMED if terms.timed else 0)
        self._add_row(remark.text, remark.message, remark.at, place, speaker, terms, marks)
        self._link_row(turn.n, before)
        return row

    def forget_turn(self, n: int) -> Sequence[int]:
        """Remove the words of a turn; return its row and the rows whose documents held them; () for an unknown turn."""
        row = self._turn_rows.find(n)
        if row == NONE or not self.is_live(row):
            return ()
        beside = [each for links in (self._before, self._after) for each in self._rows_holding(row, links)]
        self.empty_row(row)
        self._parts.pop(row, None)
        for at in range(self._ends[row], self._ends[row + 1]):
            self._words[at] = 0
        return (row, *beside)

    def _link_row(self, seq: int, before: int) -> None:
        """Add the seq of a new row, and its links to the row `before`, or NONE."""
        row = len(self.seq)
        self.seq.append(seq)
        self._before.append(before)
        self._after.append(NONE)
        if before != NONE:  # last: a writer thread may follow this link from now on
            self._after[before] = row

    def add_statements(self, statements: Sequence[Statement]) -> list[int]:
        """Add statements, each a neighbour of the next, and return their rows."""
        before, rows = NONE, []
        for each in statements:
            row = len(self)
            terms = read_terms(each.text, each.lang)
            marks = _LIVE | _BARE | (_TIMED if terms.timed else 0)
            self._add_row(each.text, each.source, 0, each.place, 0, terms, marks)
            self._link_row(each.seq, before)
            rows.append(row)
            before = row
        return rows

    def add_item(self, item: Item) -> int:
        """Add an item, replacing its earlier state, and return its row."""
        self.drop_item(item.id)
        place = self.whose.place(item.scope)
        terms = read_terms(item.text, detect_language(item.text) or DEFAULT)
        keyed = replace(terms, stems=(*terms.stems, *[trim_stem(terms.lang, each) for each in item.key]))
        row = len(self)
        self._item_rows[item.id], self._items[row] = row, item
        self._of_scope.setdefault(reach_name(item.scope, "scope"), {})[item.id] = item
        speaker = self._number_speaker("", place)
        marks = _LIVE | _USERS | (_TIMED if terms.timed else 0)
        self._add_row(item.text, "", item.created_at, place, speaker, keyed, marks)
        self._link_row(0, NONE)
        return row

    def drop_item(self, id: str) -> int:
        """Remove an item; return the row it had, or NONE."""
        row = self._item_rows.pop(id, NONE)
        if row != NONE:
            item = self._items.pop(row)
            self._of_scope[reach_name(item.scope, "scope")].pop(id)
            self.empty_row(row)
        return row

    def take_back(self, item: str, turns: Collection[int]) -> None:
        """Record the turns that may not be cited, since this item of their words is closed; () once it is not."""
        if turns:
            self._taken_back[item] = frozenset(turns)
        else:
            self._taken_back.pop(item, None)

    def standing_ids(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return the subset of these items and turns that may be cited at time `at` (see `MemoryStore.citable_ids`)."""
        return frozenset([id for id in ids if self._is_standing(id, at)])

    def _is_standing(self, id: str, at: int) -> bool:
        item = self._items.get(self._item_rows.get(id, NONE))
        if item is not None:
            return item.valid_from <= at < item_end(item)
        if id[:1] != "t" or not id[1:].isdecimal():
            return False
        row = self._turn_rows.find(int(id[1:]))
        return (
            row != NONE
            and self.is_live(row)
            and self.is_citable(row)
            and not any(int(id[1:]) in turns for turns in self._taken_back.values())
        )

    def empty_row(self, row: int) -> None:
        """Overwrite the text of a row, which is no longer live."""
        self.texts.clear_text(row)
        self._marks[row] = 0
        self._sentences.pop(row, None)
        self._letters.pop(row, None)

    def _add_row(
        self, text: str, message: str, at: int, place: int, speaker: int, terms: TextTerms, marks: int
    ) -> None:
        self.langs.setdefault(terms.lang)
        numbers = [*map(self._numbers.get, terms.stems)]
        self._words.extend(
            self._number_stem(term) if at is None else at
            for term, at in zip(terms.stems, numbers, strict=True)
        )
        self._letters[len(self)] = " ".join(terms.words)
        if terms.parts:
            self._parts[len(self)] = terms.parts
        self._ends.append(len(self._words))
        self._lang_of.append(list(self.langs).index(terms.lang))
        shared = self.messages[-1:] == [message]  # a question and its answer
        self.messages.append(self.messages[-1] if shared else message)
        self.at.append(at)
        self.place.append(place)
        self.by.append(speaker)
        self.sizes.append(min(terms.size, _MANY))
        self.asks.append(round(terms.asks * 255))
        self._marks.append(marks)
        self.texts.append(text)

    def _number_stem(self, term: str) -> int:
        """Return the number of a stem, adding it if it is new."""
        number = self._numbers.setdefault(term, len(self.stems))
        if number == len(self.stems):
            self.stems.append(term)
        return number

    def _number_speaker(self, name: str, place: int) -> int:
        """Return the number of a speaker, noting that they spoke in `place`."""
        number = self._speaker_numbers.setdefault(name, len(self.speakers))
        if number == len(self.speakers):
            self.speakers.append(name)
        if (place, number) not in self._spoke:
            self._spoke.add((place, number))
            self.whose.add_speaker(place, name)
        return number

    # --- reading a row

    def scope(self, row: int) -> Scope:
        """Return the scope of a row."""
        return self.whose.scopes[self.place[row]]

    def is_live(self, row: int) -> bool:
        """Tell whether a row is live."""
        return self._marks[row] & _LIVE != 0

    def is_timed(self, row: int) -> bool:
        """Tell whether the text gives a time."""
        return self._marks[row] & _TIMED != 0

    def is_citable(self, row: int) -> bool:
        """Tell whether the row is an item or a user's message."""
        return self._marks[row] & _USERS != 0

    def item(self, row: int) -> Item | None:
        """Return the item of a row; None for a turn."""
        return self._items.get(row)

    def item_rows(self) -> Collection[int]:
        """Return the rows of live items."""
        return self._items.keys()

    def key(self, row: int) -> tuple[str, ...]:
        """Return the key of an item, in stems as rows have them; () for a turn."""
        item = self._items.get(row)
        lang = list(self.langs)[self._lang_of[row]]
        return () if item is None else tuple([trim_stem(lang, each) for each in item.key])

    def items(self, scope: Scope) -> Collection[Item]:
        """Return the items of a scope."""
        return self._of_scope.get(reach_name(scope, "scope"), {}).values()

    def id(self, row: int) -> str:
        """Return the id by which a row is cited."""
        item = self._items.get(row)
        return f"t{self.seq[row]}" if item is None else item.id

    def spoken_by(self, names: Collection[str]) -> frozenset[int]:
        """Return the numbers of the speakers in `names`, and of "", the speaker of items; empty for no names."""
        numbers = self._speaker_numbers
        return frozenset(numbers[each] for each in (*names, "") if each in numbers) if names else frozenset()

    def stem_number(self, term: str) -> int | None:
        """Return the number of a stem, None for one that no row holds."""
        return self._numbers.get(term)

    def name_stems(self, speaker: str) -> Sequence[int]:
        """Return the numbers of the stems that a speaker's name may have."""
        found = (
            self.stem_number(comparison_form(lang, word))
            for lang in self.langs
            for word in split_words(speaker)
        )
        return [number for number in found if number is not None]

    def words(self, row: int) -> "array[int]":
        """Return the stem numbers of a row, in order."""
        return self._words[self._ends[row] : self._ends[row + 1]]

    def letters(self, row: int) -> str:
        """Return the folded content words of a row, joined by spaces, to cut 4-grams from."""
        known = self._letters.get(row)
        return " ".join(content_words(split_words(self.texts[row]))) if known is None else known

    def drop_letters(self, row: int) -> None:
        """Drop the cached letters of a row that was written into the index."""
        self._letters.pop(row, None)

    def sentences(self, row: int) -> Sequence[SentenceSpan]:
        """Return the sentences of a row."""
        known = self._sentences.get(row)
        if known is None:
            if len(self._sentences) >= _CUT:
                del self._sentences[next(iter(self._sentences))]
            known = self._sentences[row] = split_sentences(self.texts[row])
        return known

    def neighbour_words(self, row: int) -> "tuple[array[int], array[int]]":
        """Return the words of neighbours that count for a turn: those before it, and those after it."""
        most = reach_of(self._ends[row + 1] - self._ends[row])
        before, after = array("I"), array("I")
        at = self._before[row]
        while at != NONE and len(before) < most:
            before = self.words(at) + before
            at = self._before[at]
        at = self._after[row]
        while at != NONE and len(after) < most:
            after += self.words(at)
            at = self._after[at]
        return before[-most:], after[:most]

    def neighbours(self, row: int) -> tuple[int, int]:
        """Return the rows before and after a turn in its sitting, NONE at either end."""
        return self._before[row], self._after[row]

    def affected_turns(self, row: int) -> Sequence[int]:
        """Return the earlier turns whose documents include the words of a new one."""
        return self._rows_holding(row, self._before)

    def _rows_holding(self, row: int, links: "array[int]") -> list[int]:
        rows: list[int] = []
        between = 0
        at = links[row]
        while at != NONE and between < _FARTHEST:
            own = self._ends[at + 1] - self._ends[at]
            if between < reach_of(own):
                rows.append(at)
            between += own
            at = links[at]
        return rows

    def context_terms(self, row: int) -> Sequence[str]:
        """Return the terms of a row's speaker and time; none for an item or a statement."""
        if row in self._items or self._marks[row] & _BARE:
            return ()
        name = self.speakers[self.by[row]]
        lang = list(self.langs)[self._lang_of[row]]
        return context_terms(lang, "" if name in (USER, ASSISTANT) else name, month_of(self.at[row]))

    def parts(self, row: int) -> tuple[int, ...]:
        """Return where the parts of a long message begin in its words."""
        return self._parts.get(row, ())


def item_end(item: Item) -> int:
    """Return when an item ends, exclusive, in Unix milliseconds."""
    return min(FOR_EVER if each is None else each for each in (item.valid_to, item.expires_at))


_FARTHEST: Final = reach_of(0)
