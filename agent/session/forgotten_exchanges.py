"""Drops forgotten exchanges from the histories of conversations in progress.

`Conversations` tells all sessions at once of items that this process forgets. Nothing tells them of items that another
process forgets (another worker, or the command line). So each turn reads the exchanges of its history from the store
before it uses them (`drop_forgotten`): one read, by primary keys. A session that follows its threads is told when an
exchange of its own thread was forgotten elsewhere, and says no more of it.
"""

from collections.abc import Sequence

import structlog
import trio

from ..config import MEMORY_READ
from ..errors import StorageFailed
from ..ports.brain import Question
from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.remember import MemoryService, RepeatMatcher
from .events import MemoryErased
from .registry import Registry

_log = structlog.get_logger("agent.session")


async def drop_forgotten(question: Question, desk: MemoryService) -> tuple[Question, frozenset[str]]:
    """Return `question` without the forgotten exchanges of its history, and the ids of their messages.

    When the store cannot be read within `MEMORY_READ` seconds, the question stands alone and says so, and no id is
    returned. Cancelled, nothing is left.
    """
    cites_by_message = {each.message: each.cites for each in question.history if each.message}
    if not cites_by_message:
        return question, frozenset()
    try:
        with trio.fail_after(MEMORY_READ):
            forgotten = await desk.forgotten_messages(question.scope, cites_by_message)
    except (StorageFailed, trio.TooSlowError):
        _log.warning("forgotten exchanges cannot be read, a question is asked without its history")
        return question.without_history(), frozenset()
    return question.without_messages(forgotten), forgotten


class Conversations:
    """The histories of one server's sessions (implements `agent.ports.remember.Transcript`)."""

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
