"""A language model beside the mock, on the same labelled questions: `python -m tests.bench.documents DIR --model NAME`.

Strategy: both answer the same question from the same evidence, through a whole turn, redraft included, so that they
differ in nothing but the draft. There is less evidence than a server gives, since a small model takes no more. A
recording (`replay:DIR`) holds what was asked once, and what is asked follows from the documents, the search and the
wording: a turn of which any request was not recorded says nothing of the model, so that question is left out for both.
So is one that finds nothing, for which no model is asked. How many both are is told.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import trio
from structlog.testing import capture_logs

from agent.answering.brain import GroundedBrain
from agent.errors import ModelFailed
from agent.evaluation.cases import Case
from agent.evaluation.judging import is_right
from agent.host import WorkerThreads
from agent.llm.drafter import ModelDrafter
from agent.llm.mock import MockModel
from agent.models.open import open_language_model
from agent.ports.brain import Brain, Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.model import LanguageModel, ModelRequest, Piece
from agent.retrieval.load import load_documents
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.synonyms import read_synonyms
from agent.settings import Settings
from agent.testing.fakes import Figures

from .labelled import rows_of, sets

EVIDENCE_TOKENS, ANSWER_TOKENS = 400, 80
_PATIENCE = 300.0  # seconds; a model without a GPU is slow

Kind = Literal["right", "wrong", "refused"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn ended. code: why it was refused. An off-topic question's is right when it is refused, else wrong."""

    kind: Kind
    code: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what came of it. requests: what the model was asked. Both None: it says nothing of the model."""

    row: Case
    mock: Ended | None
    model: Ended | None
    requests: tuple[ModelRequest, ...]


class Noted:
    """Asks another model and keeps what it was asked (a `LanguageModel`).

    unknown: it could not be asked something, as a recording that does not hold it.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.requests: list[ModelRequest] = []
        self.unknown = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the other's answer."""
        self.requests.append(request)
        try:
            async with aclosing(self._model.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelFailed as failed:
            self.unknown = self.unknown or failed.kind == "request"
            raise


def settings(model: str, base_url: str | None = None) -> Settings:
    """Return how both answer. Raises `agent.errors.UsageError` for a model that there is none of."""
    return Settings.of(
        model=model,
        base_url=base_url,
        evidence_tokens=EVIDENCE_TOKENS,
        answer_tokens=ANSWER_TOKENS,
        turn_timeout=_PATIENCE,
        first_token_timeout=_PATIENCE,
        token_timeout=_PATIENCE,
        vectors="off",
    )


async def ask(folder: Path, rows: Iterable[Case], model: LanguageModel, chosen: Settings) -> list[Asked]:
    """Ask both all questions of one set. folder: its documents."""
    loaded = load_documents(folder)
    knowledge = KnowledgeBase.build(loaded.sources, loaded.skipped, read_synonyms(folder)[0])
    mock = GroundedBrain(knowledge, MockModel(), chosen.answers)
    asked = []
    for row in rows:
        noted = Noted(model)
        drafter = ModelDrafter(noted, chosen.model.answer_tokens)
        ended = await _turn(GroundedBrain(knowledge, drafter, chosen.answers), row)
        requests = tuple(noted.requests)
        if noted.unknown or not requests:
            asked.append(Asked(row, None, None, requests))
        else:
            asked.append(Asked(row, await _turn(mock, row), ended, requests))
    return asked


async def ask_all(folder: Path, chosen: Settings, every: int = 1) -> dict[str, list[Asked]]:
    """Ask both each `every`th question of every set, from its first on."""
    by_set = {}
    with capture_logs():  # what failed is counted
        async with open_language_model(chosen.model, Figures(), WorkerThreads(1)) as model:
            for name in sets(folder):
                by_set[name] = await ask(folder / name, rows_of(folder, name)[::every], model, chosen)
    return by_set


async def _turn(brain: Brain, row: Case) -> Ended:
    events: list[TurnEvent] = []
    await brain.answer(
        Question(id=row.id, text=row.question, lang=row.lang, at=trio.current_time()), events.append
    )
    last = events[-1]
    assert isinstance(last, VerifiedPart | TurnRefusal)
    if last.text.blocked is not None:
        return Ended("right" if row.is_off else "refused", last.text.blocked.code)
    return Ended("right" if not row.is_off and is_right([last.text], row) else "wrong")


def lines(by_set: dict[str, list[Asked]], model: str) -> list[str]:
    """Return the table of both."""
    everything = [each for asked in by_set.values() for each in asked]
    held = [each for each in everything if each.model is not None]
    alone = sum(not each.requests for each in everything)
    told = [
        f"the mock beside {model}, {EVIDENCE_TOKENS} tokens of evidence, {ANSWER_TOKENS} of an answer",
        f"of {len(everything)} questions {len(held)} could be asked of it, {len(everything) - len(held) - alone} "
        f"were not recorded and {alone} find nothing to ask of: the figures are of the {len(held)}",
        "                    mock                   model                off-topic, refused",
        "set             n   right wrong refused    right wrong refused    n  mock model",
    ]
    told += [_line(name, asked) for name, asked in (*by_set.items(), ("all", everything))]
    for who, ends in (("mock", [each.mock for each in held]), ("model", [each.model for each in held])):
        codes = Counter(end.code for end in ends if end is not None and end.code)
        why = ", ".join(f"{code} {count}" for code, count in sorted(codes.items())) or "none"
        told.append(f"refusals of the {who}: {why}")
    return told


def _line(name: str, asked: Sequence[Asked]) -> str:
    held = [each for each in asked if each.model is not None]
    there = [each for each in held if not each.row.is_off]
    off = [each for each in held if each.row.is_off]
    return (
        f"{name:12} {len(there):4}   {_counts([each.mock for each in there])}"
        f"    {_counts([each.model for each in there])}"
        f"  {len(off):3} {_right([each.mock for each in off]):5} {_right([each.model for each in off]):5}"
    )


def _counts(ends: Sequence[Ended | None]) -> str:
    found = Counter(end.kind for end in ends if end is not None)
    return f"{found['right']:5} {found['wrong']:5} {found['refused']:7}"


def _right(ends: Sequence[Ended | None]) -> int:
    return sum(end is not None and end.kind == "right" for end in ends)
