"""Scopes as rows, and the ids of items."""

import re
from typing import Any

import sqlalchemy as sa

from ...errors import NotFound
from ...ports.conversation import Scope
from ..prepared import PreparedStatement
from .schema import scopes

_ID = re.compile(r"i([1-9][0-9]{0,17})", re.ASCII)
_NAMES = ("project", "user", "thread")
_OF = tuple(scopes.c[name] == sa.bindparam(name) for name in _NAMES)
_ONE = PreparedStatement(sa.select(scopes.c.number).where(*_OF))
_MAKE = PreparedStatement(sa.insert(scopes).returning(scopes.c.number), *_NAMES)


def item_scope(scope: Scope) -> Scope:
    """Return the scope of an item: all threads of a user, or one thread without a user."""
    return Scope(scope.project, "" if scope.user else scope.thread, scope.user)


def number_of(id: str) -> int:
    """Return the number in an item's `id`; raises `NotFound` if it is no such id."""
    match = _ID.fullmatch(id)
    if match is None:
        raise NotFound("there is no such thing")
    return int(match[1])


def id_of(number: int) -> str:
    """Return the id of an item's number: letters and digits, for use in citations."""
    return f"i{number}"


def find_scope(connection: sa.Connection, scope: Scope) -> int:
    """Return the number of a scope, or 0, which no row has, if nothing was kept of it."""
    found = _ONE.rows(connection, project=scope.project, user=scope.user, thread=scope.thread)
    return int(found[0][0]) if found else 0


def ensure_scope(connection: sa.Connection, scope: Scope) -> int:
    """Return the number of a scope, inserting it if necessary."""
    known = find_scope(connection, scope)
    if known:
        return known
    ((number,),) = _MAKE.rows(connection, project=scope.project, user=scope.user, thread=scope.thread)
    return int(number)


def scope_of(row: Any) -> Scope:
    """Return the scope in a row that has its columns."""
    return Scope(row.project, row.thread, row.user)
