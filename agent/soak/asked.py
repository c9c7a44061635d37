"""What one connection has asked for and what was suggested to it, as far as its client knows. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Asked:
    """A message. `cancelled_at`: when its cancel was sent, in seconds."""

    at: float
    said: str = ""
    cancelled_at: float | None = None
    ended: str | None = None  # the reason of its stream_end, or the code of its error
    answered: bool = False
    told: str = ""  # the number under which it tells something to be remembered
    disowned: bool = False  # a cancel has taken back what it leads to
    behind: float | None = (
        None  # seconds for which what its answer cites had been changed before it was asked
    )


@dataclass(slots=True)
class Suggested:
    """A suggestion: how often the client decided on it, and how often it was told of an end."""

    confirms: int = 0
    confirmed_at: float = 0.0  # the last time
    rejects: int = 0
    answers: int = 0  # action_executed frames
    closed: int = 0  # action_closed frames
    ends: int = 0
    live: bool = True
    missing: tuple[str, ...] = ()  # what its confirm fills in
    action: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
