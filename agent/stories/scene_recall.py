"""Finds the scenes of a branch's lineage that fit a question or a directive.

Strategy: each statement of a scene is a row of an index in memory, and the best statement counts for its scene: whole
scenes have too many words beside those that are asked for. Statements of one scene are neighbours; scenes are none,
since the next scene depends on the branch. A statement that refers back ("then she hid it in the mill") holds the words
of the one before it too. A story is mostly asked where a thing or person is, and the verbs of hiding and moving are too
many to list: so a statement that names one of the story's known places counts more, by the share of the question that
it holds, and a little more in a later scene; where a number is asked for, one that gives a number does so instead. The
weights were set by hand on made-up stories of two languages (`python -m tests.bench.needles`).

An open story has one index for all its branches, of active versions only.
"""

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from agent.lang import LANGUAGES, Lang
from agent.numbers.vocabulary import CARDINALS
from agent.ports.work import RunSync
from agent.recall.bounds import LINEAGES, Lineage, LineageBounds
from agent.recall.columns import NONE
from agent.recall.documents import comparison_form, content_words
from agent.recall.index import BULK, IndexBatch, RecallIndex, RowSearcher
from agent.recall.query import AnalyzedQuestion, read_query
from agent.recall.rank import NameFinder, RankWeights, rank_rows, sum_arms
from agent.recall.rows import Statement
from agent.recall.sureness import LOOKED_AT, QuestionMass, word_rarity
from agent.text.sentences import find_line_sentences
from agent.text.words import fold, split_words

WEIGHTS: Final = RankWeights(speaker=0.0, date=0.0)
SHARE: Final = 0.3
"""The weight of a statement that holds the whole question, against 1 for the best match of words, ..."""
PLACE: Final = 0.7
"""... of one that names a known place besides, where no number is asked for, ..."""
NUMBER: Final = 0.7
"""... and of one that gives a number, where a number is asked for."""
LATER: Final = 0.2
"""The share by which both weigh more in the last scene than in the first: what was told last is what holds."""
_SLICE: Final = 64
"""Statements after which the event loop has a pause: some 3 ms, 30 for the longest scene."""
_FEW: Final = 12
"""Scenes that are found before they are written; of more, all are written at once."""


@dataclass(frozen=True, slots=True)
class IndexedScene:
    """The active version of a scene. `version`: its id. `branch`: the number of the branch that was told it."""

    version: str
    branch: int
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class IndexedMatch:
    """A scene that fits. `text`: its best statement. `score`: its rank, 0..1."""

    version: str
    branch: int
    seq: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexedMatches:
    """The scenes that fit, best first. `score`: the share of the question's word weights that one of the best
    statements holds together with its neighbours, 0..1; words that stand nowhere in the story count too.
    """

    scenes: tuple[IndexedMatch, ...] = ()
    score: float = 0.0


_ASKS_NUMBER: Final = {
    lang: re.compile(rf"\b(?:{language.searching.asking.number}|{language.searching.asking.money})\b")
    for lang, language in LANGUAGES.items()
}


