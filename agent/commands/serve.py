"""`agent serve`: settings from flags, environment and agent.toml; a server until it is told to stop.

Strategy: cyclopts reads the three sources into one `Settings`; the server is composed by `app`. Signals are heard
before the knowledge base is read, so that a start can be broken off too.
"""

import signal
import tomllib
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import trio
from cyclopts import App, CycloptsError, Parameter, Token
from cyclopts.config import Env, Toml

from .. import log
from ..app import App as Server
from ..config import USER_DATA, Settings
from ..errors import UsageError
from ..heap import set_aside, share_heaps
from .output import OK, write

CONFIG_FILE = "agent.toml"


class _File(Toml):
    """agent.toml, with errors that name the file."""

    def _load_config(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CycloptsError(msg=f"{path} cannot be read: {error}") from None


def _delays(type_: Any, tokens: Sequence[Token]) -> tuple[float, float]:
    """Read BEFORE[,AFTER] in milliseconds."""
    values = ",".join(token.value for token in tokens).split(",")
    try:
        before, after = [float(value) for value in values] if len(values) > 1 else [float(values[0]), 0.0]
    except ValueError:
        raise UsageError("action-delay-ms must be BEFORE or BEFORE,AFTER in milliseconds") from None
    return before, after


@dataclass(frozen=True, slots=True)
class _Flags(Settings):
    """The settings as a command line spells them."""

    action_delay_ms: Annotated[tuple[float, float], Parameter(converter=_delays, n_tokens=1)] = (0.0, 0.0)
    data: str = USER_DATA


command = App(
    name="serve",
    config=[Env("AGENT_", command=False), _File(CONFIG_FILE, use_commands_as_keys=False)],
)


@command.default
async def serve(*, settings: Annotated[_Flags, Parameter(name="*")] = _Flags()) -> int:
    """Serve the chat page and the WebSocket on one port, until SIGTERM or Ctrl-C; a second one ends it now.

    Each setting is a flag, an AGENT_* environment variable or a line in agent.toml; the first of them counts.

    Example: agent serve --kb docs --port 9000
    """
    share_heaps()
    log.configure(settings.log_format, settings.log_level)
    if not settings.kb.is_dir():
        raise UsageError(
            f"there is no knowledge base in {settings.kb.absolute()}: "
            f"point to a folder of markdown files with --kb DIR, AGENT_KB, or kb in {CONFIG_FILE}"
        )
    server = Server(settings)
    ready = trio.Event()
    try:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_heed, signals, server, ready, nursery.cancel_scope)
                nursery.start_soon(_run, server, settings, ready, nursery.cancel_scope)
    except BaseExceptionGroup as group:
        cause = _single(group)
        if isinstance(cause, UsageError):
            raise cause from None
        raise
    return OK


async def _run(server: Server, settings: Settings, ready: trio.Event, scope: trio.CancelScope) -> None:
    """Run the server until it has drained, and say where it is once it listens."""
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        set_aside()
        ready.set()
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)
        place = f"[{host}]:{server.port}" if ":" in host else f"{host}:{server.port}"
        write(f"page    http://{place}/\nsocket  ws://{place}/ws\n")
    scope.cancel()


async def _heed(
    signals: AsyncIterable[int], server: Server, ready: trio.Event, scope: trio.CancelScope
) -> None:
    """The first signal drains, the second ends it now; one that comes before the server listens ends it too."""
    draining = False
    async for _ in signals:
        if not ready.is_set():
            scope.cancel()
        elif draining:
            server.stop()
        else:
            server.drain()
            draining = True


def _single(error: BaseException) -> BaseException:
    """Return what a group holds, where it holds one exception."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
