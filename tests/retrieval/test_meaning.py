"""Vectors of a knowledge base: made once for each section, and done without where a served model fails."""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing

from agent.errors import EmbeddingFailed, GivenUp
from agent.lexical.meanings import VocabularyMeanings
from agent.ports.embed import TextRole, Vectors
from agent.ports.search import Lang, Query
from agent.ports.work import RunSync
from agent.retrieval.effort import Effort
from agent.retrieval.folder import FolderReader, Update
from agent.retrieval.live_knowledge import EMBED_BREAK, READ_AGAIN_FIRST, READ_AGAIN_MOST, LiveKnowledge
from agent.retrieval.load import SourceFile
from agent.retrieval.matrix import SectionMatrix, unpack_rows
from agent.retrieval.meaning import KnowledgeEmbedder, embedded_text
from agent.retrieval.search import KnowledgeBase, make_snapshot
from agent.testing.network import inline

from . import sections, warned
from .test_live_knowledge import Hints

ANIMALS = {"zebra": 0, "pony": 0, "okapi": 1, "giraffe": 1, "gnu": 2}
"""Words that mean the same have one direction."""


class Served:
    """A served model (implements `agent.ports.embed.Embedder`, and what encodes in a thread).

    Attributes:
        asked: every text and its role, in order.
        fails: what each further call ends with.
    """

    name, dimension = "served:animals", 4
    langs: frozenset[Lang] | None = None

    def __init__(self) -> None:
        self.asked: list[tuple[str, TextRole]] = []
        self.fails: EmbeddingFailed | None = None

    def compare_texts(
        self, row: Vectors, keys: Sequence[Hashable], text_of: Callable[[int], str]
    ) -> Sequence[float]:
        """Return the cosine of each text, which is encoded each time."""
        cosines: list[float] = (self.encode(list(map(text_of, range(len(keys))))) @ row).tolist()
        return cosines

    def encode(
        self, texts: Sequence[str], role: TextRole = "passage", given_up: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """Return one row a text."""
        given_up()
        self.asked += [(text, role) for text in texts if text]
        if self.fails is not None and any(texts):
            raise self.fails
        rows = np.zeros((len(texts), 4), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for animal, direction in ANIMALS.items():
                row[direction] += animal in text.lower()
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return rows

    async def embed(self, texts: Sequence[str], role: TextRole = "passage") -> Vectors:
        """Return one row a text."""
        return self.encode(texts, role)


@pytest.fixture
def served() -> Served:
    """A served model."""
    return Served()


@pytest.fixture
def meaning(served: Served) -> KnowledgeEmbedder:
    """The vectors of a served model, without those of words."""
    return KnowledgeEmbedder(served, served.encode, None, SectionMatrix, VocabularyMeanings)


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder with two files."""
    (tmp_path / "a.md").write_text("# A\n\nA zebra lives here.\n\n# B\n\nAn okapi lives there.\n")
    (tmp_path / "b.md").write_text("A gnu.")
    return tmp_path


def must(update: Update | None) -> KnowledgeBase:
    """Return the snapshot of an update that there is."""
    assert update is not None
    return update.knowledge


async def best(knowledge: KnowledgeBase, question: str) -> str:
    """Return the best statement for a question, however sure, "" where nothing matches."""
    hits = knowledge.find_hits(question, "en", 1, 0, await knowledge.embed_question(question, "en"))
    return hits[0].snippet.plain_text if hits else ""


async def test_what_means_the_same_is_found(kb: Path, meaning: KnowledgeEmbedder, served: Served) -> None:
    """Though no word of it is in the documents; a section is embedded with its headings."""
    knowledge = must(FolderReader(kb, meaning=meaning).update())
    assert knowledge.has_vectors
    assert await best(knowledge, "a pony?") == "A zebra lives here."
    assert await best(knowledge, "giraffe") == "An okapi lives there."
    assert served.asked == [
        ("A\nA zebra lives here.", "passage"),
        ("B\nAn okapi lives there.", "passage"),
        ("\nA gnu.", "passage"),
        ("a pony?", "question"),
        ("giraffe", "question"),
    ]


async def test_each_statement_is_embedded_beforehand(kb: Path, served: Served) -> None:
    """With its headings and leading line; its vector is kept with that of its section and orders the hits."""
    (kb / "b.md").write_text("# Animals\n\nThere are:\n\n- A gnu here.\n- An okapi here.\n")
    meaning, again = [
        KnowledgeEmbedder(
            served,
            served.encode,
            None,
            SectionMatrix,
            VocabularyMeanings,
            None,
            unpack_rows,
            of_statements=True,
        )
        for _ in range(2)
    ]
    knowledge = must(FolderReader(kb, meaning=meaning).update())
    assert ("Animals\nThere are:\nA gnu here.", "passage") in served.asked
    assert len(served.asked) == len(knowledge.passages) + knowledge.statement_count
    assert await best(knowledge, "giraffe here") == "An okapi here."
    animals = next(each for each in knowledge.passages if each.headings == ("Animals",))
    content = meaning.pack_vectors([animals])
    assert content is not None
    again.adopt_vectors([animals], content)
    assert again.pack_vectors([animals]) == content
    question = await meaning.embed_question("giraffe", "en")
    for each in (meaning, again):
        assert list(each.compare_statements(question, [(animals, 1), (animals, 2)])) == [0, 1]
    again.adopt_vectors([animals], content[:-2])
    assert again.pack_vectors([animals]) == content


def test_the_text_of_a_section_is_what_it_says_below_its_headings() -> None:
    """In plain words."""
    (section,) = sections("# A\n\n## *B*\n\nIt **is**.\n\n- so\n")
    assert embedded_text(section) == "A > B\nIt is.\nso"


@pytest.mark.parametrize("small", [0, 500])
async def test_rows_of_unchanged_sections_are_not_embedded_again(
    kb: Path, meaning: KnowledgeEmbedder, served: Served, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the index is built from the last one or anew; each section keeps its own row."""
    monkeypatch.setattr("agent.retrieval.folder._SMALL", small)
    monkeypatch.setattr("agent.retrieval.folder._GONE_SHARE", 1000)
    reader = FolderReader(kb, meaning=meaning)
    first = must(reader.update())
    served.asked.clear()
    (kb / "b.md").write_text("A gnu and a zebra.")
    (kb / "c.md").write_text("Nothing.")
    second = must(reader.update())
    assert served.asked == [("\nA gnu and a zebra.", "passage"), ("\nNothing.", "passage")]
    (kb / "a.md").unlink()
    third = must(reader.update())
    assert len(served.asked) == 2
    assert [await best(each, "giraffe") for each in (first, second)] == ["An okapi lives there."] * 2
    assert await best(third, "pony") == "A gnu and a zebra."


async def test_a_slow_model_keeps_no_change_waiting(
    kb: Path,
    meaning: KnowledgeEmbedder,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It embeds a few sections a look; until all are there questions find by words, and a change comes between."""
    monkeypatch.setattr("agent.retrieval.folder.EMBED_AT_ONCE", 2)
    for number in range(5):
        (kb / f"{number}.md").write_text(f"A llama, the {number}th of its kind.")
    hints = Hints()
    live = await LiveKnowledge.open(kb, inline, meaning=meaning)
    assert (live.now.has_vectors, len(served.asked)) == (False, 2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep_current, hints)
        (kb / "b.md").write_text("A gnu and a zebra.")
        await hints.tell(kb / "b.md")
        assert await best(live.now, "zebra gnu") == "A gnu and a zebra."
        await trio.sleep(READ_AGAIN_FIRST + 5 * EMBED_BREAK)
        assert live.now.has_vectors
        assert len(set(served.asked)) == len(served.asked)
        assert await best(live.now, "pony") in ("A zebra lives here.", "A gnu and a zebra.")
        nursery.cancel_scope.cancel()


async def test_a_question_that_gets_no_vector_is_looked_for_by_its_words(
    kb: Path, meaning: KnowledgeEmbedder, served: Served, autojump_clock: trio.testing.MockClock
) -> None:
    """Which is said once, until there are vectors again."""
    knowledge = must(FolderReader(kb, meaning=meaning).update())
    served.fails = EmbeddingFailed("busy", "later")
    with warned() as events:
        for _ in range(3):
            assert await knowledge.search(Query("zebra lives", "en", 5)) == knowledge.find_hits(
                "zebra lives", "en", 5
            )
        assert await meaning.embed_question("pony", "en") is None
        served.fails = None
        assert await meaning.embed_question("pony", "en") is not None
        served.fails = EmbeddingFailed("busy", "later")
        assert await meaning.embed_question("pony", "en") is None
    assert len(events) == 2


async def test_sections_without_vectors_are_found_by_their_words(
    kb: Path, meaning: KnowledgeEmbedder, served: Served
) -> None:
    """A snapshot there is, and it is worth another look, which is quiet until there are vectors."""
    served.fails = EmbeddingFailed("unreachable", "away")
    reader = FolderReader(kb, meaning=meaning)
    with warned() as events:
        words = must(reader.update())
        assert not words.has_vectors
        assert reader.needs_retry
        assert reader.update() is None
    assert len(events) == 1
    assert [
        hit.snippet.plain_text for hit in await words.search(Query("where does the zebra live", "en", 1))
    ] == ["A zebra lives here."]
    (kb / "b.md").write_text("A gnat.")
    assert not must(reader.update()).has_vectors
    served.fails = None
    knowledge = must(reader.update())
    assert knowledge.has_vectors
    assert not reader.needs_retry
    assert reader.update() is None
    assert await best(knowledge, "giraffe") == "An okapi lives there."


@pytest.fixture
def with_fallback(served: Served) -> tuple[KnowledgeEmbedder, Served]:
    """Vectors of a model that knows English only, and the static model behind it, which knows every language."""
    static = Served()
    served.langs = frozenset({"en"})
    fallback = KnowledgeEmbedder(static, static.encode, None, SectionMatrix, VocabularyMeanings, static)
    meaning = KnowledgeEmbedder(served, served.encode, None, SectionMatrix, VocabularyMeanings)
    meaning.fallback = fallback
    return meaning, static


def asked_questions(of: Served) -> list[str]:
    """Return the questions that a model embedded."""
    return [text for text, role in of.asked if role == "question"]


async def test_static_vectors_stand_in_for_a_language_that_the_model_does_not_know(
    kb: Path, with_fallback: tuple[KnowledgeEmbedder, Served], served: Served
) -> None:
    """Each question has the vector of one of the two, and its hits are stored."""
    meaning, static = with_fallback
    knowledge = must(FolderReader(kb, meaning=meaning).update())
    assert knowledge.has_vectors
    assert await best(knowledge, "giraffe") == "An okapi lives there."
    vector = await knowledge.embed_question("giraffe", "sv")
    assert knowledge.find_hits("giraffe", "sv", 1, 0, vector)[0].snippet.plain_text == "An okapi lives there."
    assert (asked_questions(served), asked_questions(static)) == (["giraffe"], ["giraffe"])
    assert (await knowledge.run_search(Query("giraffe", "sv", 5))).whole


async def test_static_vectors_stand_in_until_the_model_has_embedded_all(
    kb: Path, with_fallback: tuple[KnowledgeEmbedder, Served], served: Served
) -> None:
    """Meanwhile the snapshot counts as unfinished, and no hits are stored; then the model takes over."""
    meaning, static = with_fallback
    served.fails = EmbeddingFailed("unreachable", "away")
    reader = FolderReader(kb, meaning=meaning)
    with warned() as events:
        knowledge = must(reader.update())
    assert events == ["no vectors from the served model"]
    assert (knowledge.has_vectors, reader.needs_retry) == (False, True)
    assert await best(knowledge, "giraffe") == "An okapi lives there."
    assert (asked_questions(served), asked_questions(static)) == ([], ["giraffe"])
    assert not (await knowledge.run_search(Query("giraffe", "en", 5))).whole
    served.fails = None
    knowledge = must(reader.update())
    assert (knowledge.has_vectors, reader.needs_retry) == (True, False)
    assert await best(knowledge, "pony") == "A zebra lives here."
    assert asked_questions(served) == ["pony"]
    assert (await knowledge.run_search(Query("pony", "en", 5))).whole


async def test_a_section_in_a_language_that_the_model_does_not_know_is_not_embedded(
    kb: Path, with_fallback: tuple[KnowledgeEmbedder, Served], served: Served
) -> None:
    """A sentence model takes minutes for a large folder, and no question would be compared with such vectors."""
    meaning, static = with_fallback
    (kb / "sv.md").write_text(
        "# Djur\n\nGiraffen bor på savannen och äter löv hela dagen.\n", encoding="utf-8"
    )
    knowledge = must(FolderReader(kb, meaning=meaning).update())
    assert knowledge.has_vectors
    assert [text for text, _ in served.asked if "Giraffen" in text] == []
    assert [text for text, _ in static.asked if "Giraffen" in text] != []
    assert await best(knowledge, "giraffe") == "An okapi lives there."
    vector = await knowledge.embed_question("giraffer", "sv")
    assert knowledge.find_hits("giraffer", "sv", 1, 0, vector)[0].snippet.file.endswith("sv.md")


@pytest.mark.parametrize("langs", [frozenset({"en"}), None], ids=["of English", "of all languages"])
async def test_static_vectors_stand_in_for_a_question_that_the_model_fails_to_embed(
    kb: Path,
    with_fallback: tuple[KnowledgeEmbedder, Served],
    served: Served,
    langs: frozenset[Lang] | None,
) -> None:
    """A served model that embedded all sections may fail later."""
    meaning, _ = with_fallback
    served.langs = langs
    knowledge = must(FolderReader(kb, meaning=meaning).update())
    served.fails = EmbeddingFailed("busy", "later")
    with warned():
        assert await best(knowledge, "giraffe") == "An okapi lives there."
        assert not (await knowledge.run_search(Query("giraffe", "en", 5))).whole


async def test_a_live_knowledge_base_gets_its_vectors_when_the_model_is_back(
    kb: Path,
    meaning: KnowledgeEmbedder,
    served: Served,
    inline: RunSync,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It begins without them, and loses them for the time that a changed file cannot be embedded."""
    served.fails = EmbeddingFailed("unreachable", "away")
    live = await LiveKnowledge.open(kb, inline, meaning=meaning)
    hints = Hints()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep_current, hints)
        await trio.sleep(3 * READ_AGAIN_MOST)
        assert not live.now.has_vectors
        served.fails = None
        await trio.sleep(READ_AGAIN_MOST + 1)
        assert live.now.has_vectors
        served.fails = EmbeddingFailed("busy", "later")
        (kb / "b.md").write_text("A quagga.")
        await hints.tell()
        assert not live.now.has_vectors
        assert live.now.find_hits("quagga", "en", 1, 0)
        served.fails = None
        await trio.sleep(READ_AGAIN_FIRST + 1)
        assert live.now.has_vectors
        nursery.cancel_scope.cancel()


def test_embedding_is_given_up_like_reading(
    kb: Path, meaning: KnowledgeEmbedder, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder asks, and what was read is read again."""
    effort = Effort()
    reader = FolderReader(kb, meaning)

    def gives_up(*given: object, **also: object) -> object:
        effort.give_up()
        return make_snapshot(*given, **also)  # type: ignore[arg-type]

    with monkeypatch.context() as then:
        then.setattr("agent.retrieval.folder.make_snapshot", gives_up)
        with pytest.raises(GivenUp):
            reader.update((), effort)
    assert served.asked == []
    assert must(reader.update()).has_vectors


@pytest.mark.parametrize("text", ["# Only\n\n## headings\n", ""])
async def test_a_knowledge_base_without_sections_has_no_vectors_to_look_at(
    tmp_path: Path, meaning: KnowledgeEmbedder, text: str
) -> None:
    """It finds nothing, and breaks nothing."""
    (tmp_path / "a.md").write_text(text)
    knowledge = must(FolderReader(tmp_path, meaning=meaning).update())
    assert await knowledge.search(Query("zebra", "en", 5)) == ()
    assert await KnowledgeBase.build([], meaning=meaning).search(Query("zebra", "en", 5)) == ()


async def test_the_vectors_of_a_static_model_are_those_of_words_too(static: KnowledgeEmbedder) -> None:
    """A word that stands in no document is known by its meaning."""
    sources = [SourceFile.of("kb/a.md", "# Cars\n\nThe automobile is red.\n\n# Food\n\nThe soup is hot.")]
    with_meaning, without = KnowledgeBase.build(sources, meaning=static), KnowledgeBase.build(sources)
    assert (await best(with_meaning, "car colour")) == "The automobile is red."
    assert (await best(with_meaning, "vehicle")) == "The automobile is red."
    assert without.find_hits("vehicle", "en", 1, 0) == ()
