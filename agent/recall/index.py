"""The index of past messages and items, in memory: built from the store's rows, and gone with the process.

Strategy: a turn's window and each part of a long one are documents of tantivy (`agent.lexical`). A new row waits in the
tail, where it is searched word by word, until `BATCH` waiting rows are written into the index together, in a worker
thread. So it can be recalled at once, and no turn waits for an index; few rows are never written, and need no tantivy.
A new turn changes the windows of those before it, which are written again with it. Nothing is on disk: a forgotten text
is in no file, no index can be torn, and 100,000 turns are read again in seconds (`python -m tests.bench.recall`).

The bounds of a search filter rows before anything is ranked or counted, in the index and in the tail.
"""

from array import array
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

import tantivy

from agent.lexical.fields import open_index
from agent.lexical.filters import Filter, name_filter
from agent.lexical.queries import Term, gram_terms
from agent.lexical.searcher import Searcher
from agent.ports.conversation import Scope
from agent.ports.memory import LIVE, Item, StoredTurn
from agent.ports.recall import Reach

from .bounds import GRAMS, ROW, SCOPES, WORDS, Feed, SearchBounds
from .columns import NONE
from .query import AnalyzedQuestion
from .rank import ARM, GRAM_ARM, PART_ARM
from .rows import RecallRows, Statement, item_end
from .tail import Tail, bm25_rarity, document_terms

BATCH: Final = 128
"""Waiting rows from which a batch is written into the index: as many take as long to search in either."""
BULK: Final = 12_500
"""Waiting rows that are written although more are to come: waiting rows take memory, and an index in few pieces is
searched faster.
"""
NOTHING_TAKEN_BACK: Final[Mapping[str, Collection[int]]] = MappingProxyType({})

_HEAP: Final = 15_000_000  # bytes; tantivy's least for one thread
_LARGE: Final = 5_000  # rows of a batch that gets twice that: an index in one piece is searched faster
_POSTINGS: Final = 5_000  # entries of posting lists that the search of one arm reads
_COUNTS_KEPT: Final = 1_024  # bounds whose counts are cached


@dataclass(frozen=True, slots=True)
class ArmScores:
    """The candidates, row -> score: by the window and the best part (`words`), and by 4-grams (`grams`)."""

    words: Mapping[int, float]
    grams: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """The rows to write into the index, each with the number of its last change, and the rows to remove (`removed`)."""

    rows: Mapping[int, int]
    removed: tuple[int, ...]


def _no_frequency(_: Term) -> int:
    return 0


class RowSearcher(Searcher):
    """Searches the rows of one index. A type of its own, so that a count of objects tells it from the documents'."""


@cache
def _empty_searcher(feed: Feed) -> RowSearcher:
    """Return the searcher of an index without documents; indexes share it until they are first written."""
    return RowSearcher(open_index(feed.schema))


class BoundedCounts:
    """The number of documents in a search's bounds, and of those that hold a word; cached: an index never changes.

    `must`: the filters of the bounds. `whole`: the bounds cover all documents.
    """

    def __init__(self, searcher: Searcher, must: Sequence[Filter]) -> None:
        self._searcher, self.must = searcher, must
        self._known: dict[str, int] = {}
        self.documents = searcher.count(must)
        self.whole = self.documents == searcher.documents

    def frequency(self, stem: str) -> int:
        """Return the number of documents with `stem`."""
        term = (WORDS, stem)
        if self.whole or not self._searcher.frequency(term):
            return self._searcher.frequency(term)
        known = self._known.get(stem)
        if known is None:
            known = self._known[stem] = self._searcher.count(self.must, term)
        return known

    def weight(self, stem: str) -> float:
        """Return the factor for `stem` that makes it count as if no documents were outside the bounds."""
        frequency = self._searcher.frequency((WORDS, stem))
        if self.whole or not frequency:
            return 1.0
        everywhere = bm25_rarity(self._searcher.documents, frequency)
        return bm25_rarity(self.documents, self.frequency(stem)) / everywhere


