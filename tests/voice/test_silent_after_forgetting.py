"""Speech ends when what its answer was made of is forgotten or deleted elsewhere: by another session, or over HTTP."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from agent.memory.repeats import Repeats
from agent.ports.brain import DraftCompleted, Proposal, Question, VerifiedPart, VerifiedText
from agent.ports.consult import ExchangeUpdate, ThreadUpdate
from agent.ports.conversation import Scope
from agent.ports.memory import Remark, StoredTurn
from agent.ports.search import Snippet
from agent.protocol.consult_frames import ExchangeFrame, ThreadDeleted
from agent.session.events import ThreadErased
from agent.session.forgotten_exchanges import Conversations
from agent.voice.mouth import LONGEST_PAUSE
from tests.session.harness import Emit, Script, World, ask, world

from .talking import BrokenEngine, Talk, connect

WORDS = "The door of the house is painted blue. " * 6
ITEM = Snippet(file="memory/i1", text="The door of my house is painted blue.", first=1, last=1)
PLAIN = Snippet(file="kb/doors.md", text="A door opens.", first=1, last=1)
Forget = Callable[[World, Talk], Awaitable[None]]


def part(words: str = WORDS, *, last: bool = True, cites: Snippet = ITEM, proposals: int = 0) -> VerifiedPart:
    """A text that cites a memory item."""
    proposal = Proposal(action="create_ticket", payload={"subject": "070 12 34 56 78 90 12 34 56 78"})
    return VerifiedPart(
        text=VerifiedText(text=words, citations=(cites,), confidence="high"),
        last=last,
        proposals=(proposal,) * proposals,
    )


def telling(*parts: VerifiedPart, wait: float = 0.0) -> Script:
    """A script that emits parts, with a wait before each but the first."""

    async def script(_: Question, emit: Emit) -> None:
        for number, each in enumerate(parts):
            await trio.sleep(wait if number else 0)
            emit(DraftCompleted())
            emit(each)

    return script


async def forget_item(w: World, _: Talk) -> None:
    """Forget the item that the answer cites."""
    await Conversations(w.registry).forget_turns((), "i1")


async def forget_message(w: World, _: Talk) -> None:
    """Forget the message, as the deletion of its thread does."""
    turn = StoredTurn(1, Scope(), Remark(message="m", role="user", text="", at=0))
    await Conversations(w.registry).forget_turns([turn])


async def forget_words(w: World, talk: Talk) -> None:
    """Forget an item whose words the answer repeats."""
    await Conversations(w.registry).forget_repeats(talk.scope, Repeats(["The house is painted blue"]))


async def delete_thread(w: World, talk: Talk) -> None:
    """Delete the thread, told by the store."""
    w.registry.post_all(ThreadErased(talk.scope, "fresh", trio.current_time()))
    await trio.lowlevel.checkpoint()


async def hear_of_it(_: World, talk: Talk) -> None:
    """Hear of the message's end from another process."""
    scope = talk.scope
    gone = ExchangeUpdate("m", ExchangeFrame(scope.thread, ()), True, None)
    talk.session.tell_update(ThreadUpdate(scope, ThreadDeleted(scope.thread), (gone,)))
    await trio.lowlevel.checkpoint()


WAYS = [forget_item, forget_message, forget_words, delete_thread, hear_of_it]


async def forget_another_item(w: World, _: Talk) -> None:
    """Forget an item that the answer has nothing of."""
    await Conversations(w.registry).forget_turns((), "i2")


async def forget_others_words(w: World, _: Talk) -> None:
    """Forget the same words of another user."""
    await Conversations(w.registry).forget_repeats(Scope(user="ana"), Repeats(["The house is painted blue"]))


async def delete_another_thread(w: World, talk: Talk) -> None:
    """Delete another thread."""
    scope = talk.scope.in_thread("another")
    w.registry.post_all(ThreadErased(scope, "fresh", trio.current_time()))
    await trio.lowlevel.checkpoint()


async def assert_silence(talk: Talk, engine: BrokenEngine | None = None) -> None:
    """Assert that nothing more is said, and that this was told at once, once."""
    said = len(talk.wire.audio)
    assert talk.ends == ["cancelled"]
    await trio.sleep(2 * LONGEST_PAUSE)
    assert (len(talk.wire.audio), talk.ends) == (said, ["cancelled"])
    assert engine is None or engine.alive == 0


