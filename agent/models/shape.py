"""How a service's requests and answers are written, apart from what carries them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..errors import ModelFault
from ..ports.model import Piece, Reason, Request

REASONS: Mapping[str, Reason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "calls"),
    "content_filter": "filtered",
    "refusal": "refusal",
}
"""Services' words for why an answer ended. One that is not here is a fault: it may say that the answer is not whole."""


def fault_of(status: object) -> ModelFault:
    """Return what an HTTP status that is no success says of the failure; `server` for what is no status."""
    if status == 408:
        return "connect"  # the request never came to it whole
    if status == 429:
        return "rate"
    if status in (401, 403):
        return "auth"
    return "request" if isinstance(status, int) and 300 <= status < 500 else "server"


class Answer(Protocol):
    """Reads one answer, event by event."""

    def take(self, data: str) -> Iterator[Piece]:
        """Yield what the data of the next event says. Raises `ModelFailed` for what the protocol does not allow, and
        for a failure that the service tells of; after a `Finished` nothing is given to it."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service is. headers: what it wants with each request, its key too, so they are in no `repr`.

    key: the name of the environment variable that holds its key, for messages.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    key: str


class Shape(Protocol):
    """One service's protocol."""

    @property
    def place(self) -> Place:
        """Where it is asked."""
        ...

    def body(self, request: Request) -> object:
        """Return the request as the service wants it, to be written as JSON."""
        ...

    def answer(self) -> Answer:
        """Return a reader for one answer."""
        ...
