"""The `agent` command: reads flags, environment and agent.toml, and hands over.

Strategy: a command is a few lines that call the module that does the work. Whatever the operator got wrong ends
as one line on standard error and exit status 2; status 1 is for what the world refused, such as no server there.
"""

import os
import signal
import sys
import tomllib
from collections.abc import AsyncIterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import trio
from cyclopts import App, CycloptsError, Parameter, Token
from cyclopts.config import Env, Toml

from . import diagrams as drawing
from . import log
from .app import App as Server
from .config import Settings
from .errors import UsageError, WireClosed
from .protocol.asyncapi import CLOSE_CODES, document
from .testing import chat as terminal
from .testing.client import DEFAULT_URL, CannotConnect, connect

OK, FAILED, USAGE = 0, 1, 2
CONFIG_FILE = "agent.toml"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    try:
        status = app(sys.argv[1:] if arguments is None else arguments)
    except (CycloptsError, UsageError) as error:
        _complain(str(error))
        return USAGE
    except BrokenPipeError:  # the reader of a pipe has left; nothing may be written to it at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return status if isinstance(status, int) else OK


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


def _version() -> str:
    return metadata.version("agent-server")


app = App(
    name="agent",
    help="A realtime agent that answers from a knowledge base and never sends a number it cannot cite.",
    version=_version,
    backend="trio",
    default_parameter=Parameter(negative_iterable=()),
    help_format="plaintext",
    print_error=False,
    exit_on_error=False,
    result_action="return_value",
)
_serve = App(
    name="serve",
    config=[Env("AGENT_", command=False), _File(CONFIG_FILE, use_commands_as_keys=False)],
)
app.command(_serve)

Url = Annotated[str, Parameter(env_var="AGENT_URL", help="The server's page or socket.")]
Secret = Annotated[str | None, Parameter(env_var="AGENT_TOKEN", help="The server's token, if it has one.")]


@_serve.default
async def serve(*, settings: Annotated[_Flags, Parameter(name="*")] = _Flags()) -> int:
    """Serve the chat page and the WebSocket on one port, until SIGTERM or Ctrl-C; a second one ends it now.

    Each setting is a flag, an AGENT_* environment variable or a line in agent.toml; the first of them counts.

    Example: agent serve --kb docs --port 9000
    """
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
        ready.set()
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)
        place = f"[{host}]:{server.port}" if ":" in host else f"{host}:{server.port}"
        print(f"page    http://{place}/\nsocket  ws://{place}/ws", flush=True)
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


@app.command
async def chat(url: Url = DEFAULT_URL, *, token: Secret = None) -> int:
    """Talk to a server from the terminal: answers stream in, Ctrl-C stops one, /help lists the commands.

    Example: agent chat ws://127.0.0.1:8787/ws
    """
    interactive = sys.stdin.isatty()
    try:
        async with connect(url, token) as client:
            with trio.open_signal_receiver(signal.SIGINT) as interrupts:
                if interactive:
                    _write(terminal.HELP + "\n")
                async with aclosing(terminal.stdin_lines()) as lines:
                    return await terminal.Chat(client, _write, interactive).run(lines, interrupts)
    except CannotConnect as error:
        _complain(str(error))
        return FAILED


@app.command
async def ask(
    question: str, *, url: Url = DEFAULT_URL, token: Secret = None, lang: Literal["en", "sv"] | None = None
) -> int:
    """Ask one question and print the answer and its sources.

    Exit status: 0 answered, 3 refused, 1 no answer.

    Example: agent ask "What does the standard plan cost?"
    """
    try:
        async with connect(url, token) as client:
            return await terminal.ask(client, question, _write, _complain, lang)
    except CannotConnect as error:
        _complain(str(error))
    except WireClosed as closed:
        _complain(
            f"the connection was closed: {CLOSE_CODES.get(closed.code, 'connection lost')} ({closed.code})"
        )
    return FAILED


# By name, so that only the demo pays for trio.testing, which imports pytest where that is installed.
app.command("agent.testing.demo:demo", name="demo")


@app.command
def diagrams(folder: Path = Path("diagrams"), *, check: bool = False) -> int:
    """Write the diagrams that are drawn from the code; with --check, print what is stale instead and exit 1.

    Example: agent diagrams --check
    """
    if check:
        stale = drawing.check(folder)
        _write(stale)
        return FAILED if stale else OK
    for name in drawing.write(folder):
        _write(f"{folder / name}\n")
    return OK


@app.command
def schema(name: Literal["asyncapi"] = "asyncapi") -> None:
    """Print the description of the wire: an AsyncAPI 3 document, made from the message types.

    Example: agent schema asyncapi
    """
    _write(document().decode())


def _write(text: str) -> None:
    print(text, end="", flush=True)


def _complain(line: str) -> None:
    print("agent: " + " ".join(line.split()), file=sys.stderr, flush=True)
