"""An index for each project: of its own documents as they are now, held while it is used, built once for all."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from agent.errors import GivenUp, NotFound
from agent.host import WorkerThreads
from agent.ports.projects import DocumentText, Holdings
from agent.ports.search import Passage, Query, Retriever
from agent.ports.work import RunSync
from agent.retrieval.effort import Effort
from agent.retrieval.index import KnowledgeIndex
from agent.retrieval.library import INDEXES_KEPT, ProjectIndexes
from agent.retrieval.load import Skipped
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.reading_thread import GIVE_UP_TIMEOUT
from agent.retrieval.texts import passages_of_text
from agent.testing.network import inline
from tests.projects import FakeProjects
from tests.strikes.instrument import Strike

T = TypeVar("T")


class Gate:
    """Does blocking work when it is let; counts what was begun, and hears of what was cancelled."""

    def __init__(self) -> None:
        self.let = trio.Event()
        self.begun = self.ended = 0

    async def __call__(self, function: Callable[[], T]) -> T:
        self.begun += 1
        try:
            await self.let.wait()
        finally:
            self.ended += 1
        return function()


@pytest.fixture
def projects() -> FakeProjects:
    made = FakeProjects()
    for name, price in (("a", 299), ("b", 349), ("c", 399)):
        made.make(name, prices_md=f"# Plans\n\nThe Standard plan costs {price} kr a month.\n")
    return made


def indexes(projects: FakeProjects, run_sync: RunSync = inline, most: int = INDEXES_KEPT) -> ProjectIndexes:
    return ProjectIndexes(projects.store, run_sync, most)


async def found(held: Holdings, question: str = "What does the Standard plan cost?") -> list[tuple[str, str]]:
    """Return file and text of what a search finds."""
    present: Retriever = await held.documents.load_snapshot()
    return [(hit.snippet.file, hit.snippet.text) for hit in await present.search(Query(question, "en", 9))]


async def test_each_project_finds_its_own(projects: FakeProjects) -> None:
    """A document of another one is not there, whatever it says; it is cited by its name."""
    of = indexes(projects)
    assert await found(await of.load_holdings("a")) == [
        ("docs/prices.md", "The Standard plan costs 299 kr a month.")
    ]
    assert await found(await of.load_holdings("b")) == [
        ("docs/prices.md", "The Standard plan costs 349 kr a month.")
    ]


async def test_facts_and_the_state_are_searched_and_rules_are_not(projects: FakeProjects) -> None:
    """Rules stand in the charter, whole, in the store's order; the same name in two categories is two documents."""
    projects.say("a", "You are a cashier.")
    projects.put("a", "prices.md", "The Standard plan is sold out.", "STATE")
    projects.put("a", "tone.md", "Name the Standard plan first.\n\n", "RULES")
    projects.put("a", "late.txt", "Be brief.", "RULES")
    held = await indexes(projects).load_holdings("a")
    assert held.charter.role == "You are a cashier."
    assert held.charter.rules == (("late.txt", "Be brief."), ("tone.md", "Name the Standard plan first.\n\n"))
    assert {file for file, _ in await found(held)} == {"docs/prices.md", "docs/state/prices.md"}


async def test_a_document_that_was_replaced_is_gone_from_the_next_turn_on(projects: FakeProjects) -> None:
    """And one that was deleted; whoever has the snapshot of before keeps it as it was."""
    of = indexes(projects)
    before = await of.load_holdings("a")
    projects.put("a", "prices.md", "The Standard plan costs 199 kr a month.")
    after = await of.load_holdings("a")
    assert await found(after) == [("docs/prices.md", "The Standard plan costs 199 kr a month.")]
    assert "299" in (await found(before))[0][1]
    projects.put("a", "prices.md", None)
    assert await found(await of.load_holdings("a")) == []


async def test_a_role_is_new_at_once(projects: FakeProjects) -> None:
    """From the next turn on."""
    of = indexes(projects)
    await of.load_holdings("a")
    projects.say("a", "You are a clerk.")
    assert (await of.load_holdings("a")).charter.role == "You are a clerk."


async def test_what_has_not_changed_is_built_once(projects: FakeProjects) -> None:
    """Each further turn costs one cheap read."""
    of = indexes(projects)
    first = await of.load_holdings("a")
    assert (await of.load_holdings("a")).documents is first.documents
    assert projects.reads == {"a": 1}


