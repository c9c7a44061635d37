"""The load client on real sockets: handshakes that fail, slow readers, sockets that are full; and on a real server."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.bench.load.client import Link, Load, Target, room_for
from tests.bench.load.frames import CLOSE
from tests.bench.load.line import Failed
from tests.bench.load.meter import Meter
from tests.bench.load.process import between, family, listens_on, taken
from tests.bench.load.searches import declared
from tests.bench.load.workloads import Plan, idle, storm, talk
from tests.bench.servers import (
    QUESTION,
    ROOT,
    How,
    all_cores,
    cores_for,
    ours,
    python_peer,
    running,
    wait_until_ready,
)
from tests.bench.test_bench_line import served, told

pytestmark = pytest.mark.proof

YES = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"


class Door:
    """A server in the same thread, which says `answers` to each that comes, one after the other."""

    def __init__(self, server: socket.socket, cleanup: ExitStack) -> None:
        self.target = Target(host="127.0.0.1", port=server.getsockname()[1])
        self.accepted: list[socket.socket] = []
        self._server = server
        self._cleanup = cleanup

    def accept(self) -> socket.socket:
        """Accept one, or raise BlockingIOError when there is none."""
        self.accepted.append(self._cleanup.enter_context(self._server.accept()[0]))
        self.accepted[-1].setblocking(False)
        return self.accepted[-1]

    def open(self, load: Load, *answers: bytes, size: int = 1) -> list[Link]:
        """Let so many connections come and be answered; return them once they are in."""

        def look() -> None:
            with suppress(BlockingIOError):
                while True:
                    to = self.accept()
                    for number, answer in enumerate(answers):
                        load.after(0.01 * number, partial(to.sendall, answer))
            load.after(0.005, look)

        look()
        return load.open(self.target, size, lambda line, turn: None, seconds=5)


@contextmanager
def door() -> Iterator[Door]:
    """A door that is closed afterwards, and what came through it."""
    with ExitStack() as cleanup:
        server = cleanup.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
        server.setblocking(False)
        yield Door(server, cleanup)


def until(load: Load, done: Callable[[], bool]) -> None:
    """Run a load until something holds."""
    load.run(done, 5, "what was to happen")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([b"HTTP/1.1 404 Not Found\r\n\r\n"], "404 and not with a WebSocket"),
        ([b"HTTP/1.1 401 Unauthorized\r\n\r\n"], "--token"),
        ([b"HTTP/1.1 429 Too Many Requests\r\n\r\n"], "wait a minute"),
        ([b"SSH-2.0-OpenSSH_9.2\r\n"], "not answer as HTTP"),
        ([b"HTTP/1.1 200" + b" " * 20_000], "200 and not with a WebSocket"),
        ([YES + served(CLOSE, b"\x11\x31")], "--token"),
        ([YES + served(0x82, b"binary")], "0x82"),
    ],
)
def test_a_handshake_that_fails_is_told_in_a_line(answers: list[bytes], said: str) -> None:
    """By what the other end is, and what to do about it."""
    with door() as there, Load() as load, pytest.raises(Failed, match=said) as failed:
        there.open(load, *answers)
    assert "\n" not in str(failed.value)


def test_nobody_there_and_somebody_who_hangs_up_are_told() -> None:
    """A port that nobody listens on; an end that closes without an answer; one that never answers."""
    with door() as there:
        pass
    with Load() as load, pytest.raises(Failed, match="cannot connect"):
        load.open(there.target, 3, lambda line, turn: None)
    with door() as there:
        with Load() as load:
            load.after(0.01, lambda: there.accept().close())
            with pytest.raises(Failed, match="hung up"):
                load.open(there.target, 1, lambda line, turn: None)
        with Load() as load, pytest.raises(Failed, match=r"did not come within 0\.05 s"):
            load.open(there.target, 1, lambda line, turn: None, seconds=0.05)


def test_an_answer_that_comes_in_pieces_lets_in() -> None:
    """A head over several reads, the first frame with its end."""
    with door() as there, Load() as load:
        (link,) = there.open(load, YES[:3], YES[3:40], YES[40:] + told("welcome"))
        assert link.up


def test_hundreds_are_let_in_and_none_after_one_that_is_turned_away() -> None:
    """All of them; but until the first is in nobody else knocks."""
    with door() as there, Load() as load:
        assert all(link.up for link in there.open(load, YES, size=200))
        assert len(there.accepted) == 200
    with door() as there, Load() as load:
        with pytest.raises(Failed, match="503"):
            there.open(load, b"HTTP/1.1 503 Unavailable\r\n\r\n", size=50)
        assert len(there.accepted) == 1
        with pytest.raises(BlockingIOError):
            there.accept()


def test_a_socket_that_is_full_takes_the_rest_later_and_in_order() -> None:
    """Frames that a server does not read wait, whole and in order."""
    with door() as there, Load() as load:
        (link,), (end,) = there.open(load, YES), there.accepted
        until(load, lambda: bool(end.recv(4096, socket.MSG_PEEK)))
        end.recv(4096)
        sent = [bytes([number]) * 200_000 for number in range(60)]
        for data in sent:
            link.send(data)
        taken = bytearray()

        def take() -> bool:
            with suppress(BlockingIOError):
                taken.extend(end.recv(1 << 20))
            return len(taken) == sum(map(len, sent))

        until(load, take)
        assert bytes(taken) == b"".join(sent)


def test_a_slow_reader_reads_no_more_than_it_is_told_and_sees_that_it_is_cut() -> None:
    """A byte at a time; a reset is seen though much is unread, and ends the turn as lost."""
    with door() as there, Load() as load:
        (link,), (end,) = there.open(load, YES), there.accepted
        link.line.ask("price?", load.clock())
        turn = link.line.turn
        link.read_slowly(1, 0.02)
        end.sendall(b"\x81\x7e\xff\xff" + b"w" * 1000)
        quarter = load.clock() + 0.25
        until(load, lambda: load.clock() > quarter)
        assert 3 <= len(link.line._rest) <= 15
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        end.close()
        until(load, lambda: link.lost_at is not None)
        assert turn is not None
        assert turn.outcome == "lost"
        link.send(b"more")  # goes nowhere


def test_a_quiet_load_ends_when_it_is_done() -> None:
    """Though nothing comes and nothing is to happen."""
    with Load() as load:
        soon = load.clock() + 0.2
        until(load, lambda: load.clock() > soon)
        assert load.clock() < soon + 1


def test_too_many_connections_are_told_beforehand() -> None:
    """What the system allows, and what is needed."""
    with pytest.raises(Failed, match="ulimit -Hn"):
        room_for(1 << 30)


@pytest.fixture(name="all_cores")
def _all_cores() -> Iterator[None]:
    """This process is on every core again afterwards."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("all_cores")