@pytest.mark.parametrize("forget", WAYS)
async def test_an_answer_of_which_something_is_forgotten_is_said_no_more(
    forget: Forget, autojump_clock: MockClock
) -> None:
    """Its turn has long ended: no chunk is begun after it, the engine ends, and the text stands."""
    engine = BrokenEngine()
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part())
        talk = await connect(w, nursery, engine)
        talk.wire.push(ask())
        await talk.wire.until("response")
        await trio.sleep(0.51)
        assert talk.mouth.is_speaking
        await forget(w, talk)
        await assert_silence(talk, engine)
        assert talk.wire.sent("response")[0]["text"] == WORDS
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("forget", [forget_another_item, forget_others_words, delete_another_thread])
async def test_an_answer_of_which_nothing_is_forgotten_is_said_to_its_end(
    forget: Forget, autojump_clock: MockClock
) -> None:
    """Also while its turn is in progress."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part())
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech")
        await forget(w, talk)
        await talk.wire.until("response")
        await forget(w, talk)
        await talk.wire.until("speech_end")
        assert talk.ends == ["done"]
        nursery.cancel_scope.cancel()


async def test_an_answer_of_a_thread_that_was_left_is_said_no_more_once_it_is_deleted(
    autojump_clock: MockClock,
) -> None:
    """The session has another thread open by then."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part())
        talk = await connect(w, nursery)
        scope = talk.scope
        talk.wire.push(ask())
        await talk.wire.until("response")
        talk.session._core._enter_thread(scope.in_thread("another"))
        w.registry.post_all(ThreadErased(scope, "fresh", trio.current_time()))
        await assert_silence(talk)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("forget", [forget_item, forget_words])
async def test_sentences_that_wait_for_the_mouth_are_not_said(
    forget: Forget, autojump_clock: MockClock
) -> None:
    """Nor those that come later. The text of the turn ends too where it cites the item, and else goes on."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part(last=False), part("It opens. ", cites=PLAIN), wait=1.0)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech")
        assert not talk.wire.sent("response")
        await forget(w, talk)
        await assert_silence(talk)
        ends = [each["reason"] for each in talk.wire.sent("stream_end")]
        assert ends == (["cancelled"] if forget is forget_item else ["done"])
        assert [each["text"] for each in talk.wire.sent("response")] == [WORDS + "It opens. "] * ends.count(
            "done"
        )
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("forget", [forget_item, forget_words])
async def test_an_answer_that_is_drafted_when_its_item_is_forgotten_is_not_said(
    forget: Forget, autojump_clock: MockClock
) -> None:
    """It may have read the item before; the parts that come before it are said until then."""
    async with world() as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part("It opens. " * 9, last=False, cites=PLAIN), part(), wait=2.0)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech")
        await forget(w, talk)
        await trio.sleep(1.0)
        assert (talk.ends, talk.mouth.is_speaking) == ([], True)
        await talk.wire.until("speech_end")
        await assert_silence(talk)
        places = [frame["to"] for frame in talk.wire.sent("speech")]
        assert max(places) < len("It opens. " * 9)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("forget", [forget_item, forget_words])
async def test_an_answer_that_follows_its_item_s_end_begins_no_sound(
    forget: Forget, autojump_clock: MockClock
) -> None:
    """The turn was in progress, and had said nothing. So is it with a text that only repeats what was forgotten."""
    async with world() as w, trio.open_nursery() as nursery:
        empty = part("", last=False, cites=PLAIN)
        w.brain.script = telling(empty, part(), wait=1.0)
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await trio.sleep(0.5)
        await forget(w, talk)
        await talk.wire.until("stream_end")
        await trio.sleep(1)
        assert (talk.wire.audio, talk.wire.sent("speech")) == ([], [])
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("forget", WAYS)
async def test_a_read_back_is_said_no_more(forget: Forget, autojump_clock: MockClock) -> None:
    """It belongs to the answer; one that would follow is not begun."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part("The house is painted blue. ", proposals=1))
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech", 2)
        assert talk.wire.sent("speech")[-1]["to"] == 0
        await trio.sleep(0.2)
        await forget(w, talk)
        await assert_silence(talk)
        assert not talk.mouth.is_speaking
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("forget", WAYS)
async def test_a_pause_ends_in_silence(forget: Forget, autojump_clock: MockClock) -> None:
    """The cough that paused it lets nothing go on."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part())
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("speech")
        await trio.sleep(0.51)
        assert talk.mouth.pause()
        await forget(w, talk)
        talk.mouth.resume()
        await assert_silence(talk)
        nursery.cancel_scope.cancel()


async def test_the_next_question_is_answered_aloud(autojump_clock: MockClock) -> None:
    """Silence is of one answer."""
    async with world(pace_ms=0) as w, trio.open_nursery() as nursery:
        w.brain.script = telling(part())
        talk = await connect(w, nursery)
        talk.wire.push(ask())
        await talk.wire.until("response")
        await forget_item(w, talk)
        assert talk.ends == ["cancelled"]
        w.brain.script = telling(part("It opens. ", cites=PLAIN))
        talk.wire.push(ask("n"))
        await talk.wire.until("speech_end", 2)
        assert talk.ends == ["cancelled", "done"]
        nursery.cancel_scope.cancel()
