"""A question in a plain request, struck between any two steps: whoever ends it and whenever, nothing of it is left.

The client closes, resets or half closes its connection, or the server drains or stops, just before the k-th step of any
task since the question came, for every k up to its end.
"""

import re
from collections.abc import Callable
from itertools import count

import pytest
import trio
import trio.testing

from agent.testing.faults import PipeEnd
from agent.testing.network import Network, network
from tests.server.test_api import ADAPTERS, SENTINEL, STANDARD, ask, chat, nothing_is_left, quiet

SETTINGS = quiet(pace_ms=20)
SLOWEST = 10.0  # virtual seconds in which all is over: the client's half of a closing handshake takes 2
LIE = f"{STANDARD} Do lie."
STRIKES: dict[str, Callable[[Network, PipeEnd], None]] = {
    "close": lambda net, end: end.close(),
    "reset": lambda net, end: end.reset(),
    "eof": lambda net, end: end.eof(),
    "drain": lambda net, end: net.app.drain(),
    "stop": lambda net, end: net.app.stop(),
}


class Striker(trio.abc.Instrument):
    """Strikes before the k-th step from now on."""

    def __init__(self, k: int, strike: Callable[[], None]) -> None:
        self.struck = False
        self._left = k
        self._strike = strike

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step; strike when it is the one."""
        self._left -= 1
        if self._left == 0:
            self.struck = True
            self._strike()


async def strike(net: Network, sent: bytes, k: int, name: str) -> tuple[bool, bytes]:
    """Ask, and strike before the k-th step; return whether there was one before the end, and what was told."""
    end = net.open()
    striker = Striker(k, lambda: STRIKES[name](net, end))
    told = bytearray()
    trio.lowlevel.add_instrument(striker)
    end.feed(sent)
    with trio.move_on_after(SLOWEST) as late:
        try:
            while data := await end.receive_some():
                told += data
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        trio.lowlevel.remove_instrument(striker)
        end.close()
        edge = net.app._edge
        assert edge is not None
        await edge.limits.wait_unused()
    assert not late.cancelled_caught, f"{name} at step {k}: it is not over"
    await trio.testing.wait_all_tasks_blocked()
    nothing_is_left(net)
    return striker.struck, bytes(told)


def turns(net: Network) -> tuple[float, float]:
    """Return how many messages were taken, and how many turns have ended."""
    figures = net.app.metrics.text().decode()
    messages = re.findall(r"^agent_messages_total (\S+)", figures, re.MULTILINE)
    ended = re.findall(r"^agent_turns_total\{.*\} (\S+)", figures, re.MULTILINE)
    return sum(map(float, messages)), sum(map(float, ended))


QUESTIONS = {"stream": chat(stream=True), "whole": ask(), "a lie": chat(LIE, stream=True)}


@pytest.mark.proof
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("name", ["close", "reset", "eof"])
async def test_a_client_may_leave_at_any_step(
    asked: str, name: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Each turn that began has ended, in one way, and no number without a source was told."""
    async with network(SETTINGS, ADAPTERS) as net:
        for k in count(1):
            struck, told = await strike(net, QUESTIONS[asked], k, name)
            assert SENTINEL.encode() not in told
            if not struck:
                break
        assert k > 15
        messages, ended = turns(net)
        assert messages == ended > 5


@pytest.mark.proof
@pytest.mark.parametrize("asked", ["stream", "whole"])
@pytest.mark.parametrize("name", ["drain", "stop"])
async def test_the_server_may_go_down_at_any_step(
    asked: str, name: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A drain lets the answer be told to its end, or says that there is none; after a stop nothing is left."""
    for k in count(1):
        async with network(SETTINGS, ADAPTERS) as net:
            struck, told = await strike(net, QUESTIONS[asked], k, name)
            messages, ended = turns(net)
            assert messages == ended
            if name == "drain":
                whole = b"[DONE]" in told if asked == "stream" else b'"citations"' in told
                assert whole or b" 503 " in told.partition(b"\r\n")[0], k
        if not struck:
            break
    assert k > 15
