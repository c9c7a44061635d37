"""Forgetting what was said in a thread: the words of its messages, and of answers to requests that told of them.

What is left are rows without words: ids, times, who said something, and how it ended. The request says that it erases,
so that the log is cut off before it is answered; the database overwrites what it frees (PRAGMA secure_delete).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from ..ports.memory import StoredTurn
from .schema import idempotency, messages
from .transaction import Transaction

_ASKED = messages.alias("asked")
_TURN = (
    sa.select(_ASKED.c.turn)
    .where(_ASKED.c.project_id == sa.bindparam("project"), _ASKED.c.id == sa.bindparam("message"))
    .scalar_subquery()
)
_EMPTY = sa.update(messages).where(
    messages.c.project_id == sa.bindparam("project"),
    messages.c.thread_id == sa.bindparam("thread"),
    messages.c.turn == _TURN,
    sa.or_(messages.c.role == "assistant", sa.bindparam("whole", type_=sa.Boolean)),
    messages.c.status != "pending",
)
_UNSAY = _EMPTY.values(content="", citations=[])
_TELLS: sa.ColumnElement[Any] = sa.func.instr(
    idempotency.c.answer, sa.cast(sa.bindparam("id"), sa.LargeBinary)
)
_UNTELL = sa.update(idempotency).where(idempotency.c.owner.is_(None), _TELLS > 0).values(answer=b"")


def forget(turns: Sequence[StoredTurn], item: str, transaction: Transaction) -> None:
    """Empty what was said; what the port says of `forget`."""
    transaction.erases = True
    connection = transaction.connection
    for turn in turns:
        connection.execute(
            _UNSAY,
            {
                "project": turn.scope.project,
                "thread": turn.scope.thread,
                "message": turn.remark.message,
                "whole": turn.remark.role == "user",
            },
        )
    for id in _named(turns, item):
        connection.execute(_UNTELL, {"id": f'"{id}"'.encode()})


def _named(turns: Iterable[StoredTurn], item: str) -> list[str]:
    """Return the ids by which an answer names what is forgotten."""
    return [*dict.fromkeys(turn.remark.message for turn in turns), *([item] if item else [])]
