"""Keeping what was said: in order, without anybody's waiting, and asking before anything becomes true."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.errors import ActionFailed, ActionUnknown, Conflict, NotFound, StorageFailed
from agent.memory.exchange_keeper import (
    MEMORY_ANSWER,
    MEMORY_BATCH,
    MEMORY_CAUGHT_UP,
    MEMORY_LEFT_OUT,
    MEMORY_RETRY,
    MEMORY_TRIES,
    MEMORY_WAITING,
    ExchangeKeeper,
)
from agent.memory.executor import RememberExecutor
from agent.memory.items import make_draft
from agent.memory.message_items import MessageItems, ProposedDraft
from agent.memory.settings import MEMORY_ASKED, MEMORY_WRITE
from agent.ports.action import Call
from agent.ports.brain import Question
from agent.ports.conversation import Scope
from agent.ports.decide import CallResult
from agent.ports.memory import (
    Candidate,
    Draft,
    ExchangeRecord,
    Item,
    ItemType,
    MemoryStore,
    ProposalOutcome,
    Source,
    StoredTurn,
)
from agent.ports.remember import FinishedAnswer, RepeatMatcher
from agent.testing.fakes import Figures, Noon
from agent.testing.return_paths import NotedReturnPath

SCOPE = Scope("shop", "t1", "anna")
NOW = 1_700_000_000_000


def item_of(drafted: Draft, number: int, **changed: Any) -> Item:
    made = Item(
        id=f"i{number}",
        type=drafted.type,
        status="proposed",
        key=drafted.key,
        slot=drafted.slot,
        text=drafted.text,
        numbers=drafted.numbers,
        scope=SCOPE,
        valid_from=drafted.valid_from,
        valid_to=drafted.valid_to,
        expires_at=drafted.expires_at,
        supersedes=None,
        superseded_by=None,
        confidence=drafted.confidence,
        sources=drafted.sources,
        created_at=NOW,
        decided_at=None,
        decided_by=None,
        revision=1,
    )
    return replace(made, **changed)


@dataclass
class FakeStore:
    """Notes what it is told. wait: seconds that each write takes. fails: how many of them fail."""

    wait: float = 0.0
    fails: int = 0
    conflicts: tuple[Item, ...] = ()
    loops: tuple[Item, ...] = ()
    batches: list[list[ExchangeRecord]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    decided: list[tuple[str, str]] = field(default_factory=list)
    counted: list[tuple[Scope, int]] = field(default_factory=list)
    expired: int = 0
    made: int = 0
    refuses: Exception | None = None
    gone: set[str] = field(default_factory=set)
    looks: int = 0
    is_stalled: bool = False
    is_known: bool = False  # only the first of what an exchange proposes is still there

    async def _write(self) -> None:
        await trio.sleep(self.wait)
        if self.fails:
            self.fails -= 1
            raise StorageFailed("full")
        if self.refuses is not None:
            raise self.refuses

    async def keep_exchanges(
        self, kept: Sequence[ExchangeRecord], at: int
    ) -> tuple[tuple[ProposalOutcome, ...], ...]:
        await self._write()
        self.batches.append(list(kept))
        left = 1 if self.is_known else None
        return tuple(tuple(self._proposed(each) for each in one.drafts[:left]) for one in kept)

    def _proposed(self, drafted: Draft) -> ProposalOutcome:
        self.made += 1
        return ProposalOutcome(item_of(drafted, self.made), True, self.conflicts)

    async def accept_item(
        self, scope: Scope, id: str, at: int, revision: Any = None, replaces: Any = None
    ) -> Item:
        await self._write()
        self.accepted.append(id)
        return item_of(drafted("It is blue."), 1, id=id, status="accepted", scope=scope)

    async def decide_item(self, scope: Scope, id: str, trigger: str, at: int, revision: Any = None) -> Item:
        self.decided.append((id, trigger))
        await self._write()
        return item_of(drafted("It is blue."), 1)

    async def live_items(self, scope: Scope, at: int, types: Any = (), most: Any = None) -> tuple[Item, ...]:
        return self.loops

    async def forgotten_messages(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        self.looks += 1
        return frozenset([each for each, cites in said.items() if self.gone & {*cites}])

    async def record_gap(self, scope: Scope, at: int, count: int) -> None:
        await self._write()
        self.counted.append((scope, count))

    async def expire_items(self, at: int) -> int:
        self.expired += 1
        return 0


def drafted(text: str, subject: str = "parcel", type: ItemType = "fact") -> Draft:
    return make_draft(
        Candidate(type=type, subject=subject, text=text, lang="en", sources=(Source("message", "m"),)), NOW
    )


def hear(question: Question, at: int) -> MessageItems:
    """ "told: a. b." orders two facts, "fact: a." has one, "done: x y" ends a loop; all else has nothing.

    "before: x y" ends what an exchange of these words spoke of.
    """
    kind, colon, rest = question.text.partition(": ")
    if kind == "broken":
        raise ValueError(rest)
    if kind == "before":
        return MessageItems(recent_stems=(frozenset(rest.split()),))
    if kind == "done":
        return MessageItems(finished_keys=((*sorted(rest.split()),),))
    texts = [f"{each}." for each in rest.split(". ") if colon]
    return MessageItems(tuple(ProposedDraft(drafted(each), kind == "told") for each in texts))


class Unsaid:
    """Notes what is forgotten of it."""

    def __init__(self) -> None:
        self.turns: list[StoredTurn] = []

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        self.turns += turns

    async def forget_repeats(self, scope: Scope, again: RepeatMatcher) -> None:
        raise AssertionError("not called")


@asynccontextmanager
async def kept_in(store: FakeStore, transcript: Unsaid | None = None) -> AsyncGenerator[ExchangeKeeper, None]:
    async with trio.open_nursery() as nursery:
        keeper = ExchangeKeeper(cast(MemoryStore, store), Noon(), Figures(), hear, transcript)
        nursery.start_soon(keeper.run)
        yield keeper
        nursery.cancel_scope.cancel()


def question(text: str = "hello", id: str = "m1", **more: Any) -> Question:
    return Question(id=id, text=text, lang="en", at=0.0, scope=SCOPE, **more)


async def test_exchanges_are_kept_in_their_order(autojump_clock: trio.testing.MockClock) -> None:
    """What waits is written together, and nobody waits for that."""
    store = FakeStore(wait=0.5)
    async with kept_in(store) as keeper:
        began = trio.current_time()
        for number in range(5):
            keeper.record_exchange(
                question(id=f"m{number}"), FinishedAnswer("Hi.", cites=("i1",)), NotedReturnPath()
            )
        assert trio.current_time() == began
        await keeper.wait_settled()
        said = [remark for batch in store.batches for kept in batch for remark in kept.remarks]
        assert [(each.message, each.role) for each in said] == [
            (f"m{number}", role) for number in range(5) for role in ("user", "assistant")
        ]
        assert said[1].cites == ("i1",)
        assert all(kept.scope == SCOPE for batch in store.batches for kept in batch)


async def test_a_turn_that_goes_on_after_a_result_has_no_user_in_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its words are those of the message before it, and were kept with that."""
    store = FakeStore()
    async with kept_in(store) as keeper:
        result = CallResult(call_id="c", tool="tool", arguments={}, ok=True, lines=("x: 1",))
        keeper.record_exchange(
            question("fact: It is blue.", "c", results=(result,)), FinishedAnswer("Done."), NotedReturnPath()
        )
        await keeper.wait_settled()
        (kept,) = store.batches[0]
        assert [each.role for each in kept.remarks] == ["assistant"]
        assert kept.drafts == ()


