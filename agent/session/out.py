"""What the parts of a core share while it takes an event: the time, the effects so far, and whether it goes down."""

from typing import Protocol

from ..protocol.outbound import Outbound
from .effects import Effect, Note, Send
from .states import Trigger


class React(Protocol):
    """How a part of the core asks the session's table."""

    def __call__(self, trigger: Trigger, subject: object = None) -> bool:
        """Take the row for `trigger` and do what it says about `subject`; return whether there was one."""
        ...


class Out:
    """Where a core's effects go, in order.

    now: when the event being taken arrived, seconds on the loop's clock. wall_ms: the wall clock when a text was last
    written, Unix milliseconds. draining: the server is going down, and nothing new is taken.
    """

    __slots__ = ("draining", "effects", "now", "wall_ms")

    def __init__(self) -> None:
        self.draining = False
        self.effects: list[Effect] = []
        self.now = 0.0
        self.wall_ms = 0

    def add(self, effect: Effect) -> None:
        """Have something done."""
        self.effects.append(effect)

    def send(self, frame: Outbound) -> None:
        """Have a frame sent that nothing removes."""
        self.effects.append(Send(frame))

    def note(
        self, metric: str, label: str = "", message: str | None = None, suggestion_id: str | None = None
    ) -> None:
        """Have a fact counted and logged."""
        self.effects.append(Note(metric, label, message, suggestion_id))
