"""A request that may be served, and how those who serve it are asked to."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import trio

from ..protocol.routes import Route
from .answers import Answer
from .exchange import Exchange
from .sniff import Head, Refusal

AtTheDoor: TypeAlias = Callable[[Head, Mapping[str, str]], Awaitable[Answer]]
"""Answers a request without a place for it, given its head and the names in its path."""


OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. project: the only one that is there for it; None for the operator. keyed: whether a key was shown."""

    project: str | None = None
    keyed: bool = False

    @property
    def name(self) -> str:
        """What its requests are counted and kept under."""
        return OPERATOR if self.project is None else f"project {self.project}"

    def may_see(self, project: str | None) -> bool:
        """Whether a project that was named, if one was, is there for it."""
        return self.project is None or project is None or project == self.project


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request whose head was read, and what that says.

    names: the parts of its path that are names. query: the Struct of its route, where that has one. key: the
    Idempotency-Key that it names.
    """

    head: Head
    caller: Caller
    route: Route
    names: Mapping[str, str]
    query: Any = None
    key: str | None = None


class Service(Protocol):
    """Serves the routes of one kind. at_the_door: what answers those that need no place, by their names."""

    at_the_door: Mapping[str, AtTheDoor]

    def refuse(self, route: Route) -> Refusal | None:
        """Return why a route cannot be served now, if it cannot."""
        ...

    def decode(self, admitted: Admitted, body: Any) -> Any:
        """Return what a body says: bytes, an `Uploaded`, None where the route takes none.

        Raises `agent.errors.BadRequest` and `agent.protocol.problems.Unanswerable`.
        """
        ...

    async def work(self, admitted: Admitted, body: Any, exchange: Exchange, left: trio.CancelScope) -> None:
        """Do what a request is for, and write its answer. body: as `decode` returned it. left: ends the work.

        Raises WireClosed when the client does not take it.
        """
        ...
