"""A request that the HTTP server has admitted, and the interface of the services behind it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import trio

from ..protocol.route import Route
from .http_exchange import HttpExchange
from .request_head import Head, Refusal
from .responses import Answer

DoorHandler: TypeAlias = Callable[[Head, Mapping[str, str]], Awaitable[Answer]]
"""Answers a request at the door, given its head and the named parts of its path."""


OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request.

    `project`: the only project that the caller may see; None for the operator. `keyed`: whether a key was shown. `key`:
    the id of the project's key. `user`: the name of a caller with a user's own token, who sees no project; "" for any
    other caller.
    """

    project: str | None = None
    keyed: bool = False
    key: str = OPERATOR
    user: str = ""

    @property
    def name(self) -> str:
        """The name under which the caller's requests are counted and stored."""
        if self.user:
            return f"user {self.user}"
        return OPERATOR if self.project is None else f"project {self.project}"

    def may_see(self, project: str | None) -> bool:
        """Return whether the caller may see `project`; None, no project, is allowed."""
        if self.user:
            return project is None
        return self.project is None or project is None or project == self.project


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A project's key that a client has shown.

    `digest`: as it is stored. `project`: None if it opens none. `id`: of the key, if it opens one.
    """

    digest: str
    project: str | None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedRequest:
    """A request whose head has passed every check.

    `names`: the values of its path's named parts. `query`: the query as its route's `Struct`, None outside the HTTP
    API. `key`: its `Idempotency-Key`.
    """

    head: Head
    caller: Caller
    route: Route
    names: Mapping[str, str]
    query: Any = None
    key: str | None = None


class RouteService(Protocol):
    """Serves the routes of one shape. `door_handlers`: by route name, for the routes that take no place."""

    door_handlers: Mapping[str, DoorHandler]

    def refuse(self, route: Route) -> Refusal | None:
        """Return the refusal of a route that cannot be served now, or None."""
        ...

    def decode(self, admitted: AdmittedRequest, body: Any) -> Any:
        """Return a body for `work`, or the `Answer` that refuses it.

        `body`: bytes, an `UploadedFile`, or None for a route without a body. Raises `agent.errors.BadRequest` and
        `agent.protocol.problems.ProblemError`.
        """
        ...

    async def work(
        self, admitted: AdmittedRequest, body: Any, exchange: HttpExchange, client_scope: trio.CancelScope
    ) -> None:
        """Do a request's work, and write its answer.

        `body`: as `decode` returned it. `client_scope`: the scope of this work, which is cancelled when the client has
        left. Raises `WireClosed` if the client does not take the answer.
        """
        ...
