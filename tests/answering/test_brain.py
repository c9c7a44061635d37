"""A turn's paths, its bounds, and that a cancel at any point leaves nothing behind."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from agent.answering.brain import HITS, GroundedBrain
from agent.answering.drafting import UNWIND_TIMEOUT
from agent.answering.settings import READ_AT_ONCE, AnswerSettings
from agent.config import DRAFT_MAX
from agent.errors import ModelFailed
from agent.grounding import evidence, refusals
from agent.grounding.binding import cached_rows
from agent.llm.mock import MockModel
from agent.numbers.source_numbers import SourceNumbers
from agent.ports.brain import DraftCompleted, Proposal, Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.draft import Delta, Prompt
from agent.ports.search import Hit, Lang, Passage, Query, Snippet
from agent.retrieval.snippets import SNIPPET_CHARACTERS
from agent.testing.models import FakeDrafter

SNIPPET = Snippet(file="kb/pricing.md", text="Standard costs 299 kr per month.", first=5, last=5)
HIT = Hit(SNIPPET, Passage("kb/pricing.md", ("Plans",), "en", (SNIPPET,)), 0.9)
TRUE = "It is 299 kr per month."
FALSE = "It is 349 kr per month."


class FakeRetriever:
    """Finds the same hits for everything, after a wait."""

    def __init__(self, hits: tuple[Hit, ...] = (HIT,), wait: float = 0.0) -> None:
        self.hits, self.wait = hits, wait
        self.asked: list[Query] = []
        self.told: list[Lang] = []  # whose topics were asked for

    async def load_snapshot(self) -> "FakeRetriever":
        return self

    async def search(self, query: Query) -> tuple[Hit, ...]:
        self.asked.append(query)
        await trio.sleep(self.wait)
        return self.hits

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        return self.hits

    def topics(self, lang: Lang) -> tuple[str, ...]:
        self.told.append(lang)
        return ("Plans and prices",)


def brain(
    model: FakeDrafter, retriever: FakeRetriever | None = None, settings: AnswerSettings | None = None
) -> GroundedBrain:
    return GroundedBrain(retriever or FakeRetriever(), model, settings or AnswerSettings())


def ask(text: str = "What does Standard cost?", lang: Lang | None = "en") -> Question:
    return Question(id="m1", text=text, lang=lang, at=0.0, wishes=())


async def told(of: GroundedBrain, question: Question | None = None) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    await of.answer(question or ask(), events.append)
    return events


def shape(events: Sequence[TurnEvent]) -> list[str]:
    """Name the events, a refusal by its code."""
    return [
        event.text.blocked.code
        if isinstance(event, TurnRefusal) and event.text.blocked
        else type(event).__name__
        for event in events
    ]


# --- the paths


async def test_a_quotation_that_does_not_stand_costs_only_itself() -> None:
    """Without a model the redraft quotes the other statements; where none stands, the answer is refused."""
    wrong = Snippet(
        file="kb/a.md", text="Basic costs 149 kr.", first=1, last=1, plain_text="Basic costs 199 kr."
    )
    other = Hit(wrong, Passage("kb/a.md", (), "en", (wrong,)), 0.9)
    events = await told(GroundedBrain(FakeRetriever((other, HIT)), MockModel(), AnswerSettings()))
    assert shape(events)[-1] == "VerifiedPart"
    last = events[-1]
    assert isinstance(last, VerifiedPart)
    assert last.text.text.endswith(SNIPPET.text)
    assert "199" not in last.text.text
    alone = await told(GroundedBrain(FakeRetriever((other,)), MockModel(), AnswerSettings()))
    assert shape(alone)[-1] == "number_mismatch"


async def test_a_draft_that_stands_is_answered() -> None:
    """The verified text is the last event, with the snippet that holds its number."""
    events = await told(brain(FakeDrafter(TRUE)))
    assert shape(events) == ["DraftCompleted", "VerifiedPart"]
    last = events[-1]
    assert isinstance(last, VerifiedPart)
    assert last.last
    assert last.text.text.strip() == TRUE
    assert SNIPPET in last.text.citations
    assert last.text.blocked is None


async def test_the_begin_of_a_draft_is_told_where_progress_is_asked_for() -> None:
    """Once, before the first draft, and not where no model is asked."""
    asked = replace(ask(), progress=True)
    shown = shape(await told(brain(FakeDrafter(FALSE, TRUE)), asked))
    assert shown == ["DraftBegun", "DraftCompleted", "Redraft", "DraftCompleted", "VerifiedPart"]
    assert shape(await told(brain(FakeDrafter(TRUE), FakeRetriever(())), asked)) == ["no_sources"]
    assert shape(await told(brain(FakeDrafter(TRUE)), replace(asked, text="Hello!")))[0] == "DraftCompleted"


async def test_the_search_gets_the_question_without_what_is_to_be_done() -> None:
    """The query is the user's own words, in the question's language, less those about an action."""
    retriever = FakeRetriever()
    await told(brain(FakeDrafter(TRUE), retriever), ask("price?"))
    await told(brain(FakeDrafter(TRUE), retriever), ask("What does it cost? Call me on 08-123 45 67"))
    assert retriever.asked[0] == Query("price?", "en", HITS)
    assert "cost" in retriever.asked[1].text
    assert "08-123" not in retriever.asked[1].text


async def test_without_a_hit_the_model_is_not_asked() -> None:
    """No evidence is a refusal at once."""
    model = FakeDrafter(TRUE, TRUE)
    assert shape(await told(brain(model, FakeRetriever(())))) == ["no_sources"]
    assert model.prompts == []


async def test_a_mismatch_is_drafted_once_more() -> None:
    """The redraft gets the same evidence, and is answered when it stands."""
    model = FakeDrafter(FALSE, TRUE)
    assert shape(await told(brain(model))) == ["DraftCompleted", "Redraft", "DraftCompleted", "VerifiedPart"]
    assert [prompt.attempt for prompt in model.prompts] == [0, 1]
    assert model.evidence == [(HIT,), (HIT,)]


async def test_a_second_mismatch_is_refused() -> None:
    """Two drafts that do not stand end in a refusal without the numbers of either."""
    events = await told(brain(FakeDrafter(FALSE, "It is 399 kr.")))
    assert shape(events) == ["DraftCompleted", "Redraft", "DraftCompleted", "number_mismatch"]
    assert "349" not in str(events)
    assert "399" not in str(events)


async def test_a_refusal_cites_no_snippet_that_shows_a_refused_number() -> None:
    """The number of either draft keeps a snippet out of the refusal's citations, whatever its unit there."""
    texts = ("Standard costs 299 kr per month.", "Keep the receipt.", "Basic lasts 149 days.")
    snippets = [
        Snippet(file="kb/a.md", text=text, first=line, last=line) for line, text in enumerate(texts, 1)
    ]
    hits = tuple(Hit(each, Passage("kb/a.md", (), "en", tuple(snippets)), 0.9) for each in snippets)
    model = FakeDrafter("It lasts 299 days.", "It costs 149 kr.")
    last = (await told(brain(model, FakeRetriever(hits))))[-1]
    assert isinstance(last, TurnRefusal)
    assert last.text.citations == (snippets[1],)


