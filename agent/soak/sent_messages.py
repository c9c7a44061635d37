"""The messages and suggestions of one connection, as far as its client knows them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class SentMessage:
    """A message of the client. `cancelled_at`: when its cancel was sent, in seconds."""

    at: float
    said: str = ""
    cancelled_at: float | None = None
    ended: str | None = None  # the reason of its stream_end, or the code of its error
    answered: bool = False
    told: str = ""  # the number that it asks the server to remember
    disowned: bool = False  # a cancel has taken back its consequences
    behind: float | None = (
        None  # seconds for which what its answer cites had been changed before it was asked
    )


@dataclass(slots=True, kw_only=True)
class SeenSuggestion:
    """A suggestion: how often the client decided on it, and how often the server reported an end."""

    confirms: int = 0
    confirmed_at: float = 0.0  # the last time
    rejects: int = 0
    answers: int = 0  # action_executed frames
    closed: int = 0  # action_closed frames
    ends: int = 0
    live: bool = True
    missing: tuple[str, ...] = ()  # fields that its confirm fills in
    action: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
