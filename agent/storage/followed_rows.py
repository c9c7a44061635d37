"""Reads the rows of a followed table that a reader has not read yet, each once and as soon as it is committed.

Strategy: rows are read in the order of their places (`dialect.place_of_row`), those of one transaction together. First
come the rows of transactions that had not ended at the reader's mark, then those after it. Each read sees one snapshot
of the database, which names the transactions that have not ended now, for the next mark.
"""

from typing import Any

import sqlalchemy as sa

from ..ports.change_mark import ChangeMark
from .dialect import are_among, commits_in_order, place_of_row, snapshot_of
from .prepared import PreparedStatement, encode_among


class FollowedRows:
    """The rows of `query`, each with its place at the end. `table`: the followed table that the query selects from."""

    def __init__(self, table: sa.Table, query: sa.Select[Any]) -> None:
        place = place_of_row(table)
        placed = query.add_columns(place).order_by(place, table.c.number)
        page = placed.limit(sa.bindparam("most"))
        self._now = PreparedStatement(sa.select(snapshot_of(table)))
        self._late = PreparedStatement(page.where(are_among(place, "among")))
        self._later = PreparedStatement(page.where(place > sa.bindparam("after")))
        self._together = PreparedStatement(placed.where(place == sa.bindparam("at")))

    def find_mark(self, connection: sa.Connection) -> ChangeMark:
        """Return the mark after all rows of the state of the database that `connection` sees."""
        ((found,),) = self._now.rows(connection)
        if isinstance(found, int):
            return ChangeMark(found)
        _, end, running = found.split(":")
        return ChangeMark(int(end) - 1, frozenset(map(int, running.split(","))) if running else frozenset())

    def read(
        self, connection: sa.Connection, after: ChangeMark, limit: int, **values: Any
    ) -> tuple[list[tuple[Any, ...]], ChangeMark, bool]:
        """Return the first rows after a mark, the mark after them, and whether there may be more.

        There are at most `limit` rows, and all of the last one's transaction. Without any, the number of the mark stays
        the same. `values`: those of the query's own parameters.
        """
        rows: list[tuple[Any, ...]] = []
        if after.open:
            rows = self._late.rows(connection, among=encode_among(after.open), most=limit, **values)
        if len(rows) < limit:
            rows += self._later.rows(connection, after=after.number, most=limit - len(rows), **values)
        if not rows and not after.open:
            return rows, after, False
        now = self.find_mark(connection)
        if not rows:
            return rows, ChangeMark(after.number, after.open & now.open), False
        if len(rows) < limit:
            return rows, now, False
        last = rows[-1][-1]
        if not commits_in_order(connection):
            rows = [row for row in rows if row[-1] != last] + self._together.rows(
                connection, at=last, **values
            )
        number = max(after.number, last)
        unread = (each for each in after.open if each > last)
        running = (each for each in now.open if each <= number)
        return rows, ChangeMark(number, frozenset((*unread, *running))), True
