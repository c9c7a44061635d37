"""What users told is answered when they ask for it, without a model, also where the documents hold words of that.

The documents are the ones that the project ships. What they hold and nobody told is answered from them as ever.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeVar

import pytest
import trio
from trio.testing import MockClock

from agent.client.client import Frame
from agent.compose.adapters import Adapters
from agent.ports.draft import Delta, Prompt
from agent.ports.search import Hit
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.network import inline, network

from ..examples import sample
from .shipped import knowledge

TOLD = [
    "Remember that my gate code is 4711.",
    "Remember that my budget is 50 000 kr.",
    "Remember that Ana's birthday is 3 March.",
    "Remember that my customer number is 88123456.",
    "Remember that I have the Basic plan with 2 cameras.",
    "Remember that my alarm code word is Bluebird.",
    "Kom ihåg att nya portkoden är 9041.",
    "My sister lives in Oslo, remember that.",
    "Remember that my dog is called Rex.",
]


async def answered(question: str, by_another: bool = False) -> Frame:
    """The response to a question after all was told. by_another: it is somebody else who asks."""
    async with (
        network(
            Settings.of(memory="on", pace_ms=0), Adapters(knowledge=knowledge(), run_sync=inline)
        ) as server,
        server.connect() as client,
        server.connect() as other,
    ):
        for text in TOLD:
            await client.ask(text)
            await client.frames_until("response")
        asking = other if by_another else client
        await asking.ask(question)
        (*_, response) = await asking.frames_until("response")
        return response


@pytest.mark.parametrize(
    ("question", "answer"),
    sample(
        [
            ("What is my gate code?", "4711"),
            ("What's the gate code again?", "4711"),
            ("What is my budget?", "50 000 kr"),
            ("When is Ana's birthday?", "3 March"),
            ("What is my customer number?", "88123456"),
            ("Which plan do I have?", "Basic"),
            ("How many cameras do I have?", "2 cameras"),
            ("What is my alarm code word?", "Bluebird"),
            ("Vad är portkoden?", "9041"),
            ("Where does my sister live?", "Oslo"),
            ("What is my dog called?", "Rex"),
        ],
        4,
    ),
)
async def test_what_was_told_comes_first(question: str, answer: str) -> None:
    """Under its citation, and nothing else of what was told with it."""
    response = await answered(question)
    first = response["text"].partition("\n\n")[0].splitlines()
    assert answer in first[1]
    assert len(first) == 2
    assert [each["file"].startswith("memory/i") for each in response["citations"]].count(True) == 1


@pytest.mark.parametrize(
    ("question", "answer"),
    sample(
        [
            ("What does a return cost?", "59 kr"),
            ("How long is the return period?", "30 days"),
            ("Do you ship to Norway?", "149 kr"),
            ("When are you open on Sundays?", "11:00-16:00"),
            ("How much does Premium cost per month?", "599 kr"),
            ("What is the phone number of the alarm centre?", "08-465 004 99"),
        ],
        3,
    ),
)
async def test_what_the_documents_say_is_answered_from_them(question: str, answer: str) -> None:
    """Whatever else was told."""
    response = await answered(question)
    assert answer in response["text"]
    assert all(each["file"].startswith("kb/") for each in response["citations"])


async def test_who_asks_what_is_remembered_of_him_is_told_all_of_it() -> None:
    """And nobody else, nor anything of the documents."""
    response = await answered("What do you remember about me?")
    assert all(each in response["text"] for each in ("4711", "50 000 kr", "Bluebird", "9041", "Oslo", "Rex"))
    assert {each["file"].partition("/")[0] for each in response["citations"]} == {"memory"}
    nothing = await answered("What do you remember about me?", by_another=True)
    assert nothing["blocked"]["code"] == "no_sources"


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("My name is Kim and I live in Malmö", ["My name is Kim", "I live in Malmö"]),
        ("Jag är vegetarian.", ["Jag är vegetarian"]),
    ],
)
async def test_who_tells_of_himself_is_not_refused(text: str, suggested: list[str]) -> None:
    """He is asked whether to remember it; what the documents have no word of is no refusal then."""
    chosen = Adapters(knowledge=knowledge(), run_sync=inline)
    async with network(Settings.of(memory="on", pace_ms=0), chosen) as server, server.connect() as client:
        await client.ask(text)
        (*_, response) = await client.frames_until("response")
        assert ("blocked" in response, response["citations"]) == (False, [])
        asked = [(await client.frames_until("action_suggestion"))[-1] for _ in suggested]
        assert [each["payload"]["text"] for each in asked] == suggested


T = TypeVar("T")


async def on_a_slow_disk(function: Callable[[], T]) -> T:
    """Whatever blocks takes 30 ms."""
    await trio.sleep(0.03)
    return function()


async def test_what_was_told_a_moment_ago_is_there(autojump_clock: MockClock) -> None:
    """Whatever its user sends next, and however soon, while the disk is still at what others told."""
    chosen = Adapters(knowledge=knowledge(), run_sync=on_a_slow_disk)
    async with (
        network(Settings.of(memory="on", pace_ms=0), chosen) as server,
        server.connect() as client,
        server.connect() as other,
    ):
        for each in (other, client):
            await each.ask("Remember that my gate code is 4711.")
        await client.frames_until("response")
        await client.ask("What is my gate code?")
        (*_, response) = await client.frames_until("response")
        assert "4711" in response["text"]
        await client.ask("Remember that my dog is called Rex.")
        await client.frames_until("response")
        await client.send({"type": "memory_list"})
        (*_, listed) = await client.frames_until("memory")
        assert [each["text"] for each in listed["items"]] == ["My gate code is 4711", "My dog is called Rex"]
        await client.ask("My sister lives in Oslo, remember that.")
        await client.frames_until("response")
        await client.send({"type": "recall", "query": "Where does my sister live?"})
        (*_, recalled) = await client.frames_until("recalled")
        assert any("Oslo" in each["text"] for each in recalled["excerpts"])


class Echo:
    """Says what it is told to (`agent.ports.draft.Drafter`), and keeps what evidence it had."""

    def __init__(self) -> None:
        self.says = "Thanks."
        self.evidence: list[tuple[str, bool]] = []

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Draft."""
        self.evidence = [(hit.snippet.text, hit.in_conversation) for hit in evidence]
        yield Delta(self.says)


@pytest.mark.parametrize(("says", "refused"), [("It is 88123456.", False), ("It is 88123457.", True)])
async def test_a_model_may_say_what_its_user_said_in_this_conversation(says: str, refused: bool) -> None:
    """Cited like all that he said, though it is not shown it twice; and no other number."""
    model = Echo()
    document = SourceFile.of("kb/a.md", "# Customers\n\nYour customer number stands on every invoice.\n")
    chosen = Adapters(model=model, knowledge=KnowledgeBase.build([document]), run_sync=inline)
    async with network(Settings.of(memory="on", pace_ms=0), chosen) as server, server.connect() as client:
        await client.ask("My customer number is 88123456. Where is it on the invoice?")
        await client.frames_until("response")
        await client.ask("And what was my customer number on the invoice?")
        model.says = says
        (*_, response) = await client.frames_until("response")
    assert ("blocked" in response) is refused
    assert any(shown for _, shown in model.evidence)
    assert ("88123456" in response["text"]) is not refused
    cited = [each["snippet"] for each in response["citations"] if each["file"].startswith("memory/t")]
    assert cited == ["My customer number is 88123456."]  # a refusal shows what there is
