"""Drops exchanges that another process has forgotten from a question's history.

`conversations.py` tells a session at once of items that its own process forgets. Nothing tells it of items that another
process forgets (another worker, or the command line), so each turn reads the exchanges of its history from the store
before it uses them: one read, by primary keys.
"""

import structlog
import trio

from ..config import MEMORY_READ
from ..errors import StorageFailed
from ..ports.brain import Question
from ..ports.remember import MemoryService

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
