"""Tables of databases, made once for all the stores of a run.

A new store executes some hundred `CREATE` statements, four milliseconds of CPU. A server does so once; a run of the
tests opens some two thousand stores. Here the tables are made once for each kind of database, and copied page by page
into each new one. A file that has tables already is upgraded as ever.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock

import sqlalchemy as sa

from agent.storage import schema
from agent.storage.columns import fill_moves
from agent.storage.contents import DatabaseContents
from agent.storage.ledger import LEDGER
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.migrations import Step
from agent.storage.sqlite import database_file, upgrade
from agent.storage.sqlite.connection import driver_of

_LEDGER = replace(  # without the project of the house, which has the time at which it was made
    LEDGER, fill=lambda connection, _: fill_moves(connection, schema.moves, schema.MOVES)
)
_KINDS = {id(each.steps): each for each in (_LEDGER, MEMORY)}
_templates: dict[int, sqlite3.Connection] = {}
_copying = Lock()  # else a second copy would overwrite what another opener of the file has written


def share_schemas() -> None:
    """Let every database that is new from now on begin with a copy of the tables."""
    database_file.upgrade_file = _upgrade_or_copy  # type: ignore[attr-defined]


def _upgrade_or_copy(connection: sa.Connection, steps: Mapping[int, Step]) -> None:
    contents = _KINDS.get(id(steps))
    with _copying:
        if contents is not None and _is_empty(driver_of(connection)):
            _find_template(contents).backup(driver_of(connection))
    upgrade.upgrade_file(connection, steps)


def _is_empty(driver: sqlite3.Connection) -> bool:
    ((tables,),) = driver.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return bool(tables == 0)


def _find_template(contents: DatabaseContents) -> sqlite3.Connection:
    """Return a database with the tables and first rows of `contents`, in memory, that any thread may copy."""
    if id(contents.steps) not in _templates:
        template = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        engine = sa.create_engine(
            "sqlite://", creator=lambda: template, poolclass=sa.StaticPool, isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            upgrade.create_missing(connection, contents, 0)
        _templates[id(contents.steps)] = template
    return _templates[id(contents.steps)]
