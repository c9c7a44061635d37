"""The documents of a server are read while it listens already."""

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.answering.brain import GroundedBrain
from agent.answering.settings import AnswerSettings
from agent.compose.knowledge import Knowledge
from agent.compose.readiness import Readiness
from agent.errors import UsageError
from agent.lexical.meanings import VocabularyMeanings
from agent.llm.mock import MockModel
from agent.ports.brain import Question, TurnEvent, VerifiedPart
from agent.ports.search import Hit, Query
from agent.retrieval.load import SourceFile
from agent.retrieval.matrix import SectionMatrix
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.search import KnowledgeBase, SearchResult
from agent.server.metrics import Metrics
from agent.settings import Settings
from agent.testing.fakes import Figures
from agent.testing.network import inline
from tests.retrieval.test_live_knowledge import Hints
from tests.retrieval.test_meaning import Served

T = TypeVar("T")
ASKED = Question(id="1", text="What does the Standard plan cost?", lang="en", at=0.0)


class Slow:
    """Does what blocks when it is let (implements `agent.ports.work.RunSync`)."""

    def __init__(self) -> None:
        self.let = trio.Event()

    async def __call__(self, function: Callable[[], T]) -> T:
        """Wait, then do it."""
        await self.let.wait()
        return function()


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder with two files."""
    (tmp_path / "a.md").write_text("# Plans\n\nThe Standard plan costs 299 kr a month.\n")
    (tmp_path / "b.md").write_text("Nothing else.")
    return tmp_path


async def test_a_question_waits_for_what_is_read(kb: Path, autojump_clock: trio.testing.MockClock) -> None:
    """It is answered then; one that is cancelled meanwhile leaves nothing."""
    slow = Slow()
    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=slow)
    knowledge.check_settings()
    brain = GroundedBrain(knowledge, MockModel(), AnswerSettings())
    told: list[TurnEvent] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(knowledge.read)
        nursery.start_soon(brain.answer, ASKED, told.append)
        with trio.move_on_after(5) as impatient:
            await brain.answer(ASKED, told.append)
        assert impatient.cancelled_caught
        assert (told, knowledge.unread) == ([], "The documents are being read.")
        slow.let.set()
        await knowledge.wait_read()
    assert knowledge.unread == ""
    assert isinstance(told[-1], VerifiedPart)
    assert "299 kr" in told[-1].text.text


async def test_how_far_the_reading_is(kb: Path) -> None:
    """In files, as they are read."""
    said: list[str] = []

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=work)
    note = knowledge._note_progress
    knowledge._note_progress = lambda done, total: (note(done, total), said.append(knowledge.unread))  # type: ignore
    await knowledge.read()
    assert said == [f"The documents are being read: {done} of 2 files." for done in (0, 1)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kb": Path("/nowhere")}, "does not exist"),
        ({"vectors": "best"}, "vectors must be"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(kb: Path, wrong: dict[str, object], said: str) -> None:
    """So that no port opens for it."""
    settings = Settings.of(**{"kb": kb, "vectors": "off", **wrong})
    with pytest.raises(UsageError, match=said):
        Knowledge(settings=settings, run_sync=Slow()).check_settings()


async def test_documents_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    """An empty folder is found out by reading it."""

    async def work(function: Callable[[], T]) -> T:
        return function()

    with pytest.raises(UsageError, match="holds no documents"):
        await Knowledge(settings=Settings.of(kb=tmp_path, vectors="off"), run_sync=work).read()


async def test_a_file_is_shown_as_the_present_snapshot_holds_it(kb: Path) -> None:
    """Nothing until everything is read; then its sections, and none of what is no file of it."""

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=work)
    assert knowledge.sections("kb/a.md") is None
    await knowledge.read()
    found = knowledge.sections("kb/a.md")
    assert found is not None
    assert [each.text for one in found for each in one.snippets] == [
        "The Standard plan costs 299 kr a month."
    ]
    assert (knowledge.sections("kb/../a.md"), knowledge.sections("a.md")) == ((), ())


async def test_the_present_snapshot_is_there_once_all_is_read(kb: Path) -> None:
    """Before that there is none to look for questions in."""

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=work)
    assert knowledge.present is None
    await knowledge.read()
    assert knowledge.present is not None
    assert {each.file for each in knowledge.present.passages} == {"kb/a.md", "kb/b.md"}


async def test_what_is_read_is_set_aside_on_the_way(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so many files, so that no collection of garbage looks at all of them."""
    times: list[int] = []
    monkeypatch.setattr("agent.compose.knowledge._FILES", 4)
    for at in range(8):
        (kb / f"{at}.md").write_text("A zebra.")

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=work)
    monkeypatch.setattr("agent.compose.knowledge.freeze_so_far", lambda: times.append(knowledge._files[0]))
    await knowledge.read()
    assert times == [4, 8]


