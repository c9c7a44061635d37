"""Answers questions in this process, for commands that need no server, as `agent serve` would with these settings."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..answering.explain import Explain
from ..compose.adapters import Adapters
from ..compose.answering import Answering, AnswerSources, open_answering
from ..compose.knowledge import make_knowledge
from ..ports.brain import Question, TurnEvent, TurnRefusal, VerifiedPart
from ..retrieval.foreign import open_foreign_files
from ..server.metrics import Metrics
from ..settings import Settings


@asynccontextmanager
async def open_local_answering(
    settings: Settings, explain: Explain | None = None
) -> AsyncGenerator[Answering, None]:
    """Read the documents, and yield the brain that answers from them. `explain`: is called with an answer's reasons."""
    with open_foreign_files() as foreign:
        adapters = Adapters()
        knowledge = make_knowledge(settings=settings, adapters=adapters, foreign=foreign)
        async with open_answering(
            settings=settings,
            adapters=adapters,
            observer=Metrics(),
            sources=AnswerSources(knowledge=knowledge),
            explain=explain,
        ) as answering:
            await knowledge.read()
            yield answering


async def collect_answer(answering: Answering, question: Question) -> list[VerifiedPart | TurnRefusal]:
    """Ask `question`, and return the parts of its answer in order; the last one may be a refusal."""
    parts: list[VerifiedPart | TurnRefusal] = []

    def collect(event: TurnEvent) -> None:
        if isinstance(event, VerifiedPart | TurnRefusal):
            parts.append(event)

    await answering.brain.answer(question, collect)
    return parts