async def test_the_redraft_is_told_where_it_went_wrong_but_no_number() -> None:
    """It quotes the sentence that failed with its numbers taken out."""
    model = FakeDrafter("Yes, of course. It is 349 kr and 12 % off. Bye.", TRUE)
    await told(brain(model))
    first, second = model.prompts
    assert (first.again, second.instructions) == ("", first.instructions)
    added = second.again
    assert "It is [...]" in added
    assert "of course" not in added
    assert not any(mark.isdigit() for mark in added)


async def test_the_question_is_never_a_source() -> None:
    """A number that only the user said is refused."""
    events = await told(brain(FakeDrafter(FALSE, FALSE)), ask("Is it 349 kr?"))
    assert shape(events)[-1] == "number_mismatch"


@pytest.mark.parametrize("failing", [0, 1])
async def test_a_model_that_fails_is_a_refusal(failing: int) -> None:
    """A failure of the first draft or of the redraft ends the turn as model_failed."""
    drafts: list[str | Exception] = [FALSE, FALSE]
    drafts[failing] = ModelFailed("overloaded")
    before = ["DraftCompleted", "Redraft"] if failing else []
    assert shape(await told(brain(FakeDrafter(*drafts)))) == [*before, "model_failed"]


@pytest.mark.parametrize("draft", ["", "   ", "bad \ud800 text"])
async def test_a_draft_without_text_is_a_failure_of_the_model(draft: str) -> None:
    """Nothing, white space, or what cannot be encoded is no draft."""
    assert shape(await told(brain(FakeDrafter(draft)))) == ["model_failed"]


