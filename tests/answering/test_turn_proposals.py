"""What a model proposes to remember: through the gate, with its sources, and of no effect within its turn."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, cast

import pytest

from agent.answering.brain import GroundedBrain
from agent.answering.deciding_brain import DecidingBrain, TurnTools
from agent.answering.projects import PromptViewer
from agent.answering.settings import AnswerSettings
from agent.config import ITEM_TEXT, PROPOSALS_PER_TURN
from agent.errors import BadDecision, ModelFailed, NotFound
from agent.lang import Lang
from agent.memory.recollection import Recollection
from agent.ports.brain import Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.conversation import Exchange, Scope
from agent.ports.decide import Act, Ask, Briefing, Decision, Noop
from agent.ports.draft import PromptSection
from agent.ports.memory import Draft, Item, MemoryStore, Source
from agent.ports.recall import Recaller
from agent.ports.remember import EMPTY_MEMORY, TurnMemory
from agent.ports.search import Hit, Passage, Snippet
from agent.ports.tools import ToolDefinition
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Figures, Noon, ScriptedDecider
from agent.testing.models import FakeDrafter
from agent.tools.memory_tools import ADD, UPDATE, read_end
from tests.answering.test_brain import FakeRetriever, ask
from tests.answering.test_deciding_brain import CHANGE, LOOK, Runs
from tests.answering.test_remembering import ITEM
from tests.memory.test_exchange_keeper import drafted, item_of
from tests.remembered import ANA

TERMS = Snippet(file="kb/terms.md", text="The notice period is 14 days.", first=3, last=4)
DOCUMENT = Hit(TERMS, Passage("kb/terms.md", (), "en", (TERMS,)), 0.8)
KNOWN = replace(item_of(drafted("The parcel weighs 9 kg."), 7), status="accepted")
SAYS = "My parcel A-17 weighs 8 kg."
NOON = Noon().now_ms()


class Items:
    """A store that holds one live item of hers."""

    async def item(self, scope: Scope, id: str) -> Item:
        if (scope, id) != (ANA, "i7"):
            raise NotFound
        return KNOWN

    async def citable_ids(self, ids: Sequence[str], at: int) -> frozenset[str]:
        return frozenset(ids)


class Remembers(Recollection):
    """Tells turns one thing that is remembered."""

    def __init__(self, hits: tuple[Hit, ...] = ()) -> None:
        super().__init__(cast("MemoryStore", Items()), cast("Recaller", None), Noon())
        self._hits = hits

    async def load_memory(self, question: Question, text: str, lang: Lang) -> TurnMemory:
        return replace(EMPTY_MEMORY, hits=self._hits)


def add(text: str, subject: str = "parcel", type: str = "fact", **more: Any) -> Act:
    return Act(ADD, {"type": type, "subject": subject, "text": text, **more})


def update(text: str, item: str = "i7") -> Act:
    return Act(UPDATE, {"item": item, "text": text})


class Turned:
    """One turn, over."""

    def __init__(
        self, events: list[TurnEvent], decider: ScriptedDecider, runs: Runs, figures: Figures
    ) -> None:
        last = events[-1]
        assert isinstance(last, VerifiedPart | TurnRefusal)
        self.last = last
        self.drafts: tuple[Draft, ...] = last.keeps or ()
        self.sentences = sum(isinstance(each, VerifiedPart) for each in events)
        self.early = [draft for each in events[:-1] for draft in getattr(each, "keeps", None) or ()]
        self.briefings = decider.briefings
        self.problems = decider.problems
        self.figures = figures
        self.runs = runs

    @property
    def asks(self) -> bool:
        return isinstance(self.last, VerifiedPart) and self.last.asks

    @property
    def draft(self) -> Draft:
        (draft,) = self.drafts
        return draft


async def turn(
    *plays: Decision | Exception | float,
    text: str = SAYS,
    hits: tuple[Hit, ...] = (DOCUMENT,),
    memory: Remembers | None = None,
    tools: Sequence[ToolDefinition] = (LOOK, CHANGE),
    remembers: bool = True,
    draft: str = "The notice period is 14 days.",
    settings: AnswerSettings | None = None,
    alone: bool = False,
    **question: Any,
) -> Turned:
    decider, figures, runs = ScriptedDecider(*plays), Figures(), Runs()
    known = (memory or Remembers()) if remembers else None
    grounded = GroundedBrain(
        FakeRetriever(hits), FakeDrafter(draft, draft), settings or AnswerSettings(), memory=known
    )
    chosen = replace(those(tools), offers_these_alone=alone)
    events: list[TurnEvent] = []
    asked = replace(replace(ask(text), scope=ANA), **question)
    await DecidingBrain(grounded, grounded, decider, chosen, figures).answer(asked, events.append, runs)
    return Turned(events, decider, runs, figures)


def those(tools: Sequence[ToolDefinition]) -> TurnTools:
    return TurnTools(
        operator=tuple(tools),
        read_message_tools=lambda given: (),
        arguments=SchemaArguments(),
        rounds=4,
        approve_from="high",
        timeout=30.0,
        today=lambda: date(2026, 5, 4),
    )


def offered(done: Turned) -> list[str]:
    return [tool.name for tool in done.briefings[0].tools]


async def test_the_tools_are_offered_where_a_project_has_tools_and_something_is_remembered() -> None:
    """Beside the others, none of which can have such a name."""
    assert offered(await turn(Noop())) == ["change_order", "look_up", ADD, UPDATE]
    assert offered(await turn(Noop(), remembers=False)) == ["change_order", "look_up"]
    assert (await turn(tools=())).briefings == []


async def test_the_tools_may_be_offered_where_there_are_no_others() -> None:
    """As to the threads of a server with a language model; without a memory nobody decides."""
    assert offered(await turn(Noop(), tools=(), alone=True)) == [ADD, UPDATE]
    assert (await turn(tools=(), alone=True, remembers=False)).briefings == []


async def test_a_model_that_cannot_decide_answers_all_the_same() -> None:
    """Where it could only have proposed to remember something; the answer is drafted from the documents."""
    done = await turn(BadDecision(("no",)), BadDecision(("no",)), tools=(), alone=True)
    assert (done.asks, done.last.text.text) == (False, "The notice period is 14 days.")
    assert (await turn(BadDecision(("no",)), BadDecision(("no",)))).asks


async def test_a_proposal_waits_for_the_end_of_its_turn() -> None:
    """Nothing is run for it; its model is told, and goes on to the answer."""
    done = await turn(add("The parcel weighs 8 kg."), Noop("The notice period is 14 days."))
    assert (done.draft.type, done.draft.text, done.draft.key) == (
        "fact",
        "The parcel weighs 8 kg.",
        ("parcel",),
    )
    assert (done.draft.confidence, done.draft.replaces) == (1.0, None)
    assert done.draft.sources == (Source("message", "m1", quote=SAYS),)
    assert done.last.text.text == "The notice period is 14 days."
    assert (done.runs.calls, done.last.proposals, done.early) == ([], (), [])
    (result,) = done.briefings[1].results
    assert (result.tool, result.ok, result.lines) == (
        ADD,
        True,
        ("status: proposed; its user will be asked",),
    )
    assert done.figures.words == {"propose", "noop"}


@pytest.mark.parametrize(
    ("proposed", "kinds"),
    [
        (add("The parcel weighs 8 kg."), ["m1"]),
        (add("The notice period is 14 days.", "notice period"), ["m1", "kb/terms.md"]),
        (add("The parcel of Ana weighs 8 kg, insured for 300 kr."), ["m1", "m0"]),
        (add("The parcel was sent on 4 May."), ["m1", "call1"]),
        (update("The parcel weighs 8 kg, no longer 9 kg."), ["m1"]),
    ],
    ids=("message", "document", "earlier", "result", "item"),
)
async def test_each_number_has_a_source_which_the_item_names(proposed: Act, kinds: list[str]) -> None:
    """Beside the message that is answered: an earlier one, a document with its lines, a result."""
    history = (Exchange("It is insured for 300 kr.", "Fine.", message="m0"),)
    done = await turn(Act("look_up", {"order": "A-17"}), proposed, Noop(), history=history)
    assert [source.ref for source in done.draft.sources] == kinds
    for source in done.draft.sources:
        lines = (3, 4) if source.kind == "document" else (0, 0)
        assert ((source.first, source.last), bool(source.quote)) == (lines, True)


@pytest.mark.parametrize(
    "proposed",
    [
        add("The parcel weighs 12 kg."),
        add("The parcel B-99 is hers."),
        add("It is for 70 kr.", "answer"),
        add("The budget of Atlas is 50 000 kr.", "budget of atlas"),
        update("The parcel weighs 11 kg."),
        update("The budget of Atlas is 50 000 kr."),
    ],
)
async def test_what_stands_nowhere_is_not_proposed(proposed: Act) -> None:
    """Neither what only an earlier answer said, nor what is remembered besides: the user is asked."""
    history = (Exchange("How much?", "It is for 70 kr.", message="m0"),)
    done = await turn(proposed, Noop(), history=history, memory=Remembers((ITEM,)))
    assert (done.asks, done.drafts) == (True, ())


async def test_an_update_takes_the_place_of_an_item_of_its_user() -> None:
    """Of the same type and key, whatever its words; an id of another's, or of none, is told like one that is wrong."""
    done = await turn(update("The parcel weighs 8 kg.", "memory/i7"), Noop())
    assert (done.draft.replaces, done.draft.type, done.draft.key) == ("i7", "fact", KNOWN.key)
    for id, scope in (("i8", ANA), ("i7", replace(ANA, user="bo"))):
        wrong = update("The parcel weighs 8 kg.", id)
        done = await turn(wrong, add("The parcel weighs 8 kg."), Noop(), text=f"{SAYS} {id}", scope=scope)
        assert done.problems[1] == ("/item: nothing of this id is remembered; propose it as something new",)
        assert done.draft.replaces is None
        assert (await turn(wrong, wrong, Noop(), text=f"{SAYS} {id}", scope=scope)).asks


