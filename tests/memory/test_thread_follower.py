"""Sessions are told of changed threads by what is stored, each of its own user's; none that left is held on to."""

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest
import trio
import trio.testing

from agent.errors import StorageFailed
from agent.memory.thread_follower import FOLLOW_EVERY, LOOK_EVERY, ThreadFollower, pair_exchange
from agent.ports.change_mark import ChangeMark
from agent.ports.consult import ExchangeUpdate, ThreadUpdate
from agent.ports.conversation import Exchange, Scope
from agent.ports.remember import MemoryAccess
from agent.ports.thread_history import (
    NoThreads,
    ThreadChange,
    ThreadChanges,
    ThreadMark,
    ThreadMessage,
    ThreadOwner,
    ThreadSummary,
)
from agent.protocol.consult_frames import FrameMessage, ThreadChanged, ThreadDeleted
from agent.session.events import Event, ThreadErased
from agent.session.registry import Registry
from agent.testing.fake_memory import FakeMemory

from ..consulted import with_memory
from ..session.harness import FixedClock, world

ANA, BO = Scope("p", "t1", "ana"), Scope("p", "t2", "bo")


class History(NoThreads):
    """A store whose changes a test writes down (implements the part of `ThreadHistory` that is followed)."""

    def __init__(self, wait: float = 0.0) -> None:
        self.changes: list[ThreadChange] = []
        self.looks = 0
        self.wait = wait
        self.fault: Exception | None = None

    async def find_mark(self) -> ThreadMark:
        await trio.sleep(self.wait)
        return ThreadMark(ChangeMark(len(self.changes)))

    async def thread_changes_after(
        self, mark: ThreadMark, owners: Collection[ThreadOwner], limit: int
    ) -> ThreadChanges:
        await trio.lowlevel.checkpoint()
        self.looks += 1
        if self.fault is not None:
            raise self.fault
        found = [
            each
            for each in self.changes[mark.words.number :]
            if each.is_deleted or (each.scope.project, each.scope.user) in owners
        ]
        return ThreadChanges(tuple(found), ThreadMark(ChangeMark(len(self.changes))))

    def add(self, scope: Scope, *texts: str, message: str = "m") -> None:
        """Change a thread: a question, and an answer."""
        sides = ("user", "assistant")
        messages = [
            ThreadMessage(n=1, message=message, role=role, text=text, at=1)  # type: ignore[arg-type]
            for role, text in zip(sides, texts, strict=False)
        ]
        summary = ThreadSummary(n=1, scope=scope, title="T", at=1, count=2)
        self.changes.append(ThreadChange(scope, summary, tuple(messages)))


@dataclass(eq=False)
class Member:
    """A session, as far as it is told things."""

    events: list[Event | ThreadUpdate] = field(default_factory=list)

    def post(self, event: Event) -> None:
        self.events.append(event)

    def tell_update(self, update: ThreadUpdate) -> None:
        self.events.append(update)

    def keepalive(self) -> None:
        pass


def follower(history: History, registry: Registry) -> ThreadFollower:
    def erase(scope: Scope) -> None:
        registry.post_all(ThreadErased(scope, "fresh", trio.current_time()))

    return ThreadFollower(history, erase, lambda message: message)  # type: ignore[arg-type]


async def test_each_is_told_of_its_own(autojump_clock: trio.testing.MockClock, nursery: trio.Nursery) -> None:
    """From the moment on that it follows, within a look of the store, or at once when something was stored here."""
    history, registry = History(), Registry()
    ana, bo = Member(), Member()
    follows = follower(history, registry)
    history.add(ANA, "before")
    nursery.start_soon(follows.run)
    await follows.follow(ana, ANA)
    await follows.follow(ana, ANA)
    await follows.follow(bo, BO)
    history.add(ANA, "Q", "A")
    await trio.sleep(FOLLOW_EVERY)
    (news,) = ana.events
    assert isinstance(news, ThreadUpdate)
    assert isinstance(news.frame, ThreadChanged)
    (told,) = news.exchanges
    assert [each.text for each in told.frame.messages] == ["Q", "A"]
    assert told == ExchangeUpdate("m", told.frame, False, Exchange("Q", "A", message="m"))
    assert bo.events == []
    began = trio.current_time()
    history.add(BO, "Q")
    follows.look_soon()
    await trio.testing.wait_all_tasks_blocked()
    assert (len(bo.events), trio.current_time()) == (1, began)


