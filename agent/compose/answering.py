"""What answers, made of its parts: the model, what reads it, and the documents that it answers from."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from ..answering.brain import GroundedBrain
from ..answering.deciding import DecidingBrain, Tools
from ..answering.explain import Explain
from ..answering.filling import FillingBrain
from ..answering.projects import ProjectsBrain, Prompts
from ..answering.settings import AnswerSettings
from ..config import INDEXES_AT_ONCE
from ..errors import UsageError
from ..host import Threads
from ..llm.open import (
    model_decider,
    model_drafter,
    model_filler,
    opened_decider,
    opened_drafter,
    shown_decision,
    shown_draft,
)
from ..models.open import open_language_model
from ..ports.brain import Brain
from ..ports.decide import Decider
from ..ports.draft import NO_CHARTER, Drafter
from ..ports.fill import Filler
from ..ports.model import LanguageModel
from ..ports.observe import Observer
from ..ports.projects import Holdings, ProjectLibrary, ProjectStore, PromptDebug
from ..ports.remember import Memory
from ..ports.work import RunSync
from ..retrieval.library import ProjectIndexes, ReadText
from ..retrieval.texts import passages_of_text
from ..settings import Settings
from ..tools.offering import Offering
from .adapters import Adapters
from .knowledge import Knowledge
from .tools import Toolbox

_log = structlog.get_logger("agent.app")


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers, opened.

    brain: over a socket, from the operator's documents. threads: over HTTP, each question from its project's. prompts:
    shows what a model would be asked there, and asks none.
    """

    brain: Brain
    threads: Brain
    prompts: PromptDebug


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept that answers draw on.

    projects: whose documents questions of other projects are answered from; None where there is none but the
    operator's own. memory: what users want remembered; None remembers nothing. read: cuts
    the texts of projects into sections.
    """

    projects: ProjectStore | None = None
    memory: Memory | None = None
    read: ReadText = passages_of_text


NOTHING_KEPT = Kept()


@asynccontextmanager
async def answering(
    settings: Settings,
    knowledge: Knowledge,
    observer: Observer,
    run_sync: RunSync,
    explain: Explain | None = None,
    chosen: Adapters | None = None,
    tools: Toolbox | None = None,
    kept: Kept = NOTHING_KEPT,
) -> AsyncGenerator[Answering, None]:
    """Open what answers from some documents, and from those of projects, for the time of a block.

    observer: keeps the figures of a language model. run_sync: does its blocking work. explain: is told why each answer
    is what it is. chosen: the drafter and the filler that stand in for the ones the settings name. tools: what turns
    may call; None is nothing. kept: what is kept that answers draw on.
    Raises UsageError when that cannot be used.
    """
    drafter, filler = (chosen.model, chosen.filler) if chosen is not None else (None, None)
    fills = settings.actions.payloads == "model"
    async with AsyncExitStack() as stack:
        model: LanguageModel | None = None
        if not settings.model.drafts_alone and (drafter is None or (fills and filler is None)):
            model = await stack.enter_async_context(open_language_model(settings.model, observer, run_sync))
        if fills and filler is None:
            if model is None:
                raise UsageError(
                    f"payloads model needs a language model, and {settings.model.model.partition(':')[0]} is none: "
                    "choose one with model openai:NAME or anthropic:NAME, or leave payloads at words"
                )
            filler = model_filler(model, run_sync)
        if drafter is None and model is not None:
            drafter = model_drafter(model, settings.model.answer_tokens, settings.answers.answer)
        elif drafter is None:
            drafter = await stack.enter_async_context(
                opened_drafter(settings.model.model, settings.mock, knowledge.texts)
            )
        decides = tools is not None and tools.threads is not None
        decider = chosen.decider if chosen is not None else None
        if decides and decider is None and model is not None:
            decider = model_decider(model, settings.model.answer_tokens)
        elif decides and decider is None:
            decider = await stack.enter_async_context(opened_decider(settings.model.model, settings.mock))
        ways = _Ways(
            settings.answers, drafter, filler if fills else None, decider, observer, explain, kept.memory
        )
        building = (chosen.run_sync if chosen is not None else None) or Threads(INDEXES_AT_ONCE)
        indexes = None
        if kept.projects is not None:
            indexes = ProjectIndexes(
                kept.projects, building, meaning=knowledge.another_meaning, read=kept.read
            )
        yield _answering(ways, tools or Toolbox(Offering()), knowledge, indexes)


@dataclass(frozen=True, slots=True)
class _Ways:
    """What every brain of a server shares, whatever documents it is over."""

    settings: AnswerSettings
    drafter: Drafter
    filler: Filler | None
    decider: Decider | None
    observer: Observer
    explain: Explain | None
    memory: Memory | None

    def grounded(self, held: Holdings, explain: Explain | None = None) -> GroundedBrain:
        """Return what finds evidence and drafts from it."""
        return GroundedBrain(held.documents, self.drafter, self.settings, explain, held.charter, self.memory)

    def brain(self, tools: Tools | None, held: Holdings) -> Brain:
        """Return what answers, with payloads and tools where there are some."""
        grounded = self.grounded(held, self.explain)
        plain: Brain = grounded
        if self.filler is not None:
            plain = FillingBrain(grounded, self.filler, self.settings, self.observer)
        return self._deciding(tools, grounded, plain) or plain

    def asking(self, tools: Tools | None, held: Holdings) -> tuple[GroundedBrain, DecidingBrain | None]:
        """Return what drafts, and what decides before that where there are tools, for its prompts to be looked at."""
        grounded = self.grounded(held)
        return grounded, self._deciding(tools, grounded, grounded)

    def _deciding(self, tools: Tools | None, grounded: GroundedBrain, plain: Brain) -> DecidingBrain | None:
        if tools is None or self.decider is None:
            return None
        return DecidingBrain(plain, grounded, self.decider, tools, self.observer)


def _answering(
    ways: _Ways, tools: Toolbox, knowledge: Knowledge, indexes: ProjectLibrary | None
) -> Answering:
    """Return what answers from the operator's documents, and from those of projects where there are any."""
    house = Holdings(knowledge, NO_CHARTER)
    over, asking = partial(ways.brain, tools.threads), partial(ways.asking, tools.threads)
    return Answering(
        ways.brain(tools.sockets, house),
        ProjectsBrain(over(house), indexes, over),
        Prompts(asking(house), indexes, asking, shown_draft, shown_decision),
    )


def log_why(lines: Sequence[str]) -> None:
    """Log why an answer is what it is; written at debug level only."""
    for line in lines:
        _log.debug("why", text=line)