@pytest.mark.parametrize(
    ("proposed", "problem"),
    [
        (add("The parcel weighs 8 kg.", type="event", decided_by="rule"), "decided_by"),
        (add("The parcel weighs 8 kg.", type="metric", by_rule=True), "by_rule"),
        (add("x" * (ITEM_TEXT + 1)), "/text"),
        (add("The parcel weighs 8 kg.", status="accepted"), "status"),
        (add("The parcel weighs 8 kg.", user="bo"), "user"),
        (add("The parcel weighs 8 kg.", confidence=1), "confidence"),
        (add("The parcel weighs 8 kg.", expires_at=1), "expires_at"),
        (add("The parcel weighs 8 kg.", "8 kg"), "must have words"),
    ],
)
async def test_a_model_sets_nothing_but_what_it_proposes(proposed: Act, problem: str) -> None:
    """No status, scope, confidence or decider: told once, then the user is asked."""
    done = await turn(proposed, proposed, Noop())
    assert any(problem in line for line in done.problems[1])
    assert (done.asks, done.drafts) == (True, ())


async def test_a_rule_accepts_a_model_s_event_in_the_words_of_its_user_alone() -> None:
    """Other words, another type and an update wait for the user; the model is told which it is."""
    by_rule = ("status: accepted by rule, unless it contradicts something remembered",)
    for text, type, lines in (
        ("My parcel A-17 weighs 8 kg", "event", by_rule),
        ("My parcel A-17 weighs 8 kg", "metric", by_rule),
        ("The parcel A-17 weighs 8 kg", "event", ("status: proposed; its user will be asked",)),
        ("My parcel A-17 weighs 8 kg", "fact", ("status: proposed; its user will be asked",)),
    ):
        done = await turn(add(text, type=type), Noop())
        assert (done.draft.by_rule, done.briefings[1].results[0].lines) == (lines is by_rule, lines)
    assert not (await turn(update(SAYS), Noop())).draft.by_rule


