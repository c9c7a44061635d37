"""The process of a worker, as the supervisor starts and holds it.

The process is a new interpreter, not a fork: a fork would inherit the supervisor's open files, and threads that no
longer run. Its first message brings the settings, with their secrets; they are not on its command line, which other
users can see. It gets our entries of the module search path, so that it runs the same code. It has a session of its
own, so that Ctrl-C reaches the supervisor alone, which decides how to end.
"""

import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, TypeAlias

import trio

from .connection_passing import give_connection, take_connection_back

_RUN = "import sys; sys.path[:] = sys.argv[4:]; from agent.workers.process import main; main()"


class Child(Protocol):
    """A running worker, as its supervisor sees it."""

    @property
    def stream(self) -> trio.abc.Stream:
        """The stream of its messages."""
        ...

    def give(self, connection: socket.socket) -> bool:
        """Give it a connection; return `False` if it takes none now. The caller closes its own copy."""
        ...

    def take_back(self) -> socket.socket | None:
        """Return the next connection that it was given and has not taken, also after its end; `None` without one."""
        ...

    async def wait(self) -> int:
        """Wait for its end; return its exit status, negative for a signal."""
        ...

    def kill(self) -> None:
        """Kill it. Idempotent."""
        ...

    def close(self) -> None:
        """Close the supervisor's sockets to it. Idempotent."""
        ...


Spawn: TypeAlias = Callable[[int], Awaitable[Child]]
"""Starts the worker with a number. Raises `OSError` when it cannot be started."""


class WorkerProcess:
    """A worker in a process of its own (implements `Child`)."""

    def __init__(
        self,
        process: trio.Process,
        messages: socket.socket,
        handed: socket.socket,
        its_handed: socket.socket,
    ) -> None:
        self.stream = trio.SocketStream(trio.socket.from_stdlib_socket(messages))
        self._process = process
        self._handed = handed
        self._its_handed = its_handed

    def give(self, connection: socket.socket) -> bool:
        """See `Child`."""
        return give_connection(self._handed, connection)

    def take_back(self) -> socket.socket | None:
        """See `Child`."""
        return take_connection_back(self._its_handed)

    async def wait(self) -> int:
        """See `Child`."""
        return await self._process.wait()

    def kill(self) -> None:
        """See `Child`."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def close(self) -> None:
        """See `Child`."""
        self._handed.close()
        self._its_handed.close()


async def spawn_process(rates: int) -> WorkerProcess:
    """Start a worker. `rates`: a descriptor of `make_rates`. Raises `OSError` when it cannot be started."""
    messages, its_messages = socket.socketpair()
    handed, its_handed = socket.socketpair()
    with its_messages:
        try:
            files = its_messages.fileno(), its_handed.fileno(), rates
            process = await trio.lowlevel.open_process(
                [sys.executable, "-c", _RUN, *map(str, files), *sys.path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=files,
                start_new_session=True,
            )
        except BaseException:
            messages.close()
            handed.close()
            its_handed.close()
            raise
    handed.setblocking(False)
    its_handed.setblocking(False)  # the worker's, too
    return WorkerProcess(process, messages, handed, its_handed)
