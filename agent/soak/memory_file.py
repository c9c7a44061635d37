"""The contents of a server's memory files, compared with the items that its users told, approved and had forgotten.

Each number was told once, by one user, so it tells which words a row holds. The file is read as it is, when its server
has ended. Forgotten numbers are looked for in every file of the folder.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from .book import APPROVED, CANCELLED, FORGETTING, FORGOT, LIVE, MARK, OFFERED, SAID, find_numbers
from .notes import OF_MEMORY
from .server_file import ActionRow, RunQuery

FILE = "memory.sqlite"  # as `storage.memories` names it, which costs 0.2 s to import
BrokenPromise = tuple[str, str]
_ITEMS = (
    "SELECT i.number, i.scope, i.place, i.type, i.status, i.decided_by, w.text FROM items i"
    " JOIN item_words w ON w.item = i.number WHERE i.created_at >= ?"
)
_LOG = "SELECT item, trigger, count(*) FROM item_log WHERE at >= ? GROUP BY item, trigger"
_TURNS = (
    "SELECT t.scope, t.message, t.role, w.text FROM turns t JOIN turn_words w ON w.turn = t.number"
    " WHERE t.at >= ?"
)
_GAPS = "SELECT coalesce(sum(count), 0) FROM gaps WHERE at >= ?"
_ROWS = "SELECT (SELECT count(*) FROM turns) + (SELECT count(*) FROM items)"
_BY_RULE = ("event", "metric")
_READ_AT_ONCE = 1 << 20
_OVERLAP = 16  # bytes: a number that two pieces share


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item's row. `moves`: how often each trigger has moved it."""

    scope: int
    place: str
    type: str
    status: str
    decided_by: str | None
    text: str
    moves: Counter[str]


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """The contents of the memory.

    `items`: by id. `turns`: messages and answers, by scope and message id, then by side. `gaps`: the noted number of
    exchanges that were not kept. `found`: the users' numbers in any file of the folder.
    """

    items: Mapping[str, StoredItem] = field(default_factory=dict)
    turns: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)
    gaps: int = 0
    found: frozenset[str] = frozenset()  # the users' numbers in any file of the folder


@dataclass(slots=True)
class NumberPlaces:
    """The notes about each number, by the kind of note (the constants of `book`).

    `offered`: the item of each suggestion.
    """

    numbers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    offered: dict[str, str] = field(default_factory=dict)


def read_numbers(lines: Iterable[str]) -> NumberPlaces:
    """Return the notes of the memory among `lines`."""
    said = NumberPlaces()
    for line in lines:
        if line.startswith(OF_MEMORY):
            event, id, digest = line.split()[:3]
            if event == OFFERED:
                said.offered[id] = digest
            else:
                said.numbers[event].add(id)
    return said


def read_memory(folder: Path, since: int) -> StoredMemory:
    """Return the memory of a folder since a time (Unix milliseconds). Blocks."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as connection:
        return read_memory_rows(connection.execute, since, find_file_numbers(folder))


def read_memory_rows(run_query: RunQuery, since: int, found: frozenset[str]) -> StoredMemory:
    """Return the contents of a memory's tables since a time. `found`: as in `StoredMemory`."""
    moves: dict[int, Counter[str]] = defaultdict(Counter)
    for item, trigger, times in run_query(_LOG, (since,)):
        moves[item][trigger] = times
    items = {
        f"i{number}": StoredItem(
            scope=scope,
            place=place,
            type=kind,
            status=status,
            decided_by=by,
            text=text,
            moves=moves[number],
        )
        for number, scope, place, kind, status, by, text in run_query(_ITEMS, (since,))
    }
    turns: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for scope, message, role, text in run_query(_TURNS, (since,)):
        turns[scope, message][role] = text
    ((gaps,),) = run_query(_GAPS, (since,))
    return StoredMemory(items, turns, int(gaps), found)


def count_rows(folder: Path) -> int:
    """Return the number of turns and items in a folder. Blocks."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as connection:
        return int(connection.execute(_ROWS).fetchone()[0])


def find_file_numbers(folder: Path) -> frozenset[str]:
    """Return the users' numbers that stand in any file of a folder. Blocks."""
    found: set[str] = set()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                before = b""
                while read := file.read(_READ_AT_ONCE):
                    piece = before + read
                    found.update(MARK.findall(piece.decode("latin-1")))
                    before = piece[-_OVERLAP:]
    return frozenset(found)


def find_memory_faults(
    memory: StoredMemory, said: NumberPlaces, rows: Mapping[str, ActionRow]
) -> Iterator[BrokenPromise]:
    """Yield each broken promise and its words. `rows`: of the ledger, by suggestion."""
    numbers = said.numbers
    places = Counter((item.scope, item.place) for item in memory.items.values() if item.status in LIVE)
    for place, count in places.items():
        if count > 1:
            yield "M6", f"{count} live items of one place {place}"
    for id, item in memory.items.items():
        yield from _item(id, item, numbers)
    kept: set[str] = set()
    for (_, message), sides in memory.turns.items():
        of = {number for text in sides.values() for number in find_numbers(text)}
        kept |= of
        if "user" in sides and "assistant" not in sides:
            yield "M4", f"{message} is half kept"
        for number in of & numbers[CANCELLED]:
            yield "M5", f"{number} was told in a turn that was cancelled, and is kept"
    for number in memory.found & numbers[FORGOT]:
        yield "M2", f"{number} was forgotten, and is in a file"
    lost = numbers[SAID] - kept - numbers[FORGETTING] - numbers[FORGOT]
    if len(lost) > memory.gaps:
        yield "M5", f"{len(lost)} exchanges are not kept, such as {min(lost)}, and {memory.gaps} are noted"
    for suggestion, id in said.offered.items():
        row, accepted = rows.get(suggestion), memory.items.get(id)
        if row is not None and row.status == "done" and (accepted is None or not accepted.moves["approve"]):
            yield "M1", f"{suggestion} is done, and {id} was never accepted"


def _item(id: str, item: StoredItem, numbers: Mapping[str, set[str]]) -> Iterator[BrokenPromise]:
    told = set(find_numbers(item.text))
    if item.moves["approve"] > 1 + item.moves["reopen"]:
        yield "M1", f"{id} was accepted {item.moves['approve']} times"
    by_rule = item.type in _BY_RULE and item.decided_by == "rule"
    if item.status in LIVE and not by_rule and told - numbers[APPROVED]:
        yield "M1", f"{id} is {item.status}, and no user has approved it"
    if told & numbers[CANCELLED]:
        yield "M5", f"{id} is of a turn that was cancelled"
    if item.status == "forgotten" and item.text:
        yield "M2", f"{id} is forgotten, and has words"


def summarize_memory(memory: StoredMemory, said: NumberPlaces) -> dict[str, object]:
    """Return the figures of the memory for the report."""
    return {
        "items": dict(sorted(Counter(item.status for item in memory.items.values()).items())),
        "turns": len(memory.turns),
        "gaps": memory.gaps,
        "told": len(said.numbers[SAID]),
        "cancelled": len(said.numbers[CANCELLED]),
        "forgotten": len(said.numbers[FORGOT]),
    }
