"""The index of what was said, in memory: made of the rows in the store, and thrown away with the process.

Strategy: a turn's window and each part of a long one are documents of tantivy (`agent.lexical`). A new row waits in the
tail, where it is searched word by word, until all that wait are put into the index together, in a worker thread; so it
can be recalled at once, and no turn waits for an index. A turn that comes changes the windows of those before it, which
are written again with it. Nothing is kept on disk: what is forgotten is then in no file, an index cannot be torn, and
100,000 turns are read again in seconds (`python -m tests.bench.recall`).

Whose a row is filters before anything is ranked, in the index and in the tail.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import tantivy

from agent.lexical.fields import opened, schema_of
from agent.lexical.filters import Filter, between, named
from agent.lexical.queries import gram_terms
from agent.lexical.searcher import Searcher
from agent.ports.conversation import Scope
from agent.ports.memory import Item, StoredTurn
from agent.ports.recall import Reach

from .query import Asked
from .rank import ARM, GRAM_ARM, PART_ARM
from .rows import NONE, Rows
from .tail import GRAMS, WORDS, Tail, bm25_rarity, terms_of
from .whose import REACHES, name_of

BATCH: Final = 64
"""Rows that wait, from which they are put into the index."""

_ROW: Final = "row"
_SCHEMA: Final = schema_of(
    terms=(WORDS,), grams=(GRAMS,), names=(_ROW, *REACHES), numbers=("number", "valid_from", "valid_to")
)
_HEAP: Final = 15_000_000  # bytes; tantivy's least for one thread
_LARGE: Final = 5_000  # rows of a batch that gets twice that: an index in one piece is searched sooner
_POSTINGS: Final = 5_000  # entries of posting lists that the search of one arm reads
_FOR_EVER: Final = 2**63 - 1
_COUNTS_KEPT: Final = 1_024  # scopes of which it is known how many documents are theirs


@dataclass(frozen=True, slots=True)
class Arms:
    """What was found: row -> score, by its window and its best part, and by its 4-grams."""

    words: Mapping[int, float]
    grams: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be put into the index. rows: with the time at which each changed last. gone: to be taken out."""

    rows: Mapping[int, int]
    gone: tuple[int, ...]


class Counts:
    """How many documents a search goes over, and how many of them hold a word; kept, since an index never changes.

    whole: they are all that there are.
    """

    def __init__(self, searcher: Searcher, must: Sequence[Filter]) -> None:
        self._searcher, self._must = searcher, must
        self._known: dict[str, int] = {}
        self.documents = searcher.count(must)
        self.whole = self.documents == searcher.documents

    def frequency(self, stem: str) -> int:
        """Return in how many of the documents a stem stands."""
        term = (WORDS, stem)
        if self.whole or not self._searcher.frequency(term):
            return self._searcher.frequency(term)
        known = self._known.get(stem)
        if known is None:
            known = self._known[stem] = self._searcher.count(self._must, term)
        return known

    def weight(self, stem: str) -> float:
        """Return what to weigh a stem by, so that it counts as it would if there were no other documents."""
        frequency = self._searcher.frequency((WORDS, stem))
        if self.whole or not frequency:
            return 1.0
        everywhere = bm25_rarity(self._searcher.documents, frequency)
        return bm25_rarity(self.documents, self.frequency(stem)) / everywhere