async def test_what_a_model_proposes_ends_when_its_user_says() -> None:
    """A day lasts until its end; without one a metric lasts a day; a day that nobody named is asked for."""
    until = f"{SAYS} That holds until 8 May 2026, 15:00."
    day = 24 * 3600 * 1000
    for end, lasts in ((None, day), ("2026-05-08", None), ("2026-05-08T15:00:00+02:00", None)):
        more = {} if end is None else {"expires_at": end}
        done = await turn(add(SAYS, type="metric", **more), Noop(), text=until)
        wanted = NOON + lasts if lasts else read_end(str(end))
        assert (done.draft.expires_at, done.draft.by_rule) == (wanted, True)
    for end in ("2026-05-09", "2026-05-08T16:00:00+02:00"):
        done = await turn(add(SAYS, type="metric", expires_at=end), Noop(), text=until)
        assert (done.asks, done.drafts) == (True, ())
    past = add(SAYS, type="event", expires_at="2020-05-08")
    done = await turn(past, past, Noop(), text=f"{SAYS} Until 2020-05-08.")
    assert "later than now" in done.problems[1][0]
    for wrong in ("2026-02-31", "2026-05-08T15:00:00"):
        never = add(SAYS, type="event", expires_at=wrong)
        done = await turn(never, never, Noop(), text=f"{until} Until 2026-02-31.")
        assert done.problems[1] == ("/expires_at: give a day, or a time with its offset",)


