"""The `agent` command: the list of commands, and the handling of an operator's mistakes.

Strategy: a command is named in `COMMANDS` and imported only when it is run or described, so that each pays for its own
imports alone (`verify` for none of the server's). Every mistake of the operator ends as one line on standard error and
exit status `USAGE` (2). Status `FAILED` (1) is for failures outside, such as no server at the address.
"""

import sys
from collections.abc import Sequence
from importlib import metadata

from cyclopts import App, CycloptsError, Group, Parameter

from .commands.output import FAILED, OK, SHOWS_ALL, USAGE, complain, discard
from .errors import UsageError

COMMANDS = {
    "serve": "agent.commands.serve:command",
    "doctor": "agent.commands.doctor:command",
    "chat": "agent.commands.talk:chat",
    "ask": "agent.commands.ask:ask",
    "demo": "agent.testing.demo:demo",
    "soak": "agent.soak.command:soak",
    "verify": "agent.commands.verify:verify",
    "search": "agent.commands.search:search",
    "recall": "agent.commands.recall:recall",
    "kb": "agent.commands.kb:command",
    "memory": "agent.commands.memory:command",
    "actions": "agent.commands.actions:actions",
    "guide": "agent.commands.guide:guide",
    "diagrams": "agent.commands.describe:diagrams",
    "schema": "agent.commands.describe:schema",
}
"""Each command's name, and the place of its function or its cyclopts `App`."""

DEVELOPERS = frozenset(("soak", "verify", "diagrams", "schema"))
"""Commands that only developers need; the overview shows them in a group of their own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    given, shows_all = _split_help_all(given)
    SHOWS_ALL.set(shows_all)
    try:
        if not given or given[0] in app.help_flags:
            for name in COMMANDS:  # the overview shows each command's own help, so it imports them all
                app[name]
        status = app(given)
    except (CycloptsError, UsageError) as error:
        complain(str(error))
        return USAGE
    except (
        BrokenPipeError,
        BaseExceptionGroup,
    ) as error:  # the reader of a pipe has left, while a nursery ran or not
        if isinstance(error, BaseExceptionGroup) and error.split(BrokenPipeError)[1] is not None:
            raise
        discard(sys.stdout)
        return FAILED
    return status if isinstance(status, int) else OK


def _split_help_all(given: list[str]) -> tuple[list[str], bool]:
    """Return `given` without the word `all` after its last `--help`, and whether that word was there."""
    shows_all = given[-1:] == ["all"] and given[-2:-1] in [[flag] for flag in app.help_flags]
    return (given[:-1], True) if shows_all and "--" not in given else (given, False)


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
_developers = Group("For developers", sort_key=1)
for _name, _place in COMMANDS.items():
    if _name in DEVELOPERS:
        app.command(_place, name=_name, group=_developers)
    else:
        app.command(_place, name=_name)
