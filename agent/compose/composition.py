"""Opens all wings of a server, one inside the other; the docstring of `agent.compose` says in which order, and why."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..host import WallClock
from ..ports.action import Executor
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.tools import ReadTools
from ..ports.tracing import Tracer
from ..settings import Settings
from ..tracing.open import open_tracer
from ..voice.open import open_wing
from .actions import open_actions
from .adapters import Adapters
from .answering import Answering, AnswerSources, log_reasons, open_answering
from .knowledge import Documents, open_documents
from .memory import UserMemory, open_memory
from .storage import Storage, open_storage
from .stories import open_stories
from .tools import Toolbox, read_toolbox

if TYPE_CHECKING:
    from ..ports.story_store import StoryStore
    from ..voice.wing import VoiceWing


@dataclass(frozen=True, kw_only=True, slots=True)
class Composition:
    """The opened wings of a server.

    `new_id`: returns an unguessable id at each call. `executor`: carries out confirmed actions and tool calls.
    `memory`: `None` where users are not remembered. `tracer`: `None` where turns are not traced. `voice`: `None` where
    the server neither speaks nor hears; it holds nothing open itself.
    """

    settings: Settings
    clock: Clock
    new_id: Callable[[], str]
    toolbox: Toolbox
    storage: Storage
    memory: UserMemory | None
    stories: "StoryStore"
    executor: Executor
    documents: Documents
    answering: Answering
    tracer: Tracer | None
    voice: "VoiceWing | None"

    @property
    def read_socket_tools(self) -> ReadTools | None:
        """The reader of tools that arrive with a message over a socket; `None` where the settings take none."""
        sockets = self.toolbox.sockets
        return (
            sockets.read_message_tools if sockets is not None and self.settings.tools.client_tools else None
        )


@dataclass(frozen=True, slots=True)
class _LastingWings:
    """The wings that outlive a restart."""

    storage: Storage
    memory: UserMemory | None
    stories: "StoryStore"


@asynccontextmanager
async def open_composition(
    *,
    settings: Settings,
    adapters: Adapters,
    observer: Observer,
    on_ledger_trouble: Callable[[str], None],
    on_memory_trouble: Callable[[str], None] = lambda _: None,
    on_story_trouble: Callable[[str], None] = lambda _: None,
    on_model_trouble: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Composition, None]:
    """Open the wings that the settings name, or the parts of `adapters` instead, for the time of a block.

    No document is read yet. Each `on_..._trouble` is called with a reason when nothing can be claimed, remembered, kept
    or asked, and with "" when it works again. Raises `UsageError`. The wings close in the order of `agent.compose`.
    """
    clock = adapters.clock or WallClock()
    toolbox = read_toolbox(settings=settings, clock=clock, own_functions=adapters.functions)
    async with (
        open_tracer(settings.tracing, adapters.tracer) as tracer,
        _open_lasting(
            settings=settings,
            adapters=adapters,
            clock=clock,
            observer=observer,
            on_ledger_trouble=on_ledger_trouble,
            on_memory_trouble=on_memory_trouble,
            on_story_trouble=on_story_trouble,
        ) as stores,
        open_actions(
            settings=settings,
            adapters=adapters,
            toolbox=toolbox,
            memory_executors=stores.memory.executors if stores.memory is not None else None,
        ) as executor,
        open_documents(settings=settings, adapters=adapters, observer=observer) as documents,
        _open_brains(
            settings=settings,
            adapters=adapters,
            observer=observer,
            toolbox=toolbox,
            storage=stores.storage,
            memory=stores.memory,
            documents=documents,
            on_model_trouble=on_model_trouble,
        ) as answering,
    ):
        yield Composition(
            settings=settings,
            clock=stores.storage.pick_clock(clock),
            new_id=adapters.new_id,
            toolbox=toolbox,
            storage=stores.storage,
            memory=stores.memory,
            stories=stores.stories,
            executor=executor,
            documents=documents,
            answering=answering,
            tracer=tracer,
            voice=_open_voice(settings, adapters, observer),
        )


def _open_voice(settings: Settings, adapters: Adapters, observer: Observer) -> "VoiceWing | None":
    return open_wing(settings.voice, adapters.new_id, observer, adapters.synthesizer, adapters.recognizer)


@asynccontextmanager
async def _open_lasting(
    *,
    settings: Settings,
    adapters: Adapters,
    clock: Clock,
    observer: Observer,
    on_ledger_trouble: Callable[[str], None],
    on_memory_trouble: Callable[[str], None],
    on_story_trouble: Callable[[str], None],
) -> AsyncGenerator[_LastingWings, None]:
    """Open what outlives a restart."""
    async with (
        open_storage(
            settings=settings, adapters=adapters, clock=clock, observer=observer, on_trouble=on_ledger_trouble
        ) as storage,
        open_memory(
            settings=settings,
            adapters=adapters,
            clock=storage.pick_clock(clock),
            observer=observer,
            transcript=storage.store.threads if storage.store is not None else None,
            on_trouble=on_memory_trouble,
        ) as memory,
        open_stories(
            settings=settings,
            adapters=adapters,
            clock=storage.pick_clock(clock),
            on_trouble=on_story_trouble,
        ) as stories,
    ):
        yield _LastingWings(storage, memory, stories)


@asynccontextmanager
async def _open_brains(
    *,
    settings: Settings,
    adapters: Adapters,
    observer: Observer,
    toolbox: Toolbox,
    storage: Storage,
    memory: UserMemory | None,
    documents: Documents,
    on_model_trouble: Callable[[str], None],
) -> AsyncGenerator[Answering, None]:
    """Open the brains over the other wings, or take the brain of `adapters`, which needs none of them."""
    if adapters.brain is not None:
        brain = adapters.brain
        yield Answering(brain=brain, threads=brain, make_questions_brain=lambda _: brain)
        return
    assert documents.knowledge is not None
    async with open_answering(
        settings=settings,
        adapters=adapters,
        observer=observer,
        sources=AnswerSources(
            knowledge=documents.knowledge,
            projects=storage.store.projects if storage.store is not None else None,
            projects_used=storage.store.used if storage.store is not None else lambda: True,
            memory=memory.recollection if memory is not None else None,
            read_text=documents.foreign.sections_of_text,
        ),
        toolbox=toolbox,
        explain=log_reasons if settings.log.log_level == "debug" else None,
        on_model_trouble=on_model_trouble,
    ) as answering:
        yield answering
