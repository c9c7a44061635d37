"""What an index knows of each turn and item, in columns: some 300 bytes a row beside its text.

Strategy: a row is a number, given once and never again; what is forgotten loses its text and is live no more. Turns of
one thread and sitting are chained, so that a turn's neighbours are found whatever was said elsewhere meanwhile. Their
words stand in one array, by number.
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.lang import DEFAULT, Lang
from agent.ports.conversation import Scope
from agent.ports.memory import Item, StoredTurn
from agent.text.language import language
from agent.text.words import words

from .documents import (
    Said,
    Sentence,
    about,
    compared,
    content,
    month_of,
    reach_of,
    read,
    sentences,
    shortened,
)
from .query import ASSISTANT, USER
from .texts import Texts
from .whose import Whose, name_of

NONE: Final = -1
_TIMED, _USERS, _LIVE = 1, 2, 4
_MANY: Final = 65_535  # words that are counted
_CUT: Final = 512  # rows whose sentences are known, some 2 KB of each


@dataclass(slots=True)
class _Thread:
    """last: the row of its last turn. sitting: that turn's. lang: what was spoken last."""

    last: int = NONE
    sitting: int = 0
    lang: Lang = DEFAULT


class Rows:
    """Turns and items by row, 0 on. For one thread to add to, which others may look at meanwhile.

    texts: of a row that is gone "". at: Unix milliseconds. place: the number of its scope in `whose`. by: the number
    of who said it in `speakers`. sizes: words. asks: the share of questions in it, in 1/255.
    """

    def __init__(self) -> None:
        self.texts = Texts()
        self.messages: list[str] = []
        self.at = array("q")
        self.place = array("I")
        self.by = array("I")
        self.sizes = array("H")
        self.asks = bytearray()
        self.whose = Whose()
        self.speakers: list[str] = []
        self.langs: dict[Lang, None] = {}
        self.stems: list[str] = [""]  # in place of each word of a turn that was forgotten
        self._numbers: dict[str, int] = {}  # stem -> its number
        self._words = array("I")
        self._ends = array("I", [0])
        self._parts: dict[int, tuple[int, ...]] = {}
        self._letters: dict[int, str] = {}  # of rows that were not written yet
        self._sentences: dict[int, tuple[Sentence, ...]] = {}  # of rows that were asked about last
        self._marks = bytearray()
        self._turns = array("q")  # numbers of turns; of an item 0
        self._items: dict[int, Item] = {}
        self._item_rows: dict[str, int] = {}
        self._of_scope: dict[str, dict[str, Item]] = {}  # items by id, by whose they are
        self._said = array("q")  # numbers of turns, ascending, ...
        self._said_rows = array("I")  # ... and the row of each: a tenth of what a dict takes
        self._before = array("i")
        self._after = array("i")
        self._lang_of = array("H")
        self._threads: dict[int, _Thread] = {}
        self._spoke: set[tuple[int, int]] = set()  # places, and who spoke there
        self._speaker_numbers: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many rows there are, also of what is gone."""
        return len(self.texts)

    def add_turn(self, turn: StoredTurn) -> int:
        """Add a turn and return its row; one that is there already, or that holds a refused answer, is NONE."""
        remark = turn.remark
        if remark.blocked or self._row_of(turn.n) != NONE:
            return NONE
        place = self.whose.place(turn.scope)
        thread = self._threads.setdefault(place, _Thread())
        thread.lang = language(remark.text) or thread.lang
        row = len(self)
        before = thread.last if thread.last != NONE and thread.sitting == remark.sitting else NONE
        thread.last, thread.sitting = row, remark.sitting
        at = bisect_left(self._said, turn.n)  # the end, nearly always
        self._said.insert(at, turn.n)
        self._said_rows.insert(at, row)
        speaker = self._speaker(remark.speaker or remark.role, place)
        said = read(remark.text, thread.lang)
        marks = _LIVE | (_USERS if remark.role == USER else 0) | (_TIMED if said.timed else 0)
        self._add(remark.text, remark.message, remark.at, place, speaker, said, marks)
        self._turns.append(turn.n)
        self._before.append(before)
        self._after.append(NONE)
        if before != NONE:  # last of all: who writes those before it, in a thread, may look at it from now on
            self._after[before] = row
        return row

    def forget_turn(self, n: int) -> Sequence[int]:
        """Take what a turn said out; return its row, and those beside it whose documents held its words; () of none."""
        row = self._row_of(n)
        if row == NONE or not self.live(row):
            return ()
        beside = [each for links in (self._before, self._after) for each in self._held_by(row, links)]
        self._empty(row)
        self._parts.pop(row, None)
        for at in range(self._ends[row], self._ends[row + 1]):
            self._words[at] = 0
        return (row, *beside)

    def _row_of(self, n: int) -> int:
        """Return the row of a turn, or NONE."""
        at = bisect_left(self._said, n)
        return self._said_rows[at] if at < len(self._said) and self._said[at] == n else NONE

    def add_item(self, item: Item) -> int:
        """Add an item in place of what was known of it, and return its row."""
        self.drop_item(item.id)
        place = self.whose.place(item.scope)
        said = read(item.text, language(item.text) or DEFAULT)
        keyed = replace(said, stems=(*said.stems, *[shortened(said.lang, each) for each in item.key]))
        row = len(self)
        self._item_rows[item.id], self._items[row] = row, item
        self._of_scope.setdefault(name_of(item.scope, "scope"), {})[item.id] = item
        speaker = self._speaker("", place)
        marks = _LIVE | _USERS | (_TIMED if said.timed else 0)
        self._add(item.text, "", item.created_at, place, speaker, keyed, marks)
        self._turns.append(0)
        self._before.append(NONE)
        self._after.append(NONE)
        return row

    def drop_item(self, id: str) -> int:
        """Take an item out; return the row that it had, or NONE."""
        row = self._item_rows.pop(id, NONE)
        if row != NONE:
            item = self._items.pop(row)
            self._of_scope[name_of(item.scope, "scope")].pop(id)
            self._empty(row)
        return row

    def _empty(self, row: int) -> None:
        self.texts.empty(row)
        self._marks[row] = 0
        self._sentences.pop(row, None)
        self._letters.pop(row, None)

    def _add(
        self, text: str, message: str, at: int, place: int, speaker: int, said: Said, marks: int
    ) -> None:
        self.langs.setdefault(said.lang)
        numbers = [*map(self._numbers.get, said.stems)]
        self._words.extend(
            self._new(term) if at is None else at for term, at in zip(said.stems, numbers, strict=True)
        )
        self._letters[len(self)] = " ".join(said.words)
        if said.parts:
            self._parts[len(self)] = said.parts
        self._ends.append(len(self._words))
        self._lang_of.append(list(self.langs).index(said.lang))
        shared = self.messages[-1:] == [message]  # a question and its answer
        self.messages.append(self.messages[-1] if shared else message)
        self.at.append(at)
        self.place.append(place)
        self.by.append(speaker)
        self.sizes.append(min(said.size, _MANY))
        self.asks.append(round(said.asks * 255))
        self._marks.append(marks)
        self.texts.append(text)

    def _new(self, term: str) -> int:
        """Return the number of a stem that may be new."""
        number = self._numbers.setdefault(term, len(self.stems))
        if number == len(self.stems):
            self.stems.append(term)
        return number

    def _speaker(self, name: str, place: int) -> int:
        """Return the number of who spoke in a place."""
        number = self._speaker_numbers.setdefault(name, len(self.speakers))
        if number == len(self.speakers):
            self.speakers.append(name)
        if (place, number) not in self._spoke:
            self._spoke.add((place, number))
            self.whose.spoke(place, name)
        return number

    # --- what is asked of a row

    def scope(self, row: int) -> Scope:
        """Return whose a row is."""
        return self.whose.scopes[self.place[row]]

    def live(self, row: int) -> bool:
        """Tell whether a row is there."""
        return self._marks[row] & _LIVE != 0

    def timed(self, row: int) -> bool:
        """Tell whether it says when something was."""
        return self._marks[row] & _TIMED != 0

    def citable(self, row: int) -> bool:
        """Tell whether it is an item, or was said by its user."""
        return self._marks[row] & _USERS != 0

    def item(self, row: int) -> Item | None:
        """Return the item of a row; None of a turn."""
        return self._items.get(row)

    def key(self, row: int) -> tuple[str, ...]:
        """Return the key of an item, in the stems that rows have; () of a turn."""
        item = self._items.get(row)
        lang = list(self.langs)[self._lang_of[row]]
        return () if item is None else tuple([shortened(lang, each) for each in item.key])

    def items(self, scope: Scope) -> Collection[Item]:
        """Return the items of a scope."""
        return self._of_scope.get(name_of(scope, "scope"), {}).values()

    def id(self, row: int) -> str:
        """Return what a row is cited by."""
        item = self._items.get(row)
        return f"t{self._turns[row]}" if item is None else item.id

    def spoken_by(self, names: Collection[str]) -> frozenset[int]:
        """Return the numbers of who is called so, and of nobody, which items are said by; none of no names."""
        numbers = self._speaker_numbers
        return frozenset(numbers[each] for each in (*names, "") if each in numbers) if names else frozenset()

    def number(self, term: str) -> int | None:
        """Return the number of a stem, None of one that nothing holds."""
        return self._numbers.get(term)

    def named(self, speaker: str) -> Sequence[int]:
        """Return the numbers of the stems that a speaker's name may be written as."""
        found = (self.number(compared(lang, word)) for lang in self.langs for word in words(speaker))
        return [number for number in found if number is not None]

    def words(self, row: int) -> "array[int]":
        """Return the numbers of a row's stems, in their order."""
        return self._words[self._ends[row] : self._ends[row + 1]]

    def letters(self, row: int) -> str:
        """Return the folded words of a row that carry a subject, between spaces, as 4-grams are cut of them."""
        known = self._letters.get(row)
        return " ".join(content(words(self.texts[row]))) if known is None else known

    def written(self, row: int) -> None:
        """Take that a row's letters are not needed soon."""
        self._letters.pop(row, None)

    def sentences(self, row: int) -> Sequence[Sentence]:
        """Return the sentences of a row."""
        known = self._sentences.get(row)
        if known is None:
            if len(self._sentences) >= _CUT:
                del self._sentences[next(iter(self._sentences))]
            known = self._sentences[row] = sentences(self.texts[row])
        return known

    def around(self, row: int) -> "tuple[array[int], array[int]]":
        """Return the words of its neighbours that count for a turn: those before it, and those after it."""
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

    def beside(self, row: int) -> tuple[int, int]:
        """Return the rows before and after a turn in its sitting, NONE where there is none."""
        return self._before[row], self._after[row]

    def reached(self, row: int) -> Sequence[int]:
        """Return the turns before a new one whose documents its words belong to."""
        return self._held_by(row, self._before)

    def _held_by(self, row: int, links: "array[int]") -> list[int]:
        found: list[int] = []
        between = 0
        at = links[row]
        while at != NONE and between < _FARTHEST:
            own = self._ends[at + 1] - self._ends[at]
            if between < reach_of(own):
                found.append(at)
            between += own
            at = links[at]
        return found

    def about(self, row: int) -> Sequence[str]:
        """Return the terms that say who said a row and when; none of an item."""
        if row in self._items:
            return ()
        name = self.speakers[self.by[row]]
        lang = list(self.langs)[self._lang_of[row]]
        return about(lang, "" if name in (USER, ASSISTANT) else name, month_of(self.at[row]))

    def parts(self, row: int) -> tuple[int, ...]:
        """Return where the parts of a long message begin in its words."""
        return self._parts.get(row, ())


_FARTHEST: Final = reach_of(0)
