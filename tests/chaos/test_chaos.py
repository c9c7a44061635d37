"""Whatever the server waits for misbehaves: others are answered, a cancel wins, the process ends, nothing is untrue."""

import errno
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import trio

from ..both import ONE, TWO, Flags, both_at_length
from ..e2e.plain import Plain, plain
from .rig import Rig, built_shim, rig

pytestmark = pytest.mark.proof

SOON = 15.0  # seconds in which a client is answered, generous: the machine may be busy with other things
CONFIRMED = 30.0  # seconds in which a confirm is answered: a claim, a webhook's deadline and a record
GONE = 45.0  # seconds in which a server with nothing but a running action goes down
GONE_NOW = 15.0  # seconds after the second signal
NOISE = 16  # questions, whose log lines fill a small pipe


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong. stderr: from the start; `begin` makes the rest go wrong later. workers: for whom."""

    name: str
    begin: Callable[[Rig], None] = lambda rig: None
    stderr: str = "well"
    workers: Flags = ONE


def _files(kind: str, mode: str) -> Callable[[Rig], None]:
    return lambda rig: rig.command(kind, mode)


def _webhook(mode: str) -> Callable[[Rig], None]:
    return lambda rig: setattr(rig.webhook, "mode", mode)


TROUBLES = [
    *(Trouble(f"stderr {mode}", stderr=mode) for mode in ("pause", "slow", "fail", "full")),
    Trouble("fsync pause", _files("sync", "pause")),
    Trouble("fsync slow", _files("sync", "slow 200")),
    Trouble("fsync fail", _files("sync", f"fail {errno.EIO}")),
    Trouble("disk full", _files("write", f"fail {errno.ENOSPC}")),
    Trouble("reads pause", _files("read", "pause")),
    Trouble("reads slow", _files("read", "slow 300")),
    Trouble("reads fail", _files("read", f"fail {errno.EIO}")),
    Trouble("no descriptors for reads", _files("read", f"fail {errno.EMFILE}")),
    *(Trouble(f"webhook {mode}", _webhook(mode)) for mode in ("pause", "slow", "fail", "full")),
]
NOT_RECORDED = {"fsync pause", "fsync fail", "disk full"}
OF_A_PAIR_ALWAYS = {"stderr pause", "disk full"}  # the others at length


def _each() -> Iterator[Any]:
    for trouble in TROUBLES:
        name = trouble.name.replace(" ", "-")
        yield pytest.param(trouble, id=f"{name}-one-server")
        at_length = [] if trouble.name in OF_A_PAIR_ALWAYS else [pytest.mark.pair]
        yield pytest.param(replace(trouble, workers=TWO), id=f"{name}-two-workers", marks=at_length)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shim, built once."""
    return built_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(params=_each())
def trouble(request: pytest.FixtureRequest) -> Trouble:
    """Each of the troubles, of one server and of a pair."""
    found: Trouble = request.param
    return found


@pytest.fixture
def server(tmp_path: Path, shim: Path, trouble: Trouble) -> Iterator[Rig]:
    """A server that is ready, and that trouble is about to come to."""
    with rig(tmp_path, shim, trouble.stderr, trouble.workers) as made:
        made.start("--mock-delay-ms", "10", "--pace-ms", "5")
        made.wait_until_it_listens()
        made.wait_until_it_is_ready()
        yield made


async def connected(server: Rig) -> trio.SocketStream:
    """Return a connection to the server."""
    return await trio.open_tcp_stream("127.0.0.1", server.port)


async def answered(client: Plain, question: str = "what does the standard plan cost?") -> dict[str, Any]:
    """Ask, and return the response, which comes soon."""
    with trio.fail_after(SOON):
        await client.ask(question, id="asked")
        return (await client.until("response"))[-1]


