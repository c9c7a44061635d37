"""What turns may call, made of the settings: the operator's tools, and those that come with a message."""

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


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What may be called.

    operator: the operator's tools. arguments: checks arguments; None where no tool can be called. sockets: what turns
    over a socket may call; None is nothing. threads: what turns over HTTP may, whose own tools their callers run.
    """

    operator: Offering
    arguments: Arguments | None = None
    sockets: Tools | None = None
    threads: Tools | None = None


def opened_tools(settings: Settings, clock: Clock) -> Toolbox:
    """Return what turns may call, and how. Blocks while it reads the operator's file, of which no server is started.

    A tool that does not say where it runs goes where the operator's actions go, one of a message over HTTP to its
    caller. Raises UsageError; jsonschema-rs is missed only where the settings offer tools.
    """
    file = settings.tools.tools
    wanted = file is not None or settings.tools.client_tools
    if not wanted and not can_check():
        return Toolbox(Offering())
    runs_at: RunsAt = "record" if settings.actions.action_webhook is None else "webhook"
    arguments = open_arguments() if wanted else ArgumentsLater()
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
    return Toolbox(operator, arguments, sockets if wanted else None, threads)
