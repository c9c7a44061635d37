"""Payloads that a language model fills in beside the draft: in time or from words, and a cancel takes both."""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent.answering.brain import GroundedBrain
from agent.answering.filling_brain import PAYLOAD_WAIT, FillingBrain
from agent.answering.settings import AnswerSettings
from agent.errors import ModelFailed
from agent.llm.payloads import PayloadFiller
from agent.ports.brain import (
    DraftCompleted,
    Proposal,
    Question,
    Redraft,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    Wish,
)
from agent.ports.conversation import Exchange
from agent.ports.draft import Delta, Prompt
from agent.ports.model import Finish, TextDelta
from agent.ports.search import Hit
from agent.testing.fakes import FixedRetriever
from agent.testing.models import FakeModel, Step
from agent.testing.network import inline
from tests.strikes.instrument import Strike

PHONE = "070-123 45 67"
DRAFT = "The Standard plan costs 299 kr a month."
CALL = f"What does the Standard plan cost? Call me on {PHONE} tomorrow, I am Anna."
FIELDS = {"phone": "0701234567", "name": "Anna", "when": "tomorrow"}
PAYLOAD = {"phone": PHONE, "name": "Anna", "when": "tomorrow"}


GRAMMAR = re.compile(r"(?:DV|D|R)*(?:L|X)")
"""Drafted, verified in part, redraft; then the last word: a text or a refusal."""


def letter(event: TurnEvent) -> str:
    if isinstance(event, VerifiedPart):
        return "L" if event.last else "V"
    return {DraftCompleted: "D", Redraft: "R", TurnRefusal: "X"}[type(event)]


class Draft:
    """Drafts a text after some seconds. open: how many of its streams are."""

    def __init__(self, text: str | Exception = DRAFT, seconds: float = 0.0) -> None:
        self.text, self.seconds = text, seconds
        self.open = 0

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        self.open += 1
        try:
            await trio.sleep(self.seconds)
            if isinstance(self.text, Exception):
                raise self.text
            yield Delta(self.text)
        finally:
            self.open -= 1


class Counts:
    """An Observer that keeps what was counted."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def count(self, metric: str, label: str = "") -> None:
        assert metric == "payloads"
        self.labels.append(label)

    def measure(self, metric: str, seconds: float) -> None:
        raise AssertionError("nothing is measured")

    def gauge(self, metric: str, change: int) -> None:
        raise AssertionError("there is no level")


class Scene:
    """A brain with what it is made of, and what it told when."""

    def __init__(self, *answers: Sequence[Step], draft: Draft | None = None, **settings: Any) -> None:
        self.draft = draft or Draft()
        self.model = FakeModel(answers)
        self.counts = Counts()
        self.told: list[TurnEvent] = []
        self.times: list[float] = []
        chosen = AnswerSettings(**settings)
        grounded = GroundedBrain(FixedRetriever(), self.draft, chosen)
        self.brain = FillingBrain(grounded, PayloadFiller(self.model, inline), chosen, self.counts)

    def hear(self, event: TurnEvent) -> None:
        self.told.append(event)
        self.times.append(trio.current_time())

    async def ask(
        self, text: str, *wishes: Wish, history: tuple[Exchange, ...] = ()
    ) -> VerifiedPart | TurnRefusal:
        """Ask in a session; return the last event."""
        self.told.clear()
        self.times.clear()
        await self.brain.answer(
            Question(id="1", text=text, lang=None, at=0.0, history=history, wishes=wishes), self.hear
        )
        assert GRAMMAR.fullmatch("".join(map(letter, self.told)))
        assert (self.model.running, self.draft.open) == (0, 0)
        last = self.told[-1]
        assert isinstance(last, VerifiedPart | TurnRefusal)
        return last

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(each.text.text for each in self.told if isinstance(each, VerifiedPart | TurnRefusal))


def says(fields: Any, seconds: float = 0.0) -> Sequence[Step]:
    """Return what a model answers: these fields as JSON, after some seconds."""
    return (seconds, TextDelta(json.dumps(fields)), Finish("stop"))


async def test_a_payload_is_filled_in_while_the_answer_is_drafted(autojump_clock: MockClock) -> None:
    """Neither waits for the other, and the model sees the same evidence."""
    scene = Scene(says(FIELDS, 3.0), draft=Draft(seconds=3.0))
    last = await scene.ask(CALL)
    assert trio.current_time() == pytest.approx(3.0)
    assert last.proposals == (Proposal(action="schedule_callback", payload=PAYLOAD),)
    assert scene.text == DRAFT
    assert scene.counts.labels == ["filled"]
    (request,) = scene.model.requests
    sent = [each.text for each in request.messages]
    assert "schedule_callback" in sent[0]
    assert CALL in sent[-1]
    assert "299 kr" in sent[-1]


async def test_the_answer_does_not_wait_for_a_payload(autojump_clock: MockClock) -> None:
    """It is said when it stands; one that comes a little later is still proposed."""
    scene = Scene(says(FIELDS, PAYLOAD_WAIT - 1))
    last = await scene.ask(CALL)
    assert scene.times[1] == 0.0
    assert isinstance(scene.told[1], VerifiedPart)
    assert scene.told[1].text.text.strip() == DRAFT
    assert last.proposals[0].payload == PAYLOAD
    assert trio.current_time() == pytest.approx(PAYLOAD_WAIT - 1)


async def test_a_payload_that_is_late_is_made_of_words(autojump_clock: MockClock) -> None:
    """And the model's stream is closed."""
    scene = Scene(says(FIELDS, PAYLOAD_WAIT + 1))
    last = await scene.ask(CALL)
    assert trio.current_time() == pytest.approx(PAYLOAD_WAIT)
    assert last.proposals == (Proposal(action="schedule_callback", payload={"phone": PHONE}),)
    assert scene.counts.labels == ["late"]


