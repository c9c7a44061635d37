"""Finds what was said (implements `agent.ports.recall.Recaller`).

Strategy: read the question, let the arms give candidates, rank these, say how surely any of them fits, and show the
best within the budget: half a millisecond for 100,000 turns, on the event loop. The vector of a question is awaited
where its embedder takes a thread. Where vectors are not all there yet, or a served model fails, its words find alone.

The index is caught up with the store when it starts, and written in batches behind the conversation: rows first, the
tail at once, the index when BATCH rows wait or nothing has come for a while.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

import structlog
import trio

from agent.errors import EmbeddingFailed, StorageFailed
from agent.heap import give_back
from agent.lang import Lang
from agent.ports.memory import LIVE, Changes, Item, StoredTurn
from agent.ports.recall import NOTHING, Excerpt, Recalled, Search
from agent.ports.work import RunSync

from .abstain import FLOOR, LOOKED_AT, Held, Mass, rarity, sureness
from .index import BATCH, Index, until
from .present import Claim, chosen, disagreements, excerpt, numbers_of
from .query import Asked, read_query
from .rank import ASKING, WEIGHTS, Arm, Weights, short_ones, summed, taken_off

QUIET: Final = 1.0
"""Seconds in which nothing came, after which what waits is put into the index."""
AGAIN: Final = 60.0
"""Seconds in which nothing came, after which a served model that failed is asked again, and what waits is kept."""
LOOK: Final = 5.0
"""Seconds after which it is looked whether another process has changed something, where nobody asks before."""
PAGE: Final = 64
"""Changes that are read at once."""
_STEP: Final = 16  # of a full page that are taken in without a pause: some ms of the event loop
BULK: Final = 12_500
"""Rows that wait, from which they are written though more are known to come: what waits takes memory, and what is
written in few pieces is searched sooner."""
_MUCH: Final = 2_500  # rows that are written at once, after which there is memory to give back
_COMPARED: Final = 12
"""Excerpts whose numbers are read."""

_log = structlog.get_logger("agent.recall")


class Feed(Protocol):
    """What is kept, as it changes: `agent.ports.memory.MemoryStore` is one."""

    async def changed(self, after: int, limit: int) -> Changes:
        """Return what has changed since an earlier call, of every scope."""
        ...

    async def forgotten(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of these items and turns were forgotten."""
        ...


