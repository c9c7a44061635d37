"""What the HTTP API works on, made of a server's parts: its threads, what is kept, and what reads an upload."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..actions.runner import Runner
from ..errors import BadTool
from ..ports.remember import NO_BACKLOG, Consulted, Transcript
from ..ports.tools import ToolDefinition
from ..ports.work import RunSync
from ..server.api.keys import make_key
from ..server.api.reading import Reading
from ..server.api.rooms import Rooms
from ..session.forgetting import Conversations
from ..session.registry import Registry
from ..session.turn import Parts
from ..storage.store import Store
from ..threads.desk import ThreadDesk
from ..threads.waking import Stores
from .composition import Composed


def desk_of(made: Composed, store: Store, parts: Parts, runner: Runner) -> ThreadDesk:
    """Return the threads of a server: their sessions are those of sockets, with a brain for projects and no pace."""
    tools = made.tools
    read = tools.threads.read if tools.threads is not None else _no_checks
    own = replace(parts, brain=made.threads, settings=replace(parts.settings, pace_ms=0.0), read_tools=read)
    stores = Stores(store.projects, store.threads, store.calls, store.used)
    return ThreadDesk(stores, own, runner, made.settings.threads, tools.operator, read, tools.arguments)


def _no_checks(given: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Refuse the tools of a message: what checks their arguments is not installed."""
    raise BadTool("this server needs jsonschema-rs for tools: pip install 'agent-server[structured]'")


def rooms_of(made: Composed, store: Store, desk: ThreadDesk, registry: Registry, run_sync: RunSync) -> Rooms:
    """Return what the HTTP API works on. registry: of all sessions. run_sync: reads uploads."""
    return Rooms(
        desk,
        store.projects,
        store.threads,
        store.calls,
        store.requests,
        made.prompts,
        Reading(run_sync, made.foreign.text_of),
        made.clock,
        made.new_id,
        make_key,
        made.remembering.desk(_transcripts(made, registry)) if made.remembering is not None else None,
        made.remembering.keeper if made.remembering is not None else NO_BACKLOG,
    )


def consulted_of(made: Composed, registry: Registry) -> Consulted | None:
    """Return what clients ask of what is remembered; None where nothing is. registry: of all sessions."""
    return None if made.remembering is None else made.remembering.consulted(_transcripts(made, registry))


def _transcripts(made: Composed, registry: Registry) -> tuple[Transcript, ...]:
    """Return what else holds what was said: the conversations that go on, and the threads that are kept."""
    kept = (made.store.threads,) if made.store is not None else ()
    return (Conversations(registry), *kept)