async def test_the_one_that_was_used_least_lately_is_let_go(projects: FakeProjects) -> None:
    """There are never more than the bound; one that was let go is built anew."""
    of = indexes(projects, most=2)
    for name in ("a", "b", "a", "c", "a"):
        await of.load_holdings(name)
        assert len(of) <= 2
    assert projects.reads == {"a": 1, "b": 1, "c": 1}
    await of.load_holdings("b")
    assert projects.reads == {"a": 1, "b": 2, "c": 1}
    await of.load_holdings("a")
    assert projects.reads["a"] == 1


async def test_turns_that_need_the_same_wait_for_one_build(projects: FakeProjects) -> None:
    """And find it; a project beside it does not wait for them."""
    gate = Gate()
    of = indexes(projects, gate)
    held: list[Holdings] = []

    async def ask() -> None:
        held.append(await of.load_holdings("a"))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert (gate.begun, held) == (1, [])
        gate.let.set()
    assert (gate.begun, projects.reads) == (1, {"a": 1})
    assert len({id(each.documents) for each in held}) == 1


async def test_a_turn_that_is_cancelled_leaves_the_build_to_the_next(projects: FakeProjects) -> None:
    """Its own work is given up, and of the others each gets what it waits for."""
    gate = Gate()
    of = indexes(projects, gate)
    held: list[Holdings] = []
    first = trio.CancelScope()

    async def ask(scope: trio.CancelScope) -> None:
        with scope:
            held.append(await of.load_holdings("a"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, first)
        await wait_all_tasks_blocked()
        waits = trio.CancelScope()
        for scope in (waits, trio.CancelScope(), trio.CancelScope()):
            nursery.start_soon(ask, scope)
        await wait_all_tasks_blocked()
        waits.cancel()
        first.cancel()
        await wait_all_tasks_blocked()
        assert (gate.begun, gate.ended, held) == (2, 1, [])
        gate.let.set()
    assert (len(held), gate.begun, of._queues) == (2, 2, {})


async def test_a_cancel_at_any_step_leaves_nothing(projects: FakeProjects) -> None:
    """Who waits beside it gets what it waits for, and no queue is left."""
    for step in range(1, 100):
        of = indexes(projects)
        others: list[Holdings] = []

        async def ask(of: ProjectIndexes = of, others: list[Holdings] = others) -> None:
            others.append(await of.load_holdings("a"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            with trio.CancelScope() as scope:
                strike = Strike(step, scope)
                trio.lowlevel.add_instrument(strike)
                try:
                    await of.load_holdings("a")
                finally:
                    trio.lowlevel.remove_instrument(strike)
        assert (len(others), len(of), of._queues) == (1, 1, {})
        if strike.left > 0:
            break
    assert 5 < step < 99


async def test_when_all_are_cancelled_nothing_is_left(projects: FakeProjects) -> None:
    """Neither a build nor a queue; the next one builds."""
    gate = Gate()
    of = indexes(projects, gate)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(of.load_holdings, "a")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert (gate.begun, gate.ended, len(of), of._queues) == (1, 1, 0, {})
    gate.let.set()
    assert await found(await of.load_holdings("a"))


async def test_a_change_while_it_is_built_is_seen_by_who_asks_after_it(
    projects: FakeProjects, autojump_clock: MockClock
) -> None:
    """Who waited for the old one, and asked before the change, may get that; nobody else does."""
    of = indexes(projects)
    projects.wait = 1.0
    later: list[Holdings] = []

    async def ask() -> None:
        later.append(await of.load_holdings("a"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(of.load_holdings, "a")
        await trio.sleep(0.5)
        projects.put("a", "prices.md", "The Standard plan costs 199 kr a month.")
        nursery.start_soon(ask)
    assert await found(later[0]) == [("docs/prices.md", "The Standard plan costs 199 kr a month.")]
    assert projects.reads == {"a": 2}


async def test_what_is_not_there_is_not_found(projects: FakeProjects) -> None:
    """Nor what was deleted, of which nothing is held any more."""
    of = indexes(projects)
    with pytest.raises(NotFound):
        await of.load_holdings("d")
    await of.load_holdings("a")
    projects.delete("a")
    with pytest.raises(NotFound):
        await of.load_holdings("a")
    assert (len(of), of._queues) == (0, {})


async def test_a_project_without_documents_finds_nothing(projects: FakeProjects) -> None:
    """It is a project all the same."""
    projects.make("e")
    assert await found(await indexes(projects).load_holdings("e")) == []


async def test_a_document_that_cannot_be_read_leaves_the_others(
    projects: FakeProjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read when it came, so this is for bounds that are narrower now."""
    monkeypatch.setattr("agent.retrieval.texts.FILE_LINES", 4)
    projects.put("a", "long.txt", "Standard plan\n" * 9)
    assert [file for file, _ in await found(await indexes(projects).load_holdings("a"))] == ["docs/prices.md"]


async def test_vectors_are_as_the_operator_chose(projects: FakeProjects, static: KnowledgeEmbedder) -> None:
    """Those of words, which every project gets its own of; those of its fallback with a model of sentences."""

    async def meaning() -> KnowledgeEmbedder | None:
        return static.for_another_base()

    of = ProjectIndexes(projects.store, inline, meaning=meaning)
    for name in ("a", "b"):
        held = await (await of.load_holdings(name)).documents.load_snapshot()
        assert getattr(held, "has_vectors", False)
    fallback = static.for_another_base()
    static.of_sentences = True
    try:
        assert static.for_another_base() is None
        static.fallback = fallback
        assert static.for_another_base() is not None
    finally:
        static.of_sentences, static.fallback = False, None


@pytest.mark.parametrize("small", [1, 10_000], ids=["added to", "anew"])
async def test_what_has_not_changed_is_not_read_again(
    projects: FakeProjects, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    """Whether the index goes on from the last one or not, each snapshot finds what it is of; also after a cancel."""
    monkeypatch.setattr("agent.retrieval.library._SMALL", small)
    for number in range(40):
        projects.put("a", f"{number}.md", f"Word{number} is a word.")
    read: list[str] = []

    def reads(text: DocumentText, effort: Effort) -> tuple[Passage, ...] | Skipped:
        read.append(text.filename)
        return passages_of_text(text, effort)

    went_on: list[bool] = []  # each index that was made, whether from another

    def indexed(passages: list[Passage], **how: Any) -> KnowledgeIndex:
        went_on.append("after" in how)
        return KnowledgeIndex(passages, **how)

    def give_up(*given: object) -> None:
        raise GivenUp

    monkeypatch.setattr("agent.retrieval.library.KnowledgeIndex", indexed)
    of = ProjectIndexes(projects.store, inline, read=reads)
    first = await of.load_holdings("a")
    assert len(read) == 41
    read.clear()
    for number, price in enumerate((199, 189, 179)):
        projects.put("a", "prices.md", f"The Standard plan costs {price} kr a month.")
        projects.put("a", f"{number}.md", None)
        if number == 1:
            with monkeypatch.context() as broken:
                broken.setattr("agent.retrieval.library.make_snapshot", give_up)
                with pytest.raises(GivenUp):
                    await of.load_holdings("a")
        held = await of.load_holdings("a")
        assert await found(held) == [("docs/prices.md", f"The Standard plan costs {price} kr a month.")]
        assert await found(held, f"word{number}") == []
        assert (await found(held, "word19"))[0][0] == "docs/19.md"
        assert set(read) == {"prices.md"}
    assert went_on == ([False, True, True, False, True] if small == 1 else [False] * 5)
    assert "299" in (await found(first))[0][1]
    assert (await found(first, "word1"))[0][0] == "docs/1.md"


@pytest.mark.proof
async def test_a_build_in_a_thread_is_given_up_and_made_by_the_next(projects: FakeProjects) -> None:
    """On real time: a cancel returns soon, the loop goes on meanwhile, and who waits gets the whole index."""
    for number in range(400):
        projects.put("a", f"{number}.md", f"# Plan {number}\n\n" + "The plan costs 299 kr a month. " * 40)
    of = indexes(projects, WorkerThreads(2))
    held: list[Holdings] = []
    longest = 0.0

    async def ask() -> None:
        held.append(await of.load_holdings("a"))

    async def watch() -> None:
        nonlocal longest
        while True:
            began = trio.current_time()
            await trio.sleep(0.005)
            longest = max(longest, trio.current_time() - began)

    async with trio.open_nursery() as watching:
        watching.start_soon(watch)
        async with trio.open_nursery() as nursery:
            with trio.move_on_after(0.1) as impatient:
                nursery.start_soon(ask)
                await of.load_holdings("a")
            assert impatient.cancelled_caught
            returned = trio.current_time()
            late = returned - impatient.deadline
        whole = trio.current_time() - returned  # a build from its beginning
        watching.cancel_scope.cancel()
    assert late < max(GIVE_UP_TIMEOUT + 0.5, whole / 2)  # a busy machine is slow in both
    assert longest < max(1.0, whole / 2)
    present = await held[0].documents.load_snapshot()
    assert len(getattr(present, "passages", ())) >= 400
