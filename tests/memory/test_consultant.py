"""A session is asked what is remembered: each answer in its order, of its own user alone, and nothing after its end."""

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import StorageFailed
from agent.memory.consultant import CONSULT_TIMEOUT, ITEMS_LISTED, SOURCES_LISTED
from agent.ports.conversation import Scope
from agent.ports.memory import Source
from agent.ports.recall import Excerpt
from agent.ports.remember import MemoryAccess
from agent.session.consult_queue import CONSULTS_WAITING
from agent.session.session import Session
from agent.testing.fake_memory import FakeMemory, make_item
from agent.testing.wires import MemoryWire

from ..consulted import with_memory
from ..session.harness import FixedClock, World, ask, world

MINE = Scope("p", "here", "ana")
BOS = Scope("p", "there", "bo")
ASKS: dict[str, dict[str, Any]] = {
    "open_thread": {"thread": "t2"},
    "recall": {"query": "budget?"},
    "memory_list": {},
    "memory_decide": {"item": "i1", "decision": "accept"},
    "memory_edit": {"item": "i1", "text": "The budget is 60 000 kr."},
    "memory_forget": {"item": "i1"},
}


class Place:
    """A world whose sessions remember, for a user or for nobody in particular."""

    def __init__(self, w: World, memory: FakeMemory | None) -> None:
        self.w = w
        self.memory = memory
        self._numbers = itertools.count(1)
        if memory is not None:
            w.parts = with_memory(w.parts, MemoryAccess(memory, memory))

    async def connect(self, scope: Scope | None = None, greet: bool = False) -> MemoryWire:
        wire = MemoryWire(self.w._nursery)
        self.w._nursery.start_soon(Session(self.w.parts, wire, greet, scope).run)
        await trio.testing.wait_all_tasks_blocked()
        return wire

    async def told(self, wire: MemoryWire, kind: str, **fields: Any) -> dict[str, Any]:
        """Ask, and return the frame that answers."""
        id = f"q{next(self._numbers)}"
        wire.push({"type": kind, "id": id, **fields})
        for _ in range(200):
            found = [frame for frame in wire.sent() if frame.get("id") == id]
            if found:
                return found[0]
            await trio.sleep(0.1)
        raise AssertionError(f"{kind} has no answer")


@asynccontextmanager
async def place(*kept: Any, off: bool = False, **memory: Any) -> AsyncGenerator[Place, None]:
    async with world() as w:
        yield Place(w, None if off else FakeMemory(clock=FixedClock(), kept=list(kept), **memory))


async def test_a_client_is_told_what_is_remembered(autojump_clock: trio.testing.MockClock) -> None:
    """With its source and its validity, and of what is proposed, with what it would replace."""
    old = make_item(MINE, sources=(Source("document", "kb/a.md", 3, 4, "50 000"),) * 20)
    new = make_item(MINE, "i2", "The budget is 60 000 kr.", status="proposed", supersedes="i1", expires_at=5)
    async with place(old, new, make_item(BOS, "i3"), contradicts={"i2": ("i1",)}) as p:
        wire = await p.connect(MINE)
        frame = await p.told(wire, "memory_list")
        assert frame["type"] == "memory"
        assert "after" not in frame
        first, second = frame["items"]
        assert (first["text"], first["status"], first["revision"]) == (old.text, "accepted", 1)
        assert len(first["sources"]) == SOURCES_LISTED
        assert first["sources"][0] == {
            "kind": "document",
            "ref": "kb/a.md",
            "lines": [3, 4],
            "quote": "50 000",
        }
        assert (second["id"], second["expiresAt"]) == ("i2", 5)
        assert second["replaces"] == [{"item": "i1", "text": old.text}]
        assert (first.get("decisions"), second["decisions"]) == (None, ["accept", "reject"])
        frame = await p.told(wire, "memory_list", status="proposed")
        assert [each["id"] for each in frame["items"]] == ["i2"]
        frame = await p.told(wire, "memory_list", item="i1")
        assert [each["trigger"] for each in frame["history"]] == ["propose"]


