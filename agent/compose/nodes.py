"""Compares this server with the others on its database, and tells the operator where they differ.

A client may be sent to any of the servers, so all should answer from the same documents. They differ for a while when
documents are changed, or a new version is rolled out; so a difference is told and makes no server unready.
"""

from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress

import structlog
import trio

from ..errors import StorageFailed
from ..ports.nodes import Node, Nodes

LOOK_EVERY = 1.0  # seconds between two looks at this server's own documents ...
COMPARE_EVERY = 5.0  # ... and at the other servers

_log = structlog.get_logger("agent.app")


class NodeComparison:
    """Tells the other servers about the documents of this one, and the operator about differences.

    `kb`: the name of the documents. `digest`: returns that of the documents that are served now, "" before they are
    read. `report`: gets the differences in sentences, and "" when there is none any more.
    """

    def __init__(
        self, nodes: Nodes, kb: str, digest: Callable[[], str], report: Callable[[str], None]
    ) -> None:
        self._nodes = nodes
        self._kb = kb
        self._digest = digest
        self._report = report
        self._differences = ""

    async def run(self) -> None:
        """Announce the documents when they change, and compare the servers then and now and again, until cancelled."""
        announced, compare_at = "", trio.current_time()
        while True:
            if (digest := self._digest()) != announced:
                announced, compare_at = digest, trio.current_time()
                await self._nodes.announce_documents(join_name(digest, self._kb))
            if trio.current_time() >= compare_at:
                compare_at = trio.current_time() + COMPARE_EVERY
                with suppress(StorageFailed):  # the next look is soon enough
                    self._note(describe_differences(await self._nodes.list_nodes()))
            await trio.sleep(LOOK_EVERY)

    def _note(self, differences: str) -> None:
        if differences != self._differences:
            self._differences = differences
            self._report(differences)
            _log.warning("servers on this database", differences=differences or "none any more")


def join_name(digest: str, kb: str) -> str:
    """Return the text that says in a node's row what it serves: different documents may have different names."""
    return f"{digest} {kb}"


def select_servers(nodes: Collection[Node]) -> list[Node]:
    """Return the nodes that serve documents: no command, and no server that still reads them."""
    return [node for node in nodes if node.kb]


def describe_differences(nodes: Collection[Node]) -> str:
    """Return in which documents and versions the servers among `nodes` differ, with the remedy; "" for none."""
    servers = select_servers(nodes)
    digests: defaultdict[str, set[str]] = defaultdict(set)
    for node in servers:
        digest, _, kb = node.kb.partition(" ")
        digests[kb].add(digest)
    sentences = [
        f"Servers on this database have different documents named {kb}: give them the same, or another --kb-name."
        for kb, found in sorted(digests.items())
        if len(found) > 1
    ]
    versions = sorted({node.version for node in servers})
    if len(versions) > 1:
        sentences.append(f"Servers on this database run different versions: {', '.join(versions)}.")
    return " ".join(sentences)