async def test_a_bug_of_the_model_is_left_to_the_turns_edge() -> None:
    """An exception that is no ModelFailed is not dressed up as one; the stream is closed all the same."""
    model = FakeDrafter(ValueError("bug"))
    with pytest.raises(ValueError, match="bug"):
        await told(brain(model))
    assert model.open == 0


# --- language


@pytest.mark.parametrize(
    ("text", "said", "default", "expected"),
    [
        ("What does it cost?", "sv", "en", "sv"),
        ("Vad kostar det?", None, "en", "sv"),
        ("What does it cost?", None, "sv", "en"),
        ("12345", None, "sv", "sv"),
    ],
)
async def test_the_language_is_the_clients_word_then_the_texts_then_the_settings(
    text: str, said: Lang | None, default: Lang, expected: Lang
) -> None:
    """Search, prompt and refusals are in the same language."""
    model, retriever = FakeDrafter(TRUE), FakeRetriever()
    await told(brain(model, retriever, AnswerSettings(lang=default)), ask(text, said))
    assert (retriever.asked[0].lang, model.prompts[0].lang) == (expected, expected)
    (refusal,) = await told(brain(model, FakeRetriever(()), AnswerSettings(lang=default)), ask(text, said))
    assert isinstance(refusal, TurnRefusal)
    assert refusal.text.text.startswith("Jag") is (expected == "sv")


# --- proposals


@pytest.mark.parametrize(
    ("model", "hits"),
    [
        (FakeDrafter(TRUE), (HIT,)),
        (FakeDrafter(TRUE), ()),
        (FakeDrafter(FALSE, FALSE), (HIT,)),
        (FakeDrafter(ModelFailed("it failed")), (HIT,)),
    ],
)
async def test_proposals_come_with_the_last_event(model: FakeDrafter, hits: tuple[Hit, ...]) -> None:
    """Whether answer or refusal, the last event and no other carries what the user's words asked for."""
    events = await told(brain(model, FakeRetriever(hits)), ask("What does it cost? Call me on 08-123 45 67"))
    carrying = [event for event in events if isinstance(event, VerifiedPart | TurnRefusal)]
    assert carrying == events[-1:]
    assert carrying[0].proposals == (Proposal(action="schedule_callback", payload={"phone": "08-123 45 67"}),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("call me on 0701740605", "Please confirm this."),
        ("Ring mig på 0701740605", "Bekräfta det här, tack."),
        ("Could you call me on 0701740605?", "Please confirm this."),
        ("I am stuck. Send an SMS to 0701740605: hello! Are you in?", "Please confirm this."),
    ],
)
async def test_a_request_for_an_action_is_no_refusal(text: str, said: str) -> None:
    """Where no document is about it; its user is asked to confirm, without a confidence."""
    last = (await told(brain(FakeDrafter(), FakeRetriever(())), ask(text, None)))[-1]
    assert isinstance(last, VerifiedPart)
    assert (last.text.text, last.text.blocked, last.text.confidence) == (said, None, None)
    assert len(last.proposals) == 1


