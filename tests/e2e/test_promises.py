"""The first promise over the wire: what no citation holds, no client gets, whatever the model makes up.

The whole server runs in memory with the repository's knowledge base and the mock model; the checker in `independent`
judges what arrives.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from agent.answering.brain import HITS
from agent.compose.adapters import Adapters
from agent.llm.mock import MockModel
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.draft import Prompt
from agent.ports.search import Lang
from agent.settings import Settings
from agent.testing.network import network

from ..examples import sample
from .independent import shown, unsupported
from .plain import Plain, plain
from .questions import Asked, questions
from .shipped import KB, knowledge

NO_SOURCES = {
    "en": "I couldn't find any references to this in the knowledge base",
    "sv": "Jag hittar inget stöd i kunskapsbasen.",
}
ANSWERING = ("stream", "stream_end", "response")  # "chat and text messages" has an action suggested too
CONFIRM = {"en": "Please confirm this.", "sv": "Bekräfta det här, tack."}
MISMATCH = {"en": "I cannot verify that", "sv": "Jag kan inte verifiera det."}


@dataclass
class Answer:
    """What came for one question."""

    asked: Asked
    response: dict[str, Any]
    joined: str

    @property
    def outcome(self) -> str:
        """`answered`, or the code of the refusal."""
        return str(self.response.get("blocked", {}).get("code", "answered"))

    @property
    def invented(self) -> list[str]:
        """The numbers of the text that no citation holds."""
        held = shown(self.response["citations"])
        return unsupported(self.response["text"], held) + unsupported(self.joined, held)


@dataclass
class Run:
    """A number of questions and what came of them."""

    answers: list[Answer] = field(default_factory=list)

    def outcomes(self, on_topic: bool) -> Counter[str]:
        """Count how the on-topic, or the off-topic, questions ended."""
        return Counter(each.outcome for each in self.answers if each.asked.on_topic is on_topic)


async def ask_all(asked: list[Asked], rate: float, **more: Any) -> Run:
    """Ask each question over one plain connection, the next when the last is answered."""
    settings = Settings.of(kb=KB, pace_ms=0, mock_hallucinate=rate, mock_seed=7, **more)
    async with network(settings, Adapters(knowledge=knowledge())) as server, plain(server.open()) as client:
        return await ask_over(client, asked)


async def ask_over(client: Plain, asked: list[Asked]) -> Run:
    """Ask each question over a connection, the next when the last is answered."""
    run = Run()
    for number, each in enumerate(asked):
        await client.ask(each.text, id=str(number), lang=each.lang)
        frames = [frame for frame in await client.until("response") if frame["type"] in ANSWERING]
        deltas = [frame["delta"] for frame in frames if frame["type"] == "stream"]
        assert [frame["type"] for frame in frames[len(deltas) :]] == ["stream_end", "response"]
        assert {frame["id"] for frame in frames} == {str(number)}
        assert frames[-2]["reason"] == "done"
        run.answers.append(Answer(each, frames[-1], "".join(deltas)))
        await trio.sleep(0.01)  # 200 frames a second are allowed
    assert len(run.answers) == len(asked)
    return run


def check_every(run: Run) -> None:
    """Check what holds of every response: its text, its citations and its numbers."""
    for each in run.answers:
        assert each.joined == each.response["text"], each
        assert each.invented == [], each
        for citation in each.response["citations"]:
            check_citation(citation)


def check_citation(citation: dict[str, Any]) -> None:
    """Check that a citation shows what stands there in a file of the knowledge base.

    Its snippet is one to three lines as they stand, or a part of one long line; before a row stands the first line of
    its table. Its heading is the path of headings above it.
    """
    folder, _, name = citation["file"].partition("/")
    assert folder == "kb"
    first, last = citation["lines"]
    assert 1 <= first <= last <= first + 2
    lines = (KB / name).read_text(encoding="utf-8").splitlines()
    stands = lines[first - 1 : last]
    shows = citation["snippet"].split("\n")
    if len(shows) == len(stands) + 1:
        top = first - 1
        while lines[top - 1].startswith("|"):
            top -= 1
        assert shows.pop(0) == lines[top]
        assert set(lines[top + 1]) <= set("|-: ")
        assert top + 2 < first
    assert shows == stands or (len(stands[0]) > 300 and shows[0] in stands[0])
    path: dict[int, str] = {}
    for line in lines[: first - 1]:
        marks, _, heading = line.partition(" ")
        if marks and set(marks) == {"#"}:
            path = {depth: text for depth, text in path.items() if depth < len(marks)} | {len(marks): heading}
    assert citation.get("heading", "") == " › ".join(path.values())


def check_refusals(run: Run) -> None:
    """Check the words of the refusals, in the question's language, and that one without sources cites nothing.

    A message that only asks for an action is answered with a request to confirm it, which cites nothing.
    """
    for each in run.answers:
        if each.outcome == "no_sources":
            assert (each.response["text"], each.response["citations"]) == (NO_SOURCES[each.asked.lang], [])
        elif each.outcome == "number_mismatch":
            assert each.response["text"] == MISMATCH[each.asked.lang]
            assert each.response["blocked"]["message"] == "Verification failed: Number mismatch"
        else:
            assert each.outcome == "answered"
            assert each.response["citations"] or each.response["text"] == CONFIRM[each.asked.lang]


@pytest.mark.parametrize(
    ("every", "count"), [(20, 25), pytest.param(1, 500, marks=pytest.mark.proof)], ids=["some", "all"]
)
async def test_nothing_made_up_comes_through(
    every: int, count: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Of 500 questions to a model that always makes a number up, no answer holds a number without its source."""
    asked = questions(KB)[::every]
    assert len(asked) == len({each.text for each in asked}) == count
    run = await ask_all(asked, 1.0)
    check_every(run)
    check_refusals(run)
    outcomes = run.outcomes(on_topic=True)
    assert outcomes["number_mismatch"] >= 0.9 * outcomes.total(), outcomes


