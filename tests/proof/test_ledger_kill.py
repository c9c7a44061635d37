"""Actions at most once, across SIGKILL: real processes over one ledger file, killed at every spot that matters."""

import multiprocessing
import random
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from agent.storage.sqlite.owners import FOLDER

from . import ledger_kill
from .ledger_kill import BEFORE_CLAIM, BEFORE_RECORD, SPOTS, effects

pytestmark = pytest.mark.proof

PATIENCE = 90  # seconds for anything a process is to say
TIMES = 20
SIGKILL = -9

_processes = multiprocessing.get_context("forkserver")
# Imports once, not in each of 150 processes; what is not installed is left out.
_processes.set_forkserver_preload(
    [ledger_kill.__name__, "agent.storage.postgres.place", "sqlalchemy.dialects.postgresql.psycopg"]
)


def _live(life: Callable[..., None], *arguments: Any) -> None:
    """Live, and tell what it fell over: the forkserver's own errors are shown by no test."""
    try:
        life(*arguments)
    except Exception:
        arguments[-1].send(traceback.format_exc())
        raise


@contextmanager
def process(life: Callable[..., None], *arguments: Any) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process and the pipe to it, which also tells of an error; killed at the end, if it has not ended."""
    ours, theirs = _processes.Pipe()
    started = _processes.Process(target=_live, args=(life, *arguments, theirs))
    started.start()
    theirs.close()
    try:
        yield started, ours
    finally:
        started.kill()
        started.join(PATIENCE)
        ours.close()


def told(pipe: Connection) -> Any:
    """What the process says next."""
    assert pipe.poll(PATIENCE), "the process said nothing"
    return pipe.recv()


@pytest.mark.parametrize("spot", SPOTS)
def test_killed_at_a_spot(tmp_path: Path, spot: str) -> None:
    """No effect happens twice, and one whose outcome is not known says unknown and stays as it is."""
    for number in range(TIMES):
        id = f"s{number}"
        with process(ledger_kill.one_action, tmp_path, id, spot) as (killed, pipe):
            assert told(pipe) == spot
            killed.kill()
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
        with process(ledger_kill.after_the_restart, tmp_path, id) as (_, pipe):
            row, happened, again = told(pipe)
        assert happened == (1 if spot == BEFORE_RECORD else 0)
        if spot == BEFORE_CLAIM:
            assert row is None
            assert (again.claimed, again.status) == (True, "done")  # nothing had begun: it may run now, once
        else:
            assert (row.status, row.result["unknown"]) == ("unknown", True)
            assert (again.claimed, again.status) == (False, None)
    expected = 0 if spot == SPOTS[1] else 1
    assert Counter(effects(tmp_path)) == Counter({f"s{n}": expected for n in range(TIMES) if expected})


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Wherever the kill falls, each effect that happened is one row's, happened once, and no row stays claimed."""
    drawn = random.Random(1)
    for number in range(TIMES):
        with process(ledger_kill.many_actions, tmp_path, f"p{number}") as (killed, pipe):
            assert told(pipe) == "open"
            time.sleep(drawn.uniform(0, 0.1))
            killed.kill()
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
    for id, times in Counter(effects(tmp_path)).items():
        assert times == 1, id
    last = {id.split(".")[0]: id for id in effects(tmp_path)}  # of each process that got that far
    assert len(last) > TIMES / 2
    for id in last.values():
        with process(ledger_kill.after_the_restart, tmp_path, id) as (_, pipe):
            row, happened, again = told(pipe)
        assert row is not None
        assert row.status in ("done", "unknown")
        assert (happened, again.claimed) == (1, False)


def test_a_crowd_killed_at_any_moment(tmp_path: Path) -> None:
    """Thirty at a time in one transaction: each effect is one row's and happened once, and no row stays claimed."""
    drawn = random.Random(2)
    for number in range(TIMES):
        with process(ledger_kill.a_crowd_of_actions, tmp_path, f"p{number}") as (killed, pipe):
            assert told(pipe) == "open"
            time.sleep(drawn.uniform(0, 0.3))
            killed.kill()
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
    with process(ledger_kill.every_row, tmp_path) as (_, pipe):
        rows = told(pipe)
    happened = Counter(effects(tmp_path))
    assert (set(happened.values()), len(happened) > TIMES) == ({1}, True)
    assert set(happened) <= set(rows)
    assert set(rows.values()) == {"done", "unknown"}
    assert {id for id, status in rows.items() if status == "done"} <= set(happened)


def test_lost_lock_files_make_nothing_unknown_that_runs(tmp_path: Path) -> None:
    """Without them nobody is proved dead while another lives; who is alone finds the dead all the same."""
    with process(ledger_kill.one_action, tmp_path, "living", BEFORE_RECORD) as (_, living):
        assert told(living) == BEFORE_RECORD
        with process(ledger_kill.one_action, tmp_path, "dead", BEFORE_RECORD) as (_, dead):
            assert told(dead) == BEFORE_RECORD
            shutil.rmtree(tmp_path / FOLDER)
        with process(ledger_kill.every_row, tmp_path) as (_, pipe):
            assert told(pipe) == {"living": "claimed", "dead": "claimed"}
    with process(ledger_kill.every_row, tmp_path) as (_, pipe):
        assert told(pipe) == {"living": "unknown", "dead": "unknown"}
    assert Counter(effects(tmp_path)) == Counter(living=1, dead=1)


def test_eight_claimers_in_four_processes_have_one_winner(tmp_path: Path) -> None:
    """Four processes with two claimers each, on one file: each of fifty ids is won exactly once."""
    ids = [f"s{number}" for number in range(50)]
    won: Counter[str] = Counter()
    with (
        process(ledger_kill.claimers, tmp_path, ids) as (_, first),
        process(ledger_kill.claimers, tmp_path, ids) as (_, second),
        process(ledger_kill.claimers, tmp_path, ids) as (_, third),
        process(ledger_kill.claimers, tmp_path, ids) as (_, fourth),
    ):
        pipes = (first, second, third, fourth)
        assert [told(pipe) for pipe in pipes] == ["open"] * 4
        for pipe in pipes:
            pipe.send("go")
        for pipe in pipes:
            won.update(told(pipe))
    assert won == Counter(dict.fromkeys(ids, 1))


def test_only_the_dead_ones_claims_are_lost(tmp_path: Path) -> None:
    """While one process runs an action another is killed: the third finds the one claimed and the other unknown."""
    with process(ledger_kill.one_action, tmp_path, "living", BEFORE_RECORD) as (_, living):
        assert told(living) == BEFORE_RECORD
        with process(ledger_kill.one_action, tmp_path, "dead", BEFORE_RECORD) as (_, dead):
            assert told(dead) == BEFORE_RECORD
        for id, status in (("living", "claimed"), ("dead", "unknown")):
            with process(ledger_kill.after_the_restart, tmp_path, id) as (_, pipe):
                row, happened, again = told(pipe)
            assert (row.status, happened, again.claimed) == (status, 1, False)