@pytest.mark.parametrize(
    ("model", "events"),
    [
        (FakeDrafter(FALSE, FALSE), ["DraftCompleted", "Redraft", "DraftCompleted", "VerifiedPart"]),
        (FakeDrafter(ModelFailed("it failed")), ["DraftCompleted", "VerifiedPart"]),
        (FakeDrafter(""), ["DraftCompleted", "VerifiedPart"]),
    ],
)
async def test_a_failed_draft_leaves_the_action_to_confirm(model: FakeDrafter, events: list[str]) -> None:
    """A request that asks nothing else is not refused because of a document that is near it."""
    found = await told(brain(model), ask("Call me on 0701740605"))
    assert shape(found) == events
    last = found[-1]
    assert isinstance(last, VerifiedPart)
    assert (last.text.text, last.text.citations, last.announces) == ("Please confirm this.", (), True)
    assert len(last.proposals) == 1


async def test_a_draft_that_fails_after_its_first_sentence_is_refused_beside_an_action() -> None:
    """A sent part needs the refusal, which says that the answer is not complete."""
    model = FakeDrafter(f"{TRUE} {FALSE} More follows here.")
    found = await told(brain(model, settings=SENTENCE), ask("Call me on 0701740605"))
    assert shape(found)[-1] == "number_mismatch"
    assert isinstance(found[-1], TurnRefusal)
    assert len(found[-1].proposals) == 1


async def test_where_no_action_can_be_confirmed_none_is_proposed() -> None:
    """Such a request is refused as any other that no document is about."""
    question = replace(ask("call me on 0701740605"), wishes=None)
    (last,) = await told(brain(FakeDrafter(), FakeRetriever(())), question)
    assert isinstance(last, TurnRefusal)
    assert (last.text.text, last.proposals) == (refusals.no_sources("en").text, ())


# --- bounds


async def test_a_draft_that_takes_too_long_is_a_failure(autojump_clock: MockClock) -> None:
    """The settings' turn_timeout bounds each draft, and the model is closed."""
    model = FakeDrafter(TRUE, wait=3600.0)
    assert shape(await told(brain(model, settings=AnswerSettings(turn_timeout=3.0)))) == ["model_failed"]
    assert trio.current_time() == pytest.approx(3.0)
    assert model.open == 0


async def test_the_operator_is_told_of_drafts_that_take_too_long(autojump_clock: MockClock) -> None:
    """With the setting to change, until one comes in time; a model that fails by itself is told elsewhere."""
    troubles: list[str] = []
    waits = [3600.0, 0.0, 0.0]

    class Slow:
        """Slow at first."""

        async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
            await trio.sleep(waits.pop(0))
            yield Delta(TRUE)

    slow = GroundedBrain(
        FakeRetriever(), Slow(), AnswerSettings(turn_timeout=3.0), on_trouble=troubles.append
    )
    await told(slow)
    assert troubles == [
        "The language model does not answer: the draft took too long: if the model is only slow, raise turn-timeout."
    ]
    await told(slow)
    await told(slow)
    assert troubles[1:] == [""]


