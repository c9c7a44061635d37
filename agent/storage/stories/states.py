"""States of entities: values that hold from a scene on, until the next one of the same entity and field.

A state that a version set counts while the version is active, and any state while its scene is in the lineage. A value
that a hand has locked changes by hand only: what a rule or a model finds of it is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...ports.conversation import Scope
from ...ports.stories import STORY_STATES, EntityState
from ..dialect import NUMBER, are_among
from ..prepared import PreparedStatement, encode_among
from ..transaction import Transaction
from . import lineage
from .lineage import BRANCH, LINEAGE, VERSION, BranchRow, id_of
from .schema import COUNTS, number_digest, state_words, states

_COLUMNS: Final = ("story", "branch", "seq", "version", "about", "counts", "field", "setter", "locked")
_WRITE = PreparedStatement(sa.insert(states).returning(states.c.number), *_COLUMNS)
_WORDS = PreparedStatement(sa.insert(state_words), "state", "story", "entity", "value")
_IN_LINEAGE = sa.and_(
    states.c.branch == LINEAGE.c.branch, states.c.seq <= LINEAGE.c.upto, sa.text(f"states.{COUNTS}")
)
_PLACE: Final = 2**48
"""More than there are rows: a state's `seq` times this, and its number, say which of two states is the later one."""
_LATEST_OF = (
    sa.select(sa.func.max(states.c.seq * sa.text(str(_PLACE)) + states.c.number).label("place"))
    .select_from(LINEAGE.join(states, _IN_LINEAGE))
    .group_by(states.c.about)
    .subquery("latest")
)
_VALUES: Final = (
    *(states.c[name] for name in ("about", "seq", "branch", "version", "field", "setter", "locked")),
    state_words.c.entity,
    state_words.c.value,
)
_LATEST = PreparedStatement(
    sa.select(*_VALUES)
    .select_from(
        _LATEST_OF.join(states, states.c.number == _LATEST_OF.c.place % sa.text(str(_PLACE))).join(
            state_words, state_words.c.state == states.c.number
        )
    )
    .order_by(_LATEST_OF.c.place)
)
_AFTER = PreparedStatement(
    sa.select(*_VALUES)
    .select_from(LINEAGE.join(states, _IN_LINEAGE).join(state_words, state_words.c.state == states.c.number))
    .where(states.c.seq > sa.bindparam("after", type_=NUMBER))
    .order_by(states.c.seq, states.c.number)
)
_LOCKED_ONCE = PreparedStatement(
    sa.select(states.c.about)
    .where(
        states.c.story == sa.bindparam("story"), sa.text("locked = 1"), are_among(states.c.about, "abouts")
    )
    .distinct()
)
_COUNT = PreparedStatement(
    sa.select(sa.func.count(sa.distinct(states.c.about))).where(states.c.story == sa.bindparam("story"))
)
_KNOWN = PreparedStatement(
    sa.select(states.c.about)
    .where(states.c.story == sa.bindparam("story"), are_among(states.c.about, "abouts"))
    .distinct()
)


def about(state: EntityState) -> int:
    """Return the digest of a state's entity and field."""
    return number_digest(state.entity, state.field)


def latest_states(connection: sa.Connection, branch: BranchRow, at: int) -> dict[int, EntityState]:
    """Return the latest state of each entity and field up to a scene, by their digests, in the order of setting."""
    return dict(map(_state_of, _LATEST.rows(connection, branch=branch.number, tip=at)))


def states_after(
    connection: sa.Connection, branch: BranchRow, after: int, at: int
) -> list[tuple[int, EntityState]]:
    """Return all states that were set after a scene, up to the scene `at`, with their digests, in their order."""
    return [_state_of(row) for row in _AFTER.rows(connection, branch=branch.number, tip=at, after=after)]


def merge_states(
    earlier: Mapping[int, EntityState], later: Sequence[tuple[int, EntityState]]
) -> tuple[EntityState, ...]:
    """Return the latest state of each entity and field of both, in the order of setting."""
    merged = dict(earlier)
    for digest, state in later:
        merged.pop(digest, None)
        merged[digest] = state
    return tuple(merged.values())


def _state_of(row: tuple[Any, ...]) -> tuple[int, EntityState]:
    digest, seq, branch, version, field, setter, locked, entity, value = row
    return digest, EntityState(
        entity=entity,
        field=field,
        value=value,
        seq=seq,
        branch=id_of(BRANCH, branch),
        by=setter,
        locked=bool(locked),
        version=id_of(VERSION, version) if version else "",
    )


def write_scene_states(
    connection: sa.Connection,
    story: int,
    branch: BranchRow,
    version: int,
    seq: int,
    found: Sequence[EntityState],
) -> tuple[EntityState, ...]:
    """Write the states that a version sets, but for locked ones and those beyond the limit; return the written ones."""
    by_about = {about(each): each for each in found}
    if not by_about:
        return ()
    abouts = encode_among([*by_about])
    locked = {row[0] for row in _LOCKED_ONCE.rows(connection, story=story, abouts=abouts)}
    if locked:
        now = latest_states(connection, branch, seq)
        locked = {digest for digest, state in now.items() if state.locked}
    room = count_room(connection, story)
    known = {row[0] for row in _KNOWN.rows(connection, story=story, abouts=abouts)}
    written: list[EntityState] = []
    for digest, state in by_about.items():
        if digest in locked:
            continue
        if digest not in known:
            if room <= 0:
                continue
            room -= 1
        write_state(connection, story, branch.number, version, seq, state)
        written.append(state)
    return tuple(written)


def count_room(connection: sa.Connection, story: int) -> int:
    """Return how many more entities and fields may have a state."""
    ((number,),) = _COUNT.rows(connection, story=story)
    return STORY_STATES - int(number)


def is_known(connection: sa.Connection, story: int, state: EntityState) -> bool:
    """Return whether the entity and field of a state have one already."""
    return bool(_KNOWN.rows(connection, story=story, abouts=encode_among([about(state)])))


def write_state(
    connection: sa.Connection, story: int, branch: int, version: int, seq: int, state: EntityState
) -> None:
    """Write one state; `version` is 0 for one that a hand has set."""
    row = (story, branch, seq, version or None, about(state), 1, state.field, state.by, int(state.locked))
    ((number,),) = _WRITE.rows(connection, **dict(zip(_COLUMNS, row, strict=True)))
    _WORDS.rows(connection, state=number, story=story, entity=state.entity, value=state.value)


def list_states(
    scope: Scope, story: str, branch: str, at: int | None, history: bool, connection: sa.Connection
) -> tuple[EntityState, ...]:
    """Return the states of a lineage, as of the scene `at`: the latest of each, or with `history` all of them."""
    own = lineage.find_branch(connection, lineage.find_story(connection, scope, story), branch)
    tip = lineage.find_tip(connection, own).seq
    upto = tip if at is None else min(at, tip)
    if history:
        return tuple(state for _, state in states_after(connection, own, -1, upto))
    return tuple(latest_states(connection, own, upto).values())


def set_state(
    scope: Scope, story: str, branch: str, state: EntityState, transaction: Transaction
) -> EntityState:
    """Set a value by hand, as of the branch's last scene, and lock or unlock it."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    seq = lineage.find_tip(connection, own).seq
    made = replace(state, seq=seq, branch=branch, by="hand", version="")
    if not is_known(connection, of.number, made) and count_room(connection, of.number) <= 0:
        raise StoryRefused(
            "story_full",
            f"A story has states of {STORY_STATES} entities and fields at most: change one of them.",
        )
    write_state(connection, of.number, own.number, 0, seq, made)
    return made