class Index:
    """Turns and items to be searched. All is for one thread, but for `write`, which blocks and is for any one other."""

    def __init__(self) -> None:
        self.rows = Rows()
        self._tantivy = opened(_SCHEMA)
        self._searcher = Searcher(self._tantivy)
        self._documents = array("I")  # document -> row
        self._is_part = bytearray()
        self._has_parts = False
        self._lengths = [0, 0]  # words and 4-grams of all documents
        self._waiting: dict[int, int] = {}  # row -> when it changed last
        self._gone: list[int] = []
        self._old: set[int] = set()  # rows of which the index does not tell what is so
        self._changes = 0
        self._items = False  # whether there ever was one
        self._tail = Tail(self.rows)
        self._counts: dict[tuple[Reach, Scope], Counts] = {}

    @property
    def waiting(self) -> int:
        """Return how many rows are not in the index as they are now."""
        return len(self._waiting) + len(self._gone)

    def add(self, turn: StoredTurn, later: bool = False) -> None:
        """Add a turn, which can be found at once; one that is there, or was refused, is left out. Some 50 µs.

        later: it is found when it is written, as one of many that are read again, which would make the tail long; those
        around it are found meanwhile as they were.
        """
        row = self.rows.add_turn(turn)
        if row != NONE:
            for each in (row, *self.rows.reached(row)):
                self._wait(each, later)

    def forget(self, n: int) -> int:
        """Take what turn `n` said out, also of what its neighbours are found by; return its row, or NONE."""
        changed = self.rows.forget_turn(n)
        if not changed:
            return NONE
        row, *beside = changed
        self._take_out(row)
        for each in beside:
            if self.rows.live(each):
                self._wait(each)
        return row

    def put(self, item: Item) -> None:
        """Add a live item, in place of what was known of it."""
        self.drop(item.id)
        self._items = True
        self._wait(self.rows.add_item(item))

    def drop(self, id: str) -> int:
        """Take an item out, which is found no more from now on; return the row that it had, or NONE."""
        row = self.rows.drop_item(id)
        if row != NONE:
            self._take_out(row)
        return row

    def _take_out(self, row: int) -> None:
        self._waiting.pop(row, None)
        self._tail.remove(row)
        self._gone.append(row)
        self._old.add(row)

    def _wait(self, row: int, later: bool = False) -> None:
        self._changes += 1
        self._waiting[row] = self._changes
        if not later or row in self._tail:
            self._old.add(row)
            self._tail.add(row)

    # --- what waits becomes the index

    def batch(self) -> Batch:
        """Return what waits now, for `write`."""
        return Batch(dict(self._waiting), tuple(self._gone))

    def write(self, batch: Batch) -> Searcher:
        """Put a batch into the index and return what searches it then. Blocks; what is searched meanwhile stays."""
        writer = self._tantivy.writer(_HEAP * 2 if len(batch.rows) > _LARGE else _HEAP, 1)
        if self._documents:
            for row in (*batch.gone, *batch.rows):
                writer.delete_documents_by_term(_ROW, str(row))
        for row in batch.rows:
            if self.rows.live(row):
                self._write(row, writer)
                self.rows.written(row)
        writer.commit()
        writer.wait_merging_threads()
        return Searcher(self._tantivy)

    def take(self, batch: Batch, searcher: Searcher) -> None:
        """Search with what `write` returned from now on; what has changed since waits on."""
        self._searcher = searcher
        self._counts.clear()
        del self._gone[: len(batch.gone)]
        written = batch.rows
        self._waiting = {row: at for row, at in self._waiting.items() if written.get(row) != at}
        for row in [each for each in self._tail if each not in self._waiting]:
            self._tail.remove(row)
        self._old = {*self._tail, *self._gone}

    def commit(self) -> None:
        """Put all that waits into the index. Blocks."""
        if self.waiting:
            batch = self.batch()
            self.take(batch, self.write(batch))

    def _write(self, row: int, writer: tantivy.IndexWriter) -> None:
        item, names = self.rows.item(row), self.rows.whose.names(self.rows.place[row])
        begins, ends = (0, _FOR_EVER) if item is None else (item.valid_from, until(item))
        for part, terms in enumerate(terms_of(self.rows, row)):
            document = tantivy.Document()
            document.add_unsigned("number", len(self._documents))
            document.add_unsigned("valid_from", max(0, begins))
            document.add_unsigned("valid_to", max(0, ends))
            document.add_text(_ROW, str(row))
            for reach, name in zip(REACHES, names, strict=True):
                document.add_text(reach, name)
            document.add_text(WORDS, " ".join(terms))
            self._lengths[0] += len(terms)
            if not part:
                letters = f" {self.rows.letters(row)} "
                document.add_text(GRAMS, letters)
                self._lengths[1] += max(0, len(letters) - 3)
            self._has_parts |= part > 0
            self._is_part.append(part > 0)
            self._documents.append(row)
            writer.add_document(document)

    def held(self) -> Iterator[str]:
        """Yield the id of each turn and item that is there and that the index itself finds. Blocks: some 20 µs each."""
        for row in range(len(self.rows)):
            if self.rows.live(row) and self._searcher.count([named(_SCHEMA, _ROW, str(row))]):
                yield self.rows.id(row)

    # --- searching

    def counts(self, reach: Reach, scope: Scope) -> Counts:
        """Return the counts of what a search goes over, without what waits."""
        known = self._counts.get((reach, scope))
        if known is None:
            if len(self._counts) >= _COUNTS_KEPT:
                self._counts.clear()
            must = [named(_SCHEMA, reach, name_of(scope, reach))]
            known = self._counts[reach, scope] = Counts(self._searcher, must)
        return known

    def places(self, reach: Reach, scope: Scope) -> frozenset[int]:
        """Return the numbers of the places that a search goes as far as."""
        return self.rows.whose.seen(reach, scope)[0]

    def speakers(self, reach: Reach, scope: Scope) -> frozenset[str]:
        """Return who spoke in them."""
        return self.rows.whose.seen(reach, scope)[1]

    def seen(self, at: int) -> Callable[[int], bool]:
        """Return what tells whether a row is there at a time: a turn, or an item that is valid then."""
        rows = self.rows

        def seen(row: int) -> bool:
            item = rows.item(row)
            return rows.live(row) and (item is None or item.valid_from <= at < until(item))

        return seen

    def find(self, asked: Asked, reach: Reach, scope: Scope, at: int) -> Arms:
        """Return the best rows of each arm, in a scope and of what is valid at a time."""
        counts = self.counts(reach, scope)
        must = [] if counts.whole else [named(_SCHEMA, reach, name_of(scope, reach))]
        if self._items:
            must += [between(_SCHEMA, "valid_from", 0, at), between(_SCHEMA, "valid_to", at + 1)]
        weights = {(WORDS, term): weight * counts.weight(term) for term, weight in asked.terms.items()}
        arm = PART_ARM if self._has_parts else ARM
        words = self._searcher.best(weights, arm, _POSTINGS, weights, must).scores
        terms = list(gram_terms(asked.words, GRAMS))
        grams = self._searcher.best(terms, GRAM_ARM, _POSTINGS, None, must).scores
        windows: dict[int, float] = {}
        parts: dict[int, float] = {}
        row_of, is_part, old = self._documents, self._is_part, self._old
        for document, score in words.items():
            row = row_of[document]
            if row not in old:
                to = parts if is_part[document] else windows
                if score > to.get(row, 0.0):
                    to[row] = score
        lettered = {row: score for each, score in grams.items() if (row := row_of[each]) not in old}
        if self._tail:
            self._search_tail(
                asked, [gram for _, gram in terms], (windows, parts, lettered), reach, scope, at
            )
        return Arms(self._joined(windows, parts) if parts else windows, lettered)

    def _search_tail(
        self,
        asked: Asked,
        grams: list[str],
        into: tuple[dict[int, float], ...],
        reach: Reach,
        scope: Scope,
        at: int,
    ) -> None:
        places, there, rows = self.places(reach, scope), self.seen(at), self.rows
        average = self._lengths[0] / len(self._documents) if self._documents else 0.0
        wide = self._lengths[1] / (self._is_part.count(0) or 1)
        found = self._tail.best(
            asked.terms,
            grams,
            lambda row: rows.place[row] in places and there(row),
            self._searcher.frequency,
            self._searcher.documents,
            (average, wide),
        )
        for to, scores in zip(into, found, strict=True):
            to.update(scores)

    def _joined(self, windows: dict[int, float], parts: dict[int, float]) -> dict[int, float]:
        """Return scores by row: of a long message the mean of its window and its best part."""
        for row, score in windows.items():
            if self.rows.parts(row):
                windows[row] = (score + parts.pop(row, 0.0)) / 2
        return windows | {row: score / 2 for row, score in parts.items()}


def until(item: Item) -> int:
    """Return when an item ends, exclusive."""
    return min(_FOR_EVER if each is None else each for each in (item.valid_to, item.expires_at))
