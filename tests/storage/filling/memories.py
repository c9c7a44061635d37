"""Fill memory's database: python memories.py FOLDER, with the package and tests/remembered.py of a commit."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import trio

from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, a_draft, accepted, an_exchange, budget, proposed

MOVES: dict[str, Sequence[str]] = {
    "roof": ("approve",),
    "door": ("approve", "block"),
    "lamp": ("approve", "finish"),
    "fence": ("reject",),
}
"""What becomes of a loop: active, blocked, done and rejected."""


async def fill(folder: Path) -> None:
    """Keep an item in every status, what was said, what was missed, and, where they are kept, vectors."""
    async with open_database_memory(folder, inline, Noon()) as memory:
        cited = an_exchange("m1", "My budget is 50 SEK", "So noted.", budget(50))
        unread: Any = an_exchange("m2", "I have a dog called Rex", "I see.")
        if hasattr(unread, "tries"):
            unread = replace(unread, tries=2)
        await memory.keep_exchanges([cited, unread], NOW)
        await memory.accept_item(ANA, "i1", NOW)
        told: Any = {"cites": ("i1",)}
        await memory.keep_exchanges([an_exchange("m7", "What is my budget?", "It is 50 SEK", **told)], NOW)
        await accepted(memory, budget(60, message="m3"))  # i1 is superseded
        await proposed(memory, budget(70, message="m4"))
        await proposed(memory, a_draft("Ana met Bo", "meeting", "event", by_rule=True))
        for thing, moves in MOVES.items():
            loop = await proposed(memory, a_draft(f"Bo is to mend the {thing}", thing, "open_loop"))
            for move in moves:
                if move == "approve":
                    await memory.accept_item(ANA, loop.item.id, NOW)
                else:
                    await memory.decide_item(ANA, loop.item.id, move, NOW)
        over = a_draft("Uptime is 98 %", "uptime", "metric", message="m5", expires_at=NOW + 9, by_rule=True)
        await proposed(memory, over)
        assert await memory.expire_items(NOW + 9) == 1
        secret = a_draft("The code is tulip", "code", message="m6")
        gone = await accepted(memory, secret)
        await memory.forget_item(ANA, gone.id, NOW)
        await memory.record_gap(ANA, NOW, 2)
        await _keep_vectors(memory)
        if hasattr(memory, "rename_thread"):
            shown: Any = {"details": '{"citations":[],"confidence":"high"}'}
            for thread in ("named", "gone"):
                scope = ANA.in_thread(thread)
                await memory.keep_exchanges(
                    [an_exchange("m8", "Is it so?", "Yes.", scope=scope, **shown)], NOW
                )
                await memory.rename_thread(scope, f"The {thread} thread", NOW)
            await memory.delete_thread(ANA.in_thread("gone"), NOW)


async def _keep_vectors(memory: Any) -> None:
    if hasattr(memory, "keep_vectors"):
        vectors: Any = import_module("agent.ports.vectors")
        await memory.keep_vectors(
            vectors.VectorKind("mini:1", 2),
            [vectors.PackedVector("t1", b"ab", 1.0), vectors.PackedVector("i2", b"cd", 1.0)],
        )


if __name__ == "__main__":
    trio.run(fill, Path(sys.argv[1]))
