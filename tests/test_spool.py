"""Lines before a descriptor that does not take them: nobody waits, none is out of order, and what is lost is said."""

import fcntl
import os
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from agent.spool import Spool, descriptor_of

PATIENCE = 30.0  # seconds; none of them is spent unless something hangs
PIPE = 4096  # bytes, the smallest there is


class Pipe:
    """A small pipe, and a spool before it."""

    def __init__(self, lines: int = 8, size: int = 1 << 20) -> None:
        self.lost = 0
        self.read, self.write = os.pipe()
        fcntl.fcntl(self.write, fcntl.F_SETPIPE_SZ, PIPE)
        self.spool = Spool(self.write, lambda lines: b"%d missing\n" % lines, self._dropped, lines, size)

    def _dropped(self) -> None:
        self.lost += 1

    def fill(self, lines: int = 100, length: int = 1000) -> list[bytes]:
        """Fill the pipe and put lines that nobody reads; return those that were taken."""
        os.write(self.write, b"-" * PIPE)
        made = [b"%0*d\n" % (length - 1, number) for number in range(lines)]
        return [line for line in made if self.spool.put(line)]

    def all(self) -> bytes:
        """Return all that is written, and read until it is."""
        read = bytearray()

        def read_to_the_mark() -> None:
            while not read.endswith(b"\0"):
                read.extend(os.read(self.read, 65536))

        reading = threading.Thread(target=read_to_the_mark)
        reading.start()
        while not self.spool.close(PATIENCE):  # one that has given up before says so at once
            os.sched_yield()
        os.write(self.write, b"\0")
        reading.join(PATIENCE)
        return bytes(read[:-1]).lstrip(b"-")

    def end(self) -> None:
        """Close what is still open."""
        self.spool.close(PATIENCE)
        for each in (self.read, self.write):
            os.close(each)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe of which the spool takes eight lines."""
    made = Pipe()
    yield made
    made.all()  # whatever a test has left
    made.end()


def test_lines_are_written_in_their_order(pipe: Pipe) -> None:
    """Whoever puts them, and however fast."""
    put: list[bytes] = []
    for number in range(300):
        line = b"%d\n" % number
        if pipe.spool.put(line):
            put.append(line)
        else:
            assert pipe.spool.close(PATIENCE)
    assert [line for line in pipe.all().splitlines(keepends=True) if b"missing" not in line] == put


def test_nobody_waits_for_a_pipe_that_nobody_reads(pipe: Pipe) -> None:
    """What does not fit is dropped and counted, and said in one line, where it is missing."""
    taken = pipe.fill(100)
    assert pipe.lost == 100 - len(taken)
    assert 8 <= len(taken) <= 9  # one may be the thread's already
    assert not pipe.spool.close(0)
    assert pipe.all() == b"".join(taken) + b"%d missing\n" % pipe.lost
    pipe.spool.put(b"again\n")
    assert pipe.all() == b"again\n"


def test_bytes_are_bounded_too() -> None:
    """Long lines are fewer; one that never fits is dropped."""
    pipe = Pipe(lines=1000, size=5000)
    taken = pipe.fill(100)
    assert 5 <= len(taken) <= 6
    assert pipe.all().endswith(b"%d missing\n" % (100 - len(taken)))
    assert not pipe.spool.put(b"x" * 5001)
    assert pipe.all() == b"1 missing\n"
    assert pipe.lost == 101 - len(taken)
    pipe.end()


def test_a_slow_reader_gets_one_notice_and_then_whole_stretches(pipe: Pipe) -> None:
    """Lines are taken again when half of the queue is free, not one for each that was read."""
    taken = len(pipe.fill(100))
    for _ in range(3):  # room for one, and then for another
        os.read(pipe.read, 1000)
        assert not pipe.spool.put(b"x\n")
    assert pipe.all().count(b"missing") == 1
    assert pipe.lost == 103 - taken


def test_a_reader_that_has_gone_is_no_error(pipe: Pipe) -> None:
    """Each line is lost and counted, and nothing is raised or waited for."""
    os.close(pipe.read)
    for _ in range(3):
        assert pipe.spool.put(b"x\n")
        assert pipe.spool.close(PATIENCE)
    assert pipe.lost == 3
    pipe.read, write = os.pipe()
    os.dup2(write, pipe.write)  # somebody reads again
    os.close(write)
    pipe.spool.put(b"y\n")
    assert pipe.all() == b"3 missing\ny\n"


def test_a_full_disk_is_no_error() -> None:
    """As a reader that has gone."""
    full = os.open("/dev/full", os.O_WRONLY)
    lost: list[None] = []
    spool = Spool(full, lambda _: b"", lambda: lost.append(None))
    spool.put(b"x\n")
    assert spool.close(PATIENCE)
    assert len(lost) == 1
    os.close(full)


def test_half_a_line_is_ended_before_the_next(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that failed within a line does not join two lines."""
    real = os.write
    calls: list[Any] = [3, OSError]

    def write(descriptor: int, data: Any) -> int:
        if not calls or descriptor != pipe.write:
            return real(descriptor, data)
        call = calls.pop(0)
        if isinstance(call, int):
            return real(descriptor, data[:call])
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "write", write)
    pipe.spool.put(b"abcdef\n")
    pipe.spool.close(PATIENCE)
    pipe.spool.put(b"next\n")
    assert pipe.all() == b"abc\n1 missing\nnext\n"