async def confirmed(client: Plain) -> str:
    """Ask for an action and confirm it; return its suggestion's id."""
    with trio.fail_after(SOON):
        await client.ask("please call me on 070-174 06 05 about the standard plan", id="action")
        suggestion = (await client.until("action_suggestion"))[-1]["suggestionId"]
    await client.send(type="confirm_action", suggestionId=suggestion)
    return str(suggestion)


async def provoke(server: Rig, trouble: Trouble, client: Plain) -> str:
    """Let the trouble begin and run into it: log lines, a changed file, a confirmed action. Return the action's id."""
    trouble.begin(server)
    (server.kb / "terms.md").write_text("# Terms\n\nThe return period is 14 days.\n")
    if trouble.stderr != "well":
        for number in range(NOISE):
            await answered(client, f"what does the standard plan cost? {number} " + "x" * 100)
    return await confirmed(client)


def host(server: Rig) -> str:
    """The name that the server answers to."""
    return f"127.0.0.1:{server.port}"


async def test_others_are_answered_and_a_cancel_wins(server: Rig, trouble: Trouble) -> None:
    """In trouble an innocent client is answered, a cancel ends a turn at once, and a confirm is answered; then SIGTERM
    ends the process, and the ledger holds what clients were told."""
    async with (
        plain(await connected(server), host=host(server)) as innocent,
        plain(await connected(server), host=host(server)) as client,
    ):
        assert "299" in (await answered(innocent))["text"]
        action = await provoke(server, trouble, client)
        assert "299" in (await answered(innocent))["text"]
        with trio.fail_after(SOON):
            await innocent.ask("what does the standard plan cost?", id="cancelled")
            await innocent.send(type="cancel", id="cancelled")
            end = (await innocent.until("stream_end"))[-1]
        assert (end["reason"], end["id"]) == ("cancelled", "cancelled")
        with trio.fail_after(CONFIRMED):
            told = (await client.until("action_executed"))[-1]["result"]
        with trio.fail_after(SOON):
            newcomer = await connected(server)
            async with plain(newcomer, host=host(server)) as late:
                assert "299" in (await answered(late))["text"]
    status = await trio.to_thread.run_sync(lambda: server.end(within=GONE))
    assert status == 0
    _agree(server, trouble, action, told)


async def test_the_second_signal_ends_it_now(server: Rig, trouble: Trouble) -> None:
    """With an action in progress, and whatever it waits for in trouble, a second SIGTERM ends the process at once."""
    async with plain(await connected(server), host=host(server)) as client:
        action = await provoke(server, trouble, client)
        status = await trio.to_thread.run_sync(lambda: server.end(0.5, within=GONE_NOW))
        told = [frame["result"] for _, frame in client.frames if frame["type"] == "action_executed"]
    assert status == 0
    _agree(server, trouble, action, told[0] if told else None)


@both_at_length
@pytest.mark.parametrize("mode", ["pause", "slow 3000"])
def test_a_start_can_be_broken_off(tmp_path: Path, shim: Path, mode: str, workers: Flags) -> None:
    """While its files cannot be read, or only slowly, a SIGTERM ends a server that has not begun to listen."""
    with rig(tmp_path, shim, workers=workers) as server:
        server.command("read", mode)
        server.start()
        reading = threading.Event()
        reading.wait(2.0)
        server.end(within=GONE_NOW)


def _agree(server: Rig, trouble: Trouble, action: str, told: dict[str, Any] | None) -> None:
    """Check that no effect happened twice, and that what was recorded is what the client was told."""
    server.command("sync", "")
    server.command("write", "")
    assert server.webhook.effects[action] <= 1
    status = server.ledger().get(action)
    assert status != "claimed", "nobody says how it ended"
    if told is None:
        return
    if told.get("success"):
        assert server.webhook.effects[action] == 1
        assert status == "done" or trouble.name in NOT_RECORDED, json.dumps(told)
    elif trouble.name.startswith("webhook"):
        assert status == ("unknown" if told.get("unknown") else "failed"), json.dumps(told)