async def test_each_payload_is_late_on_its_own(autojump_clock: MockClock) -> None:
    """Of two actions one is filled in and one is made of words."""
    scene = Scene(says({}), says({}, PAYLOAD_WAIT + 1))
    await scene.ask(f"Call me on {PHONE}. Send me an sms: hello")
    assert sorted(scene.counts.labels) in (["filled", "late"], ["asked", "late"])


@pytest.mark.parametrize(
    ("answers", "label"),
    [
        ([(ModelFailed("it failed", "server"),)], "server"),
        ([(Finish("refusal"),)], "request"),
        ([(TextDelta("I will"), Finish("stop"))] * 2, "protocol"),
        ([says({"phone": 5})] * 2, "protocol"),
        ([says({"telephone": PHONE})] * 2, "protocol"),
        ([(TextDelta("{"), Finish("length"))] * 2, "protocol"),
    ],
)
async def test_where_the_model_fails_the_words_do(answers: list[Sequence[Step]], label: str) -> None:
    """The answer is said all the same, and what is missing is named for a confirm to fill in."""
    scene = Scene(*answers)
    last = await scene.ask("What does the Standard plan cost? Call me")
    assert scene.text == DRAFT
    assert last.proposals == (Proposal(action="schedule_callback", payload={}, missing=("phone",)),)
    assert (last.wishes, scene.counts.labels) == ((), [label])


async def test_a_fill_has_the_time_of_a_draft(autojump_clock: MockClock) -> None:
    """However long the answer takes."""
    scene = Scene(says(FIELDS, 60.0), draft=Draft("It costs 5 kr.", seconds=8.0), turn_timeout=10.0)
    await scene.ask(CALL)
    assert scene.counts.labels == ["late"]
    assert trio.current_time() == pytest.approx(16.0)


QUESTION = "Can you also tell me which phone number to use?"
OPEN = Wish(Proposal(action="schedule_callback", payload={}, missing=("phone",)), ("Call me, I am Anna",))


async def test_what_is_missing_is_asked_for_behind_the_answer() -> None:
    """In one fixed question, and nothing is suggested; the wish is left open."""
    scene = Scene(says({"phone": "0709998877", "name": "Anna"}))
    last = await scene.ask("What does the Standard plan cost? Call me, I am Anna")
    assert scene.text == f"{DRAFT}\n\n{QUESTION}"
    assert last.proposals == ()
    assert [each.proposal for each in last.wishes] == [OPEN.proposal]
    assert scene.counts.labels == ["asked"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "Is it open? Send me an sms",
            "Can you also tell me which phone number to use and what the message should say?",
        ),
        ("Är det öppet? Ring mig tack", "Kan du också säga vilket telefonnummer som gäller?"),
        ("Is it open? Call me and send me an sms: hello", QUESTION),
    ],
)
async def test_a_refusal_asks_too(text: str, question: str) -> None:
    """The refusal comes first and is one still; one question for all that is missing."""
    scene = Scene(says({}), says({}), draft=Draft(ModelFailed("it failed")))
    last = await scene.ask(text)
    assert isinstance(last, TurnRefusal)
    assert last.text.blocked is not None
    assert last.text.text.endswith(f"\n\n{question}")
    assert scene.text.count("?") == 1
    assert (last.proposals, len(last.wishes)) == ((), len(scene.counts.labels))


async def test_a_failed_draft_leaves_the_request_to_complete() -> None:
    """A message that asks nothing else is not refused; what it lacks is asked for, and later all of it is confirmed."""
    scene = Scene(says({}), draft=Draft(ModelFailed("it failed")))
    last = await scene.ask("Call me")
    assert scene.text == f"Thank you.\n\n{QUESTION}"
    assert isinstance(last, VerifiedPart)
    assert (last.proposals, len(last.wishes)) == ((), 1)
    scene = Scene(says({"phone": PHONE}), draft=Draft(ModelFailed("it failed")))
    last = await scene.ask(f"Call me on {PHONE}")
    assert scene.text == "Please confirm this."
    assert len(last.proposals) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"I have nothing. Call me on {PHONE}", "Please confirm this."),
        ("I have nothing. Call me", f"Thank you.\n\n{QUESTION}"),
    ],
)
async def test_a_confirm_is_asked_for_where_there_is_something_to_confirm(text: str, said: str) -> None:
    """Where no document is about the request; what it lacks is asked for first."""
    scene = Scene(says({}))
    last = await scene.ask(text)
    assert scene.text == said
    assert isinstance(last, VerifiedPart)
    assert (len(last.proposals), len(last.wishes)) == ((1, 0) if PHONE in text else (0, 1))


