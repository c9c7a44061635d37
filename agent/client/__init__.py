"""The other end of the wire: a client for programs, and the terminal of `agent chat` and `agent ask`.

`remote.py` is the client for programs, on asyncio and on Trio (`from agent.client import connect`), with the events of
`turn.py` over a `message_socket.py`. `client.py` is a thinner one, on Trio, that commands, demo and tests use;
`chat.py` is a conversation at a terminal, with the line editor of `editor.py` and `tty.py`; `descriptions.py` puts the
server's frames into words. The folder `js` is the client in JavaScript, which every server serves at `/agent.js`. Start
reading in `remote.py`. It imports `agent.protocol`, `agent.ports`, `agent.text`, `agent.config` and `agent.errors`:
nothing of the server.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it to be true; `typing` is not imported for it
if TYPE_CHECKING:  # a program imports these names when it uses them, in `__getattr__`
    from .remote import Agent as Agent
    from .remote import connect as connect
    from .turn import ConnectionLost as ConnectionLost
    from .turn import Reconnected as Reconnected
    from .turn import RequestRefused as RequestRefused

_PUBLIC = ("Agent", "ConnectionLost", "Reconnected", "RequestRefused", "connect")


def __getattr__(name: str) -> object:
    """Import a public name from its module, so that the terminal needs no `anyio`."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("agent.client.remote"), name)
    return value