async def test_what_is_said_while_a_call_ended_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """The answer tells of that call too; the words are new all the same, and an order among them is one."""
    store = FakeStore()
    async with kept_in(store) as keeper:
        result = CallResult(call_id="c", tool="tool", arguments={}, ok=True, lines=("x: 1",))
        keeper.record_exchange(
            question("told: It is blue.", "m2", results=(result,)), FinishedAnswer("Done."), NotedReturnPath()
        )
        await keeper.wait_settled()
        (kept,) = store.batches[0]
        assert [each.role for each in kept.remarks] == ["user", "assistant"]
        assert (len(kept.drafts), store.accepted) == (1, ["i1"])


async def test_nobody_is_asked_before_the_row_is_there(autojump_clock: trio.testing.MockClock) -> None:
    """And about MEMORY_ASKED items of one message at most; the others are listed."""
    store, asked = FakeStore(wait=1.0), NotedReturnPath()
    async with kept_in(store) as keeper:
        keeper.record_exchange(
            question("fact: It is blue. It is red. It is old."), FinishedAnswer("Hi."), asked
        )
        await trio.sleep(0.9)
        assert (store.batches, asked.proposals) == ([], [])
        await keeper.wait_settled()
        assert [each.item for each in asked.proposals] == ["i1", "i2"][:MEMORY_ASKED]
        assert asked.proposals[0].payload == {"item": "i1", "text": "It is blue."}
        assert (asked.proposals[0].action, asked.proposals[0].needs_approval) == ("remember", True)
        assert store.accepted == []


