"""`agent chat` and `agent ask`: a server's other end, in the terminal."""

import signal
import sys
from contextlib import aclosing
from typing import Annotated, Literal

import trio
from cyclopts import Parameter

from ..errors import UsageError, WireClosed
from ..testing import chat as terminal
from ..testing.client import DEFAULT_URL, CannotConnect, connect
from ..testing.opened import opener
from .output import FAILED, complain, write

Url = Annotated[str, Parameter(env_var="AGENT_URL", help="The server's page or socket.")]
Secret = Annotated[str | None, Parameter(env_var="AGENT_TOKEN", help="The server's token, if it has one.")]


async def chat(url: Url = DEFAULT_URL, *, token: Secret = None) -> int:
    """Talk to a server from the terminal: answers stream in, Ctrl-C stops one, /help lists the commands.

    Example: agent chat ws://127.0.0.1:8787/ws
    """
    interactive = sys.stdin.isatty()
    try:
        async with connect(url, token) as client:
            with trio.open_signal_receiver(signal.SIGINT) as interrupts:
                if interactive:
                    write(terminal.HELP + "\n")
                async with aclosing(terminal.stdin_lines()) as lines:
                    return await terminal.Chat(client, write, opener(url, token), interactive).run(
                        lines, interrupts
                    )
    except CannotConnect as error:
        complain(str(error))
        return FAILED


async def ask(
    *question: str,
    url: Url = DEFAULT_URL,
    token: Secret = None,
    lang: Literal["en", "sv"] | None = None,
) -> int:
    """Ask one question, in quotes or as plain words, and print the answer and its sources.

    Exit status: 0 answered, 3 refused, 1 no answer.

    Example: agent ask what does the standard plan cost
    """
    text = " ".join(question).strip()
    if not text:
        raise UsageError('there is no question: agent ask "What does it cost?"')
    try:
        async with connect(url, token) as client:
            return await terminal.ask(client, text, write, complain, lang)
    except CannotConnect as error:
        complain(str(error))
    except WireClosed as closed:
        complain(terminal.closing(closed.code))
    return FAILED
