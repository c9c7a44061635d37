"""A server of tools that speaks the Model Context Protocol: what the operator says of it, and how it is asked."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from .tools import Risk


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server that is started by a command and asked over its standard input and output.

    name: what its tools' names begin with, before a dot. env: what it is told beside what every command needs.
    cwd: the folder that it runs in; None is this one's. auto: its tools that need no approval, by their own names.
    risk: of each of its tools.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # there may be keys in it
    cwd: str | None = None
    auto: frozenset[str] = frozenset()
    risk: Risk = "medium"


class McpSession(Protocol):
    """One life of a server. What it answers is JSON as the protocol has it, and bounded in size only."""

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Shake hands and return its tools, each as the server writes it. Called once, first.

        Raises `agent.errors.McpFailed` when it ends, or what it answers is none of this.
        """
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], begin: Callable[[], None]
    ) -> Mapping[str, Any]:
        """Call a tool and return its result, `{content, structuredContent, isError}`.

        begin: called synchronously, right before the first byte of the request leaves; what it raises is passed on,
        and then nothing leaves. Cancelled before it, nothing leaves either; after it the server is told. Raises
        `agent.errors.McpFailed`.
        """
        ...

    async def ping(self) -> None:
        """Return when the server has answered anything. Raises `agent.errors.McpFailed` when it has ended."""
        ...

    async def ended(self) -> None:
        """Return when nothing more will come of the server."""
        ...


class McpConnect(Protocol):
    """Starts servers."""

    def __call__(self, server: McpServer) -> AbstractAsyncContextManager[McpSession]:
        """Start one for the time of a block; nothing of it is left after it, and leaving takes a bounded time.

        Entered and left by one task; any task may use what it gives. Raises OSError when it cannot be started.
        """
        ...
