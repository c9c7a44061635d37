"""A memory whose file another process holds costs no turn anything: a real server, a real lock, real time."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

import pytest
import trio

from agent.client.client import Client, connect
from tests.hostile.process import server_process

ASKED = "What does the Standard plan cost?"
HELD = 2.5  # seconds: longer than a write waits for the lock, and than a turn waits for what is remembered
SLOW = 0.15  # seconds more than usual: a turn that waits for the memory takes a quarter of a second more at least
PATIENCE = 60.0  # seconds for another process


@contextmanager
def write_lock(file: Path) -> Iterator[None]:
    """Hold the lock that whoever writes needs."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def turn(client: Client, text: str = ASKED) -> float:
    """Ask, and return how many seconds the answer took."""
    began = time.perf_counter()
    await client.ask(text)
    await client.frames_until("response")
    return time.perf_counter() - began


def counted(file: Path) -> int:
    """How many exchanges are kept, and how many are known to be lost."""
    with closing(sqlite3.connect(file)) as connection:
        kept = connection.execute("SELECT count(*) FROM turns WHERE role = 'user'").fetchone()[0]
        lost = connection.execute("SELECT coalesce(sum(count), 0) FROM gaps").fetchone()[0]
    return int(kept + lost)


@pytest.mark.proof
async def test_turns_go_on_while_the_memory_cannot_be_written(tmp_path: Path) -> None:
    """At their pace; and what was said meanwhile is kept, or counted, once it can be."""
    file = tmp_path / "data" / "memory.sqlite"
    flags = ("--memory", "on", "--data", str(file.parent), "--model", "mock", "--pace-ms", "0")
    asked = 6
    with server_process(*flags, "--rate-limit", "0") as server:
        async with connect(server.url) as client:
            usual = [await turn(client) for _ in range(asked)]
            took = []
            with write_lock(file):
                until = time.perf_counter() + HELD
                while time.perf_counter() < until:
                    took.append(await turn(client))
                    await trio.sleep(0.05)
            took += [await turn(client)]
            usual += [await turn(client) for _ in range(asked)]
            with trio.fail_after(PATIENCE):
                while counted(file) < len(usual) + len(took):  # noqa: ASYNC110 - another process counts
                    await trio.sleep(0.1)
    slowest = 1.5 * median(usual) + SLOW
    assert median(took) < slowest, (usual, took)  # and not each of them: the machine does other things too
