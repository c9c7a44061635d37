"""What supervisor and worker say to each other; one type for each direction.

A place has a number, which its worker chooses; so has a question. `after` is seconds from now: each process has a
clock of its own.
"""

from typing import Literal, TypeAlias

import msgspec

from ..server.places import Taken


class _Said(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class Family(msgspec.Struct, frozen=True, array_like=True):
    """One metric with all of its samples: each a name, labels and a value."""

    name: str
    text: str
    kind: str
    samples: list[tuple[str, dict[str, str], float]]


# --- to a worker


class Begin(_Said, frozen=True):
    """The first message: who the worker is. settings: as JSON. port: what clients connect to."""

    number: int
    workers: int
    port: int
    settings: bytes


class Drain(_Said, frozen=True):
    """Accept nothing new, let what is in progress end, and end."""


class Stop(_Said, frozen=True):
    """End now."""


class Probe(_Said, frozen=True):
    """Answer that you are alive."""


class Granted(_Said, frozen=True):
    """The place that was asked for is taken."""

    place: int


class Refused(_Said, frozen=True):
    """There is none: all are taken, or those of the address."""

    place: int
    taken: Taken


class GiveWay(_Said, frozen=True):
    """A place that may give way did: it is another's now."""

    place: int


class Report(_Said, frozen=True):
    """Say what there is to be said of you; with `figures` all of them."""

    question: int
    figures: bool


class Answer(_Said, frozen=True):
    """What was asked of all. figures: the Prometheus text. unready: why one is not ready."""

    question: int
    figures: bytes
    unready: str


# --- to the supervisor


class Up(_Said, frozen=True):
    """The worker accepts connections."""


class Ready(_Said, frozen=True):
    """It has read the documents, too."""


class Failed(_Said, frozen=True):
    """It cannot start; `words` are a line for the operator."""

    words: str


class Alive(_Said, frozen=True):
    """The answer to `Probe`: the event loop runs."""


class Leaving(_Said, frozen=True):
    """It accepts no more and drains, whoever told it to."""


class Ended(_Said, frozen=True):
    """So many of its connections have ended."""

    count: int


class Enter(_Said, frozen=True):
    """Take a place for an address; None is nobody in particular."""

    place: int
    address: str | None


class MayGiveWay(_Said, frozen=True):
    """Let the place go to a newcomer."""

    place: int
    after: float


class Keep(_Said, frozen=True):
    """Let it not, after all."""

    place: int


class Leave(_Said, frozen=True):
    """Give the place back."""

    place: int


class Ask(_Said, frozen=True):
    """Tell of all workers."""

    question: int
    what: Literal["figures", "unready"]


class Reported(_Said, frozen=True):
    """The answer to `Report`; without figures where none were asked for. Nobody has asked for 0: they are the last."""

    question: int
    unready: str
    figures: list[Family] | None


ToWorker: TypeAlias = Begin | Drain | Stop | Probe | Granted | Refused | GiveWay | Report | Answer
ToSupervisor: TypeAlias = (
    Up | Ready | Failed | Alive | Leaving | Ended | Enter | MayGiveWay | Keep | Leave | Ask | Reported
)
LAST = 0
"""The question of figures that a worker reports as it ends."""
