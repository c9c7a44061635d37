"""What a scenario of the strikes is, and what their clients do alike.

Each of a client's waits has a deadline, because after a strike the frame it waits for may never come.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import trio

from agent.ports.decide import Decision
from agent.testing.breakable import DraftScript

from .lab import Lab
from .raw import RawClient

PATIENCE = 3.0  # virtual seconds a client waits for one frame

Script = Callable[[Lab, RawClient], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Plot:
    """A scenario: how the lab is made, and what the client does.

    decisions: what the model decides, in its order, where there are tools; none: there are none.
    deaf: the executor hears of a cancel only at `begin()`. claim: seconds that the ledger takes for one. room: bytes
    that fit into the client's socket. answers: the client answers the server's close frame. remembers: seconds that it
    takes to answer what is asked of what is remembered; None remembers nothing. keeps: what is said is remembered.
    finds: seconds that a memory model takes to read a message; None: there is none. by_sentence: each sentence is sent
    once it is verified.
    """

    name: str
    script: Script
    drafts: tuple[DraftScript, ...] = (DraftScript("It costs 299 kr."),)
    decisions: tuple[Decision, ...] = ()
    before: float = 0.0
    after: float = 0.0
    deaf: bool = False
    claim: float = 0.0
    room: int = 1 << 30
    answers: bool = True
    remembers: float | None = None
    keeps: bool = False
    finds: float | None = None
    by_sentence: bool = False

    @property
    def slow(self) -> bool:
        """Whether the client holds the server's writes back."""
        return self.room < 1 << 30


class Book:
    """Scenarios, in the order they were written."""

    def __init__(self) -> None:
        self._plots: list[Plot] = []

    def __iter__(self) -> Iterator[Plot]:
        """Go through them."""
        return iter(self._plots)

    def plot(self, **how: object) -> Callable[[Script], Script]:
        """Make a scenario of a script, named after it."""

        def add(script: Script) -> Script:
            self._plots.append(Plot(script.__name__, script, **how))  # type: ignore[arg-type]
            return script

        return add


async def heard(client: RawClient, kind: str, count: int = 1) -> str:
    """Wait for a frame; return the suggestion it is about, or an id that was never issued."""
    with trio.move_on_after(PATIENCE):
        return str((await client.until(kind, count)).get("suggestionId"))
    return "never"