async def test_a_turn_keeps_the_snapshot_it_began_with(
    kb: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is present later is for later turns."""
    texts = ["The plan costs 299 kr a month.", "The plan costs 399 kr a month."]
    old, new = (KnowledgeBase.build([SourceFile.of("kb/a.md", f"# Plans\n\n{text}\n")]) for text in texts)
    present = [old]

    class Changing:
        async def load_snapshot(self) -> KnowledgeBase:
            return present[-1]

    told: dict[str, list[TurnEvent]] = {"1": [], "2": []}
    brain = GroundedBrain(Changing(), MockModel(delay=1.0), AnswerSettings())
    async with trio.open_nursery() as nursery:
        for id in told:
            nursery.start_soon(
                brain.answer,
                Question(id=id, text="What does the plan cost?", lang="en", at=0.0),
                told[id].append,
            )
            await trio.sleep(0.5)
            present.append(new)
    said = [events[-1].text for events in told.values() if isinstance(events[-1], VerifiedPart)]
    assert [("299" in text.text, text.citations[0].text) for text in said] == [
        (True, texts[0]),
        (False, texts[1]),
    ]


async def test_a_reload_leaves_no_hit_of_before(
    kb: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even one of a search that a reload came into; and a question that is asked again needs no search."""
    query = Query("What does the Standard plan cost?", "en", 5)
    hints, metrics = Hints(), Metrics()
    knowledge = Knowledge(
        settings=Settings.of(kb=kb, vectors="off"), run_sync=inline, watch=hints, observer=metrics
    )
    await knowledge.read()
    begun, go_on = trio.Event(), trio.Event()
    search = KnowledgeBase.run_search
    old: list[tuple[Hit, ...]] = []

    async def slow(self: KnowledgeBase, query: Query) -> SearchResult:
        begun.set()
        await go_on.wait()
        return await search(self, query)

    async def ask() -> None:
        old.append(await (await knowledge.load_snapshot()).search(query))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(knowledge.keep)
        with monkeypatch.context() as slowly:
            slowly.setattr(KnowledgeBase, "run_search", slow)
            nursery.start_soon(ask)
            await begun.wait()
        (kb / "a.md").write_text("# Plans\n\nThe Standard plan costs 399 kr a month.\n")
        await hints.tell()
        new = await (await knowledge.load_snapshot()).search(query)
        go_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert await (await knowledge.load_snapshot()).search(query) is new
        nursery.cancel_scope.cancel()
    assert ["299 kr" in old[0][0].snippet.text, "399 kr" in new[0].snippet.text] == [True, True]
    text = metrics.text().decode()
    assert ['agent_searches_total{hits="searched"} 2.0' in text, 'hits="kept"} 1.0' in text] == [True, True]


async def test_the_first_snapshot_is_let_go_when_files_change(
    kb: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """At once and with its hits, though nobody asks after the reload."""
    hints = Hints()
    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=inline, watch=hints)
    await knowledge.read()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(knowledge.keep)
        assert await (await knowledge.load_snapshot()).search(Query("the Standard plan", "en", 5))
        old = weakref.ref(knowledge._snapshot())
        assert old() is not None
        (kb / "a.md").write_text("# Plans\n\nThe Standard plan costs 399 kr a month.\n")
        await hints.tell()
        gc.collect()
        assert old() is None
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(("keeps", "same"), [(True, True), (False, False)])
async def test_hits_are_kept_unless_the_operator_says_no(kb: Path, keeps: bool, same: bool) -> None:
    """A question that is asked again finds the very hits that it found, or searches again."""
    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off", hit_cache=keeps), run_sync=inline)
    await knowledge.read()
    query = Query("What does the Standard plan cost?", "en", 5)
    first, second = [await (await knowledge.load_snapshot()).search(query) for _ in range(2)]
    assert first == second
    assert (first is second) is same


async def test_other_documents_have_vectors_as_these_have(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks waits until that is known, and not until all is read."""

    class Made:
        def for_another_base(self) -> str:
            return "another"

    async def opened(*chosen: object) -> Made:
        return Made()

    async def never(*given: object) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr("agent.compose.knowledge.open_meaning", opened)
    monkeypatch.setattr("agent.compose.knowledge.LiveKnowledge.open", never)
    knowledge = Knowledge(settings=Settings.of(kb=kb, vectors="off"), run_sync=inline)
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(0) as early:
            await knowledge.another_meaning()
        assert early.cancelled_caught
        nursery.start_soon(knowledge.read)
        assert await knowledge.another_meaning() == "another"  # type: ignore[comparison-overlap]
        assert knowledge.unread
        nursery.cancel_scope.cancel()
    given = Knowledge(settings=Settings.of(kb=kb), snapshot=KnowledgeBase.build([]), run_sync=inline)
    await given.read()
    assert await given.another_meaning() is None


async def test_how_far_a_model_of_sentences_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """A sentence for the operator and a gauge while sections have no vectors; one line at the beginning and the end."""
    for number in range(5):
        (tmp_path / f"{number}.md").write_text(f"A zebra, the {number}th of its kind.")
    served = Served()
    meaning = KnowledgeEmbedder(served, served.encode, None, SectionMatrix, VocabularyMeanings)

    async def opened(*chosen: object) -> KnowledgeEmbedder:
        return meaning

    monkeypatch.setattr("agent.compose.knowledge.open_meaning", opened)
    monkeypatch.setattr("agent.retrieval.folder.EMBED_AT_ONCE", 2)
    figures, readiness = Figures(), Readiness()
    readiness.knowledge = Knowledge(
        settings=Settings.of(kb=tmp_path), run_sync=inline, watch=Hints(), observer=figures
    )
    with capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            await readiness.knowledge.read()
            assert readiness.explain_limping() == (
                "2 of 5 sections are embedded; until all are, questions are searched by their words."
            )
            assert (readiness.unready, figures.levels) == (
                "The server is starting.",
                {"sections_unembedded": 3},
            )
            nursery.start_soon(readiness.knowledge.keep)
            await trio.sleep(60)
            assert (readiness.explain_limping(), figures.levels) == ("", {"sections_unembedded": 0})
            nursery.cancel_scope.cancel()
    assert [(line["event"], line["done"]) for line in lines if "embed" in line["event"]] == [
        ("embedding sections", 2),
        ("sections are embedded", 5),
    ]
