"""Answers requests beside the turn: a `Consultant` takes a client's frame, and returns the frame that answers it.

A session passes the frames on, and knows of them only what stands in the values here.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from .conversation import Exchange, Scope


@dataclass(frozen=True, slots=True)
class ConsultReply:
    """The answer to a request, as a `frame` of the server.

    `scope` is the session's scope from here on; None keeps it. `history` holds the last exchanges of its thread, oldest
    first.
    """

    frame: Any
    scope: Scope | None = None
    history: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class ExchangeUpdate:
    """A `message` and its answer that are new in a thread, or were forgotten; `frame` tells of them.

    `is_forgotten` says that no words are left. `exchange` is what the next question's history has of them; None for a
    refusal, or where they were forgotten.
    """

    message: str
    frame: Any
    is_forgotten: bool
    exchange: Exchange | None


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """A change in the thread of `scope`, by any session; `frame` tells of it."""

    scope: Scope
    frame: Any
    exchanges: tuple[ExchangeUpdate, ...] = ()


class ThreadListener(Protocol):
    """A session that is told what changes in the threads of its user."""

    def tell_update(self, update: ThreadUpdate) -> None:
        """Tell of a change. Never blocks, never raises."""
        ...


class Consultant(Protocol):
    """Answers the requests of all sessions of one kind."""

    async def answer(self, frame: Any, scope: Scope, listener: ThreadListener) -> ConsultReply:
        """Return the answer to `frame` for the client of `scope`, also when something fails.

        A frame may ask that `listener` is told of changes from now on. Raises nothing but `trio.Cancelled`; a change
        under way is then made whole or not at all.
        """
        ...

    def leave(self, listener: ThreadListener, scope: Scope) -> None:
        """Tell `listener`, a session of the scope's user, nothing more. Idempotent."""
        ...

    async def run(self) -> None:
        """Find the changes to tell of, until cancelled."""
        ...