async def test_the_next_message_tells_it() -> None:
    """The model fills in the rest from the messages of the wish; a message that only tells has no other answer."""
    scene = Scene(says({"phone": PHONE, "name": "Anna", "when": "tomorrow"}))
    last = await scene.ask(PHONE, OPEN)
    assert scene.text == "Thank you."
    assert last.proposals == (Proposal(action="schedule_callback", payload={"phone": PHONE, "name": "Anna"}),)
    assert last.wishes == ()
    assert "I am Anna" in scene.model.requests[0].messages[-1].text


async def test_the_next_message_may_ask_besides() -> None:
    """Then it is answered as ever."""
    scene = Scene(says({}))
    last = await scene.ask(f"{PHONE}. What does the Standard plan cost?", OPEN)
    assert scene.text == DRAFT
    assert last.proposals[0].payload == {"phone": PHONE}


async def test_what_is_still_missing_is_asked_for_again() -> None:
    """As long as something was told."""
    scene = Scene(says({"text": "99913 kr"}))
    last = await scene.ask(
        PHONE, Wish(Proposal(action="send_sms", payload={}, missing=("phone", "text")), ("Send me an sms",))
    )
    assert scene.text == "Thank you.\n\nCan you also tell me what the message should say?"
    assert last.wishes == (
        Wish(
            Proposal(action="send_sms", payload={"phone": PHONE}, missing=("text",)),
            ("Send me an sms", PHONE),
        ),
    )


async def test_a_new_subject_ends_the_wish() -> None:
    """The model that fills in is not asked."""
    scene = Scene()
    last = await scene.ask("What does the Standard plan cost?", OPEN)
    assert (scene.text, last.proposals, last.wishes, scene.model.requests) == (DRAFT, (), (), [])


async def test_an_earlier_message_may_have_told_it() -> None:
    """A number of the conversation is the user's own; one that only the answer holds is not."""
    said = Exchange(f"My number is {PHONE}.", "Call us on 08-999 88 77.")
    scene = Scene(says({"phone": PHONE}), says({"phone": "08-999 88 77"}))
    last = await scene.ask("Call me back please", history=(said,))
    assert last.proposals[0].payload == {"phone": PHONE}
    last = await scene.ask("Call me back please", history=(said,))
    assert last.proposals == ()


async def test_where_nobody_can_confirm_nothing_is_filled_in() -> None:
    """A plain request is answered by the other brain alone."""
    scene = Scene()
    await scene.brain.answer(Question(id="1", text=CALL, lang=None, at=0.0), scene.hear)
    assert scene.model.requests == []
    assert isinstance(scene.told[-1], VerifiedPart)


async def test_a_cited_number_may_be_sent() -> None:
    """One that the answer cites; another is missing."""
    ask = f"Text me the price of the Standard plan on {PHONE}"
    scene = Scene(says({"text": "It is 299 kr a month."}), says({"text": "It is 349 kr a month."}))
    last = await scene.ask(ask)
    assert last.proposals[0].payload == {"phone": PHONE, "text": "It is 299 kr a month."}
    last = await scene.ask(ask)
    assert (last.proposals, last.wishes[0].proposal.missing) == ((), ("text",))


class AnyStrike(Strike):
    """Counts the steps of every task."""

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        super().after_task_step(self._task)


@pytest.mark.parametrize("verify", ["whole", "sentence"])
async def test_a_cancel_at_any_step_ends_both(verify: str, autojump_clock: MockClock) -> None:
    """Nothing is told after it, both streams are closed, and no task is left."""
    steps = 0
    ended = False
    ends = set()
    while not ended:
        steps += 1
        scene = Scene(says(FIELDS, 2.0), draft=Draft(f"{DRAFT} It is good.", seconds=1.0), verify=verify)
        tasks = trio.lowlevel.current_statistics().tasks_living
        with trio.CancelScope() as scope:
            strike = AnyStrike(steps, scope)
            trio.lowlevel.add_instrument(strike)
            try:
                await scene.ask(CALL)
            finally:
                trio.lowlevel.remove_instrument(strike)
        ended = not scope.cancelled_caught
        told = len(scene.told)
        assert (scene.model.running, scene.draft.open) == (0, 0)
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        await trio.sleep(PAYLOAD_WAIT)
        assert len(scene.told) == told
        ends.add("".join(map(letter, scene.told)))
    assert steps > 10
    assert "" in ends  # before the answer
    assert any(each.endswith("V") for each in ends)  # while the payload is still filled in
