"""The messages between supervisor and worker, one union of types for each direction.

Places and questions have numbers. The worker chooses those of its places and of its own questions, the supervisor those
of `ReportRequest`. `after` is seconds from now, since each process has a clock of its own.
"""

from typing import Literal, TypeAlias

import msgspec

from ..server.capacity import NoPlaceReason

WORKER_ANSWER = 1.0  # seconds for the figures of the other workers, when one worker is asked for those of all


class _WorkerMessage(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class Family(msgspec.Struct, frozen=True, array_like=True):
    """One metric with all of its samples: each has a name, labels and a value."""

    name: str
    text: str
    kind: str
    samples: list[tuple[str, dict[str, str], float]]


# --- to a worker


class BeginWork(_WorkerMessage, frozen=True):
    """The first message to a worker: its `number`, its `settings` as JSON, and the `port` for clients."""

    number: int
    workers: int
    port: int
    settings: bytes


class DrainRequest(_WorkerMessage, frozen=True):
    """Accept no new connections, let current work end, and end."""


class StopRequest(_WorkerMessage, frozen=True):
    """End now."""


class AliveProbe(_WorkerMessage, frozen=True):
    """Answer with `AliveReply`."""


class PlaceGranted(_WorkerMessage, frozen=True):
    """The worker has the `place` that it asked for."""

    place: int


class PlaceRefused(_WorkerMessage, frozen=True):
    """There is no `place`; `taken` says which limit is reached."""

    place: int
    taken: NoPlaceReason


class GiveWay(_WorkerMessage, frozen=True):
    """A place gave way: it belongs to another client now."""

    place: int


class ReportRequest(_WorkerMessage, frozen=True):
    """Send a `WorkerReport`, with your figures if `figures` is set."""

    question: int
    figures: bool


class WorkersAnswer(_WorkerMessage, frozen=True):
    """The answer to `WorkersQuestion`: the `figures` as Prometheus text, and `unready`, why a worker is not ready."""

    question: int
    figures: bytes
    unready: str


# --- to the supervisor


class WorkerUp(_WorkerMessage, frozen=True):
    """The worker accepts connections."""


class WorkerReady(_WorkerMessage, frozen=True):
    """The worker has read the documents, too."""


class StartFailed(_WorkerMessage, frozen=True):
    """The worker cannot start; `words` are a line for the operator."""

    words: str


class AliveReply(_WorkerMessage, frozen=True):
    """The answer to `AliveProbe`: the event loop runs."""


class WorkerLeaving(_WorkerMessage, frozen=True):
    """The worker accepts no more connections and drains, on a message or on a signal."""


class ConnectionsEnded(_WorkerMessage, frozen=True):
    """So many connections of the worker have ended."""

    count: int


class PlaceRequest(_WorkerMessage, frozen=True):
    """Take a place for an `address`; `None` is not limited by address."""

    place: int
    address: str | None


class MayGiveWay(_WorkerMessage, frozen=True):
    """Allow the place to go to a newcomer after `after` seconds."""

    place: int
    after: float


class KeepPlace(_WorkerMessage, frozen=True):
    """Withdraw `MayGiveWay`."""

    place: int


class LeavePlace(_WorkerMessage, frozen=True):
    """Give the place back."""

    place: int


class WorkersQuestion(_WorkerMessage, frozen=True):
    """Answer with the figures, or the readiness, of all workers."""

    question: int
    what: Literal["figures", "unready"]


class WorkerReport(_WorkerMessage, frozen=True):
    """The answer to `ReportRequest`; `figures` is `None` unless asked for, and for `LAST` the last ones."""

    question: int
    unready: str
    figures: list[Family] | None


ToWorker: TypeAlias = (
    BeginWork
    | DrainRequest
    | StopRequest
    | AliveProbe
    | PlaceGranted
    | PlaceRefused
    | GiveWay
    | ReportRequest
    | WorkersAnswer
)
ToSupervisor: TypeAlias = (
    WorkerUp
    | WorkerReady
    | StartFailed
    | AliveReply
    | WorkerLeaving
    | ConnectionsEnded
    | PlaceRequest
    | MayGiveWay
    | KeepPlace
    | LeavePlace
    | WorkersQuestion
    | WorkerReport
)
LAST = 0
"""The question number of the figures that a worker reports unasked as it ends."""
