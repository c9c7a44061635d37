"""Opens the language model, the drafter, filler and decider over it, and the brains over documents.

There are two brains, one for sockets and one for HTTP, which have different tools. Each answers a question from the
documents of its project. Those of the operator are the folder, and the uploads into the project `HOUSE`.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from ..answering.brain import GroundedBrain
from ..answering.deciding_brain import DecidingBrain, TurnTools
from ..answering.explain import Explain
from ..answering.filling_brain import FillingBrain
from ..answering.openers import Openers
from ..answering.projects import ProjectsBrain, PromptViewer
from ..answering.settings import AnswerSettings
from ..errors import UsageError
from ..host import WorkerThreads
from ..lang import Lang
from ..llm.mock import MockModel
from ..llm.open import (
    decision_sections,
    draft_sections,
    make_model_decider,
    make_model_drafter,
    make_model_filler,
    open_decider,
    open_drafter,
)
from ..llm.prompt_room import ModelContext
from ..models.health import probe_model
from ..models.open import ask_context, open_language_model
from ..models.settings import ModelSettings
from ..ports.brain import Brain
from ..ports.decide import Decider
from ..ports.draft import NO_CHARTER, Charter, Drafter
from ..ports.fill import Filler
from ..ports.model import LanguageModel
from ..ports.observe import Observer
from ..ports.projects import HOUSE, Holdings, ProjectLibrary, ProjectStore, PromptDebug
from ..ports.remember import Memory
from ..ports.search import Library
from ..ports.work import RunSync
from ..retrieval.house import HouseLibrary
from ..retrieval.library import ProjectIndexes, ReadText
from ..retrieval.texts import passages_of_text
from ..settings import Settings
from ..tools.offering import Offering
from .adapters import Adapters
from .knowledge import Knowledge
from .tools import Toolbox

_log = structlog.get_logger("agent.app")
_INDEXES_AT_ONCE = 2  # indexes of projects that are built at a time


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSources:
    """The sources that answers are made from.

    `knowledge`: the operator's documents. `projects`: documents of projects; `None` where there are no projects.
    `projects_used`: tells whether their store was opened. `memory`: selects a user's items for a turn; `None` remembers
    nothing. `read_text`: cuts the texts of projects into sections.
    """

    knowledge: Knowledge
    projects: ProjectStore | None = None
    projects_used: Callable[[], bool] = lambda: True
    memory: Memory | None = None
    read_text: ReadText = passages_of_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Answering:
    """The opened brains.

    `brain`: answers over sockets. `threads`: answers the threads over HTTP. `make_questions_brain`: returns the brain
    that answers plain questions whose caller gave a charter. `prompts`: shows the prompt of a question over HTTP and
    asks no model; `None` where a brain of the adapters answers. `projects`: the documents of projects, ready to be
    searched; `None` where there are none. `house`: the operator's folder and uploads; `None` without projects. `model`:
    the language model that the brains ask; `None` where they ask none. `context`: that of `model`.
    """

    brain: Brain
    threads: Brain
    make_questions_brain: Callable[[Charter], Brain]
    prompts: PromptDebug | None = None
    projects: ProjectLibrary | None = None
    house: HouseLibrary | None = None
    model: LanguageModel | None = None
    context: ModelContext = field(default_factory=ModelContext)

    async def probe_model(self, settings: ModelSettings) -> None:
        """Ask the model for one token, and then its server, which has loaded it, for the size of its context.

        `settings`: name the model. Cancelled, the request ends.
        """
        if self.model is not None and await probe_model(self.model):
            self.context.tokens = await ask_context(settings)
            if self.context.tokens is not None:
                _log.info("prompts are fitted to the model's context", tokens=self.context.tokens)


@asynccontextmanager
async def open_answering(
    *,
    settings: Settings,
    adapters: Adapters,
    observer: Observer,
    sources: AnswerSources,
    toolbox: Toolbox | None = None,
    explain: Explain | None = None,
    on_model_trouble: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Answering, None]:
    """Open the language model that the settings name, and the brains that use it, for the time of a block.

    `adapters.model`, `filler` and `decider` take the places of the parts that the settings name. No language model is
    opened where nothing uses one. `observer`: gets the model's metrics. `explain`: called with the reasons of each
    answer. `on_model_trouble`: called with a sentence when the language model does not answer, and with "" when it
    answers again. Raises `agent.errors.UsageError` when a part cannot be used. On exit, also when cancelled, the
    drafter and the decider close before the language model that they ask.
    """
    run_sync = adapters.run_sync or WorkerThreads()
    toolbox = toolbox or Toolbox(operator=Offering())
    async with AsyncExitStack() as stack:
        model = None
        if _uses_language_model(settings, adapters):
            traces = settings.tracing.otel or adapters.tracer is not None
            opened = open_language_model(
                settings.model, observer, run_sync, on_trouble=on_model_trouble, traces=traces
            )
            model = await stack.enter_async_context(opened)
        filler = _make_filler(settings=settings, adapters=adapters, model=model, run_sync=run_sync)
        drafter, context = adapters.model, ModelContext()
        if drafter is None:
            drafter = await stack.enter_async_context(
                _open_drafter(settings=settings, model=model, context=context, texts=sources.knowledge.texts)
            )
        decider = adapters.decider
        if decider is None and toolbox.threads is not None:
            decider = await stack.enter_async_context(
                _open_decider(settings=settings, model=model, context=context)
            )
        brains = _BrainFactory(
            settings=_choose_verification(settings.answers, model),
            first_wait=settings.model.first_wait if model is not None else 0.0,
            drafter=drafter,
            filler=filler,
            decider=decider,
            observer=observer,
            explain=explain,
            memory=sources.memory,
            on_trouble=on_model_trouble,
        )
        indexes = _make_indexes(sources=sources, run_sync=adapters.run_sync)
        answering = _make_answering(
            brains=brains,
            toolbox=toolbox if model is None else _offer_memory_tools(toolbox),
            sources=sources,
            indexes=indexes,
            own=settings.socket_project,
        )
        yield replace(answering, model=model, context=context)


def make_openers(
    *, settings: AnswerSettings, knowledge: Knowledge | None, starters: Mapping[Lang, Sequence[str]]
) -> Openers:
    """Return the opening questions of a server; nothing is looked for before they run.

    `knowledge`: `None` where a brain of the adapters answers; then there are none beside the operator's `starters`.
    """
    quoting = replace(settings, answer="text", verify=None, clarify=False)

    def make_brain(documents: Library) -> Brain:
        return GroundedBrain(documents, MockModel(), quoting)

    return Openers(None if knowledge is None else lambda: knowledge.present, make_brain, starters)


def log_reasons(lines: Sequence[str]) -> None:
    """Log the reasons of an answer, at debug level."""
    for line in lines:
        _log.debug("why", text=line)


def _choose_verification(settings: AnswerSettings, model: LanguageModel | None) -> AnswerSettings:
    """Return `settings`; a language model's text is sent sentence by sentence where they leave that open."""
    if settings.verify is not None or model is None or settings.answer != "text":
        return settings
    return replace(settings, verify="sentence")


