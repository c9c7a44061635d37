"""The connection that carries hints, on virtual time over a made-up driver: what it asks, when, and what it leaves."""

import socket
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from agent.ports.hints import Hint
from agent.testing.network import inline

psycopg: Any = pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres import signals  # noqa: E402  # only with the extra
from agent.storage.postgres.signals import (  # noqa: E402
    HINTS_BATCH,
    PAUSE_FIRST,
    PAUSE_MOST,
    PULSE_ANSWER,
    PULSE_EVERY,
    PostgresHints,
)

from .nodes import is_connected  # noqa: E402

OURS, THEIRS = 1, 2  # process ids of server sessions


class Line:
    """A connection with its driver, over a pair of sockets: what the one end writes the other can read.

    `asked` are the statements, each with its time. A `silent` one answers nothing.
    """

    def __init__(self, silent: bool = False) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.asked: list[tuple[float, str]] = []
        self.silent = silent
        self.closed = False
        self.room = True  # for what is sent
        self.executed: list[bytes] = []
        self.pgconn = self
        self.nonblocking = 0
        self.backend_pid = OURS
        self.status = psycopg.pq.ConnStatus.OK
        self._results: deque[object] = deque()
        self._notices: deque[Any] = deque()

    @property
    def socket(self) -> int:
        return self.near.fileno()

    def notify(self, payload: bytes, sender: int = THEIRS) -> None:
        """Let a notification come."""
        self._notices.append(SimpleNamespace(be_pid=sender, extra=payload))
        self.far.send(b"n")

    # --- as psycopg has it

    def execute(self, statement: bytes) -> None:
        self.executed.append(statement)

    def close(self) -> None:
        self.closed = True
        self.near.close()
        self.far.close()

    finish = close

    def consume_input(self) -> None:
        try:
            if not self.near.recv(65536):
                raise psycopg.OperationalError("server closed the connection unexpectedly")
        except BlockingIOError:
            pass

    def send_query(self, statement: bytes, values: tuple[bytes, ...] = ()) -> None:
        self.asked.append((trio.current_time(), b" ".join((statement, *values)).decode()))
        if not self.silent:
            self._results.extend((object(), None))
            self.far.send(b"r")

    def send_query_params(self, statement: bytes, values: list[bytes]) -> None:
        self.send_query(statement, tuple(values))

    def flush(self) -> int:
        return 0 if self.room else 1

    def is_busy(self) -> int:
        return not self._results

    def get_result(self) -> object:
        return self._results.popleft()

    def notifies(self) -> Any:
        return self._notices.popleft() if self._notices else None


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """Every connection that was made."""
    made: list[Line] = []

    def connect(url: str, schema: str) -> Line:
        made.append(Line())
        return made[-1]

    monkeypatch.setattr(signals, "connect", connect)
    return made


def told(line: Line) -> list[str]:
    """What was sent over a connection, without its pulses."""
    return [text.rpartition(" AS hint ")[2] for _, text in line.asked if not text.startswith("--")]


async def test_a_hint_is_notified_at_once(autojump_clock: trio.testing.MockClock, lines: list[Line]) -> None:
    """In a statement of its own; those that wait together go together, the further ones after the answer."""
    hints = PostgresHints("postgresql://h/d", inline)
    async with trio.open_nursery() as nursery:
        hints.send(Hint("call_ended", "before"))  # nobody carries it yet
        nursery.start_soon(hints.run)
        await trio.sleep(1)
        (line,) = lines
        assert (line.executed, line.nonblocking, line.asked) == ([b"LISTEN agent_hints"], 1, [])
        hints.send(Hint("call_ended", "c1"))
        await trio.sleep(0.01)
        assert told(line) == ['{"call_ended c1"}']
        assert line.asked[0][1].startswith("SELECT pg_notify('agent_hints', hint) FROM ")
        for number in range(HINTS_BATCH + 1):
            hints.send(Hint("thread_cancelled", f"t{number}"))
        await trio.sleep(0.1)
        assert [text.count("thread_cancelled") for text in told(line)] == [0, HINTS_BATCH, 1]
        assert [at for at, _ in line.asked] == pytest.approx([1.0, 1.01, 1.01])
        for bad in ("", 'c"}', "c,d", "a b", "x" * 129, "é"):
            hints.send(Hint("call_ended", bad))
        await trio.sleep(0.1)
        assert len(line.asked) == 3
        nursery.cancel_scope.cancel()
    assert line.closed