async def test_a_deleted_thread_is_told_to_every_session_once(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """To those that follow with a frame, before they go on elsewhere; also where nobody follows."""
    history, registry = History(), Registry()
    ana, other = Member(), Member()
    registry.add(ana)
    registry.add(other)
    follows = follower(history, registry)
    nursery.start_soon(follows.run)
    await trio.sleep(1)
    history.changes.append(ThreadChange(BO, None, is_deleted=True))
    await trio.sleep(LOOK_EVERY)
    assert [type(each) for each in other.events] == [ThreadErased]
    await follows.follow(ana, ANA)
    history.changes.append(ThreadChange(ANA, None, is_deleted=True))
    history.changes.append(ThreadChange(ANA, None, is_deleted=True))
    await trio.sleep(LOOK_EVERY)
    assert [type(each) for each in ana.events] == [ThreadErased, ThreadUpdate, ThreadErased, ThreadUpdate]
    assert isinstance(ana.events[1], ThreadUpdate)
    assert ana.events[1].frame == ThreadDeleted("t1")
    assert follows.was_erased(ANA)
    assert not follows.was_erased(ANA.in_thread("t9"))


async def test_a_store_that_cannot_be_read_is_read_later(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """Nothing is missed, and no session waits for it."""
    history, registry = History(), Registry()
    follows, ana = follower(history, registry), Member()
    nursery.start_soon(follows.run)
    await trio.sleep(1)
    history.fault = StorageFailed("the disk")
    await follows.follow(ana, ANA)
    history.add(ANA, "Q")
    await trio.sleep(5)
    assert ana.events == []
    history.fault = None
    await trio.sleep(FOLLOW_EVERY)
    assert len(ana.events) == 1


async def test_who_has_left_is_told_nothing(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """And is held on to no more; without followers the store is looked at less often."""
    history, registry = History(), Registry()
    follows, ana = follower(history, registry), Member()
    nursery.start_soon(follows.run)
    await follows.follow(ana, ANA)
    follows.leave(ana, ANA)
    follows.leave(ana, ANA)
    assert len(follows._members) == 0
    history.add(ANA, "Q")
    await trio.sleep(LOOK_EVERY)
    assert ana.events == []
    looks = history.looks
    await trio.sleep(2 * LOOK_EVERY)
    assert history.looks - looks <= 2


@pytest.mark.parametrize("stays", [0.0, 0.5, 1.0, 1.5, 3.0])
async def test_a_session_that_leaves_follows_no_more(
    stays: float, autojump_clock: trio.testing.MockClock
) -> None:
    """Whenever it leaves: before, while, just as and after the store is looked at for it."""
    history = History(wait=1.0)
    async with world() as w:
        follows = follower(history, w.parts.registry)
        memory = FakeMemory(clock=FixedClock())
        w.parts = with_memory(w.parts, MemoryAccess(memory, memory), follows)
        wire = await w.connect()
        wire.push({"type": "thread_list", "id": "q", "follow": True})
        await trio.sleep(stays)
        assert stays == 1.0 or len(follows._members) == (stays > 1)
        wire.leave()
        await trio.sleep(5)
        assert len(follows._members) == 0


def test_only_a_whole_exchange_that_was_not_refused_is_history() -> None:
    """With what its answer cites of memory."""
    question = FrameMessage(message="m", role="user", text="Q", at=1)
    answer = FrameMessage(message="m", role="assistant", text="A", at=1)
    assert pair_exchange([question, answer]) == Exchange("Q", "A", message="m")
    assert pair_exchange([question]) is None
    assert pair_exchange([question, FrameMessage(message="m", role="assistant", text="", at=1)]) is None
