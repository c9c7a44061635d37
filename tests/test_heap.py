"""A process that serves for weeks keeps its memory small, and collects no garbage where there can be none."""

import ctypes
import gc
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from agent import heap
from tests.bench.load.process import family

from .both import Flags, both_at_length


def alone(program: str) -> None:
    """Run a program in a process of its own: here a look at everything is one at a million objects."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def _frozen() -> Iterator[None]:
    """Whatever a test sets aside stays set aside: what was before it does, too."""
    usual = gc.get_threshold()
    noted = list(gc.callbacks)
    gc.set_threshold(*heap._USUAL)  # the run of the tests has another
    yield
    gc.callbacks[:] = noted
    gc.set_threshold(*usual)
    gc.freeze()


@pytest.mark.usefixtures("_frozen")
def test_what_is_set_aside_is_not_visited() -> None:
    """It is garbage no more, whatever happens to it; what comes later is collected as ever."""
    there = [object()]
    heap.freeze_heap()
    known = {id(each) for each in gc.get_objects()}
    later = [object()]
    assert id(there) not in known
    assert id(later) in {id(each) for each in gc.get_objects()}
    assert gc.get_threshold()[2] == heap.FULL_EVERY


@pytest.mark.usefixtures("_frozen")
def test_young_objects_are_collected_rarely_while_documents_are_read() -> None:
    """Afterwards as before, also when the reading fails; how often a full collection is made is left as it is."""
    with suppress(ValueError), heap.collect_rarely():
        assert gc.get_threshold()[0] == 10_000
        heap.freeze_heap()
        raise ValueError
    assert gc.get_threshold() == (*heap._USUAL[:2], heap.FULL_EVERY)


@pytest.mark.usefixtures("_frozen")
def test_what_is_read_beside_clients_is_set_aside_without_a_collection() -> None:
    """However many there are by then, so that nobody waits."""
    heap.freeze_heap()
    made: list[int] = []
    gc.callbacks.append(lambda phase, info: made.append(info["generation"]) if phase == "start" else None)
    clients: list[list[None]] = [[] for _ in range(100)]
    made.clear()
    heap.freeze_so_far()
    assert made == []
    assert id(clients) not in {id(each) for each in gc.get_objects()}


@pytest.mark.usefixtures("_frozen")
def test_when_the_server_has_ended_garbage_is_collected_as_before() -> None:
    """Whoever goes on in its process finds nothing of it in the collector."""
    heap.freeze_heap()
    heap.restore_collection()
    heap.restore_collection()
    assert heap._after_collection not in gc.callbacks
    assert gc.get_threshold() == heap._USUAL


AGES = """
import gc, weakref
from agent import heap

class Kept:
    pass

heap.freeze_heap()
ring = []
ring.append(ring)
lost = weakref.ref(kept := Kept())
ring.append(kept)
gc.collect()
assert id(ring) not in {id(each) for each in gc.get_objects()}
del ring, kept
for _ in range(heap.WHOLE_EVERY - 2):
    gc.collect()
assert lost() is not None
gc.collect()
assert lost() is None
"""


CROWD = """
import gc
from agent import heap

heap.WHOLE_EVERY, heap._WHOLE_TRIES, heap.WHOLE_LATEST = 4, 2, 12
visited = []
gc.unfreeze, unfreeze = lambda: (visited.append(heap._whole.since), unfreeze()), gc.unfreeze
crowd = [[] for _ in range(heap.WHOLE_MOST + 1)]
heap.freeze_heap()
for _ in range(11):
    gc.collect()
assert visited == [] and gc.get_freeze_count() > heap.WHOLE_MOST
gc.collect()
assert visited == [0]
for _ in range(5):
    gc.collect()
crowd.clear()
assert visited == [0]
gc.collect()
assert visited == [0, 0]
"""


AWAY = """
import gc, sys, threading
from agent import heap

ended = set()

class Kept:
    def __del__(self):
        ended.add(threading.get_ident())

def let_go():
    for _ in range(100):
        some = [Kept() for _ in range(1000)]
        gc.collect(1)
        gc.collect(1)
        while some:
            some.pop()

sys.setswitchinterval(1e-6)
other = threading.Thread(target=let_go)
other.start()
while other.is_alive():
    heap._after_collection("stop", {"generation": 1})
