"""The parts of a server that a test or an embedding program replaces."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..host import new_id
from ..ports.action import Executor
from ..ports.brain import Brain
from ..ports.clock import Clock
from ..ports.decide import Decider
from ..ports.draft import Drafter
from ..ports.fill import Filler
from ..ports.ledger import Ledger
from ..ports.mcp import McpConnect
from ..ports.note import Noter
from ..ports.observe import Observer
from ..ports.tracing import Tracer
from ..ports.voice import Recognizer, Synthesizer
from ..ports.work import Isolate, RunActionSync, RunSync
from ..retrieval.search import KnowledgeBase
from ..retrieval.watch import Watch
from ..storage.store import Store


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """Parts of a server that replace the parts that its settings name; `None` takes the part of the settings.

    `model`: drafts answers. `knowledge`: a snapshot of documents that is never reloaded. `mcp`: starts the MCP servers
    of the tools file. `store`: keeps all data, the ledger included. `ledger`: keeps actions; given without `store`,
    nothing else is kept, and the HTTP API has no threads.

    `functions`: Python functions marked with `agent.tool`, in place of a tools file or module.

    `run_sync`: does blocking work. The system's watcher of the documents uses a thread of its own, so with `run_sync`
    the folder is watched only when `watch` is given. `run_action_sync`: runs the Python functions that are tools.
    `remember_sync`: does the blocking work of the memory's database, two pieces at a time. `isolate`: reads documents
    that other people wrote. `watch_loop`: measures the event loop on real time while the server runs; `None` measures
    nothing. `tracer`: makes a span of each turn. `synthesizer`, `recognizer`: the mouth and
    the ear. `probes_model`: whether the language model is asked for one token at the start, so that the log says at
    once when it does not answer.
    """

    model: Drafter | None = None
    filler: Filler | None = None
    decider: Decider | None = None
    noter: Noter | None = None
    brain: Brain | None = None
    knowledge: KnowledgeBase | None = None
    executor: Executor | None = None
    mcp: McpConnect | None = None
    functions: tuple[Callable[..., Any], ...] = ()
    ledger: Ledger | None = None
    store: Store | None = None
    clock: Clock | None = None
    run_sync: RunSync | None = None
    run_action_sync: RunActionSync | None = None
    remember_sync: RunSync | None = None
    isolate: Isolate | None = None
    watch_loop: Callable[[Observer], Awaitable[None]] | None = None
    watch: Watch | None = None
    tracer: Tracer | None = None
    synthesizer: Synthesizer | None = None
    recognizer: Recognizer | None = None
    probes_model: bool = False
    new_id: Callable[[], str] = new_id
