"""The database of stories: its tables, the rules that it enforces on their rows, and the claims of its owners.

A version's status moves only as its state table allows, and only in the last scene of a branch that no other branch
inherits; one version of a scene is active at most, and no place below an active scene is empty. Triggers check all of
this, and the table `moves` is filled from the state tables.
"""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from ...stories.versions import CHAPTERS, VERSIONS, moves_of_table
from ..columns import fill_moves
from ..contents import DatabaseContents, OwnerFunctions
from ..migrations import STORY_STEPS
from ..schema import server_metadata
from ..triggers import Trigger
from . import FILE
from .schema import IS_ACTIVE, claims, metadata, moves

VERSION_MOVES: Final = moves_of_table(VERSIONS)
CHAPTER_MOVES: Final = moves_of_table(CHAPTERS)
MOVES: Final = VERSION_MOVES | CHAPTER_MOVES

_PLACED = "FROM scenes s JOIN branches b ON b.number = s.branch WHERE s.number = NEW.scene"
_HOLE = (
    f"NEW.status = 'active' AND NOT EXISTS (SELECT 1 {_PLACED} AND (s.seq = b.cut + 1 OR EXISTS ("
    "SELECT 1 FROM scenes p JOIN versions v ON v.scene = p.number"
    " WHERE p.branch = s.branch AND p.seq = s.seq - 1 AND v.status = 'active')))"
)
_NOT_LAST = (
    f"OLD.status <> NEW.status AND EXISTS (SELECT 1 {_PLACED} AND (EXISTS ("
    "SELECT 1 FROM scenes n JOIN versions v ON v.scene = n.number"
    " WHERE n.branch = s.branch AND n.seq > s.seq AND v.status = 'active')"
    " OR EXISTS (SELECT 1 FROM branches c WHERE c.parent = s.branch AND c.cut >= s.seq)))"
)
_LOG = f"INSERT INTO scene_log (story, scene) SELECT b.story, s.number {_PLACED}"


def _word_triggers(table: str, change: str) -> tuple[Trigger, Trigger]:
    """Return the triggers that let rows of words only be emptied. `change` is true where a word is not emptied."""
    return (
        Trigger(
            name=f"{table}_kept", table=table, event="BEFORE DELETE", refusal="words are emptied, not deleted"
        ),
        Trigger(
            name=f"{table}_frozen",
            table=table,
            event="BEFORE UPDATE",
            when=change,
            refusal="words do not change",
        ),
    )


TRIGGERS = (
    Trigger(
        name="versions_moves",
        table="versions",
        event="BEFORE UPDATE OF status",
        when="OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)",
        refusal="a version does not move so",
    ),
    Trigger(
        name="versions_begin",
        table="versions",
        event="BEFORE INSERT",
        when="NEW.status <> 'active'",
        refusal="a version does not begin so",
    ),
    Trigger(
        name="versions_follow",
        table="versions",
        event="BEFORE INSERT",
        when=_HOLE,
        refusal="a scene follows another",
    ),
    Trigger(
        name="versions_pick",
        table="versions",
        event="BEFORE UPDATE OF status",
        when=f"OLD.status <> NEW.status AND {_HOLE}",
        refusal="a scene follows another",
    ),
    Trigger(
        name="versions_last",
        table="versions",
        event="BEFORE UPDATE OF status",
        when=_NOT_LAST,
        refusal="only the last scene of a branch changes",
    ),
    Trigger(
        name="versions_count",
        table="versions",
        event="AFTER UPDATE OF status",
        follow_up=f"UPDATE states SET counts = CASE WHEN NEW.{IS_ACTIVE} THEN 1 ELSE 0 END WHERE version = NEW.number",
    ),
    Trigger(name="versions_told", table="versions", event="AFTER INSERT", follow_up=_LOG),
    Trigger(name="versions_moved", table="versions", event="AFTER UPDATE OF status", follow_up=_LOG),
    Trigger(
        name="conclusions_moves",
        table="conclusions",
        event="BEFORE UPDATE OF status",
        when="OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)",
        refusal="a chapter does not move so",
    ),
    *_word_triggers("words", "NEW.text <> '' OR NEW.story <> OLD.story"),
    *_word_triggers("version_words", "NEW.text <> '' OR NEW.directive <> '' OR NEW.story <> OLD.story"),
    *_word_triggers("state_words", "NEW.entity <> '' OR NEW.value <> '' OR NEW.story <> OLD.story"),
    *_word_triggers("branches", "NEW.name <> OLD.name AND NEW.name <> ''"),
    *_word_triggers("snapshots", "NEW.packed <> x'' OR NEW.story <> OLD.story"),
)


def fill(connection: sa.Connection, now: int) -> None:
    """Write the rows that belong to the schema, in a write transaction."""
    fill_moves(connection, moves, MOVES)


_AT_WORK: Final = "SELECT owner FROM claims"


def _list_owners(connection: sa.Connection) -> list[str]:
    return [owner for (owner,) in connection.exec_driver_sql(_AT_WORK)]


def _free_claims(connection: sa.Connection, owners: Collection[str], now: int) -> None:
    if owners:
        connection.execute(sa.delete(claims).where(claims.c.owner.in_(owners)))


def _move_claims(connection: sa.Connection, owner: str, to: str) -> None:
    connection.execute(sa.update(claims).where(claims.c.owner == owner).values(owner=to))


STORIES = DatabaseContents(
    file=FILE,
    name="stories",
    unusable="stories cannot be kept in {data}: {why}",
    instead="choose another place with --data DIR",
    steps=STORY_STEPS,
    tables=metadata,
    triggers=TRIGGERS,
    fill=fill,
    server_tables=server_metadata,
    owned=OwnerFunctions(
        at_work=_list_owners,
        settle=_free_claims,
        move=_move_claims,
        prune=lambda connection, now, since: since,
        find_work=lambda version: _AT_WORK,
        folder="tellers",
    ),
)