class RecallIndex:
    """Rows of `feed` to search. For one thread, except `write_batch`, which blocks and may run in one other."""

    def __init__(self, feed: Feed = SCOPES) -> None:
        self.rows = RecallRows()
        self._feed = feed
        self._tantivy: tantivy.Index | None = None  # once there is anything to write
        self._searcher = _empty_searcher(feed)
        self._documents = array("I")  # document -> row
        self._is_part = bytearray()
        self._has_parts = False
        self._lengths = [0, 0]  # words and 4-grams of all documents
        self._waiting: dict[int, int] = {}  # row -> number of its last change
        self._removed: list[int] = []
        self._old: set[int] = set()  # rows that the index holds in an old state
        self._changes = 0
        self._items = False  # whether an item was ever added
        self._tail = Tail(self.rows)
        self._counts: dict[Hashable, BoundedCounts] = {}  # by the key of the bounds

    @property
    def waiting_count(self) -> int:
        """The number of rows whose current state is not in the index."""
        return len(self._waiting) + len(self._removed)

    @property
    def is_due(self) -> bool:
        """Whether the waiting rows are to be written: there are many, or a removed one is to leave the index."""
        return len(self._waiting) >= BATCH or bool(self._removed)

    def apply_changes(
        self,
        turns: Sequence[StoredTurn] = (),
        items: Sequence[Item] = (),
        taken_back: Mapping[str, Collection[int]] = NOTHING_TAKEN_BACK,
        later: bool = False,
    ) -> list[int]:
        """Apply new and forgotten turns, and changed items, as in `Changes`; return the rows that are removed.

        New rows can be found at once, or with `later` when they are written, and removed rows no more.
        """
        removed: list[int] = []
        for turn in turns:
            if turn.remark.text:
                self.add_turn(turn, later)
            else:
                removed.append(self.forget_turn(turn.n))
        for item in items:
            self.rows.take_back(item.id, taken_back.get(item.id, ()))
            removed.append(self.drop_item(item.id))
            if item.status in LIVE:
                self.put_item(item)
        return [row for row in removed if row != NONE]

    def add_turn(self, turn: StoredTurn, later: bool = False) -> None:
        """Add a turn, which can be found at once; skip one that is there or was refused. Some 50 µs.

        `later`: it is found when it is written, as one of many that are read again, since those would make the tail
        long; its neighbours are found with their old windows meanwhile.
        """
        row = self.rows.add_turn(turn)
        if row != NONE:
            for each in (row, *self.rows.affected_turns(row)):
                self._queue_row(each, later)

    def forget_turn(self, n: int) -> int:
        """Remove the words of turn `n`, also from its neighbours' documents; return its row, or NONE."""
        changed = self.rows.forget_turn(n)
        if not changed:
            return NONE
        row, *beside = changed
        self._remove_row(row)
        for each in beside:
            if self.rows.is_live(each):
                self._queue_row(each)
        return row

    def put_item(self, item: Item) -> None:
        """Add a live item, replacing its earlier state."""
        self.drop_item(item.id)
        self._items = True
        self._queue_row(self.rows.add_item(item))

    def drop_item(self, id: str) -> int:
        """Remove an item, which can no longer be found; return the row it had, or NONE."""
        row = self.rows.drop_item(id)
        if row != NONE:
            self._remove_row(row)
        return row

    def add_statements(self, statements: Sequence[Statement], later: bool = False) -> list[int]:
        """Add statements that follow each other, each a neighbour of the next, and return their rows. Some 35 µs each.

        `later`: as in `add_turn`.
        """
        rows = self.rows.add_statements(statements)
        for row in rows:
            self._queue_row(row, later)
        return rows

    def remove_statements(self, rows: Sequence[int]) -> None:
        """Remove the statements that `add_statements` returned these rows for; nothing finds them any more."""
        for row in rows:
            self.rows.empty_row(row)
            self._remove_row(row)

    def _remove_row(self, row: int) -> None:
        self._waiting.pop(row, None)
        self._tail.remove(row)
        if self._tantivy is not None:
            self._removed.append(row)
            self._old.add(row)

    def _queue_row(self, row: int, later: bool = False) -> None:
        self._changes += 1
        self._waiting[row] = self._changes
        if not later or row in self._tail:
            self._old.add(row)
            self._tail.add(row)

    # --- writing waiting rows into the index

    def make_batch(self) -> IndexBatch:
        """Return the waiting rows, for `write_batch`."""
        if self._tantivy is None:
            self._tantivy = open_index(self._feed.schema)
        return IndexBatch(dict(self._waiting), tuple(self._removed))

    def write_batch(self, batch: IndexBatch) -> RowSearcher:
        """Write a batch into the index and return a searcher of the result. Blocks; the old searcher stays usable
        meanwhile.
        """
        assert self._tantivy is not None, "a batch is made first"
        writer = self._tantivy.writer(_HEAP * 2 if len(batch.rows) > _LARGE else _HEAP, 1)
        if self._documents:
            for row in (*batch.removed, *batch.rows):
                writer.delete_documents_by_term(ROW, str(row))
        for row in batch.rows:
            if self.rows.is_live(row):
                self._write_row(row, writer)
                self.rows.drop_letters(row)
        writer.commit()
        writer.wait_merging_threads()
        return RowSearcher(self._tantivy)

    def install_batch(self, batch: IndexBatch, searcher: RowSearcher) -> None:
        """Search with the result of `write_batch` from now on; rows that changed since then keep waiting."""
        self._searcher = searcher
        self._counts.clear()
        del self._removed[: len(batch.removed)]
        written = batch.rows
        self._waiting = {row: at for row, at in self._waiting.items() if written.get(row) != at}
        self._tail.retain(self._waiting)
        self._old = {*self._tail, *self._removed}

    def commit(self) -> None:
        """Write all waiting rows into the index. Blocks."""
        if self.waiting_count:
            batch = self.make_batch()
            self.install_batch(batch, self.write_batch(batch))

    def _write_row(self, row: int, writer: tantivy.IndexWriter) -> None:
        for part, terms in enumerate(document_terms(self.rows, row)):
            document = tantivy.Document()
            document.add_unsigned("number", len(self._documents))
            document.add_text(ROW, str(row))
            self._feed.add_fields(document, self.rows, row)
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

    def indexed_ids(self) -> Iterator[str]:
        """Yield the ids of the live turns and items that the index itself finds. Blocks: some 20 µs each."""
        for row in range(len(self.rows)):
            if self.rows.is_live(row) and self._searcher.count(
                [name_filter(self._feed.schema, ROW, str(row))]
            ):
                yield self.rows.id(row)

    # --- searching

    def counts(self, bounds: SearchBounds) -> BoundedCounts:
        """Return the counts of a search's bounds, without the tail."""
        known = self._counts.get(bounds.key)
        if known is None:
            if len(self._counts) >= _COUNTS_KEPT:
                self._counts.clear()
            known = self._counts[bounds.key] = BoundedCounts(self._searcher, bounds.filters())
        return known

    def count_documents(self, bounds: SearchBounds) -> int:
        """Return the number of documents in a search's bounds."""
        return self.counts(bounds).documents + self._tail.count_rows(bounds)

    def count_holding(self, stem: str, bounds: SearchBounds) -> int:
        """Return the number of documents in a search's bounds that hold `stem`."""
        return self.counts(bounds).frequency(stem) + self._tail.count_holding(stem, bounds)

    def count_stems(self, stems: Sequence[str], bounds: SearchBounds) -> tuple[int, list[int]]:
        """Return the number of documents in a search's bounds, and of those of them that hold each of `stems`."""
        counts, tail = self.counts(bounds), self._tail
        holding = [counts.frequency(stem) + tail.count_holding(stem, bounds) for stem in stems]
        return counts.documents + tail.count_rows(bounds), holding

    def places(self, reach: Reach, scope: Scope) -> frozenset[int]:
        """Return the numbers of the places in a search's reach."""
        return self.rows.whose.view_of(reach, scope)[0]

    def speakers(self, reach: Reach, scope: Scope) -> frozenset[str]:
        """Return the names of the speakers in a search's reach."""
        return self.rows.whose.view_of(reach, scope)[1]

    def visibility_at(self, at: int) -> Callable[[int], bool]:
        """Return a test of whether a row may be found at time `at`: a live turn, or an item that is valid then."""
        rows = self.rows

        def is_visible(row: int) -> bool:
            item = rows.item(row)
            return rows.is_live(row) and (item is None or item.valid_from <= at < item_end(item))

        return is_visible

    def find(self, question: AnalyzedQuestion, bounds: SearchBounds, at: int = 0) -> ArmScores:
        """Return the best rows of each arm, within the bounds and valid at `at`."""
        terms = list(gram_terms(question.words, GRAMS))
        words: Mapping[int, float] = {}
        grams: Mapping[int, float] = {}
        if self._documents:
            counts = self.counts(bounds)
            must = [] if counts.whole else [*counts.must]
            if self._items:
                must += self._feed.validity_filters(at)
            weights = {(WORDS, term): weight * counts.weight(term) for term, weight in question.terms.items()}
            arm = PART_ARM if self._has_parts else ARM
            words = self._searcher.find_best(weights, arm, _POSTINGS, weights, must).scores
            grams = self._searcher.find_best(terms, GRAM_ARM, _POSTINGS, None, must).scores
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
            self._search_tail(question, [gram for _, gram in terms], (windows, parts, lettered), bounds, at)
        return ArmScores(self._join_parts(windows, parts) if parts else windows, lettered)

    def _search_tail(
        self,
        question: AnalyzedQuestion,
        grams: list[str],
        into: tuple[dict[int, float], ...],
        bounds: SearchBounds,
        at: int,
    ) -> None:
        average = self._lengths[0] / len(self._documents) if self._documents else 0.0
        wide = self._lengths[1] / (self._is_part.count(0) or 1)
        tail_scores = self._tail.score_rows(
            question.terms,
            grams,
            bounds,
            at,
            self._searcher.frequency if self._documents else _no_frequency,
            self._searcher.documents,
            (average, wide),
        )
        for to, scores in zip(into, tail_scores, strict=True):
            to.update(scores)

    def _join_parts(self, windows: dict[int, float], parts: dict[int, float]) -> dict[int, float]:
        """Return scores by row: for a long message the mean of its window and its best part."""
        for row, score in windows.items():
            if self.rows.parts(row):
                windows[row] = (score + parts.pop(row, 0.0)) / 2
        return windows | {row: score / 2 for row, score in parts.items()}
