"""Parts of a server that stand in for the ones its settings name."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

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
from ..ports.work import Isolate, RunSync
from ..retrieval.search import KnowledgeBase
from ..retrieval.watch import Watch
from ..storage.store import Store


@dataclass(frozen=True)
class Adapters:
    """Parts that stand in for the ones the settings name; None takes those. What a test or an embedder swaps.

    knowledge: never reloaded. run_sync: the system watches the folder in a thread too, so with another way to do
    blocking work it is watched only if `watch` says how. isolate: reads files of others. remember_sync: does it for
    what is remembered, two pieces at a time. store: all that is kept, its ledger too. ledger: with one alone nothing
    but actions is kept, so that there is nothing over HTTP that needs more. mcp: starts the MCP servers of the tools
    file. watch_loop: runs beside the server and measures its event loop, on real time; None measures nothing.
    """

    model: Drafter | None = None
    filler: Filler | None = None
    decider: Decider | None = None
    noter: Noter | None = None
    brain: Brain | None = None
    knowledge: KnowledgeBase | None = None
    executor: Executor | None = None
    mcp: McpConnect | None = None
    ledger: Ledger | None = None
    store: Store | None = None
    clock: Clock | None = None
    run_sync: RunSync | None = None
    remember_sync: RunSync | None = None
    isolate: Isolate | None = None
    watch_loop: Callable[[Observer], Awaitable[None]] | None = None
    watch: Watch | None = None
    new_id: Callable[[], str] = new_id
