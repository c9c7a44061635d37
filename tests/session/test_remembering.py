"""What a session has remembered, and what it suggests of that when its answer has long been said."""

import gc
from collections.abc import Collection, Mapping
from dataclasses import replace

import trio
import trio.testing

from agent.config import MEMORY_READ
from agent.memory.repeats import Repeats
from agent.ports.brain import (
    Blocked,
    DraftCompleted,
    Proposal,
    Question,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
    Wish,
)
from agent.ports.conversation import NO_SCOPE, Exchange, Scope
from agent.ports.memory import ProposalOutcome
from agent.ports.remember import FinishedAnswer, ReturnPath
from agent.ports.search import Snippet
from agent.protocol.codec import encode
from agent.session.cited_sources import CitedSources
from agent.session.effects import BeginTurn, RecordExchange
from agent.session.events import MemoryErased
from agent.session.forgotten_exchanges import drop_forgotten
from agent.session.turn_in_progress import make_answered, make_response
from agent.testing.fake_memory import FakeMemory

from .driver import LACKING, REFUSAL, Driver, text
from .harness import ANSWER, Emit, FixedClock, ask, world

REMEMBER = Proposal(action="remember", payload={"item": "i1", "text": "My budget is 50k."}, item="i1")


class Notebook:
    """Keeps what it is told, and who may be asked about it."""

    def __init__(self) -> None:
        self.exchanges: list[tuple[str, str, bool]] = []
        self.return_paths: list[tuple[ReturnPath, Question]] = []
        self.declined: list[str] = []

    def record_exchange(self, question: Question, answered: FinishedAnswer, return_path: ReturnPath) -> None:
        self.exchanges.append((question.id, answered.text, answered.blocked))
        self.return_paths.append((return_path, question))

    def decline_item(self, scope: Scope, item: str) -> None:
        assert scope.thread
        self.declined.append(item)

    async def record_and_propose(
        self, question: Question, answered: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...]:
        raise AssertionError("a socket waits for nothing")


def test_an_answer_tells_what_it_cites_of_what_is_remembered() -> None:
    """Each once, in its order, and no document."""
    cited = [
        Snippet(file=file, text="x", first=1, last=1)
        for file in ("memory/i1", "kb/a.md", "memory/t7", "memory/i1")
    ]
    said = [
        VerifiedText(text="One. ", citations=tuple(cited[:2]), confidence="low"),
        VerifiedText(text="Two.", citations=tuple(cited[2:]), confidence="low"),
    ]
    assert make_answered("One. Two.", said) == FinishedAnswer("One. Two.", False, ("i1", "t7"))
    refused = VerifiedText(
        text="No.", citations=(), confidence="low", blocked=Blocked("number_mismatch", "No.")
    )
    assert make_answered("One. No.", [said[0], refused]) == FinishedAnswer("One. No.", True, ("i1",))


async def test_an_answer_without_memory_says_so(autojump_clock: trio.testing.MockClock) -> None:
    """It is counted, and no part of it is sure where one is not; an answer that lacks nothing says nothing of it."""
    unsure = VerifiedText(text="It is blue. ", citations=(), confidence="high").without_memory()
    sure = VerifiedText(text="Or red.", citations=(), confidence="high")
    assert unsure.confidence == "low"
    told = make_response("It is blue. Or red.", [unsure, sure], CitedSources([unsure, sure]), "m1")
    assert (told.without_memory, told.confidence) == (True, "low")
    assert b'"withoutMemory":true' in encode(told)
    assert b"withoutMemory" not in encode(make_response("Or red.", [sure], CitedSources([sure]), "m1"))

    async def say(question: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=unsure))

    async with world() as w:
        w.brain.script = say
        wire = await w.connect()
        wire.push(ask())
        await trio.sleep(1)
        assert [each["type"] for each in wire.sent() if each.get("withoutMemory")] == ["response"]
        assert [each for each, _ in w.counts.counted].count("memory_unread") == 1


async def test_a_conversation_that_cannot_be_read_is_told_of(autojump_clock: trio.testing.MockClock) -> None:
    """The question stands alone, and its answer is one without memory; a busy server is waited for."""

    class Unreadable(FakeMemory):
        wait = MEMORY_READ - 1

        async def forgotten_messages(
            self, scope: Scope, said: Mapping[str, Collection[str]]
        ) -> frozenset[str]:
            await trio.sleep(self.wait)
            return frozenset()

    desk = Unreadable(clock=FixedClock(), kept=[])
    asked = Question(
        id="m2", text="And?", lang=None, at=0.0, history=(Exchange("What?", "That.", message="m1"),)
    )
    assert await drop_forgotten(asked, desk) == (asked, frozenset())
    desk.wait = MEMORY_READ + 1
    alone, gone = await drop_forgotten(asked, desk)
    assert (alone.history, alone.unread, gone) == ((), True, frozenset())