def test_a_real_server_is_measured_in_every_way(tmp_path: Path) -> None:
    """Idle sessions, paced turns and their lateness, a storm of cancels, all of ours."""
    with running(ours(), How(20, 20), tmp_path) as server:
        assert listens_on(server.target.port) == server.pid
        with Load() as load:
            found = idle(load, server.target, server.pid, 50)
        assert found["accepts_per_s"] > 0
        assert found["kib_per_connection"] < 1000  # so few may all fit where the start left room
        assert found["rss_mib"] > 20
        with Load() as load:
            plan = Plan(20, 2, [QUESTION], pace=0.02)
            found = declared(server.target, lambda: talk(load, server.target, Meter(server.pid), plan))
        assert found["kept_hits_percent"] == 0  # the servers that are compared keep none
        assert (found["turns"], found["failed"], found["deltas"], found["frames_per_turn"]) == (
            40,
            0,
            800,
            22,
        )
        assert 0 < found["cpu_us_per_delta"] < 10_000
        assert -5 < found["late_p50_percent"] < 200
        with Load() as load:
            found = storm(load, server.target, Meter(server.pid), Plan(20, 2, [QUESTION]), 0.3)
        assert found["turns"] == 40
        assert found["failed"] == 0
        assert found["cancelled"] > 20


