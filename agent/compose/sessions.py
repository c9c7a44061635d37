"""Makes the shared parts of sessions, and the threads over HTTP, from the opened wings."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

from ..actions.runner import Runner
from ..memory.consultant import MemoryConsultant
from ..memory.own_threads import withhold_uncited
from ..memory.thread_follower import ThreadFollower
from ..ports.conversation import Scope
from ..ports.draft import Charter
from ..ports.feedback import FeedbackAccess
from ..ports.observe import Observer
from ..ports.projects import HOUSE
from ..ports.remember import NO_RECORDER, Transcript
from ..protocol.kinds import VOICE
from ..server.api.key_watch import KeyWatch
from ..server.serve import UNAUTHORISED
from ..server.websocket import Connection
from ..session.context import SessionContext, refuse_tools
from ..session.events import KillRequested, ThreadErased
from ..session.forgotten_exchanges import Conversations
from ..session.registry import Registry
from ..session.session import Session
from ..storage.store import Store
from ..threads.desk import ThreadDesk
from ..threads.thread_registry import Stores
from ..wire.pulse import Pulse
from .composition import Composition
from .memory import UserMemory

if TYPE_CHECKING:
    from ..voice.wing import VoiceWing


def make_parts(
    *, composition: Composition, runner: Runner, registry: Registry, pulse: Pulse, observer: Observer
) -> SessionContext:
    """Return the parts that all sessions over sockets share. `registry`: lists the sessions of the server."""
    memory, store = composition.memory, composition.storage.store
    access = None if memory is None else memory.make_consulted(list_transcripts(composition, registry))
    feedback = (
        None if store is None else FeedbackAccess(store.feedback, HOUSE, composition.settings.model.model)
    )
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
        project=composition.settings.socket_project,
        read_tools=composition.read_socket_tools or refuse_tools,
        recorder=memory.keeper if memory is not None else NO_RECORDER,
        memory=access,
        consultant=None
        if memory is None or access is None
        else MemoryConsultant(
            access,
            composition.clock,
            composition.new_id,
            composition.settings.answers.lang,
            make_follower(memory, registry, composition.new_id),
            feedback,
        ),
        feedback=feedback,
        tracer=composition.tracer,
    )


def make_follower(memory: UserMemory, registry: Registry, new_id: Callable[[], str]) -> ThreadFollower:
    """Return the follower of the memory's threads, not running yet; it looks at once when an exchange was stored here.

    `registry`: lists the sessions that a deleted thread is told to. `new_id`: names the thread in which they go on.
    """

    def erase_thread(scope: Scope) -> None:
        registry.post_all(ThreadErased(scope, new_id(), trio.current_time()))

    follower = ThreadFollower(memory.store, erase_thread, withhold_uncited)
    memory.keeper.on_stored = follower.look_soon
    return follower


def make_voice_parts(parts: SessionContext, voice: "VoiceWing") -> SessionContext:
    """Return the parts of sessions whose clients have offered voice."""
    return replace(parts, kind=VOICE, voice=voice.abilities)


async def run_session(
    parts: SessionContext,
    connection: Connection,
    watch: KeyWatch | None,
    voice: "VoiceWing | None" = None,
) -> None:
    """Run the session of a connection until its end. `voice`: that of a connection with voice.

    A connection that a project's key has opened gets a session of that project, which ends with 4401 once `watch` finds
    that the key opens nothing any more.
    """
    key = connection.key
    wire = connection if voice is None or parts.voice is None else voice.make_wire(connection, parts.pulse)
    if key is None:
        await Session(parts, wire, connection.agent_v1, user=connection.user).run()
        return
    assert key.project is not None, "a key that opens nothing opens no session"
    assert watch is not None, "there are no keys without projects"
    session = Session(parts, wire, connection.agent_v1, Scope(key.project, parts.new_id(), connection.user))

    def end() -> None:
        session.post(KillRequested(UNAUTHORISED, "not authorised", trio.current_time()))

    with watch.hold(key.digest, end):
        await session.run()


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
        Stores(store.projects, store.threads, store.calls, store.used, store.hints),
        thread_parts,
        runner,
        composition.settings.threads,
        toolbox.operator,
        read_tools,
        toolbox.arguments,
    )


def list_transcripts(composition: Composition, registry: Registry) -> tuple[Transcript, ...]:
    """Return every holder of users' messages beside the memory: sessions in progress, stored threads, and feedback."""
    store = composition.storage.store
    stored = (store.threads, store.feedback) if store is not None else ()
    return (Conversations(registry), *stored)