async def test_what_is_offered_later_can_be_confirmed_or_declined(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It is suggested like any action: run once when it is confirmed, and declined when it is not wanted."""
    notes = Notebook()
    async with world() as w:
        w.parts = replace(w.parts, recorder=notes)
        wire = await w.connect()
        wire.push(ask())
        await wire.until("response")
        assert notes.exchanges == [("m", ANSWER, False)]
        (return_path, question) = notes.return_paths[0]
        await trio.sleep(5)
        return_path.offer(question, REMEMBER)
        frame = await wire.until("action_suggestion")
        assert (frame["action"], frame["payload"]) == ("remember", dict(REMEMBER.payload))
        assert frame["id"] == "m"
        wire.push({"type": "confirm_action", "suggestionId": frame["suggestionId"]})
        assert (await wire.until("action_executed"))["result"]["success"]
        assert w.executor.told == [dict(REMEMBER.payload)]
        return_path.offer(question, REMEMBER)
        frame = await wire.until("action_suggestion", 2)
        wire.push({"type": "reject_action", "suggestionId": frame["suggestionId"]})
        await wire.until("action_closed")
        assert (notes.declined, len(w.executor.told)) == (["i1"], 1)


async def test_who_may_ask_later_keeps_no_session(autojump_clock: trio.testing.MockClock) -> None:
    """A client that has left is asked nothing, and nothing is left of its session."""
    notes = Notebook()
    async with world() as w:
        w.parts = replace(w.parts, recorder=notes)
        wire = await w.connect()
        wire.push(ask())
        await wire.until("response")
        wire.leave()
        await trio.sleep(1)
        gc.collect()
        assert [session() for session in w.gone] == [None]
        (return_path, question) = notes.return_paths[0]
        return_path.offer(question, REMEMBER)


def test_what_says_it_again_is_told_no_more() -> None:
    """To whom it was forgotten, and to nobody else."""
    d = Driver(kept=100.0)
    d.message("a")
    d.drafted()
    d.told(VerifiedPart(text=text()))
    d.spoken()
    again, none = Repeats(["price?"]), frozenset[str]()
    for number, scope in enumerate((Scope("p2"), Scope(user="ana"), Scope(thread="t2"), NO_SCOPE)):
        d.post(MemoryErased(none, none, d.now, scope, again))
        d.message(f"m{number}")
        (begun,) = [each.question for each in d.effects if isinstance(each, BeginTurn)]
        assert ["a" in [each.message for each in begun.history]] == [scope != NO_SCOPE]
        d.drafted()
        d.told(VerifiedPart(text=text()))
        d.spoken()


def test_what_is_forgotten_is_told_no_more() -> None:
    """An answer that cites it and was being said then ends, and what is open of its words is not told either."""
    d = Driver(kept=100.0)
    for id in ("a", "b"):
        d.message(id)
        d.drafted()
        d.told(VerifiedPart(text=text(), wishes=(Wish(LACKING, ("price?",)),)))
        d.spoken()
    d.post(MemoryErased(frozenset(["x"]), frozenset(), d.now))
    d.message("c")
    (begun,) = [each.question for each in d.effects if isinstance(each, BeginTurn)]
    assert ([each.message for each in begun.history], bool(begun.wishes)) == (["a", "b"], True)
    d.drafted()
    cited = VerifiedText(
        text="Blue.",
        citations=(Snippet(file="memory/i1", text="It is blue.", first=1, last=1),),
        confidence="high",
    )
    d.told(VerifiedPart(text=cited, wishes=(Wish(LACKING, ("price?",)),)))
    d.post(MemoryErased(frozenset(["b"]), frozenset(["i1"]), d.now))
    assert d.did() == ["StopSpeech", "EndTurn"]
    assert [each for each in d.effects if isinstance(each, RecordExchange)] == []
    d.post(MemoryErased(frozenset(["a"]), frozenset(["t3"]), d.now))
    d.message("d")
    (begun,) = [each.question for each in d.effects if isinstance(each, BeginTurn)]
    assert (begun.history, begun.wishes) == ((), ())


def test_an_answer_that_cites_what_is_forgotten_after_it_is_told_no_more() -> None:
    """Who forgets may not know of it yet: it is still being kept."""
    d = Driver(kept=100.0)
    d.message("a")
    d.drafted()
    d.told(
        VerifiedPart(
            text=VerifiedText(
                text="Blue.",
                citations=(Snippet(file="memory/i1", text="It is blue.", first=1, last=1),),
                confidence="high",
            )
        )
    )
    d.spoken()
    d.post(MemoryErased(frozenset(["b"]), frozenset(["i1", "t3"]), d.now))
    d.message("b")
    (begun,) = [each.question for each in d.effects if isinstance(each, BeginTurn)]
    assert begun.history == ()


def test_an_answer_in_progress_that_says_again_what_is_forgotten_is_told_no_more() -> None:
    """To the model, and by no mouth; what it leaves open goes too."""
    d = Driver(kept=100.0)
    d.message("a")
    d.drafted()
    none = frozenset[str]()
    d.post(MemoryErased(none, none, d.now, again=Repeats(["It is 299 kr"])))
    assert d.did() == []
    d.told(VerifiedPart(text=text(), wishes=(Wish(LACKING, ("price?",)),)))
    assert d.did() == ["StopSpeech", "SpeakText"]
    d.post(MemoryErased(none, none, d.now, again=Repeats(["It is 300 kr"])))
    assert d.did() == []
    d.post(MemoryErased(none, none, d.now, again=Repeats(["It is 299 kr"])))
    assert d.did() == ["StopSpeech"]
    d.spoken()
    d.message("b")
    (begun,) = [each.question for each in d.effects if isinstance(each, BeginTurn)]
    assert (begun.history, begun.wishes) == ((), ())


def test_a_refused_message_that_is_forgotten_leaves_nothing_open() -> None:
    """No history holds it, but what it left open has its words."""
    d = Driver()
    d.message("a")
    d.drafted()
    d.told(TurnRefusal(REFUSAL, wishes=(Wish(LACKING, ("price?",)),)))
    d.spoken()
    d.post(MemoryErased(frozenset(["a"]), frozenset(), d.now))
    assert d.did() == ["StopSpeech"]
    d.message("b")
    (begun,) = [each.question for each in d.effects if isinstance(each, BeginTurn)]
    assert begun.wishes == ()
