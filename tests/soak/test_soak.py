"""A short soak of a server of its own finds nothing, and a longer one would find what is planted."""

import io
import json
import logging
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import pytest
import structlog
import trio

from agent import cli, log
from agent.errors import UsageError, WireClosed
from agent.ports.action import Call
from agent.soak import command as soak
from agent.soak import inside as soak_inside
from agent.soak import users as soak_users
from agent.soak.account import Tally
from agent.soak.command import Run, percentiles, summary
from agent.soak.inside import Census, Effects, inside
from agent.soak.users import Target
from agent.soak.wire import open_line
from agent.testing.demo import CALL


@pytest.fixture(autouse=True)
def _logged() -> Iterator[None]:
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    log.configure("console", "error")
    yield
    structlog.reset_defaults()
    root.level, root.handlers = before


@pytest.mark.proof
async def test_a_short_soak_keeps_every_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty users for three seconds break nothing and leave nothing, and the result says so."""
    monkeypatch.setattr(soak, "LINE_EVERY", 0.1)
    assert await soak.soak(clients=20, seconds=3, own=True) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["passed"]
    assert not report["failed"]
    assert report["violations"] == {f"I{n}": 0 for n in range(1, 8)}
    assert report["counts"]["ended done"] > 10
    assert report["counts"]["ended cancelled"] > 5
    assert report["counts"]["effects"] > 0
    assert report["objects_left"] == {}
    assert report["tasks"]["start"] == report["tasks"]["end"] < report["tasks"]["warm"]
    assert report["cancel_in_server"]["p99_ms"] > 0
    assert "0 violations, cancel p99" in err


async def test_users_of_another_server_check_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    """With --url nothing is seen from the inside, and the promises are checked all the same."""
    async with inside(1, 8, Tally()) as server:
        status = await soak.soak(url=f"ws://127.0.0.1:{server.app.port}/ws", clients=3, seconds=1)
    report = json.loads(capsys.readouterr().out)
    assert (status, report["failed"]) == (0, [])
    assert report["messages"] > 0
    assert "tasks" not in report


async def test_an_effect_that_begins_twice_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The executor of a soak knows what it has begun."""
    monkeypatch.setattr(soak_inside, "ACTION_SECONDS", 0.0)
    monkeypatch.setattr(soak_inside, "FAILING", 0.0)
    tally = Tally()
    effects = Effects(1, tally)
    for _ in range(2):
        await effects.run(Call("s", "send_sms", {}), lambda: None)
    assert tally.broken == {"I4": 1}


async def test_a_server_that_runs_every_confirm_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug, duplicate effects behind one claim, is found by the first confirm."""
    real = Effects.run

    async def twice(self: Effects, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        await real(self, call, begin)
        return await real(self, call, begin)

    monkeypatch.setattr(Effects, "run", twice)
    monkeypatch.setattr(soak_inside, "ACTION_SECONDS", 0.0)
    monkeypatch.setattr(soak_inside, "FAILING", 0.0)
    tally = Tally()
    async with inside(1, 1, tally) as server, trio.open_nursery() as nursery:
        line = await open_line("127.0.0.1", server.app.port)
        visit = soak_users.Visit("user", line, tally, Random(1))
        nursery.start_soon(visit.read)
        await visit.hear(CALL)
        await line.ping()
        await visit._decide(1)
        await visit.settle()
        await visit.leave("close")
        line.drop()
    assert tally.broken == {"I4": 1}
    assert not summary(Run(1, 1.0, tally))["passed"]


async def test_a_server_that_says_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message without an end is a broken promise once patience is at its end, and so is one who never hangs up."""
    monkeypatch.setattr(soak_users, "PATIENCE", 0.1)
    monkeypatch.setattr(soak_users, "HANG_UP", 0.1)
    tally, stop = Tally(), trio.Event()

    async def deaf(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        while b"\x89" not in await stream.receive_some():
            pass
        await stream.send_all(b"\x8a\x00")
        await trio.sleep_forever()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, deaf, listeners)
        line = await open_line("127.0.0.1", listeners[0].socket.getsockname()[1])
        visit = soak_users.Visit("user", line, tally, Random(1))
        nursery.start_soon(visit.read)
        visit.account.asked("1", 0.0)
        await visit._ended("1")
        await line.ping()
        visit.account.settled()
        await visit.leave("close")
        stop.set()
        nursery.cancel_scope.cancel()
    assert tally.broken == {"I1": 2, "I6": 1}
    line.drop()


