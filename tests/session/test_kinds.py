"""A session says and takes what the kind of its connection has, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.ports.brain import DraftCompleted, Proposal, Question, TurnRefusal, VerifiedPart, VerifiedText
from agent.ports.consult import ConsultReply, ExchangeUpdate, ThreadListener, ThreadUpdate
from agent.ports.conversation import Exchange, Scope
from agent.ports.remember import FinishedAnswer, NoRecorder, ReturnPath
from agent.protocol.kinds import CONVERSATION, ConnectionKind
from agent.session.events import QuestionPosed
from agent.session.session import Session
from agent.session.single_turn import AnswerFailure, SingleTurn

from ..kinds import TALE, TaleOpened, TaleStored, make_tale
from .driver import text
from .harness import Emit, Script, World, world

PROPOSAL = Proposal(action="create_ticket", payload={"subject": "s"})


def find_session(made: World) -> Session:
    """Return the one session of a world."""
    (session,) = [each for each in made.registry if isinstance(each, Session)]
    return session


def pose_question(made: World) -> Question:
    """Ask the session of a world a question, by no frame of any kind."""
    question = Question(id="m", text="price?", lang=None, at=trio.current_time())
    find_session(made).post(QuestionPosed(question, question.at))
    return question


@pytest.mark.parametrize(
    ("kind", "said", "proposals"),
    [
        (CONVERSATION, make_tale("The key lies here."), ()),
        (TALE, text("The key lies here."), ()),
        (TALE, make_tale("The key lies here."), (PROPOSAL,)),
    ],
    ids=["a tale in a conversation", "a verified text in a tale", "a proposal in a tale"],
)
@pytest.mark.parametrize("refuses", [False, True], ids=["part", "refusal"])
async def test_what_a_kind_does_not_have_is_a_fault_of_its_turn(
    autojump_clock: trio.testing.MockClock,
    kind: ConnectionKind,
    said: VerifiedText,
    proposals: tuple[Proposal, ...],
    refuses: bool,
) -> None:
    """A text of another kind, or a proposal where nothing is suggested, ends as `internal`; no word of it is sent."""

    async def script(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(TurnRefusal(said, proposals) if refuses else VerifiedPart(text=said, proposals=proposals))

    async with world() as made:
        made.parts = replace(made.parts, kind=kind)
        made.brain.script = script
        wire = await made.connect()
        pose_question(made)
        assert (await wire.until("error"))["code"] == "internal"
        response = await wire.until("response")
        assert response["blocked"]["code"] == "model_failed"
        assert "key" not in str(wire.sent())
        assert wire.sent("action_suggestion") == []
        wire.leave()


async def test_a_text_of_the_kind_is_told(autojump_clock: trio.testing.MockClock) -> None:
    """And its Brain is given nothing to run."""

    async def script(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=make_tale("The key lies here.")))

    async with world() as made:
        made.parts = replace(made.parts, kind=TALE)
        acts: list[object] = []

        async def watch(question: Question, emit: Emit) -> None:
            acts.append(made.brain.act)
            await script(question, emit)

        made.brain.script = watch
        wire = await made.connect()
        pose_question(made)
        assert (await wire.until("response"))["text"] == "The key lies here."
        assert acts == [None]
        wire.leave()


async def test_a_frame_of_another_kind_is_answered_and_the_session_goes_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """With `bad_message`, and the types of this kind."""
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE)
        wire = await made.connect()
        wire.push({"type": "recall", "query": "key", "id": "r"})
        error = await wire.until("error")
        assert (error["code"], error["id"]) == ("bad_message", "r")
        assert "message, cancel or open_tale" in error["message"]
        wire.leave()


async def test_nothing_is_offered_after_a_turn_of_a_kind_without_suggestions(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whatever the keeper of an exchange would have suggested."""

    async def script(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=make_tale("The key lies here.")))

    async with world() as made:
        made.parts = replace(made.parts, kind=TALE)
        made.brain.script = script
        wire = await made.connect()
        question = pose_question(made)
        await wire.until("response")
        find_session(made).offer(question, PROPOSAL)
        await trio.testing.wait_all_tasks_blocked()
        assert wire.sent("action_suggestion") == []
        wire.leave()