assert ended == {other.ident}
"""


def test_who_counts_what_there_is_ends_nothing_of_another_thread() -> None:
    """A thread that holds another's last object for a moment ends it: a statement's end waits for its database."""
    alone(AWAY)


def test_a_full_collection_looks_only_at_what_has_come_since_the_last() -> None:
    """What it leaves is set aside; a later one, every so often, looks at that too and finds what has become garbage."""
    alone(AGES)


def test_a_collection_of_everything_waits_until_a_crowd_has_left() -> None:
    """So that it holds nobody up for long; a crowd that never leaves puts it off for a while only."""
    alone(CROWD)


@pytest.mark.usefixtures("_frozen")
def test_serving_begins_without_a_collection() -> None:
    """There may be clients by then, whom a look at everything would hold up, and it would find next to nothing."""
    made: list[int] = []
    gc.callbacks.append(lambda phase, info: made.append(info["generation"]) if phase == "start" else None)
    heap.freeze_heap()
    assert 2 not in made


@pytest.mark.usefixtures("_frozen")
def test_when_much_has_come_it_is_looked_at_and_set_aside_at_once() -> None:
    """A crowd's objects are not left to grow until a look at them holds everybody up."""
    heap.freeze_heap()
    few: list[list[None]] = [[] for _ in range(heap.MANY // 2)]
    gc.collect(1)
    assert id(few[0]) in {id(each) for each in gc.get_objects()}
    many: list[list[None]] = []
    while id(few[0]) in {id(each) for each in gc.get_objects()}:
        many += [[] for _ in range(5000)]  # which the interpreter collects as it sees fit
        assert len(many) < 4 * heap.MANY
    assert gc.get_threshold()[2] == heap.FULL_EVERY


SEES = """
import gc
from agent import heap

there = [object()]
heap.freeze_heap()
with heap.unfreeze_heap():
    gc.collect()
    assert id(there) in {id(each) for each in gc.get_objects()}
assert id(there) not in {id(each) for each in gc.get_objects()}
later = [object()]
gc.collect()
assert id(later) not in {id(each) for each in gc.get_objects()}
"""


def test_who_counts_sees_everything() -> None:
    """For the time of a block, and what is there then is set aside after it."""
    alone(SEES)


LEFT = """
import random
from pathlib import Path
from agent import heap

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

heap.share_heaps()
heap.freeze_heap()
random.seed(1)
crowd = [(number, str(number), [number]) for number in range(300_000)]
random.shuffle(crowd)
del crowd
before = resident()
heap.release_heap()
assert before - resident() > 15 * 2**20, (before, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what is free is given back by glibc")
def test_what_a_crowd_leaves_goes_back_to_the_system() -> None:
    """A few thousand freed objects, kept for reuse all over its memory, do not hold the rest of it."""
    alone(LEFT)


HELD = """
from pathlib import Path
from agent import heap

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

heap.share_heaps()
crowd = [(number, str(number), [number]) for number in range(300_000)]
full = resident()
left = crowd[::1000]
del crowd
for _ in range(2):
    heap.release_heap()
    assert full - resident() > 40 * 2**20, (full, resident())
    again = [(number, str(number), [number]) for number in range(300_000)]
    heap.reuse_heap()
    assert not heap._held
    assert all(each == (number, str(number), [number]) for number, each in enumerate(again))
    assert all(each == (each[2][0], str(each[2][0]), each[2]) for each in left)
    del again
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what is free is given back by glibc")
def test_a_few_objects_that_a_crowd_leaves_do_not_keep_its_memory() -> None:
    """Though one of them lies in each megabyte; all that lives, was there or comes later is as it was."""
    alone(HELD)


def test_with_an_allocator_for_debugging_no_pool_is_held() -> None:
    """Its blocks have something before and behind them, so that they are not where a pool has its blocks."""
    held = "from agent import heap; [[] for _ in range(99_999)]; heap.release_heap(); print(heap._held)"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", held], capture_output=True, text=True, check=True
    )
    assert done.stdout == "array('Q')\n"


def test_the_operator_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """MALLOC_ARENA_MAX stands; without it the number of heaps is set where the system is glibc's."""
    monkeypatch.setenv("MALLOC_ARENA_MAX", "7")
    assert not heap.share_heaps()
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    assert heap.share_heaps() is (platform.libc_ver()[0] == "glibc")


def test_another_system_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no such function nothing is said or done."""

    class Bare:
        def __init__(self, name: None) -> None:
            self.name = name

    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", Bare)
    assert not heap.share_heaps()


EDITS = 40
GROWN = 24 * 2**20  # 6 with shared heaps, 16 on a busy machine, 38 or more without


@pytest.mark.proof
@both_at_length
@pytest.mark.skipif(not heap.share_heaps(), reason="only glibc has several heaps")
def test_a_folder_that_is_edited_often_does_not_fill_the_memory(tmp_path: Path, workers: Flags) -> None:
    """`agent serve` takes over 40 edits and does not keep the buffers of the indexes before, in no process of it."""
    page = tmp_path / "kb" / "page.md"
    page.parent.mkdir()
    page.write_text("# A\n\nIt costs 1 kr.\n")
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    reading = 2 if workers else 1  # so many say it
    quiet = ("--port", "0", "--data", "memory", "--kb", str(page.parent))
    with subprocess.Popen(
        [sys.executable, "-m", "agent", "serve", *quiet, *workers],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        assert server.stderr is not None
        try:
            _wait_for(server.stderr, reading, "what=", "knowledge base")
            sizes = []
            for edit in range(EDITS):
                page.write_text(f"# A\n\nIt costs {edit + 2} kr.\n")
                _wait_for(server.stderr, reading, "reloaded")
                sizes.append([_resident(process) for process in family(server.pid)])
                time.sleep(0.05)
        finally:
            server.kill()
    for of_one in zip(*sizes, strict=True):
        assert max(of_one) - of_one[0] < GROWN, of_one


def _wait_for(log: IO[str], times: int, *words: str) -> None:
    """Read lines until so many of them had all these words."""
    while times:
        line = log.readline()
        assert line, "it has ended"
        times -= all(word in line for word in words)


def _resident(process: int) -> int:
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
