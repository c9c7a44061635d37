"""Reads the tools that a turn may call: the operator's tools, and the tools that arrive with a message.

The MCP servers behind some of them are started with the actions (`agent.compose.actions`), which carry the calls out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..answering.deciding_brain import TurnTools
from ..errors import UsageError
from ..ports.clock import Clock
from ..ports.tools import CheckerFactory, RunsAt, ToolFunction
from ..settings import Settings
from ..structured.open import LazyArguments, open_arguments
from ..tools.catalogue import check_request_tools
from ..tools.definitions import DefinitionReader
from ..tools.file import read_tools
from ..tools.offering import Offering
from ..tools.python_module import is_module_name, read_functions, read_module


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolbox:
    """The tools that a turn can call, by its transport.

    `operator`: the operator's tools. `functions`: the Python functions among them, by name. `arguments`: checks the
    arguments of a call; `None` where no tool can be called. `sockets`: tools of turns over a socket; `None` is no
    tools. `threads`: tools of turns over HTTP, where the caller runs its own tools. `questions`: tools of plain
    questions, which are their callers' own and no others.
    """

    operator: Offering
    functions: Mapping[str, ToolFunction] = field(default_factory=dict)
    arguments: CheckerFactory | None = None
    sockets: TurnTools | None = None
    threads: TurnTools | None = None
    questions: TurnTools | None = None


def read_toolbox(
    *, settings: Settings, clock: Clock, own_functions: Sequence[Callable[..., Any]] = ()
) -> Toolbox:
    """Return the tools that turns may call. Blocks while it reads the operator's file or imports the operator's
    module; starts no MCP server.

    `own_functions`: marked functions of the program that runs the server, in place of a file or module. A tool that
    does not say where it runs goes to the place of the operator's actions; a tool of a message over HTTP goes to its
    caller. Raises `agent.errors.UsageError` when the file or module cannot be used.
    """
    given = settings.tools.tools
    offers_tools = given is not None or bool(own_functions) or settings.tools.client_tools
    runs_at: RunsAt = "record" if settings.actions.action_webhook is None else "webhook"
    arguments = open_arguments() if offers_tools else LazyArguments()
    operator, functions = _read_operator_tools(given, own_functions, arguments, runs_at)
    definitions = DefinitionReader(arguments)
    threads = TurnTools(
        operator=operator,
        read_message_tools=lambda tools: check_request_tools(
            operator, definitions.read_list(tools, "request", "caller")
        ),
        arguments=arguments,
        rounds=settings.tools.rounds,
        approve_from=settings.tools.approve_from,
        timeout=settings.answers.turn_timeout + settings.model.first_wait,
        today=lambda: datetime.fromtimestamp(clock.now_ms() / 1000, UTC).astimezone().date(),
    )
    sockets = replace(
        threads,
        operator=operator.server_run,
        read_message_tools=lambda tools: check_request_tools(
            operator, definitions.read_list(tools, "request", runs_at)
        ),
    )
    questions = replace(
        threads,
        operator=(),
        read_message_tools=lambda tools: check_request_tools(
            Offering(), definitions.read_list(tools, "request", "caller")
        ),
        proposes_items=False,
    )
    return Toolbox(
        operator=operator,
        functions=functions,
        arguments=arguments,
        sockets=sockets if offers_tools else None,
        threads=threads,
        questions=questions,
    )


def _read_operator_tools(
    given: Path | None,
    own_functions: Sequence[Callable[..., Any]],
    arguments: CheckerFactory,
    runs_at: RunsAt,
) -> tuple[Offering, Mapping[str, ToolFunction]]:
    """Return the operator's tools, and the Python functions among them by name. `given`: a file or module, if any."""
    if given is not None and own_functions:
        raise UsageError(f"tools {given}: give functions, or the name of a file or module, and not both")
    if given is not None and not is_module_name(given):
        return read_tools(given, arguments, runs_at), {}
    if given is None and not own_functions:
        return Offering(), {}
    tools, functions = (
        read_functions("tools", own_functions, arguments)
        if given is None
        else read_module(str(given), arguments)
    )
    return Offering(tools), functions
