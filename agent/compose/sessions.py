"""Makes the shared parts of sessions, and the threads over HTTP, from the opened wings."""

from collections.abc import Callable
from dataclasses import replace

from ..actions.runner import Runner
from ..ports.draft import Charter
from ..ports.observe import Observer
from ..ports.remember import NO_RECORDER, Transcript
from ..session.conversations import Conversations
from ..session.registry import Registry
from ..session.turn import SessionContext, refuse_tools
from ..storage.store import Store
from ..threads.desk import ThreadDesk
from ..threads.thread_registry import Stores
from ..wire.pulse import Pulse
from .composition import Composition


def make_parts(
    *, composition: Composition, runner: Runner, registry: Registry, pulse: Pulse, observer: Observer
) -> SessionContext:
    """Return the parts that all sessions over sockets share. `registry`: lists the sessions of the server."""
    memory = composition.memory
    return SessionContext(
        settings=composition.settings.session,
        brain=composition.answering.brain,
        runner=runner,
        registry=registry,
        pulse=pulse,
        clock=composition.clock,
        observer=observer,
        new_id=composition.new_id,
        lang=composition.settings.answers.lang,
        project=str(composition.settings.documents.kb),
        read_tools=composition.read_socket_tools or refuse_tools,
        recorder=memory.keeper if memory is not None else NO_RECORDER,
        memory=None if memory is None else memory.make_consulted(list_transcripts(composition, registry)),
        tracer=composition.tracer,
    )


def make_question_parts(
    *, composition: Composition, parts: SessionContext
) -> Callable[[Charter], SessionContext]:
    """Return a function that makes the parts of a plain question's turn, by the charter that its caller gave.

    They share `parts` with the sockets, but for the brain, and the tools, which are the caller's own.
    """
    tools, answering = composition.toolbox.questions, composition.answering
    read_tools = tools.read_message_tools if tools is not None else refuse_tools
    return lambda charter: replace(
        parts, brain=answering.make_questions_brain(charter), read_tools=read_tools
    )


def make_thread_desk(
    *, composition: Composition, store: Store, parts: SessionContext, runner: Runner
) -> ThreadDesk:
    """Return the threads over HTTP, not running yet.

    Their sessions share `parts` with the sockets, but for the brain of projects, the callers' own tools, and no pace.
    """
    toolbox = composition.toolbox
    read_tools = toolbox.threads.read_message_tools if toolbox.threads is not None else refuse_tools
    thread_parts = replace(
        parts,
        brain=composition.answering.threads,
        settings=replace(parts.settings, pace_ms=0.0),
        read_tools=read_tools,
    )
    return ThreadDesk(
        Stores(store.projects, store.threads, store.calls, store.used),
        thread_parts,
        runner,
        composition.settings.threads,
        toolbox.operator,
        read_tools,
        toolbox.arguments,
    )


def list_transcripts(composition: Composition, registry: Registry) -> tuple[Transcript, ...]:
    """Return every holder of users' messages beside the memory: the sessions in progress, and the stored threads."""
    store = composition.storage.store
    threads = (store.threads,) if store is not None else ()
    return (Conversations(registry), *threads)
