"""A question is asked after what may still be told of its conversation: another process may have forgotten some of it.

A session is told at once of what is forgotten in its own process (forgetting.py). Of another's (a worker beside it, or
the command line) nobody tells it, so each turn looks, before anything is made of its history: one read, by primary
keys, of the exchanges that it has in mind.
"""

import structlog
import trio

from ..config import MEMORY_READ
from ..errors import StorageFailed
from ..ports.brain import Question
from ..ports.remember import MemoryDesk

_log = structlog.get_logger("agent.session")


async def without_forgotten(question: Question, desk: MemoryDesk) -> tuple[Question, frozenset[str]]:
    """Return a question without what was forgotten of its history, and the ids of those messages.

    Where that cannot be read within MEMORY_READ seconds, the question stands alone and says so, and nothing is known to
    be gone.
    Cancelled, nothing is left.
    """
    said = {each.message: each.cites for each in question.history if each.message}
    if not said:
        return question, frozenset()
    try:
        with trio.fail_after(MEMORY_READ):
            gone = await desk.unsaid(question.scope, said)
    except (StorageFailed, trio.TooSlowError):
        _log.warning("what was forgotten cannot be read now, a question is asked without its conversation")
        return question.alone(), frozenset()
    return question.without(gone), gone