def _uses_language_model(settings: Settings, adapters: Adapters) -> bool:
    """Return whether a drafter or a filler asks the language model that the settings name."""
    fills = settings.actions.payloads == "model" and adapters.filler is None
    return not settings.model.uses_no_model and (adapters.model is None or fills)


def _make_filler(
    *, settings: Settings, adapters: Adapters, model: LanguageModel | None, run_sync: RunSync
) -> Filler | None:
    """Return the part that fills in payloads with a language model; `None` where the settings want words only.

    Raises `agent.errors.UsageError` when there is no language model to ask.
    """
    if settings.actions.payloads != "model":
        return None
    if adapters.filler is not None:
        return adapters.filler
    if model is None:
        raise UsageError(
            f"payloads model needs a language model, and {settings.model.model.partition(':')[0]} is none: "
            "choose one with model openai:NAME or anthropic:NAME, or leave payloads at words"
        )
    return make_model_filler(model, run_sync)


@asynccontextmanager
async def _open_drafter(
    *,
    settings: Settings,
    model: LanguageModel | None,
    context: ModelContext,
    texts: Callable[[], Iterable[str]],
) -> AsyncGenerator[Drafter, None]:
    """Open the drafter over `model`, or the mock or the script where `model` is `None`.

    `texts`: returns texts of the knowledge base, for the mock's inventions.
    """
    if model is not None:
        yield make_model_drafter(model, settings.model.answer_tokens, settings.answers.answer, context)
        return
    async with open_drafter(settings.model.model, settings.mock, texts) as drafter:
        yield drafter


