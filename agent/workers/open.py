"""Opens a supervisor: only who asks for more than one worker pays for its imports."""

from typing import TYPE_CHECKING

from ..settings import Settings

if TYPE_CHECKING:
    from .supervisor import Supervisor


def supervisor(settings: Settings) -> "Supervisor":
    """Return the supervisor of the workers that the settings ask for."""
    from .supervisor import Supervisor

    return Supervisor(settings)