@pytest.mark.parametrize(
    ("over", "expected"), [(0, ["DraftCompleted", "VerifiedPart"]), (1, ["model_failed"])]
)
async def test_a_draft_is_bounded_in_bytes(over: int, expected: list[str]) -> None:
    """DRAFT_MAX bytes of UTF-8 are allowed, one more is not."""
    model = FakeDrafter("å" * (DRAFT_MAX // 2) + "a" * over)
    assert shape(await told(brain(model))) == expected
    assert model.open == 0


async def test_an_endless_draft_is_cut_off() -> None:
    """A model that never stops is stopped at the bound."""

    class Endless(FakeDrafter):
        said = 0

        async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
            while True:
                await trio.lowlevel.checkpoint()
                self.said += 1
                yield Delta("x" * 1024)

    model = Endless()
    assert shape(await told(brain(model))) == ["model_failed"]
    assert model.said == DRAFT_MAX // 1024 + 1


# --- cancel


class Log:
    """Notes when which event was emitted."""

    def __init__(self, events: list[tuple[float, str]]) -> None:
        self.events = events

    def append(self, event: TurnEvent) -> None:
        self.events.append((trio.current_time(), type(event).__name__))


async def test_a_cancel_at_any_moment_ends_it_silently(autojump_clock: MockClock) -> None:
    """Wherever the cancel lands, nothing is emitted after it and the model is closed."""
    whole = 1.0 + 2 * 6 * 1.0  # the search, then two drafts of six words, a second each
    at = 0.5
    seen = set()
    while at < whole:
        model = FakeDrafter(FALSE + " x", TRUE + " x", wait=1.0)
        start = trio.current_time()
        events: list[tuple[float, str]] = []
        with trio.move_on_after(at) as scope:
            await brain(model, FakeRetriever(wait=1.0)).answer(ask(), Log(events).append)
        assert scope.cancelled_caught
        await trio.sleep(60.0)
        assert all(time <= start + at for time, _ in events)
        assert model.open == 0
        seen.add(tuple(name for _, name in events))
        at += 1.0
    assert seen == {(), ("DraftCompleted", "Redraft")}


async def test_a_cancel_between_two_deltas_closes_the_model() -> None:
    """Cancelled while the stream is suspended at a delta, its clean-up is still awaited."""

    class Suspended(FakeDrafter):
        async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
            self.open += 1
            try:
                scope.cancel()
                yield Delta("a" * (DRAFT_MAX + 1))
            finally:
                await trio.lowlevel.checkpoint()
                self.open -= 1

    model = Suspended()
    with trio.CancelScope() as scope:
        await told(brain(model))
    assert model.open == 0


async def test_a_clean_up_that_hangs_is_given_up(autojump_clock: MockClock) -> None:
    """A stream that does not close in UNWIND_TIMEOUT is left."""

    class Hanging(FakeDrafter):
        async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
            try:
                yield Delta("a" * (DRAFT_MAX + 1))
            finally:
                await trio.sleep(3600.0)

    assert shape(await told(brain(Hanging()))) == ["model_failed"]
    assert trio.current_time() == pytest.approx(UNWIND_TIMEOUT)


async def test_turns_at_once_do_not_mix() -> None:
    """One brain serves many turns at a time, each with its own events."""
    of = brain(FakeDrafter(FALSE, TRUE))
    results: list[list[str]] = []

    async def turn() -> None:
        results.append(shape(await told(of)))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(turn)
    assert results == [["DraftCompleted", "Redraft", "DraftCompleted", "VerifiedPart"]] * 20


# --- the methods, each by its setting


async def test_the_evidence_is_kept_to_its_budget() -> None:
    """What is left out reaches neither the model nor the citations, and its numbers are not supported."""
    other = Snippet(
        file="kb/b.md", text="The fee is 349 kr, whatever you have bought from us.", first=1, last=1
    )
    hits = (HIT, Hit(other, Passage("kb/b.md", (), "en", (other,)), 0.5))
    for budget, expected in [(0, "VerifiedPart"), (20, "number_mismatch")]:
        model = FakeDrafter(FALSE, FALSE)
        events = await told(brain(model, FakeRetriever(hits), AnswerSettings(evidence_tokens=budget)))
        assert shape(events)[-1] == expected
        assert len(model.evidence[0]) == (2 if expected == "VerifiedPart" else 1)


@pytest.mark.parametrize("verify", ["whole", "sentence"])
async def test_a_question_back_is_an_answer(verify: Literal["whole", "sentence"]) -> None:
    """A draft that asks is delivered without its mark, not blocked, not sure; its numbers are verified too."""
    of = AnswerSettings(verify=verify)
    model = FakeDrafter("ASK: Is it about the 299 kr plan?")
    last = (await told(brain(model, settings=of)))[-1]
    assert isinstance(last, VerifiedPart)
    assert last.text.text.strip() == "Is it about the 299 kr plan?"
    assert (last.text.blocked, last.text.confidence) == (None, "low")
    assert model.prompts[0].may_ask
    wrong = "ASK: Is it about the 349 kr plan?"
    assert shape(await told(brain(FakeDrafter(wrong, wrong), settings=of)))[-1] == "number_mismatch"
    assert shape(await told(brain(FakeDrafter("ASK: "), settings=of))) == ["DraftCompleted", "model_failed"]


async def test_a_model_that_may_not_ask_is_not_told_to() -> None:
    """Off, neither the instructions nor the prompt let it."""
    model = FakeDrafter(TRUE)
    await told(brain(model, settings=AnswerSettings(clarify=False)))
    assert not model.prompts[0].may_ask
    assert "ASK:" not in model.prompts[0].instructions


@pytest.mark.parametrize("way", [{}, {"verify": "sentence"}, {"answer": "claims"}])
async def test_strict_binding_refuses_what_is_said_of_another(way: dict[str, Any]) -> None:
    """In every mode, a number of the snippet that is said of something else is refused only when asked for."""
    wrong = "Premium users pay 299 kr."
    draft = claims(wrong) if "answer" in way else wrong
    last = {}
    for binding in ("off", "strict"):
        of = brain(FakeDrafter(draft, draft), settings=AnswerSettings(binding=binding, **way))
        last[binding] = shape(await told(of))[-1]
    assert last == {"off": "VerifiedPart", "strict": "number_mismatch"}


def claims(*texts: str) -> str:
    return json.dumps([{"text": text, "evidence": [1]} for text in texts])


CLAIMS = AnswerSettings(answer="claims")


async def test_claims_that_check_out_are_the_answer() -> None:
    """The rest is dropped, without a redraft; the model was asked for claims."""
    model = FakeDrafter(claims(TRUE, FALSE, "Thank you."))
    events = await told(brain(model, settings=CLAIMS))
    assert shape(events) == ["DraftCompleted", "VerifiedPart"]
    assert isinstance(events[-1], VerifiedPart)
    assert events[-1].text.text == f"{TRUE} Thank you."
    assert model.prompts[0].form == "claims"
    assert "JSON" in model.prompts[0].instructions


async def test_claims_of_which_none_checks_out_are_drafted_once_more() -> None:
    """The redraft is told which failed, without their numbers; then it is a refusal."""
    model = FakeDrafter(claims(FALSE), claims(FALSE))
    events = await told(brain(model, settings=CLAIMS))
    assert shape(events) == ["DraftCompleted", "Redraft", "DraftCompleted", "number_mismatch"]
    added = model.prompts[1].again
    assert "- It is [...] per month." in added
    assert "349" not in added


async def test_claims_that_cannot_be_read_are_drafted_once_more() -> None:
    """The redraft is told so; a model that does not do it has failed."""
    model = FakeDrafter(TRUE, claims(TRUE))
    assert shape(await told(brain(model, settings=CLAIMS))) == [
        "DraftCompleted",
        "Redraft",
        "DraftCompleted",
        "VerifiedPart",
    ]
    assert "JSON" in model.prompts[1].again
    assert shape(await told(brain(FakeDrafter(TRUE, TRUE), settings=CLAIMS)))[-1] == "model_failed"


# --- sentence by sentence

SENTENCE = AnswerSettings(verify="sentence")
LONG = "The plan is 299 kr per month with us. "


async def test_each_sentence_is_said_when_it_stands() -> None:
    """All but the last are not last; proposals come with the last."""
    events = await told(brain(FakeDrafter(LONG * 3), settings=SENTENCE), ask("Cost? Call me on 08-123 45 67"))
    assert shape(events) == ["DraftCompleted", "VerifiedPart"] * 3
    verified = [event for event in events if isinstance(event, VerifiedPart)]
    assert [event.last for event in verified] == [False, False, True]
    assert [len(event.proposals) for event in verified] == [0, 0, 1]
    assert "".join(event.text.text for event in verified) == LONG * 3


GOES_ON = "You can cancel it on any day. "


@pytest.mark.parametrize(
    "again", [GOES_ON, LONG + GOES_ON, LONG.replace(" ", "\n") + GOES_ON], ids=["on", "anew", "lines"]
)
async def test_a_sentence_that_fails_is_drafted_once_more(again: str) -> None:
    """The sent sentences stand, the model is shown them, and they are not sent again where it repeats them."""
    model = FakeDrafter(LONG + "It is 349 kr in Norway. " + LONG, again)
    events = await told(brain(model, settings=SENTENCE))
    assert shape(events) == [
        *["DraftCompleted", "VerifiedPart", "DraftCompleted"],
        *["Redraft", "DraftCompleted", "VerifiedPart"],
    ]
    parts = [event for event in events if isinstance(event, VerifiedPart)]
    assert [part.text.text for part in parts] == [LONG, GOES_ON]
    assert [part.last for part in parts] == [False, True]
    assert (model.prompts[1].sent, LONG.strip() in model.prompts[1].again) == (LONG, True)
    assert "349" not in model.prompts[1].again
    assert model.open == 0


async def test_an_answer_that_was_sent_whole_may_end_there() -> None:
    """A second draft that has nothing to add, or only repeats, ends the answer as it stands."""
    for again in ("", " \n", LONG, LONG[:20]):
        events = await told(brain(FakeDrafter(LONG + "It is 349 kr in Norway.", again), settings=SENTENCE))
        assert shape(events)[-1] == "VerifiedPart"
        (first, last) = [event for event in events if isinstance(event, VerifiedPart)]
        assert (first.text.text, last.text.text, last.text.citations) == (LONG, "", ())
        assert last.text.confidence == first.text.confidence
        assert last.last


async def test_a_number_is_not_made_of_two_drafts() -> None:
    """A piece of the second draft is verified behind the end of what was sent."""
    begun, again = "- The plan is at about 299\n- ", "% of it is for us."
    model = FakeDrafter(f"{begun}Now it is 349 kr in Norway. And so", again)
    assert shape(await told(brain(model, settings=SENTENCE))) == [
        *["DraftCompleted", "VerifiedPart", "DraftCompleted"],
        *["Redraft", "DraftCompleted", "number_mismatch"],
    ]
    assert shape(await told(brain(FakeDrafter(again), settings=SENTENCE)))[-1] == "VerifiedPart"


async def test_a_sentence_that_fails_twice_ends_the_answer() -> None:
    """The refusal follows the sentences that were sent; a first sentence that fails takes nothing back."""
    failing = LONG + "It is 349 kr in Norway. " + LONG
    assert shape(await told(brain(FakeDrafter(failing, failing), settings=SENTENCE)))[-3:] == [
        "Redraft",
        "DraftCompleted",
        "number_mismatch",
    ]
    first = FakeDrafter("It is 349 kr in Norway. " + LONG, LONG)
    assert shape(await told(brain(first, settings=SENTENCE))) == [
        "DraftCompleted",
        "Redraft",
        "DraftCompleted",
        "VerifiedPart",
    ]


async def test_a_model_that_fails_in_the_middle_is_told_after_what_was_said(
    autojump_clock: MockClock,
) -> None:
    """The sentences that stood stay said, and the operator reads which setting to change."""
    model = FakeDrafter(LONG * 2, wait=1.0)
    with capture_logs() as lines:
        events = await told(brain(model, settings=AnswerSettings(verify="sentence", turn_timeout=10.5)))
    assert [line["remedy"] for line in lines if line["log_level"] == "warning"] == [
        "raise turn-timeout for a slow model"
    ]
    assert shape(events) == ["DraftCompleted", "VerifiedPart", "model_failed"]
    assert model.open == 0


async def test_a_cancel_ends_sentences_silently(autojump_clock: MockClock) -> None:
    """Wherever it lands, nothing is emitted after it and the model is closed."""
    for at in range(20):
        model = FakeDrafter(LONG * 2, wait=1.0)
        start = trio.current_time()
        events: list[tuple[float, str]] = []
        with trio.move_on_after(at + 0.5):
            await brain(model, settings=SENTENCE).answer(ask(), Log(events).append)
        await trio.sleep(60.0)
        assert all(time <= start + at + 0.5 for time, _ in events)
        assert model.open == 0


@pytest.mark.parametrize(
    ("text", "lang", "begins"),
    [
        ("Hello!", None, "Hello!"),
        ("hej", None, "Hej!"),
        ("hej", "en", "Hello!"),
        ("thanks", None, "You are welcome."),
        ("Vad kan du göra?", None, "Jag svarar"),
    ],
)
async def test_what_is_no_question_has_a_fixed_answer(text: str, lang: Lang | None, begins: str) -> None:
    """Without a search or a model, in the language that is set or that it was said in."""
    retriever, model = FakeRetriever(), FakeDrafter(TRUE)
    events = await told(brain(model, retriever), ask(text, lang))
    drafted, said = events
    assert isinstance(drafted, DraftCompleted)
    assert isinstance(said, VerifiedPart)
    assert said.text.text.startswith(begins)
    assert (said.text.citations, said.text.confidence, said.proposals) == ((), None, ())
    assert (retriever.asked, model.prompts, len(retriever.told)) == ([], [], 1)


async def test_a_greeting_before_a_question_is_no_part_of_it() -> None:
    """Neither of what is looked for nor of what the model is asked; an action that it asks for is proposed still."""
    retriever, model = FakeRetriever(), FakeDrafter(TRUE)
    await told(brain(model, retriever), ask("Hello, what does Standard cost? Thanks!"))
    assert model.prompts[0].question == "what does Standard cost?"
    assert retriever.asked[0].text == "what does Standard cost?"


@pytest.mark.parametrize("binding", ["off", "strict"])
async def test_the_evidence_is_read_in_small_steps(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, binding: Literal["off", "strict"]
) -> None:
    """However much of it there is: others have their turn after each, and the verdict finds everything read."""
    evidence.evidence_of.cache_clear()
    cached_rows.cache_clear()
    snippets = [
        Snippet(
            file="kb/a.md",
            text=f"Plan {at} costs {at} kr. ".ljust(SNIPPET_CHARACTERS, "a"),
            first=at,
            last=at,
        )
        for at in range(1, HITS + 1)
    ]
    hits = tuple(Hit(each, Passage("kb/a.md", (), "en", tuple(snippets)), 0.9) for each in snippets)
    read = evidence.read_evidence
    steps = [0]

    def noted(text: str, headings: tuple[str, ...] = (), said: str = "") -> SourceNumbers:
        steps[-1] += len(text)
        return read(text, headings, said)

    async def others() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            steps.append(0)

    monkeypatch.setattr(evidence, "read_evidence", noted)
    one = brain(
        FakeDrafter("It is 3 kr."),
        FakeRetriever(hits),
        AnswerSettings(binding=binding, evidence_tokens=10**6),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        assert shape(await told(one))[-1] == "VerifiedPart"
        nursery.cancel_scope.cancel()
    # Two steps, where both come before the others' turn; under "strict" each sentence is read by itself, too.
    assert sum(steps) > 20 * SNIPPET_CHARACTERS
    assert max(steps) <= 2 * (READ_AT_ONCE + SNIPPET_CHARACTERS) * (2 if binding == "strict" else 1)
