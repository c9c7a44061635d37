"""What an index knows of each turn and item, in columns: some 300 bytes a row beside its text.

Strategy: a row is a number, given once and never again; what is forgotten loses its text and is live no more. Turns of
one thread and sitting are chained, so that a turn's neighbours are found whatever was said elsewhere meanwhile. Their
words stand in one array, by number.
"""

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agent.lang import DEFAULT, Lang
from agent.ports.conversation import Scope
from agent.ports.memory import Item, StoredTurn
from agent.text.language import language
from agent.text.words import words

from .documents import Said, about, compared, content, month_of, reach_of, read, shortened
from .query import ASSISTANT, USER

NONE: Final = -1
_TIMED, _USERS, _LIVE = 1, 2, 4
_MANY: Final = 65_535  # words that are counted


@dataclass(slots=True)
class _Thread:
    """last: the row of its last turn. sitting: that turn's. lang: what was spoken last."""

    last: int = NONE
    sitting: int = 0
    lang: Lang = DEFAULT


class Rows:
    """Turns and items by row, 0 on. For one thread to add to, which others may look at meanwhile.

    texts: "" of a row that is gone. at: Unix milliseconds. place: the number of its scope in `places`. by: the number
    of who said it in `speakers`. sizes: words. asks: the share of questions in it, in 1/255.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.messages: list[str] = []
        self.at = array("q")
        self.place = array("I")
        self.by = array("I")
        self.sizes = array("H")
        self.asks = bytearray()
        self.places: list[Scope] = []
        self.speakers: list[str] = []
        self.langs: dict[Lang, None] = {}
        self.spoken: dict[tuple[int, int], None] = {}  # places, and who spoke there
        self.stems: list[str] = [""]  # in place of each word of a turn that was forgotten
        self._numbers: dict[str, int] = {}  # stem -> its number
        self._words = array("I")
        self._ends = array("I", [0])
        self._parts: dict[int, tuple[int, ...]] = {}
        self._marks = bytearray()
        self._turns = array("q")  # numbers of turns; of an item 0
        self._items: dict[int, Item] = {}
        self._item_rows: dict[str, int] = {}
        self._turn_rows: dict[int, int] = {}
        self._before = array("q")
        self._after = array("q")
        self._lang_of = array("H")
        self._threads: dict[int, _Thread] = {}
        self._place_numbers: dict[Scope, int] = {}
        self._speaker_numbers: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many rows there are, also of what is gone."""
        return len(self.texts)

    def add_turn(self, turn: StoredTurn) -> int:
        """Add a turn and return its row; one that is there already, or that holds a refused answer, is NONE."""
        remark = turn.remark
        if turn.n in self._turn_rows or remark.blocked:
            return NONE
        place = self._place(turn.scope)
        thread = self._threads.setdefault(place, _Thread())
        thread.lang = language(remark.text) or thread.lang
        row = len(self)
        before = thread.last if thread.last != NONE and thread.sitting == remark.sitting else NONE
        thread.last, thread.sitting = row, remark.sitting
        self._turn_rows[turn.n] = row
        speaker = self._speaker(remark.speaker or remark.role)
        self.spoken.setdefault((place, speaker))
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
        row = self._turn_rows.get(n, NONE)
        if row == NONE or not self.live(row):
            return ()
        beside = [each for links in (self._before, self._after) for each in self._held_by(row, links)]
        self.texts[row] = ""
        self._marks[row] = 0
        self._parts.pop(row, None)
        for at in range(self._ends[row], self._ends[row + 1]):
            self._words[at] = 0
        return (row, *beside)

    def add_item(self, item: Item) -> int:
        """Add an item in place of what was known of it, and return its row."""
        self.drop_item(item.id)
        place = self._place(item.scope)
        said = read(item.text, language(item.text) or DEFAULT)
        keyed = replace(said, stems=(*said.stems, *[shortened(said.lang, each) for each in item.key]))
        row = len(self)
        self._item_rows[item.id], self._items[row] = row, item
        speaker = self._speaker("")
        self.spoken.setdefault((place, speaker))
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
            del self._items[row]
            self.texts[row] = ""
            self._marks[row] = 0
        return row

    def _add(
        self, text: str, message: str, at: int, place: int, speaker: int, said: Said, marks: int
    ) -> None:
        self.langs.setdefault(said.lang)
        numbers = self._numbers
        for term in said.stems:
            number = numbers.get(term)
            if number is None:
                number = numbers[term] = len(self.stems)
                self.stems.append(term)
            self._words.append(number)
        if said.parts:
            self._parts[len(self)] = said.parts
        self._ends.append(len(self._words))
        self._lang_of.append(list(self.langs).index(said.lang))
        self.messages.append(message)
        self.at.append(at)
        self.place.append(place)
        self.by.append(speaker)
        self.sizes.append(min(said.size, _MANY))
        self.asks.append(round(said.asks * 255))
        self._marks.append(marks)
        self.texts.append(text)

    def _place(self, scope: Scope) -> int:
        number = self._place_numbers.setdefault(scope, len(self.places))
        if number == len(self.places):
            self.places.append(scope)
        return number

    def _speaker(self, name: str) -> int:
        number = self._speaker_numbers.setdefault(name, len(self.speakers))
        if number == len(self.speakers):
            self.speakers.append(name)
        return number

    # --- what is asked of a row

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

    def letters(self, row: int) -> Sequence[str]:
        """Return the folded words of a row that carry a subject, as 4-grams are cut of them."""
        return content(words(self.texts[row]))

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
