"""Searches one index: reads the question, has the arms propose candidates, ranks them, and returns the best.

Strategy: the arms propose candidates, one weighted sum ranks them, and nothing is returned below the floor of how
surely any of them fits. It takes a millisecond for 100,000 turns, on the event loop.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

from agent.lang import Lang
from agent.ports.memory import Item
from agent.ports.recall import NOTHING_RECALLED, Excerpt, RecallQuery, RecallResult
from agent.recall.bounds import ReachBounds
from agent.recall.index import BATCH, RecallIndex
from agent.recall.query import AnalyzedQuestion, read_query
from agent.recall.rank import WEIGHTS, Arm, RankWeights, rank_rows, sum_arms
from agent.recall.rows import item_end
from agent.recall.sureness import (
    FLOOR,
    LOOKED_AT,
    QuestionCoverage,
    QuestionMass,
    estimate_sureness,
    word_rarity,
)

from .excerpts import NumberClaim, cut_excerpt, find_disagreements, numbers_of, select_excerpts

RECALLED_SHOWN = 4  # messages of the shown conversation that may be cited besides the excerpts

_COMPARED: Final = 12
"""Excerpts whose numbers are read."""


class VectorArm(Protocol):
    """The vectors of rows, as in `agent.memory.recall.dense.RowVectors`."""

    @property
    def langs(self) -> frozenset[Lang] | None:
        """The languages whose questions have a vector; None for all."""
        ...

    @property
    def missing_count(self) -> int:
        """The number of rows without a vector."""
        ...

    async def find_nearest(self, text: str, places: frozenset[int]) -> Any:
        """Compare a question with the rows of `places`; the result is for `measure_cosines`. Raises
        `EmbeddingFailed`.
        """
        ...

    async def catch_up(self) -> None:
        """Give each row without a vector its own, stored or new. Raises `agent.errors.EmbeddingFailed`."""
        ...

    async def save_vectors(self) -> int:
        """Store new vectors, if there is a store for them; return how many could not be stored."""
        ...

    def drop_vector(self, row: int) -> None:
        """Remove the vector of `row`."""
        ...

    def measure_cosines(
        self, look: Any, is_visible: Callable[[int], bool], candidates: Collection[int]
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """Return the cosines of candidates and of the nearest rows: of each alone, and with its neighbours."""
        ...


class IndexSearch:
    """Searches `index`. `floor`: the sureness below which nothing is found. `near`: compares by vectors, or None."""

    def __init__(self, index: RecallIndex, floor: float = FLOOR, weights: RankWeights = WEIGHTS) -> None:
        self.index = index
        self.floor = floor
        self.near: VectorArm | None = None
        self._weights = weights

    async def look(self, search: RecallQuery) -> Any:
        """Return what the vectors say of a question, for `search_index`: None without vectors, or while many rows or
        the question's language have none. Raises `agent.errors.EmbeddingFailed`.
        """
        near = self.near
        if (
            near is None
            or near.missing_count > BATCH
            or not (near.langs is None or search.lang in near.langs)
        ):
            return None
        return await near.find_nearest(search.text, self.index.places(search.reach, search.scope))

    def valid_items(self, search: RecallQuery) -> tuple[Item, ...]:
        """Return the items that are live and valid at the time of the search."""
        items = self.index.rows.items(search.scope)
        return tuple([each for each in items if each.valid_from <= search.at < item_end(each)])

    def search_index(self, search: RecallQuery, look: Any = None) -> RecallResult:
        """Return the excerpts that fit, from the index. `look`: the result of `VectorArm.find_nearest`, or None."""
        rows = self.index.rows
        question = read_query(
            search.text,
            search.lang,
            self.index.speakers(search.reach, search.scope),
            search.at,
            search.speaker,
            rows.langs,
            rows.stem_number,
        )
        if not question.words:
            return NOTHING_RECALLED
        ranked = self._rank_rows(search, question, look)
        if not ranked:
            return NOTHING_RECALLED
        mass = self._weigh_question(search, question)
        shown_rows = self._find_shown(search, ranked)
        if not shown_rows:
            return self._select_best(search, question, mass, ranked)
        other_rows = [each for each in ranked if each[1] not in shown_rows]
        result = self._select_best(search, question, mass, other_rows)
        wanted = {rows.stem_number(term) for term in question.terms}
        citable = [
            (score, row)
            for score, row in ranked
            if row in shown_rows and rows.is_citable(row) and not wanted.isdisjoint(rows.words(row))
        ]
        before = self._select_best(replace(search, limit=RECALLED_SHOWN, tokens=0), question, mass, citable)
        return replace(result, visible_excerpts=before.excerpts)

    def _select_best(
        self,
        search: RecallQuery,
        question: AnalyzedQuestion,
        mass: QuestionMass,
        ranked: Sequence[tuple[float, int]],
    ) -> RecallResult:
        """Return the best of the ranked rows, if any fits surely enough."""
        if not ranked:
            return NOTHING_RECALLED
        sure = estimate_sureness(self._measure_coverage(question, mass, [row for _, row in ranked]))
        if sure < (self.floor if search.floor is None else search.floor):
            return RecallResult(score=sure)
        top = ranked[0][0]
        scale = sure / top if top > 0 else 0.0
        excerpts = select_excerpts(
            (
                self._make_excerpt(row, max(0.0, score * scale), question)
                for score, row in ranked[: search.limit * 2]
            ),
            search.limit,
            search.tokens,
        )
        disagreements = self._find_disagreements(excerpts, ranked)
        return RecallResult(excerpts=excerpts, score=sure, disagreements=disagreements)

    def _rank_rows(
        self, search: RecallQuery, question: AnalyzedQuestion, look: Any = None
    ) -> list[tuple[float, int]]:
        """Return the candidates of all arms with their scores, best first; of equal scores the later row first."""
        weights = self._weights
        arm_scores = self.index.find(question, ReachBounds(search.reach, search.scope), search.at)
        arms: list[tuple[float, Arm]] = [
            (weights.window, arm_scores.words),
            (weights.grams, arm_scores.grams),
        ]
        if look is not None and self.near is not None:
            own, around = self.near.measure_cosines(
                look, self.index.visibility_at(search.at), arm_scores.words.keys() | arm_scores.grams.keys()
            )
            arms += [(weights.own, own), (weights.around, around)]
        return rank_rows(self.index.rows, sum_arms(arms), question, weights)

    def _find_shown(self, search: RecallQuery, ranked: Sequence[tuple[float, int]]) -> set[int]:
        """Return the ranked turns that stand in the visible conversation."""
        rows, visible = self.index.rows, search.visible_messages
        here = rows.whose.find(search.scope)
        messages, place = rows.messages, rows.place
        return {row for _, row in ranked if place[row] == here and messages[row] in visible}

    def _weigh_question(self, search: RecallQuery, question: AnalyzedQuestion) -> QuestionMass:
        """Return the words of a question, each with how rare it is in the reach of the search."""
        rows = self.index.rows
        index, bounds = self.index, ReachBounds(search.reach, search.scope)
        names = {rows.stems[each] for name in question.speakers for each in rows.name_stems(name)}
        stems = [term for term in self._known_stems(question) if term not in names]
        documents, holding = index.count_stems(stems, bounds)
        weighted_stems = [
            (rows.stem_number(term), question.terms[term] * word_rarity(documents, many))
            for term, many in zip(stems, holding, strict=True)
        ]
        return QuestionMass(weighted_stems, documents)

    def _measure_coverage(
        self, question: AnalyzedQuestion, mass: QuestionMass, ranked_rows: Sequence[int]
    ) -> QuestionCoverage:
        """Return the shares of a question that the best candidates hold, of the speakers in question and of others."""
        rows = self.index.rows
        by = rows.spoken_by(question.speakers)
        right = list(islice((row for row in ranked_rows if not by or rows.by[row] in by), LOOKED_AT))
        wrong = list(islice((row for row in ranked_rows if rows.by[row] not in by), LOOKED_AT)) if by else []
        return QuestionCoverage(
            mass.known,
            mass.largest_share([rows.words(row)] for row in right),
            mass.largest_share([rows.words(row), *rows.neighbour_words(row)] for row in right),
            mass.largest_share([rows.words(row)] for row in wrong) if by else None,
        )

    def _known_stems(self, question: AnalyzedQuestion) -> dict[str, None]:
        """Return the known stems of each word of a question, or any one stem for a word that is unknown.

        In a talk of two languages a word is written in one of them: its absence from the other means nothing.
        """
        number = self.index.rows.stem_number
        stems: dict[str, None] = {}
        for written in question.stems:
            known = [each for each in written if number(each) is not None]
            stems.update(dict.fromkeys(known or written[:1]))
        return stems

    def _make_excerpt(self, row: int, score: float, question: AnalyzedQuestion) -> Excerpt:
        rows = self.index.rows
        item = rows.item(row)
        return Excerpt(
            id=rows.id(row),
            kind="turn" if item is None else "item",
            text=cut_excerpt(rows.texts[row], question.words, partial(rows.sentences, row)),
            at=rows.at[row],
            by=rows.speakers[rows.by[row]],
            thread=rows.scope(row).thread,
            score=min(1.0, score),
            citable=rows.is_citable(row),
            message=rows.messages[row],
        )

    def _find_disagreements(
        self, excerpts: Sequence[Excerpt], ranked: Sequence[tuple[float, int]]
    ) -> tuple[tuple[str, str], ...]:
        """Return the pairs of excerpts that give different numbers for the key of an item."""
        rows = self.index.rows
        if not any(each.kind == "item" for each in excerpts):
            return ()
        row_of = {rows.id(row): row for _, row in ranked}
        claims: list[NumberClaim] = []
        for each in excerpts[:_COMPARED]:
            item = rows.item(row_of[each.id])
            stems = frozenset(rows.stems[number] for number in rows.words(row_of[each.id]))
            numbers = numbers_of(each.text) if item is None else item.numbers
            claims.append(NumberClaim(each.id, each.at, rows.key(row_of[each.id]), stems, numbers))
        return find_disagreements(claims)
