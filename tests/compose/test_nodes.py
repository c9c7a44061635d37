"""Servers on one database that are not alike are told to their operator, and stay ready."""

from dataclasses import replace

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from agent.compose.nodes import COMPARE_EVERY, NodeComparison, describe_differences, join_name
from agent.compose.readiness import Readiness
from agent.errors import StorageFailed
from agent.ports.nodes import Node

ONE = Node(id="1", since=0, seen=0, kb=join_name("d1", "handbook"), version="1.0")


class FakeNodes:
    """The rows of a database's servers (implements `agent.ports.nodes.Nodes`)."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = nodes
        self.announced: list[str] = []
        self.fails = False

    async def announce_documents(self, digest: str) -> None:
        self.announced.append(digest)
        await trio.lowlevel.checkpoint()

    async def list_nodes(self) -> tuple[Node, ...]:
        await trio.lowlevel.checkpoint()
        if self.fails:
            raise StorageFailed
        return self.nodes


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(ONE, id="2"), ""),
        (replace(ONE, id="2", kb="", version="1.1"), ""),  # it reads its documents, or is a command
        (replace(ONE, id="2", kb=join_name("d2", "prices")), ""),  # it is another application's
        (
            replace(ONE, id="2", kb=join_name("d2", "handbook")),
            "different documents named handbook: give them the same",
        ),
        (replace(ONE, id="2", version="1.1"), "different versions: 1.0, 1.1."),
    ],
)
def test_what_differs_is_said(other: Node, told: str) -> None:
    """Documents of one name, and versions."""
    assert told in describe_differences((ONE, other))
    assert bool(told) == bool(describe_differences((ONE, other)))


async def test_differences_are_in_the_readiness_while_they_last(autojump_clock: MockClock) -> None:
    """And twice in the log: when they begin, and when they are over. A database that is away changes nothing."""
    readiness, nodes, digest = Readiness(), FakeNodes(ONE), ""
    readiness.gate.open()
    comparison = NodeComparison(nodes, "handbook", lambda: digest, readiness.note_differences)
    with capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(comparison.run)
            await trio.sleep(2.5 * COMPARE_EVERY)
            assert nodes.announced == []
            digest = "d1"
            await trio.sleep(COMPARE_EVERY)
            assert nodes.announced == [ONE.kb]
            nodes.nodes = (ONE, replace(ONE, id="2", kb=join_name("d2", "handbook")))
            await trio.sleep(COMPARE_EVERY)
            told = readiness.explain_limping()
            assert "different documents named handbook" in told
            assert readiness.unready == ""
            nodes.fails = True
            await trio.sleep(2 * COMPARE_EVERY)
            assert readiness.explain_limping() == told
            nodes.fails, nodes.nodes = False, (ONE,)
            await trio.sleep(COMPARE_EVERY)
            assert readiness.explain_limping() == ""
            nursery.cancel_scope.cancel()
    assert [line["differences"] for line in lines] == [told, "none any more"]
