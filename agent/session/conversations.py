"""Removes forgotten exchanges from conversations in progress (implements `agent.ports.remember.Transcript`)."""

from collections.abc import Sequence

import trio

from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.remember import RepeatMatcher
from .events import MemoryErased
from .registry import Registry


class Conversations:
    """The histories of one server's sessions, which their next questions are answered with."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Remove the exchanges of `turns`, and answers that cite them or `item`, from every session's history."""
        await trio.lowlevel.checkpoint()
        messages = frozenset(turn.remark.message for turn in turns)
        refs = frozenset([*(turn.id for turn in turns), *([item] if item else [])])
        self._registry.post_all(MemoryErased(messages, refs, trio.current_time()))

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        """Remove exchanges that match `repeats` from the histories of the sessions that `scope` includes."""
        await trio.lowlevel.checkpoint()
        none: frozenset[str] = frozenset()
        self._registry.post_all(MemoryErased(none, none, trio.current_time(), scope, repeats))
