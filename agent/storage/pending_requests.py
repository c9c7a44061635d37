"""The unanswered requests of a `Database`'s callers, and the outcomes that it has yet to record."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import structlog
import trio

from ..errors import AgentError
from ..ports.clock import Clock
from ..ports.observe import Observer
from .backend import WriteRequest
from .rows import ClaimRequest, OutcomeRequest
from .transaction import ReadRequest

_log = structlog.get_logger("agent.storage")
_CANCELLED: Mapping[str, Any] = {"cancelled": True}
_NAMED = 100  # outcomes that the log names one by one when they could not be written

Late: TypeAlias = Callable[[], None]
"""Called when the disk does not answer, in place of raising `StorageFailed`; the caller then waits on."""


def wait_on() -> None:
    """Let the caller wait on in silence, for work that takes long or that no task waits for (a `Late`)."""


@dataclass(eq=False, slots=True, kw_only=True)
class PendingRequest:
    """A request that waits for its answer.

    `error` is a fault of the file or the request; `refused` is an error that the request raises itself. `undo` reverses
    the request when it was written after its caller had given up. `followed` says that the answer is a
    `FollowedAnswer`.
    """

    what: ReadRequest | WriteRequest
    undo: WriteRequest | None = None
    followed: bool = False
    answered: trio.Event = field(default_factory=trio.Event)
    left: bool = False  # the caller waits no more ...
    given_up: bool = False  # ... because the disk does not answer
    answer: Any = None
    error: str = ""
    refused: AgentError | None = None

    def find_reversals(self, clock: Clock) -> Iterator[WriteRequest]:
        """Yield the writes that reverse a request that its caller left, or that failed after it had run.

        Its transaction may be committed all the same. The reversal of a claim is a cancelled record; others have their
        `undo`.
        """
        in_doubt = self.error and self.answer is not None
        if (self.given_up or in_doubt) and self.undo is not None and self.refused is None:
            yield self.undo
        if isinstance(self.what, ClaimRequest) and self.answer and (self.left or self.error):
            claim = self.what
            yield OutcomeRequest(
                suggestion_id=claim.suggestion_id,
                status="cancelled",
                result=_CANCELLED,
                at=clock.now_ms(),
                attempt=claim.attempt,
            )


class UnrecordedOutcomes:
    """The outcomes that are kept until they are written, in their order.

    `observer` gets the gauge `actions_unrecorded`.
    """

    __slots__ = ("_observer", "_requests")

    def __init__(self, observer: Observer | None) -> None:
        self._observer = observer
        self._requests: dict[PendingRequest, None] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[PendingRequest]:
        return iter(self._requests)

    def __contains__(self, request: PendingRequest) -> bool:
        return request in self._requests

    def keep(self, work: WriteRequest) -> PendingRequest:
        """Keep a write; return the request that waits for it."""
        request = PendingRequest(what=work)
        self._requests[request] = None
        self._change_gauge(1)
        return request

    def remove(self, request: PendingRequest) -> None:
        """Remove a request that is written, or that can never be."""
        del self._requests[request]
        self._change_gauge(-1)

    def log_and_clear(self) -> None:
        """Log the outcomes, and remove them."""
        outcomes = (request.what for request in self._requests if isinstance(request.what, OutcomeRequest))
        for record in islice(outcomes, _NAMED):
            _log.error("outcome not recorded", suggestionId=record.suggestion_id, status=record.status)
        self._change_gauge(-len(self._requests))
        self._requests.clear()

    def _change_gauge(self, change: int) -> None:
        if self._observer is not None and change:
            self._observer.gauge("actions_unrecorded", change)