async def test_a_turn_without_a_session_says_the_texts_of_its_kind_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Over plain HTTP a text of another kind is a fault too."""

    async def script(_: Question, emit: Emit) -> None:
        emit(VerifiedPart(text=make_tale("The key lies here.")))

    async with world() as made:
        made.brain.script = script
        ended = await SingleTurn(made.parts, Question(id="q", text="price?", lang=None, at=0.0), 60.0).run()
        assert isinstance(ended, AnswerFailure)
        assert ended.code == "internal"


class SceneKeeper(NoRecorder):
    """Keeps what the Brain wants kept, and tells the session frames about it."""

    def __init__(self, at_once: bool = False) -> None:
        self.answers: list[FinishedAnswer] = []
        self.return_paths: list[ReturnPath] = []
        self._at_once = at_once

    def record_exchange(self, question: Question, answer: FinishedAnswer, return_path: ReturnPath) -> None:
        self.answers.append(answer)
        self.return_paths.append(return_path)
        if self._at_once:
            return_path.send_frames([TaleStored("s1")])


def telling(*parts: VerifiedPart, breaks: bool = False) -> Script:
    """A script that says `parts`, and may break after them."""

    async def script(_: Question, emit: Emit) -> None:
        for part in parts:
            emit(DraftCompleted())
            emit(part)
        if breaks:
            raise RuntimeError("the model is gone")

    return script


async def test_what_a_brain_wants_kept_comes_with_its_last_word(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The very object, which nothing looks into, of the last part alone; of a turn that failed nothing is kept."""
    draft, keeper = object(), SceneKeeper()
    first, last = make_tale("The key lies here."), make_tale(" It is copper.")
    early = VerifiedPart(text=first, last=False, keeps="early")
    scripts = [
        telling(early, VerifiedPart(text=last, keeps=draft)),
        telling(early, VerifiedPart(text=last)),
        telling(early, breaks=True),
    ]
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, recorder=keeper)
        wire = await made.connect()
        for at, script in enumerate(scripts):
            made.brain.script = script
            pose_question(made)
            await wire.until("response", at + 1)
        assert [each.keeps for each in keeper.answers] == [draft, None, None]
        assert [each.blocked for each in keeper.answers] == [False, False, True]
        assert keeper.answers[0].text == "The key lies here. It is copper."
        wire.leave()


async def test_a_refusal_takes_along_what_is_to_be_kept(autojump_clock: trio.testing.MockClock) -> None:
    """It is a last word too."""
    draft, keeper = object(), SceneKeeper()

    async def script(_: Question, emit: Emit) -> None:
        emit(TurnRefusal(make_tale("No."), keeps=draft))

    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, recorder=keeper)
        made.brain.script = script
        wire = await made.connect()
        pose_question(made)
        await wire.until("response")
        assert [each.keeps for each in keeper.answers] == [draft]
        wire.leave()


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_keeper_tells_the_session_frames_after_the_answer(
    autojump_clock: trio.testing.MockClock, at_once: bool
) -> None:
    """At once or later, also after a cancel; they never come before the response."""
    keeper = SceneKeeper(at_once)
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, recorder=keeper)
        made.brain.script = telling(VerifiedPart(text=make_tale("The key lies here.")))
        wire = await made.connect()
        pose_question(made)
        await wire.until("response")
        if not at_once:
            wire.push({"type": "cancel"})
            await trio.sleep(30)
            keeper.return_paths[0].send_frames([TaleStored("s1"), TaleStored("s2")])
        await wire.until("tale_stored", 1 if at_once else 2)
        types = [each["type"] for each in wire.sent() if each["type"] != "stream"]
        assert types == ["stream_end", "response", *["tale_stored"] * (1 if at_once else 2)]
        wire.leave()


