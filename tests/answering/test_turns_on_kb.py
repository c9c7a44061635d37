"""The mock, the knowledge base that is shipped and the number rule together: true drafts stand, made-up ones do not."""

from collections import Counter
from pathlib import Path

import pytest
import trio.testing

from agent.answering.brain import HITS, GroundedBrain
from agent.answering.prompts import fit_hits
from agent.answering.settings import AnswerSettings
from agent.grounding.verify import verify
from agent.llm.mock import MockModel
from agent.llm.wording import choose_quotes, compose_answer
from agent.ports.brain import Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.draft import Prompt
from agent.ports.search import Hit
from agent.retrieval.load import load_documents
from agent.retrieval.search import KnowledgeBase
from tests.examples import sample

KB = Path(__file__).parents[2] / "kb"


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return KnowledgeBase.build(load_documents(KB).sources)


@pytest.fixture(scope="module")
def texts(knowledge: KnowledgeBase) -> list[str]:
    return [snippet.text for passage in knowledge.passages for snippet in passage.snippets]


@pytest.mark.parametrize("every", sample([4, 1], 2))
async def test_what_the_mock_says_of_any_snippet_stands(every: int, knowledge: KnowledgeBase) -> None:
    """A true draft about any snippet of the knowledge base, told in other words, is verified by that snippet."""
    model = MockModel()
    for passage in knowledge.passages[::every]:
        for snippet in passage.snippets:
            hits = [Hit(snippet, passage, 0.9)]
            draft = "".join(
                [
                    d.text
                    async for d in model.stream(
                        Prompt(instructions="", question="q", lang=passage.lang), hits
                    )
                ]
            )
            assert verify(draft, hits).text is not None, draft
            assert draft != snippet.text


@pytest.mark.parametrize("every", sample([4, 1], 2))
async def test_what_the_mock_makes_up_about_any_snippet_does_not(
    every: int, knowledge: KnowledgeBase, texts: list[str]
) -> None:
    """A made-up draft about any snippet is refused, whichever kind was drawn."""
    model = MockModel(1, 1.0, elsewhere=lambda: texts)
    for passage in knowledge.passages[::every]:
        for snippet in passage.snippets:
            hits = [Hit(snippet, passage, 0.9)]
            prompt = Prompt(instructions="", question=f"Is it 777 kr? {snippet.text}", lang=passage.lang)
            draft = "".join([d.text async for d in model.stream(prompt, hits)])
            assert verify(draft, hits).text is None, draft


@pytest.mark.parametrize("every", sample([16, 4], 2))
async def test_quotes_are_said_sentence_by_sentence_as_they_are_drafted(
    every: int, knowledge: KnowledgeBase
) -> None:
    """Paragraphs and lists come out of sentence mode as they went in, and cite each statement that they quote."""
    model = MockModel()
    brain = GroundedBrain(knowledge, model, AnswerSettings(verify="sentence"))
    for passage in knowledge.passages[::every]:
        question = passage.headings[-1]
        hits = fit_hits(knowledge.find_hits(question, passage.lang, HITS), AnswerSettings().evidence_tokens)
        if not hits:
            continue
        events: list[TurnEvent] = []
        await brain.answer(Question(id="m", text=question, lang=passage.lang, at=0.0), events.append)
        said = [event.text for event in events if isinstance(event, VerifiedPart)]
        quoted = choose_quotes(hits, question)
        assert "".join(text.text for text in said) == compose_answer(quoted, passage.lang, question)
        cited = {(each.file, each.first) for text in said for each in text.citations}
        assert len({(hit.snippet.file, hit.snippet.first) for hit in quoted} - cited) <= 1


@pytest.mark.parametrize(
    ("rate", "least", "most"), sample([(0.5, 0.5, 0.95), (0.0, 0.95, 1.0), (1.0, 0.0, 0.0)], 3)
)
async def test_the_share_of_answers_follows_the_rate(
    knowledge: KnowledgeBase, texts: list[str], rate: float, least: float, most: float
) -> None:
    """Asked by its own headings: nearly all are answered at 0, three in four at 0.5 (one redraft), none at 1."""
    brain = GroundedBrain(knowledge, MockModel(0, rate, elsewhere=lambda: texts), AnswerSettings())
    ended: Counter[str] = Counter()
    asked_about = knowledge.passages[::2]
    for passage in asked_about:
        events: list[TurnEvent] = []
        await brain.answer(
            Question(id="m", text=passage.headings[-1], lang=passage.lang, at=0.0), events.append
        )
        last = events[-1]
        blocked = last.text.blocked if isinstance(last, TurnRefusal) else None
        ended[blocked.code if blocked else "answered"] += 1
    assert ended["model_failed"] == 0
    asked = ended["answered"] + ended["number_mismatch"]
    assert asked > 0.9 * len(asked_about)
    assert least <= ended["answered"] / asked <= most


async def test_the_words_about_an_action_are_no_words_of_the_question(
    knowledge: KnowledgeBase, autojump_clock: trio.testing.MockClock
) -> None:
    """A phone number and "call me" beside a question do not hide what the question is about."""
    brain = GroundedBrain(knowledge, MockModel(), AnswerSettings())
    events: list[TurnEvent] = []
    await brain.answer(
        Question(
            id="m",
            text="what does the standard plan cost? call me at 070-123 45 67",
            lang=None,
            at=0.0,
            wishes=(),
        ),
        events.append,
    )
    last = events[-1]
    assert isinstance(last, VerifiedPart)
    assert "299" in last.text.text
    assert [proposal.payload for proposal in last.proposals] == [{"phone": "070-123 45 67"}]