class SceneIndex:
    """The statements of the scenes of one story in `lang`, in a `RecallIndex` of `LINEAGES`. For one thread."""

    def __init__(self, lang: Lang) -> None:
        self.lang: Lang = lang
        self._index = RecallIndex(LINEAGES)
        self._rows: dict[str, list[int]] = {}  # by version
        self._referring: set[int] = set()  # rows that refer to the one before
        self._numbered: set[int] = set()  # rows that give a number
        self._places: tuple[tuple[str, ...], ...] = ()  # the stems of their names
        self._finder = NameFinder(())
        self._finder_stems = 0  # the stems of the index when the finder was made
        self._has_unwritten = False  # statements that are found only once they are written
        self._writing = trio.Lock()
        self._thread = threading.Lock()

    def set_places(self, names: Iterable[str]) -> None:
        """Replace the story's known places by `names`."""
        stems = (
            tuple([comparison_form(self.lang, word) for word in content_words(split_words(name))])
            for name in names
        )
        self._places = tuple(each for each in stems if each)
        self._finder_stems = 0

    def _split(self, scene: IndexedScene) -> list[Statement]:
        return [
            Statement(scene.text[start:end], scene.version, scene.branch, scene.seq, self.lang)
            for start, end in find_line_sentences(scene.text)
        ]

    def _add_statements(self, statements: Sequence[Statement], later: bool) -> list[int]:
        rows = self._index.add_statements(statements, later)
        referring = LANGUAGES[self.lang].searching.referring
        for row, each in zip(rows, statements, strict=True):
            words = split_words(each.text)
            if not referring.isdisjoint(words):
                self._referring.add(row)
            if not CARDINALS.keys().isdisjoint(words) or any(map(str.isdigit, words)):
                self._numbered.add(row)
        return rows

    def remove_scene(self, version: str) -> None:
        """Remove `version`, which is shelved, replaced or deleted: `recall` finds it no more."""
        rows = self._rows.pop(version, [])
        self._index.remove_statements(rows)
        self._referring.difference_update(rows)
        self._numbered.difference_update(rows)

    async def add_scenes(self, scenes: Iterable[IndexedScene], run_sync: RunSync) -> None:
        """Add `scenes`, a few at a time; `recall` finds them all once this returns. For one task at a time.

        Where many statements wait, they are written into the index by `run_sync`. After a cancel, some of the scenes
        are added, and the next call with the same ones adds the others.
        """
        new = [each for each in scenes if each.version not in self._rows]
        later = len(new) > _FEW
        self._has_unwritten |= later
        added = 0
        for scene in new:
            statements = self._split(scene)
            self._rows[scene.version] = self._add_statements(statements, later)
            added += len(statements)
            if added >= _SLICE:
                added = 0
                await trio.lowlevel.checkpoint()
            if self._index.waiting_count >= BULK:
                await self._write(run_sync)
        if self._has_unwritten or self._index.is_due:
            await self._write(run_sync)
        self._has_unwritten = False

    async def _write(self, run_sync: RunSync) -> None:
        """Write the statements that wait. A thread that a cancel left goes on alone: the next write waits for it."""
        async with self._writing:
            if self._index.waiting_count:
                batch = self._index.make_batch()
                self._index.install_batch(batch, await run_sync(partial(self._write_batch, batch)))

    def _write_batch(self, batch: IndexBatch) -> RowSearcher:
        with self._thread:
            return self._index.write_batch(batch)

    def recall(self, lineage: Lineage, text: str, limit: int) -> IndexedMatches:
        """Return the scenes of `lineage` that fit `text` best, `limit` at most, each with its best statement."""
        rows, bounds = self._index.rows, LineageBounds(lineage)
        question = read_query(text, self.lang, (), 0, known=rows.stem_number)
        if not question.words:
            return IndexedMatches()
        found = self._index.find(question, bounds)
        scores = sum_arms([(WEIGHTS.window, found.words), (WEIGHTS.grams, found.grams)])
        mass = self._weigh_question(question, bounds)
        if not scores:
            return IndexedMatches()
        last = max([rows.seq[row] for row in scores])
        ranked = rank_rows(rows, scores, question, WEIGHTS, self._bonus_of(text, mass, last))
        sure = mass.largest_share(
            [rows.words(row), *rows.neighbour_words(row)] for _, row in ranked[:LOOKED_AT]
        )
        scale = sure / ranked[0][0] if ranked[0][0] > 0 else 0.0
        best: dict[str, IndexedMatch] = {}
        for score, row in ranked:
            version = rows.messages[row]
            if version not in best:
                score = max(0.0, score * scale)
                best[version] = IndexedMatch(version, rows.place[row], rows.seq[row], rows.texts[row], score)
                if len(best) >= limit:
                    break
        return IndexedMatches(tuple(best.values()), sure)

    def _weigh_question(self, question: AnalyzedQuestion, bounds: LineageBounds) -> QuestionMass:
        """Return the terms of `question`, each weighted by `word_rarity` within `bounds`."""
        index, number = self._index, self._index.rows.stem_number
        documents = index.count_documents(bounds)
        return QuestionMass(
            [
                (
                    number(term) if held else None,
                    weight * word_rarity(documents, held),
                )
                for term, weight in question.terms.items()
                for held in (index.count_holding(term, bounds),)
            ],
            documents,
        )

    def _bonus_of(self, text: str, mass: QuestionMass, last: int) -> Callable[[int], float]:
        """Return the function that gives the bonus of a row for the question `text`. `last`: the largest seq."""
        rows, finder, known = self._index.rows, self._find_places(), mass.known or 1.0
        asks_number = _ASKS_NUMBER[self.lang].search(fold(text)) is not None

        def bonus(row: int) -> float:
            words = rows.words(row)
            before = rows.neighbours(row)[0] if row in self._referring else NONE
            share = mass.share(words if before == NONE else words + rows.words(before)) / known
            if not share:
                return 0.0
            fits = row in self._numbered if asks_number else finder.has_name(words)
            if not fits:
                return share * SHARE
            later = 1 + LATER * rows.seq[row] / last
            return share * (SHARE + later * (NUMBER if asks_number else PLACE))

        return bonus

    def _find_places(self) -> NameFinder:
        """Return the finder of the known places, made anew once the index has more stems."""
        stems = len(self._index.rows.stems)
        if stems != self._finder_stems:
            number = self._index.rows.stem_number
            numbers = ([number(each) for each in place] for place in self._places)
            self._finder = NameFinder(
                tuple(known)
                for each in numbers
                if len(known := [at for at in each if at is not None]) == len(each)
            )
            self._finder_stems = stems
        return self._finder
