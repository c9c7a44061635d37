"""Drops exchanges that another process has forgotten from a question's history.

A session learns at once of items that are forgotten in its own process (`conversations.py`). It is not told of those
that another process forgets (a worker beside it, or the command line), so each turn checks before it uses its history:
one read, by primary keys, of the exchanges in it.
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
    said = {each.message: each.cites for each in question.history if each.message}
    if not said:
        return question, frozenset()
    try:
        with trio.fail_after(MEMORY_READ):
            gone = await desk.forgotten_messages(question.scope, said)
    except (StorageFailed, trio.TooSlowError):
        _log.warning("what was forgotten cannot be read now, a question is asked without its conversation")
        return question.without_history(), frozenset()
    return question.without_messages(gone), gone
