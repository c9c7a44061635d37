"""`agent chat`: talks to a server from the terminal."""

import signal
import sys
from contextlib import aclosing
from typing import Annotated

import trio
from cyclopts import Parameter

from ..client import chat as terminal
from ..client.client import DEFAULT_URL, connect
from ..client.open import open_terminal
from ..client.source_view import make_opener
from ..errors import CannotConnect
from .output import FAILED, complain, on_a_terminal, steer, write

Url = Annotated[str, Parameter(env_var="AGENT_URL", help="The server's page or socket.")]
Secret = Annotated[str | None, Parameter(env_var="AGENT_TOKEN", help="The server's token, if it has one.")]


async def chat(url: Url = DEFAULT_URL, *, token: Secret = None) -> int:
    """Talk to a server from the terminal: answers stream in, Ctrl-C stops one, `/help` lists the commands.

    Example: agent chat ws://127.0.0.1:8787/ws
    """
    interactive = sys.stdin.isatty()
    status = FAILED
    try:
        async with connect(url, token) as client:
            with trio.open_signal_receiver(signal.SIGINT) as interrupts:
                async with open_terminal(write, steer, on_a_terminal()) as (show, typed):
                    if interactive:
                        show(terminal.HELP + "\n")
                    async with aclosing(typed) as lines:
                        talk = terminal.TerminalChat(client, show, make_opener(url, token), interactive)
                        status = await talk.run(lines, interrupts)
            return status
    except CannotConnect as error:
        complain(str(error))
        return FAILED
