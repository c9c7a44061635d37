"""Sessions that may ask a memory."""

from dataclasses import replace

from agent.memory.consultant import MemoryConsultant
from agent.memory.thread_follower import ThreadFollower
from agent.ports.remember import MemoryAccess
from agent.session.context import SessionContext


def with_memory(
    parts: SessionContext, memory: MemoryAccess, follower: ThreadFollower | None = None
) -> SessionContext:
    """Return `parts` with a memory that answers the requests of clients. `follower`: tells of changed threads."""
    consultant = MemoryConsultant(memory, parts.clock, parts.new_id, parts.lang, follower, parts.feedback)
    return replace(parts, memory=memory, consultant=consultant)
