"""Hints between processes that keep their data in one database: "look now", never the truth.

A hint names a row that has changed. Whoever hears it reads the row, as it does from time to time without any hint, so a
hint that is lost, late, repeated or forged changes only when a process looks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

HintKind: TypeAlias = Literal["thread_cancelled", "call_ended"]


@dataclass(frozen=True, slots=True)
class Hint:
    """A change of a row. `id` is of the thread whose turn or calls were cancelled, or of the call that has ended."""

    kind: HintKind
    id: str


class Hints(Protocol):
    """Carries hints to the other processes, as fast as it can, and loses them where it cannot."""

    def send(self, hint: Hint) -> None:
        """Send a hint to the other processes, once the change is committed. Never waits, never raises."""
        ...

    def subscribe(self, hear: Callable[[Hint], None]) -> None:
        """Call `hear` with each hint of another process from now on, on the event loop. `hear` never raises."""
        ...


class NoHints:
    """Carries nothing (implements `Hints`): for a process that is alone, or whose others look by themselves."""

    def send(self, hint: Hint) -> None:
        """Do nothing."""

    def subscribe(self, hear: Callable[[Hint], None]) -> None:
        """Do nothing."""


NO_HINTS: Final = NoHints()
