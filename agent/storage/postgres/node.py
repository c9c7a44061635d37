"""The place of a process among the nodes of a server: one advisory lock of its session, and one row in `nodes`.

The id of a node is the `owner` of the rows that it works on. Neither the lock nor the row alone tells whether it lives:

- The server drops the lock with the session, so a process that is killed has lost it at once. But so has a process
  whose connection broke, or whose server restarted, and it goes on working: a moment later it is back.
- The row has the time of its last heartbeat, by the server's clock. But a process that waits long for a slow statement,
  a busy machine or a full disk shows none, and it still runs its claims.

| lock | row | the node |
| --- | --- | --- |
| held | of any age | lives |
| free | younger than `NODE_DEAD_AFTER` | has lost its connection: it may come back, and its rows are its own |
| free | older, or missing | is dead: the first node to look ends its work and deletes its row, in one transaction |

A process that is stopped (SIGSTOP, a laptop's lid) keeps its session, so the server ends a node's session that shows no
heartbeat for `SILENT_AFTER`. Awake again, the process makes a new one and takes its lock, which waits for a node that
ends its work at that moment. Then its row tells: as long as it is there nothing was ended; where it is gone, all was,
and the process takes a new place with a new id. So a row that was ended is never written again under its old name.

No epoch stands in the rows: a session that holds the lock belongs to a node that no other has declared dead.

A lock for each session or each claim would tell no more, and some thousands of them hold up every client of the server.
"""

import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import psycopg

from ..settings import NODE_DEAD_AFTER
from .faults import Unusable

SILENT_AFTER: Final = 20.0
"""Seconds without a statement after which the server ends the session of a node: less than `NODE_DEAD_AFTER`."""
GRACE: Final = 10.0
"""Seconds in which nodes may come back to a server that has just started, or to which the looker itself has come back.

The fault that cut off the looker has cut off the others too.
"""
_LOCK_WAIT: Final = 1.0  # seconds for an earlier session, or a looking node, to release the lock
_LOCK_STEP: Final = 0.02

_ID_LENGTH: Final = 16
_NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_STARTED: Final = "(extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint"
_TRY: Final = "SELECT pg_try_advisory_lock(%s), pg_backend_pid()"
_END_EARLIER: Final = """SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND objsubid = 1 AND granted AND pid = %s"""
_INSERT: Final = f"""INSERT INTO nodes (id, since, seen, kb, version) VALUES (%s, {_NOW}, {_NOW}, %s, %s)
ON CONFLICT (id) DO UPDATE SET seen = EXCLUDED.seen, kb = EXCLUDED.kb"""
_RETAKE: Final = f"UPDATE nodes SET seen = {_NOW}, kb = %s WHERE id = %s"
_IS_YOUNG: Final = f"(seen > {_NOW} - {NODE_DEAD_AFTER * 1000:.0f} OR {_STARTED} > {_NOW} - %s)"
_IS_DEAD: Final = f"""SELECT CASE WHEN EXISTS (SELECT FROM nodes WHERE id = %s AND {_IS_YOUNG}) THEN false
ELSE pg_try_advisory_xact_lock(%s) END"""
_SILENT: Final = f"SELECT id, {_IS_YOUNG} FROM nodes"
_REMOVE: Final = "DELETE FROM nodes WHERE id = ANY (%s)"
_HELD: Final = "an earlier connection of this process still has its place: it is tried again"


@dataclass(frozen=True, slots=True)
class NodePlace:
    """The place of a node: its `id`, and the `session` that holds its lock, as the server numbers its processes."""

    id: str
    session: int


def take_place(driver: psycopg.Connection[Any], kb: str, before: NodePlace | None = None) -> NodePlace:
    """Take a place for the session of `driver`, and show the first heartbeat.

    `before` is the place that the process had over another session; it is taken again unless it was given up as dead:
    then the place that is returned has another id. Raises `Unusable` while an earlier session has the lock.
    """
    if before is not None:
        place = _lock(driver, before.id, before.session)
        if driver.execute(_RETAKE, (kb, place.id)).rowcount == 1:
            return place
        driver.execute("SELECT pg_advisory_unlock(%s)", (_key_of(place.id),))
    place = _lock(driver, secrets.token_hex(_ID_LENGTH // 2), 0)
    show_heartbeat(driver, place, kb)
    return place


def show_heartbeat(driver: psycopg.Connection[Any], place: NodePlace, kb: str) -> None:
    """Write that a node lives, and the digest `kb` of the documents that it serves, over the session with its lock."""
    driver.execute(_INSERT, (place.id, kb, _read_version()))


def find_silent_nodes(driver: psycopg.Connection[Any], owners: Collection[str]) -> set[str]:
    """Return the ids, of nodes and of `owners` of rows, that show no heartbeat."""
    nodes = dict(driver.execute(_SILENT, (GRACE * 1000,)).fetchall())
    return {id for id in {*nodes, *owners} if not nodes.get(id, False)}


def is_dead(driver: psycopg.Connection[Any], node: str) -> bool:
    """Tell whether a node is dead; until the transaction ends, no other node finds so, and it cannot come back.

    To be asked in a transaction, and not by the node itself.
    """
    try:
        key = _key_of(node)
    except ValueError:
        return False  # not an id of ours
    row = driver.execute(_IS_DEAD, (node, GRACE * 1000, key)).fetchone()
    return row is not None and bool(row[0])


def remove_nodes(driver: psycopg.Connection[Any], nodes: Collection[str]) -> None:
    """Delete the rows of nodes, in the transaction that ends their work."""
    if nodes:
        driver.execute(_REMOVE, ([*nodes],))


def _lock(driver: psycopg.Connection[Any], id: str, earlier: int) -> NodePlace:
    """Take the lock of a node; end its `earlier` session, where the server has not heard that it is over."""
    key = _key_of(id)
    give_up = time.monotonic() + _LOCK_WAIT
    while True:
        row = driver.execute(_TRY, (key,)).fetchone()
        assert row is not None
        if row[0]:
            return NodePlace(id, int(row[1]))
        high, low = divmod(key % 2**64, 2**32)
        driver.execute(_END_EARLIER, (high, low, earlier))
        if time.monotonic() > give_up:
            raise Unusable(_HELD)
        time.sleep(_LOCK_STEP)


def _key_of(id: str) -> int:
    if len(id) != _ID_LENGTH:
        raise ValueError(id)
    return int.from_bytes(bytes.fromhex(id), "big", signed=True)


def _read_version() -> str:
    try:
        return version("agent-server")
    except PackageNotFoundError:
        return ""
