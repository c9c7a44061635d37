"""Connects servers of tools that speak the Model Context Protocol: the operator's settings, and a session with a
server.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from .tools import Risk


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server that is started by a command and asked over its standard input and output.

    `name` is the prefix of its tools' names, before a dot. `env` adds to the variables that every command gets. `cwd`
    is its working folder; None is this process's. `auto` names its tools that need no approval, by their own names.
    `risk` applies to each of its tools.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # there may be keys in it
    cwd: str | None = None
    auto: frozenset[str] = frozenset()
    risk: Risk = "medium"


class McpSession(Protocol):
    """One life of a server. Its answers are JSON in the protocol's form, and only their size is bounded."""

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Shake hands and return the server's tools, each as the server writes it. Called once, first.

        Raises `agent.errors.McpFailed` when the server ends, or gives another answer.
        """
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], begin: Callable[[], None]
    ) -> Mapping[str, Any]:
        """Call a tool and return its result, `{content, structuredContent, isError}`.

        `begin` is called synchronously, right before the first byte of the request leaves; an exception of `begin` is
        passed on, and then nothing leaves. Cancelled before it, nothing leaves either; after it the cancel is sent to
        the server. Raises `agent.errors.McpFailed`.
        """
        ...

    async def ping(self) -> None:
        """Return when the server has answered anything. Raises `agent.errors.McpFailed` when it has ended."""
        ...

    async def wait_ended(self) -> None:
        """Return when the server can answer nothing any more."""
        ...


class McpConnect(Protocol):
    """Starts servers."""

    def __call__(self, server: McpServer) -> AbstractAsyncContextManager[McpSession]:
        """Start `server` for the time of a block; none of it is left after the block, and leaving takes a bounded time.

        One task enters and leaves the block; any task may use the session. Raises `OSError` when the server cannot be
        started.
        """
        ...
