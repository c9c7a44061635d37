"""Finds what was said (implements `agent.ports.recall.Recaller`).

Strategy: read the question, let the arms give candidates, rank these, say how surely any of them fits, and show the
best within the budget: a millisecond for 100,000 turns, on the event loop. The vector of a question is awaited where
its embedder takes a thread. Where vectors are not all there yet, or a served model fails, its words find alone.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

import structlog
import trio

from agent.config import RECALLED_SHOWN
from agent.errors import EmbeddingFailed
from agent.lang import Lang
from agent.ports.memory import Item, StoredTurn
from agent.ports.recall import NOTHING, Excerpt, Recalled, Search
from agent.ports.work import RunSync

from .abstain import FLOOR, LOOKED_AT, Held, Mass, rarity, sureness
from .following import Feed, Following
from .index import BATCH, Index, until
from .present import Claim, chosen, disagreements, excerpt, numbers_of
from .query import Asked, read_query
from .rank import ASKING, WEIGHTS, Arm, Weights, short_ones, summed, taken_off

AGAIN: Final = 60.0
"""Seconds in which nothing came, after which a served model that failed is asked again, and what waits is kept."""
_COMPARED: Final = 12
"""Excerpts whose numbers are read."""

_log = structlog.get_logger("agent.recall")


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
        self.floor = floor
        self._store = store
        self._following = Following(store, self.index, run_sync, self._let_go)
        self._near = None if near is None else near(self.index)
        self._weights = weights
        self._off = short_ones(weights)
        self._told: str | None = None  # why there are no vectors, while that is so

    # --- what is kept comes into the index, and gets its vectors

    async def catch_up(self) -> None:
        """Take in what has changed in the store, and write the index. Raises `agent.errors.StorageFailed`.

        A cancel leaves an index that goes on from where it was.
        """
        await self._following.catch_up()

    def changed(self, turns: Sequence[StoredTurn] = (), items: Sequence[Item] = ()) -> None:
        """Take in turns that were kept or forgotten, and what became of items. Never blocks.

        What is new can be found at once, and what is gone no more.
        """
        self._following.changed(turns, items)

    def _let_go(self, row: int) -> None:
        if self._near is not None:
            self._near.forget(row)

    async def keep_up(self) -> None:
        """Follow the store, write what waits into the index, in batches, and embed it, until cancelled.

        One task's, for as long as this is used.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._following.keep_up)
            if self._near is not None:
                nursery.start_soon(self._keep_embedded)

    async def embed_with(self, near: Callable[[Index], Near]) -> None:
        """Use vectors from now on, of what has one, and embed what comes, until cancelled. One task's."""
        self._near = near(self.index)
        await self._keep_embedded()

    async def _keep_embedded(self) -> None:
        while True:
            self._following.come = trio.Event()
            await self.embed()
            with trio.move_on_after(AGAIN) as quiet:
                await self._following.come.wait()
            if quiet.cancelled_caught:
                await self.keep_vectors()

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
        complete = await self._following.look()
        look = None
        near = self._near
        if near is not None and near.behind <= BATCH and (near.langs is None or search.lang in near.langs):
            try:
                look = await near.look(search.text, self.index.places(search.reach, search.scope))
            except EmbeddingFailed as error:
                self._say(error)
        found = self.recalled(search, look)
        both = (*found.excerpts, *found.shown)
        if self._following.beginning and both:  # what was forgotten since it was read comes last
            found = found.without(await self._store.forgotten([each.id for each in both]))
        return replace(found, items=self._items(search)) if complete else found

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
        ranked = self._ranked(search, asked, look)
        if not search.shown:
            return self._best(search, asked, ranked)
        shown = {row for _, row in ranked if self._shown(search, row)}
        found = self._best(search, asked, [each for each in ranked if each[1] not in shown])
        rows = self.index.rows
        wanted = {rows.number(term) for term in asked.terms}
        citable = [
            (score, row)
            for score, row in ranked
            if row in shown and rows.citable(row) and not wanted.isdisjoint(rows.words(row))
        ]
        before = self._best(replace(search, limit=RECALLED_SHOWN, tokens=0), asked, citable)
        return replace(found, shown=before.excerpts)

    def _best(self, search: Search, asked: Asked, found: Sequence[tuple[float, int]]) -> Recalled:
        """Return the best of what was ranked, where any of it fits surely enough."""
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
