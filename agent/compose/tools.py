"""Reads the tools that a turn may call: the operator's tools, and the tools that arrive with a message.

The MCP servers behind some of them are started with the actions (`agent.compose.actions`), which carry the calls out.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..answering.deciding import Tools
from ..ports.clock import Clock
from ..ports.tools import Arguments, RunsAt
from ..settings import Settings
from ..structured.open import ArgumentsLater, can_check, open_arguments
from ..tools.catalogue import offered
from ..tools.definitions import Definitions
from ..tools.file import read_tools
from ..tools.offering import Offering


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolbox:
    """The tools that turns may call.

    operator: the operator's tools. arguments: checks the arguments of a call; None where no tool can be called.
    sockets: tools of turns over a socket; None is no tools. threads: tools of turns over HTTP, whose own tools the
    caller runs.
    """

    operator: Offering
    arguments: Arguments | None = None
    sockets: Tools | None = None
    threads: Tools | None = None


def read_toolbox(*, settings: Settings, clock: Clock) -> Toolbox:
    """Return the tools that turns may call. Blocks while it reads the operator's file; starts no MCP server.

    A tool that does not say where it runs goes to the place of the operator's actions; a tool of a message over HTTP
    goes to its caller. Raises `agent.errors.UsageError` when the file cannot be used. jsonschema-rs is needed only
    where the settings offer tools.
    """
    file = settings.tools.tools
    offers_tools = file is not None or settings.tools.client_tools
    if not offers_tools and not can_check():
        return Toolbox(operator=Offering())
    runs_at: RunsAt = "record" if settings.actions.action_webhook is None else "webhook"
    arguments = open_arguments() if offers_tools else ArgumentsLater()
    operator = read_tools(file, arguments, runs_at) if file is not None else Offering()
    definitions = Definitions(arguments)
    threads = Tools(
        operator,
        lambda given: offered(operator, definitions.read(given, "request", "caller")),
        arguments,
        settings.tools.rounds,
        settings.tools.approve_from,
        settings.answers.turn_timeout,
        lambda: datetime.fromtimestamp(clock.now_ms() / 1000, UTC).astimezone().date(),
    )
    sockets = replace(
        threads,
        operator=operator.here,
        read=lambda given: offered(operator, definitions.read(given, "request", runs_at)),
    )
    return Toolbox(
        operator=operator,
        arguments=arguments,
        sockets=sockets if offers_tools else None,
        threads=threads,
    )