@asynccontextmanager
async def _open_decider(
    *, settings: Settings, model: LanguageModel | None, context: ModelContext
) -> AsyncGenerator[Decider, None]:
    """Open the decider over `model`, or the mock or the script where `model` is `None`."""
    if model is not None:
        yield make_model_decider(model, settings.model.answer_tokens, context)
        return
    async with open_decider(settings.model.model, settings.mock) as decider:
        yield decider


def _make_indexes(*, sources: AnswerSources, run_sync: RunSync | None) -> ProjectIndexes | None:
    """Return the indexes of projects, which are built on demand; `None` where there are no projects."""
    if sources.projects is None:
        return None
    work = run_sync or WorkerThreads(_INDEXES_AT_ONCE)
    return ProjectIndexes(
        sources.projects, work, meaning=sources.knowledge.another_meaning, read=sources.read_text
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _BrainFactory:
    """The parts that all brains of a server share, over any documents.

    `first_wait`: seconds that a draft may take until its first words, beside the time of the settings. `on_trouble`:
    called with a sentence when drafts take too long, and with "" when they come in time again.
    """

    settings: AnswerSettings
    first_wait: float
    drafter: Drafter
    filler: Filler | None
    decider: Decider | None
    observer: Observer
    explain: Explain | None
    memory: Memory | None
    on_trouble: Callable[[str], None]

    def make_brain(self, tools: TurnTools | None, holdings: Holdings) -> Brain:
        """Return a brain over `holdings`, with payloads and tools where the server has some."""
        grounded = self._make_grounded(holdings, self.explain)
        plain: Brain = grounded
        if self.filler is not None:
            plain = FillingBrain(grounded, self.filler, self.settings, self.observer)
        return self._make_deciding(tools, grounded, plain) or plain

    def make_prompting(
        self, tools: TurnTools | None, holdings: Holdings
    ) -> tuple[GroundedBrain, DecidingBrain | None]:
        """Return the brains that show their prompts: the drafting one, and the deciding one where there are tools."""
        grounded = self._make_grounded(holdings, None)
        return grounded, self._make_deciding(tools, grounded, grounded)

    def _make_grounded(self, holdings: Holdings, explain: Explain | None) -> GroundedBrain:
        return GroundedBrain(
            holdings.documents,
            self.drafter,
            self.settings,
            explain,
            holdings.charter,
            self.memory,
            self.first_wait,
            self.on_trouble,
        )

    def _make_deciding(
        self, tools: TurnTools | None, grounded: GroundedBrain, plain: Brain
    ) -> DecidingBrain | None:
        if tools is None or self.decider is None:
            return None
        return DecidingBrain(plain, grounded, self.decider, tools, self.observer)


def _offer_memory_tools(toolbox: Toolbox) -> Toolbox:
    """Return `toolbox` with the tools that propose memory items offered in every turn of a thread."""
    threads = toolbox.threads
    return toolbox if threads is None else replace(toolbox, threads=replace(threads, offers_these_alone=True))


def _make_answering(
    *,
    brains: _BrainFactory,
    toolbox: Toolbox,
    sources: AnswerSources,
    indexes: ProjectLibrary | None,
    own: str,
) -> Answering:
    """Return the brains over the operator's documents, and over those of projects where there are some.

    `own`: the project of the sockets that no project's key has opened.
    """
    joined = (
        None if indexes is None else HouseLibrary(sources.knowledge, indexes, HOUSE, sources.projects_used)
    )
    documents: Library = sources.knowledge if joined is None else joined
    house = Holdings(documents, NO_CHARTER)
    make_brain = partial(brains.make_brain, toolbox.threads)
    make_socket_brain = partial(brains.make_brain, toolbox.sockets)
    make_prompting = partial(brains.make_prompting, toolbox.threads)
    return Answering(
        brain=ProjectsBrain(make_socket_brain(house), indexes, make_socket_brain, (own,)),
        threads=ProjectsBrain(make_brain(house), indexes, make_brain),
        make_questions_brain=lambda charter: brains.make_brain(
            toolbox.questions, Holdings(documents, charter)
        ),
        projects=indexes,
        house=joined,
        prompts=PromptViewer(
            make_prompting(house), indexes, make_prompting, draft_sections, decision_sections
        ),
    )