@pytest.mark.parametrize("complete", [True, False])
async def test_a_list_says_that_what_was_said_last_is_missing(
    complete: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Where it could not be kept in time; what is found is told all the same."""

    class Backlog:
        async def wait_caught_up(self, scope: Scope) -> bool:
            await trio.lowlevel.checkpoint()
            return complete

    async with place(make_item(MINE)) as p:
        assert p.memory is not None
        p.w.parts = with_memory(p.w.parts, MemoryAccess(p.memory, p.memory, Backlog()))
        wire = await p.connect(MINE)
        for kind, fields in (("memory_list", {}), ("recall", {"query": "budget?"})):
            frame = await p.told(wire, kind, **fields)
            assert frame.get("incomplete", False) is not complete


async def test_a_long_list_comes_in_pieces(autojump_clock: trio.testing.MockClock) -> None:
    """Each says where the next one begins, and the last one does not."""
    async with place(*(make_item(MINE, f"i{n}") for n in range(1, 2 * ITEMS_LISTED + 2))) as p:
        wire = await p.connect(MINE)
        seen: list[str] = []
        after: int | None = 0
        while after is not None:
            frame = await p.told(wire, "memory_list", after=after)
            assert len(frame["items"]) <= ITEMS_LISTED
            seen += [each["id"] for each in frame["items"]]
            after = frame.get("after")
        assert seen == [f"i{n}" for n in range(1, 2 * ITEMS_LISTED + 2)]


async def test_what_is_decided_is_told_as_it_is_then(autojump_clock: trio.testing.MockClock) -> None:
    """An accept with what it replaced, an edit with the item that it takes the place of, a forgotten one empty."""
    old = make_item(MINE)
    new = make_item(MINE, "i2", "The budget is 60 000 kr.", status="proposed", supersedes="i1")
    async with place(old, new, contradicts={"i2": ("i1",)}) as p:
        wire = await p.connect(MINE)
        frame = await p.told(wire, "memory_decide", item="i2", decision="accept", replaces=["i1"], revision=1)
        assert (frame["type"], frame["item"]["status"]) == ("memory_changed", "accepted")
        (replaced,) = frame["replaced"]
        assert (replaced["id"], replaced["status"], replaced["supersededBy"]) == ("i1", "superseded", "i2")
        frame = await p.told(wire, "memory_edit", item="i2", text="The budget is 70 000 kr.", revision=2)
        assert frame["item"]["text"] == "The budget is 70 000 kr."
        assert [each["id"] for each in frame["replaced"]] == ["i2"]
        frame = await p.told(wire, "memory_forget", item="i1")
        assert (frame["item"]["status"], frame["item"]["text"]) == ("forgotten", "")
        assert "sources" not in frame["item"]
        assert "replaced" not in frame


async def test_recall_tells_what_was_said_and_by_whom(autojump_clock: trio.testing.MockClock) -> None:
    """By what it is cited as; it searches the asker's own words in the language that they are in."""
    turn = Excerpt(
        id="t1",
        kind="turn",
        text="My budget is 50 000 kr.",
        at=5,
        by="user",
        thread="here",
        score=0.9,
        citable=True,
        message="m",
    )
    item = Excerpt(
        id="i1",
        kind="item",
        text="The budget is 60 000 kr.",
        at=6,
        by="",
        thread="here",
        score=0.5,
        citable=True,
    )
    async with place(excerpts=(turn, item)) as p:
        wire = await p.connect(MINE)
        frame = await p.told(wire, "recall", query="Vad är min budget?", limit=1)
        assert frame["type"] == "recalled"
        assert frame["excerpts"] == [
            {
                "source": "memory/t1",
                "kind": "turn",
                "text": turn.text,
                "at": 5,
                "score": 0.9,
                "citable": True,
                "by": "user",
                "thread": "here",
            }
        ]
        assert p.memory is not None
        (search,) = p.memory.searches
        assert (search.scope, search.lang, search.limit) == (MINE, "sv", 1)
        await p.told(wire, "recall", query="Vad är min budget?", lang="en")
        assert p.memory.searches[1].lang == "en"


REFUSED = [
    ("unknown_item", "memory_forget", {"item": "i9"}),
    ("unknown_item", "memory_list", {"item": "theirs"}),
    ("unknown_item", "memory_decide", {"item": "theirs", "decision": "accept"}),
    ("unknown_item", "memory_edit", {"item": "theirs", "text": "It is mine."}),
    ("unknown_item", "memory_forget", {"item": "theirs"}),
    ("changed", "memory_decide", {"item": "i1", "decision": "block", "revision": 7}),
    ("changed", "memory_decide", {"item": "i2", "decision": "accept", "replaces": []}),
    ("refused", "memory_decide", {"item": "i1", "decision": "reopen"}),
    ("bad_item", "memory_edit", {"item": "i1", "text": "  "}),
    ("unknown_thread", "open_thread", {"thread": "nobody's"}),
    ("unknown_thread", "open_thread", {"thread": "there"}),
]


@pytest.mark.parametrize(("code", "kind", "fields"), REFUSED)
async def test_what_cannot_be_done_says_so(
    code: str, kind: str, fields: dict[str, Any], autojump_clock: trio.testing.MockClock
) -> None:
    """Of another user's the same as of what is not there; nothing is changed."""
    new = make_item(MINE, "i2", status="proposed")
    kept = (make_item(MINE), new, make_item(BOS, "theirs"))
    async with place(*kept, contradicts={"i2": ("i1",)}) as p:
        wire = await p.connect(MINE)
        frame = await p.told(wire, kind, **fields)
        assert (frame["type"], frame["code"]) == ("error", code)
        assert frame["message"].endswith(".")
        if code == "unknown_item":
            assert frame["message"] == (await p.told(wire, "memory_forget", item="none"))["message"]
        assert p.memory is not None
        assert p.memory.kept == list(kept)
        assert ("errors", code) in p.w.counts.counted


@pytest.mark.parametrize("kind", ASKS)
async def test_a_server_that_remembers_nothing_says_so(
    kind: str, autojump_clock: trio.testing.MockClock
) -> None:
    """To every question, and in its first words; a core client sees no difference."""
    async with place(off=True) as p:
        wire = await p.connect(greet=True)
        assert "memory" not in wire.sent("welcome")[0]
        assert (await p.told(wire, kind, **ASKS[kind]))["code"] == "memory_off"
        wire.push(ask())
        await wire.until("response")


async def test_a_server_that_remembers_says_so_first(autojump_clock: trio.testing.MockClock) -> None:
    """In its welcome."""
    async with place() as p:
        assert (await p.connect(greet=True)).sent("welcome")[0]["memory"] is True


@pytest.mark.parametrize("kind", ASKS)
async def test_a_fault_is_told_and_nothing_of_it(kind: str, autojump_clock: trio.testing.MockClock) -> None:
    """A store that fails says when to try again; a bug has an id; neither says what it was about."""
    async with place(make_item(MINE, status="proposed"), threads={MINE.in_thread("t2")}) as p:
        assert p.memory is not None
        wire = await p.connect(MINE)
        for fault, code in (
            (StorageFailed("disk secret"), "memory_failed"),
            (KeyError("secret"), "internal"),
        ):
            p.memory.fault = fault
            frame = await p.told(wire, kind, **ASKS[kind])
            assert frame["code"] == code
            assert "secret" not in frame["message"]
        p.memory.fault = None
        assert (await p.told(wire, kind, **ASKS[kind]))["type"] != "error"


async def test_a_store_that_hangs_holds_up_nothing_for_long(autojump_clock: trio.testing.MockClock) -> None:
    """A turn is answered meanwhile; what is asked is given up after a while, and the next is asked."""
    async with place(make_item(MINE), wait=1000) as p:
        assert p.memory is not None
        wire = await p.connect(MINE)
        wire.push({"type": "memory_list", "id": "a1"})
        wire.push({"type": "memory_list", "id": "a2"})
        wire.push(ask())
        await wire.until("response")
        assert trio.current_time() < 1
        frame = await wire.until("error")
        assert (frame["id"], frame["code"]) == ("a1", "memory_failed")
        assert trio.current_time() == pytest.approx(CONSULT_TIMEOUT, abs=0.1)
        assert (await wire.until("error", 2))["id"] == "a2"
        assert trio.current_time() == pytest.approx(2 * CONSULT_TIMEOUT, abs=0.1)
        p.memory.wait = 0
        assert (await p.told(wire, "memory_list"))["type"] == "memory"
        assert (p.memory.most, p.memory.busy) == (1, 0)


async def test_answers_come_in_the_order_of_their_questions(autojump_clock: trio.testing.MockClock) -> None:
    """One at a time, so that a list shows what was forgotten before it was asked for; too many are refused."""
    async with place(make_item(MINE), make_item(MINE, "i2"), wait=0.5) as p:
        wire = await p.connect(MINE)
        wire.push({"type": "memory_forget", "item": "i1", "id": "a"})
        wire.push({"type": "memory_list", "id": "b"})
        for number in range(CONSULTS_WAITING):
            wire.push({"type": "memory_list", "id": f"c{number}"})
        frame = await wire.until("memory")
        assert frame["id"] == "b"
        assert [each["id"] for each in frame["items"]] == ["i2"]
        assert wire.sent("error")[0]["id"] == f"c{CONSULTS_WAITING - 1}"
        await wire.until("memory", CONSULTS_WAITING)
        labels = [each["id"] for each in wire.sent("memory", "memory_changed")]
        assert labels == ["a", "b", *(f"c{n}" for n in range(CONSULTS_WAITING - 1))]


async def test_an_earlier_thread_is_gone_on_with(autojump_clock: trio.testing.MockClock) -> None:
    """By its id, which nobody can guess; what it remembers is there, and later turns are its own."""
    async with place() as p:
        assert p.memory is not None
        first = await p.connect()
        thread = (await p.told(first, "open_thread"))["thread"]
        mine = Scope("", thread)
        p.memory.kept.append(make_item(mine))
        assert [each["id"] for each in (await p.told(first, "memory_list"))["items"]] == ["i1"]
        first.leave()
        second = await p.connect()
        here = (await p.told(second, "open_thread"))["thread"]
        assert here != thread
        assert (await p.told(second, "memory_list"))["items"] == []
        assert (await p.told(second, "open_thread", thread="another"))["code"] == "unknown_thread"
        assert (await p.told(second, "open_thread"))["thread"] == here
        assert (await p.told(second, "open_thread", thread=thread))["thread"] == thread
        assert [each["id"] for each in (await p.told(second, "memory_list"))["items"]] == ["i1"]
        scopes: list[Scope] = []
        script = p.w.brain.script

        async def noting(question: Any, emit: Any) -> None:
            scopes.append(question.scope)
            await script(question, emit)

        p.w.brain.script = noting
        second.push(ask())
        await second.until("response")
        assert scopes == [mine]


async def test_a_named_user_takes_his_own_threads_only(autojump_clock: trio.testing.MockClock) -> None:
    """A thread of another user's is not there, and a thread changes whose a session is in no other way."""
    mine = MINE.in_thread("earlier")
    async with place(make_item(mine), make_item(BOS, "i2"), threads={mine, BOS}) as p:
        wire = await p.connect(MINE)
        assert (await p.told(wire, "open_thread", thread=BOS.thread)).get("code") == "unknown_thread"
        assert (await p.told(wire, "open_thread", thread="earlier"))["thread"] == "earlier"
        assert [each["id"] for each in (await p.told(wire, "memory_list"))["items"]] == ["i1"]
        assert p.memory is not None
        assert p.memory.asked[-1] == ("items", mine)


@pytest.mark.parametrize("end", ["leave", "close"])
async def test_the_end_of_a_session_ends_what_it_has_asked(
    end: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing is said after it, and nothing goes on."""
    async with place(make_item(MINE), wait=5.0) as p:
        assert p.memory is not None
        wire = await p.connect(MINE)
        wire.push({"type": "memory_forget", "item": "i1"})
        wire.push({"type": "memory_list"})
        await trio.sleep(1)
        assert p.memory.busy == 1
        if end == "leave":
            wire.leave()
        else:
            for _ in range(3):
                wire.push("{")
        await trio.testing.wait_all_tasks_blocked()
        assert p.memory.busy == 0
        said = len(wire.sent())
        await trio.sleep(30)
        assert (len(wire.sent()), len(p.memory.asked)) == (said, 1)
        assert p.memory.kept == [make_item(MINE)]
        p.w.nothing_is_left()
