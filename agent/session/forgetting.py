"""Takes what was forgotten out of conversations in progress (implements `agent.ports.remember.Transcript`)."""

from collections.abc import Sequence

import trio

from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.remember import Again
from .events import Erased
from .registry import Registry


class Conversations:
    """What was said in the sessions of one server, which their next questions are answered with in mind."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def forget(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Let no session tell a model any more of what was said in these turns."""
        await trio.lowlevel.checkpoint()
        messages = frozenset(turn.remark.message for turn in turns)
        refs = frozenset([*(turn.id for turn in turns), *([item] if item else [])])
        self._registry.post_all(Erased(messages, refs, trio.current_time()))

    async def unsay(self, scope: Scope, again: Again) -> None:
        """Let no session of a scope's user, or of its thread, tell a model any more of what says it again."""
        await trio.lowlevel.checkpoint()
        none: frozenset[str] = frozenset()
        self._registry.post_all(Erased(none, none, trio.current_time(), scope, again))
