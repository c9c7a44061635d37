"""Statements for the hottest paths, which the driver runs without SQLAlchemy.

SQLAlchemy prepares values, types and results anew at each call, which takes three to fifty times as long as SQLite
itself, and compiles an expanded `IN (...)` each time. A `PreparedStatement` is written with SQLAlchemy's tables,
compiled once for a database, and run by its driver, which keeps its own compiled form. Its values and rows are the
driver's: whole numbers and text. A collection of values is one parameter, a JSON array (`dialect.are_among`,
`encode_among`).
"""

import json
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from .dialect import NUL, clean_text, name_parameters


class PreparedStatement:
    """A statement whose parameters are named. `columns`: those that an `INSERT` gives values for."""

    def __init__(self, statement: sa.sql.ClauseElement, *columns: str) -> None:
        self._statement = statement
        self._columns = list(columns) or None
        # by the class of the driver's connection
        self._compiled: dict[type[Any], tuple[str, dict[str, Any], bool]] = {}

    def rows(self, connection: sa.Connection, **values: Any) -> list[tuple[Any, ...]]:
        """Run the statement to its end and return its rows. Raises the driver's errors.

        Texts are written without U+0000, as by `CleanText`.
        """
        driver: Any = connection.connection.driver_connection
        known = self._compiled.get(type(driver))
        sql, constants, returns = known or self._compile(type(driver), connection.dialect.name)
        for name, value in values.items():
            if type(value) is str and NUL in value:
                values[name] = clean_text(value)
        ran = driver.execute(sql, constants | values)
        return ran.fetchall() if returns else []

    def _compile(self, driver: type[Any], dialect: str) -> tuple[str, dict[str, Any], bool]:
        compiled: Any = self._statement.compile(dialect=name_parameters(dialect), column_keys=self._columns)
        constants = {name: each.value for name, each in compiled.binds.items() if each.value is not None}
        named = (
            str(compiled),
            {name: constants[name] for name in constants if name in compiled.bind_names.values()},
            isinstance(self._statement, sa.SelectBase) or bool(compiled.effective_returning),
        )
        self._compiled[driver] = named
        return named


def encode_among(values: Collection[int] | Collection[str]) -> str:
    """Return the value of a parameter that `dialect.are_among` reads."""
    return json.dumps([*values])
