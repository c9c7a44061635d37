"""Whose rows are whose: scopes, and the ids by which somebody asks."""

import re
from typing import Any

import sqlalchemy as sa

from ...errors import NotFound
from ...ports.conversation import Scope
from .schema import scopes

_ID = re.compile(r"i([1-9][0-9]{0,17})", re.ASCII)
_OF = tuple(scopes.c[name] == sa.bindparam(name) for name in ("project", "user", "thread"))
_ONE = sa.select(scopes.c.number).where(*_OF)
_MAKE = sa.insert(scopes).returning(scopes.c.number)


def whose(scope: Scope) -> Scope:
    """Return the scope that an item of somebody has: every thread of a user's, one thread of nobody's."""
    return Scope(scope.project, "" if scope.user else scope.thread, scope.user)


def number_of(id: str) -> int:
    """Return an item's number; raises `NotFound` for what is no item's id."""
    match = _ID.fullmatch(id)
    if match is None:
        raise NotFound("there is no such thing")
    return int(match[1])


def id_of(number: int) -> str:
    """Return an item's id: letters and digits, as it is cited by."""
    return f"i{number}"


def known(connection: sa.Connection, scope: Scope) -> int:
    """Return the number of a scope, 0 for one of which nothing is kept: no row has it."""
    return connection.execute(_ONE, _names(scope)).scalar_one_or_none() or 0


def made(connection: sa.Connection, scope: Scope) -> int:
    """Return the number of a scope, which is there from now on."""
    return known(connection, scope) or int(connection.execute(_MAKE, _names(scope)).scalar_one())


def read(row: Any) -> Scope:
    """Return the scope of a row that has its names."""
    return Scope(row.project, row.thread, row.user)


def _names(scope: Scope) -> dict[str, str]:
    return {"project": scope.project, "user": scope.user, "thread": scope.thread}