async def test_a_server_that_hangs_up_or_lets_nobody_in_is_found_out() -> None:
    """Users who are thrown out, or turned away, say so and come back."""
    tally, stop = Tally(), trio.Event()
    answers = [b"HTTP/1.1 101 \r\n\r\n\x88\x02\x03\xf3", b"HTTP/1.1 503 \r\n\r\n", b""]

    async def rude(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(answers.pop(0))
            if not answers:
                stop.set()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, rude, listeners)
        target = Target("127.0.0.1", listeners[0].socket.getsockname()[1], think=0.01)
        await soak_users.User(1, 1, target, tally, stop).run()
        nursery.cancel_scope.cancel()
    assert tally.broken == {"I7": 3}
    assert "the server hung up with 1011" in " ".join(tally.examples)


def test_wrong_settings_end_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A crowd without end, a foreign server and a URL that is none are refused; no server is status 1."""
    for wrong in (
        ["--clients", "0"],
        ["--seconds", "1e9"],
        ["--url", "ws://example.com/ws"],
        ["--url", "ftp://127.0.0.1/"],
        ["--url", "ws://127.0.0.1:x/"],
    ):
        assert cli.main(["soak", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert cli.main(["soak", "--url", "127.0.0.1:1", "--seconds", "1"]) == 1
    assert "there is no session to be had" in capsys.readouterr().err


async def test_a_connection_that_is_refused_raises() -> None:
    """No server, and a server that hangs up in the handshake."""
    with pytest.raises(WireClosed):
        await open_line("127.0.0.1", 1)
    with pytest.raises(UsageError):
        await soak.soak(url="ws://[::2]:80/ws")


def seen(
    cancels: list[float],
    pings: list[float],
    end: Census,
    steady: tuple[int | None, int | None] = (10**8, 10**8),
    faults: int = 0,
) -> dict[str, Any]:
    """Return the verdict on a minute that was seen from the inside."""
    start = Census(10**8, 8, Counter(x=3))
    run = Run(2, 60.0, pings=pings, faults=faults, steady=steady, server_cancels=array("d", cancels))
    run.censuses = {"start": start, "warm": start, "end": end}
    return summary(run)


def test_the_bars() -> None:
    """Slow cancels, grown memory, a task, an object or an error line left behind: each fails, and says why."""
    back = Census(10**8, 8, Counter(x=3))
    assert seen([0.01], [0.001], back)["passed"]
    assert seen([0.1], [0.05], back)["passed"]
    assert seen([], [], back, steady=(None, None))["passed"]
    assert seen([0.01], [0.001], back, steady=(10**8, 10**8 + 2 * 2**20 - 1))["passed"]
    for report, word in (
        (seen([0.021], [0.001], back), "cancel p99"),
        (seen([0.01], [0.001], Census(10**8, 9, Counter(x=3))), "left behind: 1 tasks"),
        (seen([0.01], [0.001], Census(10**8, 8, Counter(x=4))), "'x': 1"),
        (seen([0.01], [0.001], back, steady=(10**8, 10**8 + 2 * 2**20)), "memory has grown"),
        (seen([0.01], [0.001], back, faults=2), "2 error lines"),
    ):
        assert not report["passed"]
        assert [word in line for line in report["failed"]] == [True]


def test_percentiles() -> None:
    """Nearest rank, in milliseconds."""
    assert percentiles([n / 1000 for n in range(101)]) == {
        "count": 101,
        "p50_ms": 50.0,
        "p99_ms": 99.0,
        "max_ms": 100.0,
    }
    assert percentiles([])["p99_ms"] is None


def test_log_lines_are_counted_and_passed_on() -> None:
    """An error line is a fault of the server's."""
    out = io.StringIO()
    lines = soak._ErrorLines(out)
    lines.write("one\n")
    lines.write("two\n")
    assert (lines.count, out.getvalue()) == (2, "one\ntwo\n")