class Near(Protocol):
    """The vectors of what was said, as `agent.recall.dense.Dense` has them."""

    @property
    def langs(self) -> frozenset[Lang] | None:
        """Return the languages whose questions have a vector; None is any."""
        ...

    @property
    def behind(self) -> int:
        """Return how many rows have no vectors yet."""
        ...

    async def look(self, text: str, places: frozenset[int]) -> Any:
        """Return how near rows of some places are to a question. Raises `agent.errors.EmbeddingFailed`."""
        ...

    async def catch_up(self) -> None:
        """Give what has no vector yet its own, kept or made. Raises `agent.errors.EmbeddingFailed`."""
        ...

    async def keep(self) -> int:
        """Keep the vectors that were made since, where they are kept; return how many could not be."""
        ...

    def forget(self, row: int) -> None:
        """Take a row's vector out."""
        ...

    def near(
        self, look: Any, seen: Callable[[int], bool], candidates: Collection[int]
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """Return the cosines of candidates and of the nearest rows: of each alone, and with the turns beside it."""
        ...


class Recall:
    """Searches one index.

    store: what is kept, from which the index is made. run_sync: writes the index. near: vectors, or None. floor: of how
    surely anything fits, below which nothing is found.
    """

    def __init__(
        self,
        store: Feed,
        run_sync: RunSync,
        near: Callable[[Index], Near] | None = None,
        floor: float = FLOOR,
        weights: Weights = WEIGHTS,
    ) -> None:
        self.index = Index()
        self._store = store
        self._run_sync = run_sync
        self._near = None if near is None else near(self.index)
        self.floor = floor
        self._weights = weights
        self._off = short_ones(weights)
        self._upto = 0
        self._complete = False  # nothing was left to be read at the last look
        self._looks = self._ended = 0  # that have begun, and the last one that left nothing to be read
        self._following = trio.Lock()  # who reads what has changed
        self._beginning = True  # what is kept has not been read to its end yet
        self._came = trio.Event()
        self._enough = trio.Event()
        self._unembedded = trio.Event()
        self._told: str | None = None  # why there are no vectors, while that is so

    # --- what is kept comes into the index

    async def catch_up(self) -> None:
        """Take in what has changed in the store, and write the index. Raises `agent.errors.StorageFailed`.

        A cancel leaves an index that goes on from where it was.
        """
        while await self._follow():
            if self.index.waiting >= BULK:
                await self._write()
        await self._write()

    async def _follow(self, came: int | None = None) -> bool:
        """Take in a page of what has changed in the store; return whether there was anything.

        It can be found from then on, or not any more. came: how many looks had begun when its caller came: one that
        began since and left nothing is his too. What a cancel leaves half taken is taken again.
        """
        async with self._following:
            if came is not None and self._ended > came:
                return False
            self._looks += 1
            changes = await self._store.changed(self._upto, PAGE)
            more = changes.upto - self._upto >= PAGE
            self._complete = not more
            if self._complete:
                self._beginning = False
                self._ended = self._looks
            if changes.upto == self._upto:
                self._say_what_waits()
                return False
            turns = changes.turns
            while more and turns:  # others get their turn between them
                self._take(turns[:_STEP], (), more)
                turns = turns[_STEP:]
                await trio.lowlevel.checkpoint()
            self.changed(turns, changes.items, more)
            self._upto = changes.upto
            return True

    def changed(
        self, turns: Sequence[StoredTurn] = (), items: Sequence[Item] = (), more: bool = False
    ) -> None:
        """Take in turns that were kept or forgotten, and what became of items. Never blocks.

        What is new can be found at once, and what is gone no more. more: it is a part of much, most likely; its turns
        are found when they are written.
        """
        self._take(turns, items, more)
        self._unembedded.set()
        if not more or self.index.waiting >= BULK:
            self._say_what_waits()

    def _say_what_waits(self) -> None:
        """Let what waits be written: at once where it is enough, else when nothing came for a while."""
        if self.index.waiting:
            self._came.set()
        if self.index.waiting >= BATCH:
            self._enough.set()

    def _take(self, turns: Sequence[StoredTurn], items: Sequence[Item], more: bool) -> None:
        for turn in turns:
            if turn.remark.text:
                self.index.add(turn, later=more)
                continue
            row = self.index.forget(turn.n)
            if self._near is not None and row >= 0:
                self._near.forget(row)
        for item in items:
            row = self.index.drop(item.id)
            if self._near is not None and row >= 0:
                self._near.forget(row)
            if item.status in LIVE:
                self.index.put(item)

    async def keep_up(self) -> None:
        """Follow the store, write what waits into the index, in batches, and embed it, until cancelled.

        One task's, for as long as this is used.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_following)
            nursery.start_soon(self._keep_written)
            if self._near is not None:
                nursery.start_soon(self._keep_embedded)

    async def embed_with(self, near: Callable[[Index], Near]) -> None:
        """Use vectors from now on, of what has one, and embed what comes, until cancelled. One task's."""
        self._near = near(self.index)
        await self._keep_embedded()

    async def _keep_following(self) -> None:
        while True:
            try:
                while await self._follow():
                    pass
            except StorageFailed:
                _log.warning("what is remembered cannot be read now")
                self._say_what_waits()
            await trio.sleep(LOOK)

    async def _keep_written(self) -> None:
        while True:
            await self._came.wait()
            with trio.move_on_after(QUIET):
                await self._enough.wait()
            self._came, self._enough = trio.Event(), trio.Event()
            await self._write()

    async def _keep_embedded(self) -> None:
        while True:
            self._unembedded = trio.Event()
            await self.embed()
            with trio.move_on_after(AGAIN) as quiet:
                await self._unembedded.wait()
            if quiet.cancelled_caught:
                await self.keep_vectors()

    async def _write(self) -> None:
        if self.index.waiting:
            batch = self.index.batch()
            self.index.take(batch, await self._run_sync(lambda: self.index.write(batch)))
            if len(batch.rows) >= _MUCH:
                await self._run_sync(give_back)

    async def embed(self) -> None:
        """Embed what has no vector yet, where there are vectors. A cancel leaves what is done."""
        if self._near is not None:
            try:
                await self._near.catch_up()
                self._told = None
            except EmbeddingFailed as error:
                self._say(error)

    async def keep_vectors(self) -> int:
        """Keep the vectors that `embed` has made and not kept by itself; return how many could not be."""
        return 0 if self._near is None else await self._near.keep()

    def _say(self, error: EmbeddingFailed) -> None:
        """Log that there are no vectors, once for each reason until there are some."""
        if self._told != str(error):
            self._told = str(error)
            _log.warning("no vectors from the served model, words alone recall", why=str(error))

    # --- searching

    async def recall(self, search: Search) -> Recalled:
        """Return what fits, within its budget, oldest first, of all that is kept now, by whichever process.

        After a start it is found as it is read. A cancel leaves nothing. Raises `agent.errors.StorageFailed`.
        """
        complete = await self._take_what_is_new()
        look = None
        near = self._near
        if near is not None and near.behind <= BATCH and (near.langs is None or search.lang in near.langs):
            try:
                look = await near.look(search.text, self.index.places(search.reach, search.scope))
            except EmbeddingFailed as error:
                self._say(error)
        found = self.recalled(search, look)
        if self._beginning and found.excerpts:  # what was forgotten since it was read comes last
            found = found.without(await self._store.forgotten([each.id for each in found.excerpts]))
        return replace(found, items=self._items(search)) if complete else found

    async def _take_what_is_new(self) -> bool:
        """Take in all that has changed, after others who do; while the whole is read first, what is at hand.

        Return whether that was all.
        """
        if self._beginning:
            if not self._following.locked():
                await self._follow()
            return not self._beginning
        came = self._looks
        while await self._follow(came) and not self._complete:
            pass
        return True

    def _items(self, search: Search) -> tuple[Item, ...]:
        """Return the items that are live, and valid then."""
        there = self.index.rows.items(search.scope)
        return tuple([each for each in there if each.valid_from <= search.at < until(each)])

    def recalled(self, search: Search, look: Any = None) -> Recalled:
        """Return what fits of what is in the index. look: what vectors say of it, as `Near.look` returns it."""
        rows = self.index.rows
        asked = read_query(
            search.text,
            search.lang,
            self.index.speakers(search.reach, search.scope),
            search.at,
            search.speaker,
            rows.langs,
            rows.number,
        )
        if not asked.words:
            return NOTHING
        found = self._ranked(search, asked, look)
        if not found:
            return NOTHING
        sure = sureness(self._held(search, asked, [row for _, row in found]))
        if sure < (self.floor if search.floor is None else search.floor):
            return Recalled((), sure)
        top = found[0][0]
        scale = sure / top if top > 0 else 0.0
        excerpts = chosen(
            (self._excerpt(row, max(0.0, score * scale), asked) for score, row in found[: search.limit * 2]),
            search.limit,
            search.tokens,
        )
        return Recalled(excerpts, sure, self._disagreements(excerpts, found))

    def _ranked(self, search: Search, asked: Asked, look: Any = None) -> list[tuple[float, int]]:
        """Return what the arms and vectors found, best first, with what each counts; of equals the later one."""
        rows, weights = self.index.rows, self._weights
        found = self.index.find(asked, search.reach, search.scope, search.at)
        arms: list[tuple[float, Arm]] = [(weights.window, found.words), (weights.grams, found.grams)]
        if look is not None and self._near is not None:
            own, around = self._near.near(
                look, self.index.seen(search.at), found.words.keys() | found.grams.keys()
            )
            arms += [(weights.own, own), (weights.around, around)]
        by = rows.spoken_by(asked.by)
        ranking: list[tuple[float, int]] = []
        sizes, asks, spoke, off = rows.sizes, rows.asks, rows.by, self._off
        timed, when, dated = rows.timed, asked.when, asked.dated
        for row, score in summed(arms).items():
            size = sizes[row]
            if size < ASKING:
                score -= taken_off(size, asks[row] / 255, weights) if asks[row] else off[size]
            if spoke[row] in by:
                score += weights.speaker
            if when and timed(row):
                score += weights.time
            if dated:
                score += weights.date * asked.fits(rows.at[row])
            ranking.append((score, row))
        if search.shown:
            ranking = [(score, row) for score, row in ranking if not self._shown(search, row)]
        ranking.sort(reverse=True)
        return ranking

    def _shown(self, search: Search, row: int) -> bool:
        """Tell whether the reader has a turn before him anyway."""
        rows = self.index.rows
        return rows.messages[row] in search.shown and rows.scope(row) == search.scope

    def _held(self, search: Search, asked: Asked, found: Sequence[int]) -> Held:
        """Return how much of a question the best of what was found holds, of who is asked about and of the others."""
        rows = self.index.rows
        counts = self.index.counts(search.reach, search.scope)
        names = {rows.stems[each] for name in asked.by for each in rows.named(name)}
        told = [
            (rows.number(term), asked.terms[term] * rarity(counts.documents, counts.frequency(term)))
            for term in self._known(asked)
            if term not in names
        ]
        mass = Mass(told, counts.documents)
        by = rows.spoken_by(asked.by)
        right = list(islice((row for row in found if not by or rows.by[row] in by), LOOKED_AT))
        wrong = list(islice((row for row in found if rows.by[row] not in by), LOOKED_AT)) if by else []
        return Held(
            mass.known,
            mass.most([rows.words(row)] for row in right),
            mass.most([rows.words(row), *rows.around(row)] for row in right),
            mass.most([rows.words(row)] for row in wrong) if by else None,
        )

    def _known(self, asked: Asked) -> dict[str, None]:
        """Return the stems of a question, of each word those that are known here, or any one where none is.

        In a talk of two languages a word is written in one of them: that the other has none of it says nothing.
        """
        number = self.index.rows.number
        found: dict[str, None] = {}
        for written in asked.stems:
            known = [each for each in written if number(each) is not None]
            found.update(dict.fromkeys(known or written[:1]))
        return found

    def _excerpt(self, row: int, score: float, asked: Asked) -> Excerpt:
        rows = self.index.rows
        item = rows.item(row)
        return Excerpt(
            rows.id(row),
            "turn" if item is None else "item",
            excerpt(rows.texts[row], asked.words, partial(rows.sentences, row)),
            rows.at[row],
            rows.speakers[rows.by[row]],
            rows.scope(row).thread,
            min(1.0, score),
            rows.citable(row),
            rows.messages[row],
        )

    def _disagreements(
        self, excerpts: Sequence[Excerpt], found: Sequence[tuple[float, int]]
    ) -> tuple[tuple[str, str], ...]:
        """Return which of the excerpts say different numbers of the key of an item."""
        rows = self.index.rows
        if not any(each.kind == "item" for each in excerpts):
            return ()
        row_of = {rows.id(row): row for _, row in found}
        claims: list[Claim] = []
        for each in excerpts[:_COMPARED]:
            item = rows.item(row_of[each.id])
            stems = frozenset(rows.stems[number] for number in rows.words(row_of[each.id]))
            numbers = numbers_of(each.text) if item is None else item.numbers
            claims.append(Claim(each.id, each.at, rows.key(row_of[each.id]), stems, numbers))
        return disagreements(claims)