async def test_an_order_is_an_approval(autojump_clock: trio.testing.MockClock) -> None:
    """Unless it contradicts what is remembered: then its user is asked, with both texts."""
    store, asked = FakeStore(), NotedReturnPath()
    async with kept_in(store) as keeper:
        keeper.record_exchange(question("told: It is blue. It is old."), FinishedAnswer("Noted."), asked)
        await keeper.wait_settled()
        assert (store.accepted, asked.proposals) == (["i1", "i2"], [])
        store.conflicts = (item_of(drafted("It is red."), 9, status="accepted"),)
        keeper.record_exchange(question("told: It is blue."), FinishedAnswer("Noted."), asked)
        await keeper.wait_settled()
        assert store.accepted == ["i1", "i2"]
        assert asked.proposals[0].payload["replaces"] == [{"item": "i9", "text": "It is red."}]


async def test_who_waits_is_told_what_was_proposed(autojump_clock: trio.testing.MockClock) -> None:
    """Not longer than MEMORY_ANSWER seconds; it is kept all the same, and nobody is asked."""
    store = FakeStore(wait=0.2)
    async with kept_in(store) as keeper:
        (proposed,) = (
            await keeper.record_and_propose(question("told: It is blue."), FinishedAnswer("Noted.")) or ()
        )
        assert proposed.item.status == "accepted"
        store.wait = MEMORY_ANSWER + 1
        began = trio.current_time()
        assert await keeper.record_and_propose(question("fact: It is old."), FinishedAnswer("Hi.")) is None
        assert trio.current_time() - began == pytest.approx(MEMORY_ANSWER)
        await keeper.wait_settled()
        assert len(store.batches) == 2


async def test_who_asks_next_waits_for_what_he_said_before(autojump_clock: trio.testing.MockClock) -> None:
    """Until it is kept and its order is carried out, and not for what others said after it."""
    store = FakeStore(wait=0.1)
    async with kept_in(store) as keeper:
        began = trio.current_time()
        await keeper.wait_caught_up(SCOPE)
        assert trio.current_time() == began
        keeper.record_exchange(question("told: It is blue."), FinishedAnswer("Noted."), NotedReturnPath())
        await trio.sleep(0.15)  # it is kept, and not accepted yet
        other = replace(SCOPE, user="bo")
        keeper.record_exchange(
            replace(question(id="m2"), scope=other), FinishedAnswer("Hi."), NotedReturnPath()
        )
        await keeper.wait_caught_up(SCOPE.in_thread("t2"))
        assert (store.accepted, len(store.batches)) == (["i1"], 1)
        assert trio.current_time() == pytest.approx(began + 0.2)
        await keeper.wait_caught_up(other)
        assert len(store.batches) == 2


