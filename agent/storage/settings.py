"""The settings of what is kept."""

from dataclasses import dataclass

from ..config import MEMORY, check


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where actions and what was read are kept.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        data: Folder that remembers actions across restarts; several servers may share it. user is this user's
            folder for programs' data, memory forgets at exit.
    """

    data: str = MEMORY

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        check((not self.data.strip(), "data must be a folder, user or memory"))
