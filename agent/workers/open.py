"""Creates a supervisor; only a server with more than one worker pays for the import."""

from typing import TYPE_CHECKING

from ..settings import Settings

if TYPE_CHECKING:
    from .supervisor import Supervisor


def supervisor(settings: Settings) -> "Supervisor":
    """Return the supervisor of `settings.server.workers` workers."""
    from .supervisor import Supervisor

    return Supervisor(settings)
