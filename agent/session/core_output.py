"""What the parts of a core share: the way to its table, and the state while it handles an event (the time, the effects
so far, the drain).
"""

from typing import Protocol
from weakref import ref

from ..protocol.stories import AnyOutbound
from .effects import Effect, RecordFact, SendFrame
from .states import SessionTrigger


class React(Protocol):
    """The function by which a part of the core asks the session's table."""

    def __call__(self, trigger: SessionTrigger, subject: object = None) -> bool:
        """Take the row for `trigger` and do its deeds on `subject`; return whether there was a row."""
        ...


class ReactingCore(Protocol):
    """The core, as its parts see it."""

    def react(self, trigger: SessionTrigger, subject: object = None) -> bool:
        """Take the row of the session's table for `trigger`; see `React`."""
        ...


def hold_weakly(core: ReactingCore) -> React:
    """Return the core's `react` for its parts by a weak reference, so that no cycle needs the garbage collector."""
    weak_core = ref(core)

    def react(trigger: SessionTrigger, subject: object = None) -> bool:
        alive = weak_core()
        return alive is not None and alive.react(trigger, subject)

    return react


class CoreOutput:
    """Collects a core's effects, in order.

    `now`: when the event at hand arrived, in seconds on the loop's clock. `wall_ms`: the wall clock when a text was
    last written, in Unix milliseconds. `draining`: the server is going down, and no new work is accepted.
    """

    __slots__ = ("draining", "effects", "now", "wall_ms")

    def __init__(self) -> None:
        self.draining = False
        self.effects: list[Effect] = []
        self.now = 0.0
        self.wall_ms = 0

    def add(self, effect: Effect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def send_frame(self, frame: AnyOutbound) -> None:
        """Add the effect that sends a frame which no cancel removes."""
        self.effects.append(SendFrame(frame))

    def record_fact(
        self, metric: str, label: str = "", message: str | None = None, suggestion_id: str | None = None
    ) -> None:
        """Add the effect that counts and logs a fact."""
        self.effects.append(RecordFact(metric, label, message, suggestion_id))
