"""Compiled SQL statements, shared by all the stores of a run.

SQLAlchemy compiles each statement once for an engine, which takes it half a millisecond. A server has one engine; a run
of the tests opens some two thousand stores, and compiled the same statements for each of them, a quarter of the time of
the tests of storage. The engines of SQLite differ in the file that they connect to only.
"""

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

_statements: LRUCache[object, object] = LRUCache(2000)
_make = Engine.__init__


def _make_sharing(engine: Engine, *arguments: object, **options: object) -> None:
    _make(engine, *arguments, **options)  # type: ignore[arg-type]
    engine._compiled_cache = _statements  # type: ignore[assignment]


def share_statements() -> None:
    """Let every engine that is made from now on find what another has compiled.

    A compiled statement is found by its dialect, too, of which each engine has one: they are made equal.
    """
    kind = SQLiteDialect_pysqlite
    kind.__eq__ = lambda _, other: isinstance(other, kind)  # type: ignore[method-assign]
    kind.__hash__ = lambda _: hash(kind)  # type: ignore[method-assign, assignment]
    Engine.__init__ = _make_sharing  # type: ignore[assignment, method-assign]