async def test_a_keeper_s_frames_are_sent_beside_the_next_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Between its deltas, and a cancel of that turn takes back none of them."""
    keeper = SceneKeeper()
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, recorder=keeper)
        made.brain.script = telling(VerifiedPart(text=make_tale("One two three four five six seven.")))
        wire = await made.connect()
        pose_question(made)
        await wire.until("response")
        pose_question(made)
        await wire.until("stream", 9)
        keeper.return_paths[0].send_frames([TaleStored("s1")])
        wire.push({"type": "cancel"})
        await wire.until("stream_end", 2)
        assert [each["scene"] for each in wire.sent("tale_stored")] == ["s1"]
        assert [each["reason"] for each in wire.sent("stream_end")] == ["done", "cancelled"]
        wire.leave()


async def test_a_keeper_holds_no_session(autojump_clock: trio.testing.MockClock) -> None:
    """A client that has left is told nothing, and nothing is left of its session."""
    keeper = SceneKeeper()
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, recorder=keeper)
        made.brain.script = telling(VerifiedPart(text=make_tale("The key lies here.")))
        wire = await made.connect()
        pose_question(made)
        await wire.until("response")
        wire.leave()
        await trio.sleep(1)
        made.nothing_is_left()
        keeper.return_paths[0].send_frames([TaleStored("s1")])
        assert wire.sent("tale_stored") == []


class TaleConsultant:
    """Opens tales, each in a scope of its own, after `wait` seconds; one that is called `broken` breaks it."""

    def __init__(self, wait: float = 1.0) -> None:
        self.listeners: list[ThreadListener] = []
        self.left: list[Scope] = []
        self._wait = wait

    async def answer(self, frame: Any, scope: Scope, listener: ThreadListener) -> ConsultReply:
        self.listeners.append(listener)
        await trio.sleep(self._wait)
        history = (Exchange("Where is the key?", f"In {frame.tale}."),)
        return ConsultReply(TaleOpened(frame.tale, frame.id), scope.in_thread(frame.tale), history)

    def leave(self, listener: ThreadListener, scope: Scope) -> None:
        self.listeners = [each for each in self.listeners if each is not listener]
        self.left.append(scope)

    async def run(self) -> None:
        await trio.lowlevel.checkpoint()


async def test_requests_of_a_kind_go_to_its_own_consultant(autojump_clock: trio.testing.MockClock) -> None:
    """In their order, each in the scope that the one before has opened; the next question goes on from there."""
    asked: list[Question] = []

    async def script(question: Question, emit: Emit) -> None:
        asked.append(question)
        emit(DraftCompleted())
        emit(VerifiedPart(text=make_tale("The key lies here.")))

    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, consultant=TaleConsultant())
        made.brain.script = script
        wire = await made.connect()
        wire.push({"type": "open_tale", "tale": "t1", "id": "a"})
        wire.push({"type": "open_tale", "tale": "t2", "id": "b"})
        await wire.until("tale", 2)
        assert [(each["tale"], each["id"]) for each in wire.sent("tale")] == [("t1", "a"), ("t2", "b")]
        pose_question(made)
        await wire.until("response")
        assert [each.answer for each in asked[0].history] == ["In t2."]
        wire.leave()


async def test_the_log_names_a_request_by_its_kind(autojump_clock: trio.testing.MockClock) -> None:
    """Not as one to the memory, which another consultant answers."""
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, consultant=TaleConsultant())
        wire = await made.connect()
        with capture_logs() as logs:
            wire.push({"type": "open_tale", "tale": "t1"})
            await wire.until("tale")
        assert [(each["event"], each.get("what")) for each in logs] == [("consult", "open_tale")]
        wire.leave()


@pytest.mark.parametrize("stays", [0.5, 1.5])
async def test_a_session_that_ends_leaves_its_consultant(
    autojump_clock: trio.testing.MockClock, stays: float
) -> None:
    """Also while it is being answered; nothing is told any more, and nothing of the session is held."""
    consultant = TaleConsultant()
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, consultant=consultant)
        wire = await made.connect()
        wire.push({"type": "open_tale", "tale": "t1"})
        await trio.sleep(stays)
        (listener,) = consultant.listeners
        wire.leave()
        await trio.sleep(1)
        assert consultant.listeners == []
        assert len(wire.sent("tale")) == (stays > 1)
        listener.tell_update(ThreadUpdate(consultant.left[-1], TaleStored("s1")))
        assert wire.sent("tale_stored") == []
        del listener
        made.nothing_is_left()


async def test_a_consultant_that_begins_to_tell_too_late_holds_no_session(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A session that has ended in the meantime leaves it once more."""

    class LateConsultant(TaleConsultant):
        async def answer(self, frame: Any, scope: Scope, listener: ThreadListener) -> ConsultReply:
            with trio.move_on_after(9, shield=True):
                await trio.sleep(1)
            return await super().answer(frame, scope, listener)

    consultant = LateConsultant()
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, consultant=consultant)
        wire = await made.connect()
        wire.push({"type": "open_tale", "tale": "t1"})
        await trio.sleep(0.5)
        wire.leave()
        await trio.sleep(5)
        assert consultant.listeners == []
        made.nothing_is_left()


async def test_a_session_tells_changes_of_its_user_s_threads_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """With the frame of each change; exchanges are told where their thread is open."""
    consultant = TaleConsultant()
    async with world() as made:
        made.parts = replace(made.parts, kind=TALE, consultant=consultant)
        wire = await made.connect()
        wire.push({"type": "open_tale", "tale": "t1"})
        await wire.until("tale")
        (listener,) = consultant.listeners
        scope = Scope(made.parts.project, "t1", "")
        news = ExchangeUpdate("m9", TaleStored("s9"), False, Exchange("And?", "So.", message="m9"))
        listener.tell_update(ThreadUpdate(scope, TaleStored("here"), (news,)))
        listener.tell_update(ThreadUpdate(replace(scope, user="bo"), TaleStored("bo's"), (news,)))
        assert [each["scene"] for each in wire.sent("tale_stored")] == ["here", "s9"]
        wire.leave()
