"""The protocol of a service: how its requests are written and its answers read, apart from the transport."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..errors import ModelFault
from ..ports.model import FinishReason, ModelRequest, Piece

REASONS: Mapping[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "calls"),
    "content_filter": "filtered",
    "refusal": "refusal",
}
"""The services' words for the end of an answer. An unknown word is a fault: it may mean that the answer is not whole.
"""


def fault_of(status: object) -> ModelFault:
    """Return the kind of failure of an HTTP status that is no success; `server` for any other value."""
    if status == 408:
        return "connect"  # the server never got the whole request
    if status == 429:
        return "rate"
    if status in (401, 403):
        return "auth"
    return "request" if isinstance(status, int) and 300 <= status < 500 else "server"


class AnswerReader(Protocol):
    """Reads one answer, event by event."""

    def read_event(self, data: str) -> Iterator[Piece]:
        """Yield the pieces in the data of the next event.

        Raises `ModelFailed` for data that the protocol does not allow, and for a failure that the service reports.
        After a `Finish` no event follows.
        """
        ...


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The address of a service.

    `headers`: of each request. They hold the key, so neither `url` nor `headers` is in the `repr`. `key`: the name of
    the environment variable of the key, for messages.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    key: str


class ServiceProtocol(Protocol):
    """The protocol of one service."""

    @property
    def address(self) -> ServiceAddress:
        """The address of the service."""
        ...

    def make_body(self, request: ModelRequest) -> object:
        """Return the body of a request, a value that is then written as JSON."""
        ...

    def make_reader(self) -> AnswerReader:
        """Return a reader for one answer."""
        ...