async def test_a_disk_that_stalls_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    """A slow one is, and who waited too long is told that some of it is not kept; it costs no later turn."""
    store = FakeStore(wait=MEMORY_WRITE - 1)
    async with kept_in(store) as keeper:
        keeper.record_exchange(question(), FinishedAnswer("Hi."), NotedReturnPath())
        began = trio.current_time()
        assert not await keeper.wait_caught_up(SCOPE)
        assert trio.current_time() == pytest.approx(began + MEMORY_CAUGHT_UP)
        store.is_stalled = True
        assert not await keeper.wait_caught_up(SCOPE)
        assert await keeper.record_and_propose(question(id="m2"), FinishedAnswer("Hi.")) is None
        assert trio.current_time() == pytest.approx(began + MEMORY_CAUGHT_UP)
        store.is_stalled = False
        await trio.sleep(MEMORY_WRITE - 1)
        assert await keeper.wait_caught_up(SCOPE)


async def test_what_could_not_be_kept_is_told_for_a_while(autojump_clock: trio.testing.MockClock) -> None:
    """To its user, in each of his threads, and to nobody else."""
    store = FakeStore()
    async with kept_in(store) as keeper:
        store.fails = MEMORY_TRIES
        keeper.record_exchange(question(id="m2"), FinishedAnswer("Hi."), NotedReturnPath())
        await trio.sleep(MEMORY_RETRY * (MEMORY_TRIES - 1) - 0.1)
        began = trio.current_time()
        assert not await keeper.wait_caught_up(SCOPE.in_thread("t2"))
        assert trio.current_time() == pytest.approx(began + 0.1)
        assert not await keeper.wait_caught_up(SCOPE)
        assert await keeper.wait_caught_up(replace(SCOPE, user="bo"))
        await trio.sleep(MEMORY_LEFT_OUT)
        assert await keeper.wait_caught_up(SCOPE)


async def test_a_slow_commit_is_paid_twice_for_a_batch(autojump_clock: trio.testing.MockClock) -> None:
    """Once for what was said, and once for what all of its users order and decline, each in the user's order."""
    store = FakeStore(wait=1.0)
    async with kept_in(store) as keeper:
        began = trio.current_time()
        for number in range(MEMORY_BATCH - 1):
            asked = replace(
                question("told: It is blue.", id=f"m{number}"), scope=Scope("shop", "t", f"u{number}")
            )
            keeper.record_exchange(asked, FinishedAnswer("Noted."), NotedReturnPath())
        keeper.decline_item(SCOPE, "i9")
        keeper.record_exchange(
            question("told: It is blue.", id="after"), FinishedAnswer("Noted."), NotedReturnPath()
        )
        await trio.sleep(2.1)
        assert len(store.accepted) == MEMORY_BATCH - 1
        assert [len(each) for each in store.batches] == [MEMORY_BATCH - 1]
        assert store.decided == [("i9", "reject")]
        await keeper.wait_settled()
        assert [len(each) for each in store.batches] == [MEMORY_BATCH - 1, 1]
        assert trio.current_time() == pytest.approx(began + 4.0, abs=0.1)


async def test_an_exchange_that_was_written_before_changes_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A write whose answer was lost is tried again: what it proposed may be decided by now."""
    store = FakeStore()
    async with kept_in(store) as keeper:
        told = question("told: It is blue. It is old.")
        store.is_known = True
        keeper.record_exchange(told, FinishedAnswer("Noted."), NotedReturnPath())
        await keeper.wait_settled()
        assert (len(store.batches), store.accepted) == (1, ["i1"])


async def test_a_write_that_fails_is_tried_again_and_then_counted(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The count is kept as soon as anything can be."""
    store = FakeStore(fails=MEMORY_TRIES - 1)
    async with kept_in(store) as keeper:
        keeper.record_exchange(question(), FinishedAnswer("Hi."), NotedReturnPath())
        await trio.sleep(MEMORY_RETRY * MEMORY_TRIES)
        assert (len(store.batches), store.counted) == (1, [])
        store.fails = MEMORY_TRIES
        keeper.record_exchange(question(id="lost"), FinishedAnswer("Hi."), NotedReturnPath())
        await trio.sleep(MEMORY_RETRY * MEMORY_TRIES)
        assert (len(store.batches), store.counted) == (1, [])
        keeper.record_exchange(question(id="m3"), FinishedAnswer("Hi."), NotedReturnPath())
        await trio.sleep(MEMORY_RETRY)
        assert (len(store.batches), store.counted) == (2, [(SCOPE, 1)])