@pytest.mark.parametrize("every", sample([24, 8], 2))
async def test_true_drafts_are_answered(every: int, autojump_clock: trio.testing.MockClock) -> None:
    """A model that makes nothing up is let through: 95 % of the on-topic questions are answered, none off topic."""
    run = await ask_all(questions(KB)[::every], 0.0)
    check_every(run)
    check_refusals(run)
    outcomes = run.outcomes(on_topic=True)
    assert outcomes["answered"] >= 0.95 * outcomes.total(), outcomes
    assert set(run.outcomes(on_topic=False)) == {"no_sources"}


async def test_both_kinds_occur(autojump_clock: trio.testing.MockClock) -> None:
    """A model that makes a number up in half of its drafts is answered by some refusals and some answers."""
    run = await ask_all(questions(KB)[::16], 0.5)
    check_every(run)
    check_refusals(run)
    outcomes = run.outcomes(on_topic=True)
    assert min(outcomes["answered"], outcomes["number_mismatch"]) >= 0.1 * outcomes.total(), outcomes


@pytest.mark.parametrize("every", sample([50, 25], 2))
async def test_same_seed_is_the_same_run(every: int, autojump_clock: trio.testing.MockClock) -> None:
    """Two servers with the same seed say the same, in whatever order they are asked."""
    asked = questions(KB)[::every]
    alone = {"history_tokens": 0}  # what was asked before says nothing
    there, back = await ask_all(asked, 0.5, **alone), await ask_all(asked[::-1], 0.5, **alone)
    assert [each.response["text"] for each in there.answers] == [
        each.response["text"] for each in reversed(back.answers)
    ]


@pytest.mark.parametrize("every", sample([20, 10], 2))
async def test_the_check_catches_every_draft_that_makes_a_number_up(
    every: int,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Of the mock's own drafts, before the server judges them, each invented one is caught and no true one is."""
    texts = [snippet.text for passage in knowledge().passages for snippet in passage.snippets]
    for rate in (0.0, 1.0):
        model = MockModel(7, rate, elsewhere=lambda: texts)
        for asked in questions(KB)[:480:every]:
            lang: Lang = "sv" if asked.lang == "sv" else "en"
            hits = knowledge().find_hits(asked.text, lang, HITS)
            if hits:
                pieces = [
                    delta.text
                    async for delta in model.stream(
                        Prompt(instructions="", question=asked.text, lang=lang), hits
                    )
                ]
                held = [text for hit in hits for text in (hit.snippet.text, *hit.snippet.headings)]
                caught = unsupported("".join(pieces), held)
                assert bool(caught) is bool(rate), pieces


async def test_an_hour_in_a_table_is_not_a_count(autojump_clock: trio.testing.MockClock) -> None:
    """A closing time of 15.00 does not make 15 minutes 15 hours."""
    lie = ScriptModel([ScriptEntry(match="", text="Telefonkön stänger 15 timmar före stängning.")])
    settings = Settings.of(kb=KB, pace_ms=0)
    async with (
        network(settings, Adapters(model=lie, knowledge=knowledge())) as server,
        plain(server.open()) as client,
    ):
        await client.ask("När stänger telefonkön till kundtjänst på lördag?")
        assert (await client.until("response"))[-1]["text"] == MISMATCH["sv"]


def test_the_check_itself_can_fail() -> None:
    """An answer with a number that its citations lack would be noticed here."""
    cited = [{"file": "kb/pricing.md", "snippet": "| Basic | 149 kr |", "lines": [10, 10]}]
    answer = Answer(Asked("?", "en", True), {"text": "It is 148 kr.", "citations": cited}, "It is 148 kr.")
    assert answer.invented
    with pytest.raises(AssertionError):
        check_citation(cited[0])
