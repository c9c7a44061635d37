"""Runs a server inside a Trio program or a test: `async with serve(kb="docs", port=0) as server`.

Also reached as `from agent import serve`. The server runs in the program's own event loop. It leaves signals, the log
and the garbage collector of the process alone, which `agent serve` sets up for a process of its own.
"""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import trio

from .app import App
from .compose.adapters import Adapters
from .errors import UsageError, find_cause
from .settings import Settings


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that `serve` runs. `app`: the server itself."""

    app: App

    @property
    def url(self) -> str:
        """The address of the page and of the HTTP API."""
        host = self.app.settings.server.host
        return f"http://[{host}]:{self.app.port}" if ":" in host else f"http://{host}:{self.app.port}"

    @property
    def websocket_url(self) -> str:
        """The address of the WebSocket."""
        return f"ws{self.url.removeprefix('http')}/ws"


@asynccontextmanager
async def serve(
    *,
    tools: str | Path | Iterable[Callable[..., Any]] = (),
    adapters: Adapters | None = None,
    **settings: Any,
) -> AsyncGenerator[RunningServer, None]:
    """Run a server for the time of a block; once the block begins, its documents are read.

    `settings`: those of `agent serve`, with `_` in place of `-`, such as `kb="docs"`, `port=0` for any free port, or
    `base_url=...`. `tools`: functions marked with `agent.tool`, or the setting of that name. `adapters`: parts that
    replace those of the settings.

    Raises `agent.errors.UsageError` for settings that cannot work, and `agent.errors.AgentError` for a server that
    cannot start or go on. At the end of the block the server drains: turns and actions may end, each within its
    deadline. When the block raises, and on cancel, they end at once.
    """
    parts = adapters or Adapters()
    if isinstance(tools, str | Path):
        settings["tools"] = tools
    else:
        parts = replace(parts, functions=(*parts.functions, *tools))
    app = App(_read_settings(settings), parts)
    complete = False
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(app.run)
            await app.ready()
            try:
                yield RunningServer(app)
                complete = True
            finally:
                (app.drain if complete else app.stop)()
    except BaseExceptionGroup as group:
        raise find_cause(group) from None


def _read_settings(given: dict[str, Any]) -> Settings:
    """Return the settings `given` by name. A text stands for a path where a setting is one."""
    paths = {
        name
        for room in fields(Settings)
        for name, hint in get_type_hints(room.default_factory).items()
        if hint in (Path, Path | None)
    }
    settings = Settings.of(
        **{
            name: Path(each) if name in paths and isinstance(each, str) else each
            for name, each in given.items()
        }
    )
    if settings.server.workers > 1:
        raise UsageError("workers: one process serves here; start agent serve --workers for more")
    return settings
