"""The `agent` command: the list of commands, and the handling of an operator's mistakes.

Strategy: a command is named in `COMMANDS` and imported only when it is run or described, so that each pays for its own
imports alone (`verify` for none of the server's). Every mistake of the operator ends as one line on standard error and
exit status `USAGE` (2). Status `FAILED` (1) is for failures outside, such as no server at the address.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import metadata

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError

from .commands.output import ENDS_PROCESS, FAILED, OK, SHOWS_ALL, USAGE, complain, discard
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
    "feedback": "agent.commands.feedback:command",
    "story": "agent.commands.story:command",
    "eval": "agent.commands.evaluate:evaluate",
    "actions": "agent.commands.actions:actions",
    "token": "agent.commands.token:token",
    "top": "agent.commands.top:top",
    "guide": "agent.commands.guide:guide",
    "diagrams": "agent.commands.describe:diagrams",
    "schema": "agent.commands.describe:schema",
}
"""Each command's name, and the place of its function or its cyclopts `App`."""

SUMMARIES = {
    "serve": "Serve the page, the WebSocket and the HTTP API on one port, until SIGTERM or Ctrl-C; a second one ends "
    "it now.",
    "doctor": "Check documents, model, data, port, vectors, file limit and voice, and print a remedy for each fault.",
    "chat": "Talk to a server from the terminal: answers stream in, Ctrl-C stops one, `/help` lists the commands.",
    "ask": "Ask one question, in quotes or as plain words, and print the answer and its sources.",
    "demo": "Show the server's promises in five scenes of half a minute, in memory and without a network.",
    "soak": "Let random users ask, cancel, confirm, drop and come back, and check every promise; the result is JSON.",
    "verify": "Check the numbers of answers against their sources: JSON lines in and out.",
    "search": "Search the knowledge base as a turn of the server does: a section that is too far from the question is "
    "no hit, so nothing may be found.",
    "recall": "Search past messages and items, as a turn of the server does: where nothing fits, nothing is found.",
    "kb": "Look after the knowledge base.",
    "memory": "List the items that users have in memory, and decide about them.",
    "feedback": "List and export users' feedback on answers, and make cases of it for agent eval.",
    "story": "Begin, list, play, export and import the stories of a server, and check its data folder.",
    "eval": "Ask the questions of a file of cases, and print how many answers are right.",
    "actions": "List confirmed actions, newest first: when, which, and how they ended.",
    "token": "Print a token that opens the WebSocket as one user until a time, for your website's page.",
    "top": "Show sessions, turns, cancels, refusals, the model and memory of a server, until Ctrl-C.",
    "guide": "Print a page of the guide; without a name, the list of its pages.",
    "diagrams": "Write the diagrams that are drawn from the code; with `--check`, print their stale parts and exit 1.",
    "schema": "Print the description of the wire: an AsyncAPI 3 document, made from the message types.",
}
"""The first sentence of each command's help, so that the overview imports none of them."""

DEVELOPERS = frozenset(("soak", "verify", "diagrams", "schema"))
"""Commands that only developers need; the overview shows them in a group of their own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    given, shows_all = _split_help_all(given)
    SHOWS_ALL.set(shows_all)
    ENDS_PROCESS.set(arguments is None)
    try:
        is_overview = not given or given[0] in app.help_flags
        status = (_make_app(SUMMARIES) if is_overview else app)(given)
    except UnknownOptionError as error:
        complain(f"{error} `{' '.join(['agent', *(error.command_chain or ())])} --help` lists the options.")
        return USAGE
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


def _make_app(summaries: Mapping[str, str]) -> App:
    """Return the app of all commands. `summaries`: replace the help of commands, which then need not be imported."""
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
    developers = Group("For developers", sort_key=1)
    for name, place in COMMANDS.items():
        app.command(
            place, name=name, help=summaries.get(name), group=developers if name in DEVELOPERS else None
        )
    return app


app = _make_app({})