async def test_a_notification_is_heard_at_once(
    autojump_clock: trio.testing.MockClock, lines: list[Line]
) -> None:
    """Exactly a hint, of another process; whatever else comes is ignored, and however often."""
    hints, heard = PostgresHints("postgresql://h/d", inline), list[Hint]()
    hints.subscribe(heard.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hints.run)
        await trio.sleep(1)
        (line,) = lines
        line.notify(b"call_ended ours", OURS)
        for hostile in (b"", b"call_ended", b"call_ended a b", b"drain n1", b"call_ended \xff", b"x" * 7999):
            line.notify(hostile)
        line.notify(b"call_ended c1")
        await trio.sleep(0.01)
        line.notify(b"thread_cancelled t-1_A")
        await trio.sleep(0.01)
        assert heard == [Hint("call_ended", "c1"), Hint("thread_cancelled", "t-1_A")]
        nursery.cancel_scope.cancel()


async def test_a_quiet_connection_is_tried_at_intervals(
    autojump_clock: trio.testing.MockClock, lines: list[Line]
) -> None:
    """By an empty query, as often as promised, and not more often; a statement counts as one."""
    hints = PostgresHints("postgresql://h/d", inline)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hints.run)
        await trio.sleep(2 * PULSE_EVERY + 1)
        hints.send(Hint("call_ended", "c1"))
        await trio.sleep(2 * PULSE_EVERY - 1)
        (line,) = lines
        times = [1.0, 2.0, 2.2, 3.2]
        assert [at / PULSE_EVERY for at, _ in line.asked] == pytest.approx(times)
        assert [text.startswith("--") for _, text in line.asked] == [True, True, False, True]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["silent", "full", "ended", "broken"])
async def test_a_lost_connection_is_closed_and_made_anew(
    autojump_clock: trio.testing.MockClock, lines: list[Line], how: str
) -> None:
    """One that answers nothing, takes nothing, is closed by the server or broken; hints meanwhile are dropped."""
    hints = PostgresHints("postgresql://h/d", inline)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hints.run)
        await trio.sleep(1)
        (line,) = lines
        lost_by = PULSE_EVERY + PULSE_ANSWER
        if how == "silent":
            line.silent = True
        elif how == "full":
            line.silent, line.room = True, False
            while True:  # nothing more can be written
                try:
                    line.near.send(b"x" * 65536)
                except BlockingIOError:
                    break
        else:
            lost_by = 1.0
            line.far.shutdown(socket.SHUT_RDWR)
            if how == "broken":
                line.status = psycopg.pq.ConnStatus.BAD
        await trio.sleep(lost_by - trio.current_time() + 0.001)
        assert (line.closed, is_connected(hints)) == (True, False)
        hints.send(Hint("call_ended", "lost"))
        await trio.sleep(PAUSE_FIRST)
        assert (len(lines), is_connected(hints)) == (2, True)
        hints.send(Hint("call_ended", "c1"))
        await trio.sleep(0.01)
        assert told(lines[1]) == ['{"call_ended c1"}']
        nursery.cancel_scope.cancel()


async def test_a_server_that_is_away_is_asked_ever_more_seldom(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attempt at a time, with pauses drawn at random, up to the longest one."""
    attempts: list[float] = []
    at_once = 0

    async def connect(function: Callable[[], Any]) -> Any:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        attempts.append(trio.current_time())
        await trio.sleep(4)
        at_once -= 1
        if len(attempts) == 2:
            raise RuntimeError("can't start new thread")
        raise psycopg.OperationalError("Connection refused")

    with trio.move_on_after(600):
        await PostgresHints("postgresql://h/d", connect).run()
    pauses = [later - earlier - 4 for earlier, later in pairwise(attempts)]
    longest = [min(PAUSE_MOST, PAUSE_FIRST * 2**number) for number in range(len(pauses))]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({round(pause, 6) for pause in pauses}) == len(pauses)


class Abandoning:
    """Runs a function a second later, in a thread as it were: also when its caller has left meanwhile."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    async def __call__(self, function: Callable[[], Any]) -> Any:
        finished = trio.Event()

        async def run() -> None:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
                function()
            finished.set()

        self._nursery.start_soon(run)
        await finished.wait()


@pytest.mark.parametrize("tenths", [0, 1, 5, 9, 10, 11, 15, 20, 60, 61, 65, 71])
async def test_a_cancel_leaves_no_connection(
    autojump_clock: trio.testing.MockClock, lines: list[Line], tenths: int
) -> None:
    """At any instant: before, while and after its thread connects, at a pulse, while a hint is sent."""
    async with trio.open_nursery() as nursery:
        hints = PostgresHints("postgresql://h/d", Abandoning(nursery))
        with trio.move_on_after(tenths / 10):
            async with trio.open_nursery() as carrying:
                carrying.start_soon(hints.run)
                for _ in range(20):
                    await trio.sleep(0.5)
                    hints.send(Hint("call_ended", "c1"))
                    if lines:
                        lines[-1].silent = tenths > 70
        await trio.sleep(2)
    assert is_connected(hints) is False
    assert [line.closed for line in lines] == [True] * len(lines)
    assert len(lines) == (2 if tenths > 70 else 1)
