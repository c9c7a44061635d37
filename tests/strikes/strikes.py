"""What a scenario is struck with. A strike is synchronous: it happens between two steps of the server's tasks."""

from collections.abc import Callable

import trio

from agent.session.events import KillRequested

from .lab import Lab
from .raw import RawClient

STRIKES: dict[str, Callable[[Lab, RawClient], None]] = {}


def strike(function: Callable[[Lab, RawClient], None]) -> Callable[[Lab, RawClient], None]:
    """Name a strike after its function."""
    STRIKES[function.__name__] = function
    return function


@strike
def cancel(lab: Lab, client: RawClient) -> None:
    """The client cancels."""
    client.send("cancel")


@strike
def cancel_by_id(lab: Lab, client: RawClient) -> None:
    """The client cancels its first message, or what that led to."""
    client.send("cancel", id="a")


@strike
def cancel_of_the_scope(lab: Lab, client: RawClient) -> None:
    """The turn's scope is cancelled by something other than the session."""
    session = lab.session()
    if session is not None:
        session.cut_turn()


@strike
def eof(lab: Lab, client: RawClient) -> None:
    """The client closes its half."""
    client.eof()


@strike
def reset(lab: Lab, client: RawClient) -> None:
    """The connection is reset."""
    client.reset()


@strike
def goodbye(lab: Lab, client: RawClient) -> None:
    """The client closes by the rules."""
    client.goodbye()


@strike
def second_message(lab: Lab, client: RawClient) -> None:
    """The client asks again."""
    client.send("message", id="x", text="price?")


@strike
def drain(lab: Lab, client: RawClient) -> None:
    """The server begins to go down."""
    lab.drain()


@strike
def kill(lab: Lab, client: RawClient) -> None:
    """The server gives this client up, as it does when a ping was not answered."""
    session = lab.session()
    if session is not None:
        session.post(KillRequested(1011, "keepalive lost", trio.current_time()))


@strike
def stop(lab: Lab, client: RawClient) -> None:
    """The server is told to end everything now."""
    lab.stop()


@strike
def confirm(lab: Lab, client: RawClient) -> None:
    """The client confirms the first suggestion, whether it has seen it or not."""
    ids = [frame["suggestionId"] for frame in client.frames if frame["type"] == "action_suggestion"]
    client.send("confirm_action", suggestionId=ids[0] if ids else "id2")


@strike
def model_breaks(lab: Lab, client: RawClient) -> None:
    """An exception out of the model."""
    lab.model.fault()


@strike
def executor_breaks(lab: Lab, client: RawClient) -> None:
    """An exception out of the executor."""
    lab.executor.fault()