async def test_what_was_lost_last_is_counted_before_its_server_ends(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nothing comes after it with which it would be; what cannot be counted then is said in the log."""
    store = FakeStore(fails=MEMORY_TRIES)
    async with kept_in(store) as keeper:
        keeper.record_exchange(question(id="lost"), FinishedAnswer("Hi."), NotedReturnPath())
        await keeper.wait_settled()
        assert (store.batches, store.counted) == ([], [(SCOPE, 1)])
    with capture_logs() as lines:
        async with kept_in(FakeStore(wait=MEMORY_WRITE * 10)) as keeper:
            for number in range(70):
                keeper.record_exchange(question(id=f"m{number}"), FinishedAnswer("Hi."), NotedReturnPath())
            with trio.move_on_after(1):
                await keeper.wait_settled()
    (said,) = [line for line in lines if line["event"] == "exchanges not remembered"]
    assert said["exchanges"] == 70


async def test_a_disk_that_stalls_costs_what_is_said_and_no_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """More than MEMORY_WAITING exchanges are a gap; who hands one over never waits."""
    store = FakeStore(wait=MEMORY_WRITE * 10)
    async with kept_in(store) as keeper:
        began = trio.current_time()
        for number in range(MEMORY_WAITING + 40):
            keeper.record_exchange(question(id=f"m{number}"), FinishedAnswer("Hi."), NotedReturnPath())
        assert trio.current_time() == began
        assert await keeper.record_and_propose(question(id="late"), FinishedAnswer("Hi.")) is None
        assert trio.current_time() == began  # where there is no room nobody waits
        store.wait = 0.0
        await keeper.wait_settled()
        kept = sum(len(batch) for batch in store.batches)
        assert kept + sum(count for _, count in store.counted) == MEMORY_WAITING + 41
        assert kept >= MEMORY_WAITING - 64


async def test_what_cannot_be_looked_through_is_kept_without(autojump_clock: trio.testing.MockClock) -> None:
    """Words that break the reading break nothing else."""
    store = FakeStore()
    async with kept_in(store) as keeper:
        keeper.record_exchange(question("broken: 7731"), FinishedAnswer("Hi."), NotedReturnPath())
        keeper.record_exchange(question("fact: It is blue.", "m2"), FinishedAnswer("Hi."), NotedReturnPath())
        await keeper.wait_settled()
        assert [len(kept.drafts) for batch in store.batches for kept in batch] == [0, 1]


async def test_a_decline_rejects_the_item(autojump_clock: trio.testing.MockClock) -> None:
    """Once, after what was handed over before it; one that is decided already stays as it is."""
    store = FakeStore(wait=0.1)
    async with kept_in(store) as keeper:
        keeper.record_exchange(question("fact: It is blue."), FinishedAnswer("Hi."), NotedReturnPath())
        keeper.decline_item(SCOPE, "i1")
        await keeper.wait_settled()
        assert (len(store.batches), store.decided) == (1, [("i1", "reject")])
        store.refuses = Conflict("refused")
        keeper.decline_item(SCOPE, "i1")
        await keeper.wait_settled()
        store.refuses = None
        keeper.record_exchange(question(), FinishedAnswer("Hi."), NotedReturnPath())
        await keeper.wait_settled()
        assert len(store.batches) == 2


async def test_words_end_the_loop_that_they_name(autojump_clock: trio.testing.MockClock) -> None:
    """And none where two are named alike."""
    loop = item_of(drafted("I will call the bank.", "call bank"), 5, type="open_loop", status="active")
    store = FakeStore(loops=(loop,))
    async with kept_in(store) as keeper:
        keeper.record_exchange(question("done: bank call"), FinishedAnswer("Good."), NotedReturnPath())
        await keeper.wait_settled()
        assert store.decided == [("i5", "finish")]
        keeper.record_exchange(question("before: call it a day"), FinishedAnswer("Good."), NotedReturnPath())
        keeper.record_exchange(
            question("before: did you call the bank"), FinishedAnswer("Good."), NotedReturnPath()
        )
        await keeper.wait_settled()
        assert store.decided == 2 * [("i5", "finish")]
        store.decided.pop()
        store.loops = (loop, replace(loop, id="i6"))
        keeper.record_exchange(question("done: bank call"), FinishedAnswer("Good."), NotedReturnPath())
        await keeper.wait_settled()
        assert store.decided == [("i5", "finish")]


async def test_what_is_over_is_ended_every_minute(autojump_clock: trio.testing.MockClock) -> None:
    """For as long as it runs."""
    store = FakeStore()
    async with kept_in(store):
        await trio.sleep(125)
        assert store.expired == 3


@pytest.mark.parametrize(
    ("refuses", "raised"),
    [
        (Conflict("changed"), ActionFailed),
        (NotFound(), ActionFailed),
        (StorageFailed("gone"), ActionUnknown),
        (None, None),
    ],
)
async def test_a_confirmed_item_is_accepted_as_its_user_saw_it(
    refuses: Exception | None, raised: type[Exception] | None
) -> None:
    """With what it replaces, under the scope of the call; nothing happens before `begin`."""
    store = FakeStore(refuses=refuses)
    executor = RememberExecutor(cast(MemoryStore, store), Noon())
    payload = {"item": "i1", "text": "It is blue.", "replaces": [{"item": "i9", "text": "It is red."}]}
    call = Call(suggestion_id="s1", action="remember", payload=payload, message="m1", scope=SCOPE)
    began: list[int] = []
    if raised is not None:
        with pytest.raises(raised):
            await executor.run(call, lambda: began.append(len(store.accepted)))
    else:
        told = await executor.run(call, lambda: began.append(len(store.accepted)))
        assert told == {"item": "i1", "status": "accepted", "replaced": ["i9"]}
    assert began == [0]


async def test_an_answer_that_cites_what_was_forgotten_before_it_was_kept_leaves_the_transcript(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its words are in no thread's messages either; one that cites nothing costs no look."""
    store, unsaid = FakeStore(), Unsaid()
    async with kept_in(store, unsaid) as keeper:
        keeper.record_exchange(
            question("?", "m1"), FinishedAnswer("Blue.", cites=("i1", "t3")), NotedReturnPath()
        )
        keeper.record_exchange(question("?", "m2"), FinishedAnswer("Red.", cites=("i2",)), NotedReturnPath())
        keeper.record_exchange(question("?", "m3"), FinishedAnswer("Hi."), NotedReturnPath())
        await keeper.wait_settled()
        assert unsaid.turns == []
        store.gone = {"i2"}
        keeper.record_exchange(
            question("?", "m4"), FinishedAnswer("Blue.", cites=("i1", "i2")), NotedReturnPath()
        )
        await keeper.wait_settled()
        assert [(each.scope, each.remark.message, each.remark.role) for each in unsaid.turns] == [
            (SCOPE, "m4", "assistant")
        ]
        assert store.looks == 3


async def test_an_event_that_a_model_proposes_too_is_stored_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The model's where a rule may accept it, else the one of the user's words; another event is another item."""
    own = drafted("The boiler broke (2023-11-14)", "boiler", "event")
    same, other = (drafted(text, "heating", "event") for text in ("The boiler broke.", "The door broke."))
    ruled = replace(same, by_rule=True)
    fact = drafted("The boiler broke.", "heating")

    def read(question: Question, at: int) -> MessageItems:
        return MessageItems((ProposedDraft(own, False),))

    for proposed, stored in (
        ((same,), (own,)),
        ((ruled,), (ruled,)),
        ((other, fact), (own, other, fact)),
    ):
        store = FakeStore()
        keeper = ExchangeKeeper(cast("MemoryStore", store), Noon(), Figures(), read)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keeper.run)
            question = Question(id="m1", text="The boiler broke.", lang="en", at=0.0, scope=SCOPE)
            await keeper.record_and_propose(question, FinishedAnswer("So it is.", keeps=proposed))
            nursery.cancel_scope.cancel()
        assert store.batches[0][0].drafts == stored