def has_command(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for has no command."""
    try:
        return is_there(pid) and Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


@pytest.mark.usefixtures("all_cores")
def test_two_workers_are_measured_as_one_server_is(tmp_path: Path) -> None:
    """What each process takes counts, both work, the client has the cores that are left; none outlives the block."""
    pair = ours("pair", ROOT, "--workers", "2")
    with running(pair, How(0, 0), tmp_path, on=cores_for(2)) as server:
        wait_until_ready(server.target)
        processes = family(server.pid)
        before = [taken(pid) for pid in processes[1:]]
        assert [os.sched_getaffinity(pid) for pid in processes] == [cores_for(2)] * 3
        assert os.sched_getaffinity(0) == (all_cores() - cores_for(2) or all_cores())
        with Load() as load:
            found = talk(load, server.target, Meter(server.pid), Plan(10, 8, ["What does Standard cost?"]))
        workers = [between(was, taken(pid)).cpu for was, pid in zip(before, processes[1:], strict=True)]
    assert (found["turns"], found["failed"]) == (80, 0)
    assert min(workers) > 0
    # On a busy machine the kernel's ticks are a part of it: one worker's alone would be half.
    assert 0.7 * sum(workers) < 80 * found["cpu_us_per_turn"] / 1e6 < 2 * sum(workers)
    end = time.monotonic() + 10  # a busy machine ends them a moment later
    while any(map(has_command, processes)):
        assert time.monotonic() < end
        time.sleep(0.05)


# Each thread starts a child and ends a little later than the last.
THREADS = """
import subprocess, threading, time
def start(number):
    children.append(subprocess.Popen(["sleep", "60"]))
    started.wait()
    time.sleep(0.005 * number)
children, started = [], threading.Event()
threads = [threading.Thread(target=start, args=(number,)) for number in range(100)]
for thread in threads:
    thread.start()
while len(children) < len(threads):
    time.sleep(0.01)
print(flush=True)
input()
started.set()
for thread in threads:
    thread.join()
print(flush=True)
input()
for child in children:
    child.kill()
    child.wait()
"""


def test_a_child_is_found_whatever_became_of_the_thread_that_started_it() -> None:
    """Also in the moment in which that ends, when its children become another thread's."""
    with subprocess.Popen(
        [sys.executable, "-c", THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        found = family(process.pid)
        assert len(found) == 101
        process.stdin.write("\n")
        process.stdin.flush()
        over = threading.Thread(target=process.stdout.readline)
        over.start()
        looks = []
        while over.is_alive():
            looks.append(family(process.pid) == found)
        process.communicate("\n")
    assert len(looks) > 3
    assert all(looks), f"missed {looks.count(False)} times in {len(looks)}"


def is_there(pid: int) -> bool:
    """Whether a process is there, ended or not."""
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        ("trio_plain", ["trio_websocket"]),
        ("websockets_plain", ["websockets"]),
        ("uvicorn_sansio", ["uvicorn", "websockets"]),  # which others bring too, without what it speaks by
        ("picows_yield", ["picows"]),
    ],
)
@pytest.mark.usefixtures("all_cores")
def test_each_peer_speaks_the_wire(module: str, packages: list[str], tmp_path: Path) -> None:
    """Paced or not: the words that were asked for, the end and the response, to every session."""
    peer = python_peer(module, module, *packages)
    if peer.why_not is not None:
        pytest.skip(peer.why_not)
    for pace in (0, 5):
        with running(peer, How(10, pace), tmp_path) as server, Load() as load:
            plan = Plan(3, 2, [QUESTION], pace=pace / 1000 or None)
            found = talk(load, server.target, Meter(server.pid), plan)
        assert (found["turns"], found["failed"], found["deltas"]) == (6, 0, 60)
        assert found["frames_per_turn"] == 12
        assert not pace or found["turn_p50_ms"] >= 40
