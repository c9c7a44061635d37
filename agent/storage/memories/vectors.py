"""The vectors of words, as rows: one for each embedder, emptied with their words.

Triggers see to it that a vector is written only where there are words, and emptied with them (`schema.py`).
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ...ports.vectors import PackedVector, VectorKind
from ..dialect import insert
from ..transaction import Transaction
from .known_ids import numbers_of
from .schema import embedders, vectors
from .scopes import id_of

_KIND = sa.select(embedders.c.number).where(
    embedders.c.name == sa.bindparam("name"), embedders.c.dimension == sa.bindparam("dimension")
)
_MAKE = sa.insert(embedders).returning(embedders.c.number)
_KEEP = insert(vectors).on_conflict_do_nothing()
_AMONG: sa.BindParameter[list[int]] = sa.bindparam("among", expanding=True)
_BY: sa.BindParameter[int] = sa.bindparam("by")
_SELECT = sa.select(vectors).where(vectors.c.embedder == _BY, vectors.c.steps != b"")
_OF_TURNS = _SELECT.where(vectors.c.turn.in_(_AMONG))
_OF_ITEMS = _SELECT.where(vectors.c.item.in_(_AMONG))
_DROP = sa.delete(vectors)
_COUNT = (
    sa.select(embedders.c.name, sa.func.count())
    .join(vectors, vectors.c.embedder == embedders.c.number)
    .where(vectors.c.steps != b"")
    .group_by(embedders.c.name)
)


def keep_vectors(kind: VectorKind, packed: Sequence[PackedVector], transaction: Transaction) -> None:
    """Insert vectors of one kind (see `keep_vectors` of the port `MemoryStore`)."""
    connection = transaction.connection
    by = _number(connection, kind) or int(connection.execute(_MAKE, _names(kind)).scalar_one())
    rows = []
    for each in packed:
        numbers = numbers_of([each.id])
        turn, item = (next(iter(numbers[letter]), None) for letter in "ti")
        rows.append({"embedder": by, "turn": turn, "item": item, "scale": each.scale, "steps": each.steps})
    if rows:
        connection.execute(_KEEP, rows)


def load_vectors(
    kind: VectorKind, ids: Collection[str], connection: sa.Connection
) -> tuple[PackedVector, ...]:
    """Return the kept vectors of one kind for these `ids` (see `vectors` of the port `MemoryStore`)."""
    by = _number(connection, kind)
    if not by:
        return ()
    numbers = numbers_of(ids)
    turns = connection.execute(_OF_TURNS, {"by": by, "among": numbers["t"]})
    items = connection.execute(_OF_ITEMS, {"by": by, "among": numbers["i"]})
    return (
        *(PackedVector(f"t{row.turn}", row.steps, row.scale) for row in turns),
        *(PackedVector(id_of(row.item), row.steps, row.scale) for row in items),
    )


def drop_vectors(transaction: Transaction) -> int:
    """Delete all vectors; return their number."""
    return transaction.connection.execute(_DROP).rowcount


def count_vectors(connection: sa.Connection) -> dict[str, int]:
    """Return the number of kept vectors by the name of their embedder."""
    return {name: int(count) for name, count in connection.execute(_COUNT)}


def _number(connection: sa.Connection, kind: VectorKind) -> int:
    """Return the number of a kind, 0 if no vectors of it are kept."""
    return connection.execute(_KIND, _names(kind)).scalar_one_or_none() or 0


def _names(kind: VectorKind) -> dict[str, str | int]:
    return {"name": kind.name, "dimension": kind.dimension}