def test_a_descriptor_that_somebody_made_non_blocking_is_waited_for(pipe: Pipe) -> None:
    """Programs that share a terminal do that to each other."""
    os.set_blocking(pipe.write, False)
    taken = pipe.fill(100)
    assert len(taken) < 100
    assert pipe.all() == b"".join(taken) + b"%d missing\n" % pipe.lost


def test_a_thread_that_dies_is_replaced(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the next line; the line it died of is missing, and said to be."""
    real = os.write
    died: list[Any] = []

    def write(descriptor: int, data: Any) -> int:
        if descriptor == pipe.write and not died:
            raise MemoryError
        return real(descriptor, data)

    monkeypatch.setattr(threading, "excepthook", died.append)
    monkeypatch.setattr(os, "write", write)
    pipe.spool.put(b"x\n")
    pipe.spool.close(PATIENCE)
    (writer,) = [each.thread for each in died]
    writer.join(PATIENCE)
    assert pipe.lost == 1
    pipe.spool.put(b"y\n")
    assert pipe.all() == b"1 missing\ny\n"


def test_the_end_waits_once(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has waited in vain does not wait again, so that two who see to the end do not add up."""
    real = threading.Condition.wait_for
    waited: list[float | None] = []

    def wait_for(self: threading.Condition, predicate: Any, timeout: float | None = None) -> bool:
        waited.append(timeout)
        return bool(real(self, predicate, 0.01))

    monkeypatch.setattr(threading.Condition, "wait_for", wait_for)
    pipe.fill(100)
    assert not pipe.spool.close(7)
    assert not pipe.spool.close(7)
    assert waited == [7, 0]


def test_the_thread_is_a_daemon_and_ends_when_closed(pipe: Pipe) -> None:
    """Nothing of it is left, and a later line is written all the same."""
    pipe.spool.put(b"x\n")
    (writer,) = [each for each in threading.enumerate() if each.name == "log"]
    assert writer.daemon
    assert pipe.spool.close(PATIENCE)
    writer.join(PATIENCE)
    assert not writer.is_alive()
    pipe.spool.put(b"y\n")
    assert pipe.all() == b"x\ny\n"


def test_a_fork_and_a_machine_without_threads(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines wait for a thread that can be had; a child writes its own lines, and leaves its parent's alone."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert pipe.spool.put(b"parent\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads is what this is about
        child = os.fork()
    if not child:
        try:
            pipe.spool.put(b"child\n")
            os._exit(not pipe.spool.close(PATIENCE))
        finally:
            os._exit(2)
    assert os.waitpid(child, 0) == (child, 0)
    pipe.spool.put(b"more\n")
    assert pipe.all() == b"child\nparent\nmore\n"


def test_a_stream_without_a_descriptor_has_none() -> None:
    """Nothing, a closed file, a buffer."""
    with open(os.devnull) as closed:
        assert descriptor_of(closed) == closed.fileno()
    assert descriptor_of(closed) is None
    assert descriptor_of(None) is None