async def test_an_update_of_an_event_waits_for_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule accepts what takes the place of something remembered."""
    monkeypatch.setattr(f"{__name__}.KNOWN", replace(KNOWN, type="event", expires_at=None))
    done = await turn(update(SAYS), Noop())
    assert (done.draft.type, done.draft.replaces, done.draft.by_rule) == ("event", "i7", False)


async def test_at_most_a_few_are_proposed_and_each_once() -> None:
    """What is proposed again in the same words is the same."""
    every = [add(f"The parcel weighs 8 kg {word}.") for word in ("net", "gross", "dry", "wet")]
    done = await turn(every[0], every[0], every[1], Noop())
    assert [draft.text for draft in done.drafts] == [
        "The parcel weighs 8 kg net.",
        "The parcel weighs 8 kg gross.",
    ]
    assert len(done.briefings[3].results) == 3
    done = await turn(*every)
    assert len(done.drafts) == PROPOSALS_PER_TURN
    assert any("are the most of one message" in line for line in done.problems[-1])


async def test_a_proposal_ends_with_any_last_word_but_a_fault() -> None:
    """A question, a suggestion and a refusal carry it; a model that broke has proposed nothing."""
    suggests = Act("change_order", {"order": "A-17"}, requires_approval=True)
    for last in (Ask("Which one?"), suggests, Noop("It costs 77 kr.")):
        done = await turn(add("The parcel weighs 8 kg."), last, draft="It costs 78 kr.")
        assert done.draft.text == "The parcel weighs 8 kg."
        assert (isinstance(done.last, TurnRefusal), len(done.last.proposals)) == (
            isinstance(last, Noop),
            1 if last is suggests else 0,
        )
    broken = await turn(add("The parcel weighs 8 kg."), ModelFailed("it broke"))
    assert (isinstance(broken.last, TurnRefusal), broken.drafts) == (True, ())


async def test_a_proposal_comes_with_the_last_word_alone() -> None:
    """Also where an answer is said sentence by sentence: what is said before may still be cancelled."""
    says = Noop("The notice period is 14 days. That is 14 days.")
    done = await turn(add("The parcel weighs 8 kg."), says, settings=AnswerSettings(verify="sentence"))
    assert (len(done.drafts), done.early, done.sentences) == (1, [], 2)


@pytest.mark.parametrize(
    ("remembers", "tools", "shown"),
    [
        (True, (LOOK,), ["look_up", ADD, UPDATE]),
        (False, (LOOK,), ["look_up"]),
        (True, (), []),
    ],
)
async def test_a_prompt_is_shown_with_the_tools_that_its_turn_would_have(
    remembers: bool, tools: tuple[ToolDefinition, ...], shown: list[str]
) -> None:
    """Or as a draft's, which has none."""
    told: list[str] = []
    memory = Remembers() if remembers else None
    house = GroundedBrain(FakeRetriever((DOCUMENT,)), FakeDrafter(""), AnswerSettings(), memory=memory)

    def decision(briefing: Briefing) -> tuple[PromptSection, ...]:
        told.extend(tool.name for tool in briefing.tools)
        return ()

    own = house, DecidingBrain(house, house, ScriptedDecider(), those(tools), Figures())
    await PromptViewer(own, None, lambda held: own, lambda prompt, hits: (), decision)(ask(SAYS))
    assert told == shown
