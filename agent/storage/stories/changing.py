"""Changing the last scene of a branch: undo, redo, another version, a correction.

All of them are refused as `inherited` while another branch has the scene, and as `busy` while a scene is told.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ...errors import StoryRefused
from ...ports.conversation import Scope
from ...ports.stories import BranchTip, EntityState
from ...stories.versions import VersionTrigger
from ..dialect import NUMBER
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import claims, lineage, reading, telling
from . import states as state_rows
from .lineage import SCENE, VERSION, BranchRow, StoryRow, Tip
from .schema import met, scenes, version_words, versions
from .telling import NewVersion

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_SET_UNDONE = PreparedStatement(
    sa.update(scenes).where(scenes.c.number == _OF).values(undone=sa.bindparam("version", type_=NUMBER))
)
_UNDONE = PreparedStatement(
    sa.select(scenes.c.number, scenes.c.undone).where(
        scenes.c.branch == _OF,
        scenes.c.seq == sa.bindparam("seq", type_=NUMBER),
        scenes.c.undone.is_not(None),
    )
)
_BRANCH_OF = PreparedStatement(sa.select(scenes.c.branch).where(scenes.c.number == _OF))
_DIRECTIVE = PreparedStatement(sa.select(version_words.c.directive).where(version_words.c.version == _OF))
_STATUS = PreparedStatement(
    sa.select(versions.c.status).where(
        versions.c.number == _OF, versions.c.scene == sa.bindparam("scene", type_=NUMBER)
    )
)
_MET_AGAIN = PreparedStatement(
    sa.insert(met).from_select(
        ["milestone", "version", "is_met"],
        sa.select(met.c.milestone, sa.cast(sa.bindparam("version", type_=NUMBER), NUMBER), met.c.is_met)
        .where(met.c.version == _OF)
        .order_by(met.c.number),
    )
)


def undo(scope: Scope, story: str, branch: str, at: int, transaction: Transaction) -> BranchTip:
    """Shelve the last scene's active version; its place stands empty."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    tip = _find_last(transaction, own)
    if not tip.seq:
        raise StoryRefused("conflict", "This branch has no scene to undo.")
    telling.move(connection, tip.version, VersionTrigger.SHELVE)
    _SET_UNDONE.rows(connection, of=tip.scene, version=tip.version)
    telling.note_told(connection, of, own, at)
    return reading.read_tip(connection, of, own)


def redo(scope: Scope, story: str, branch: str, at: int, transaction: Transaction) -> BranchTip:
    """Pick again what `undo` shelved last."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    claims.refuse_busy(transaction, own)
    tip = lineage.find_tip(connection, own)
    for scene, version in _UNDONE.rows(connection, of=own.number, seq=tip.seq + 1):
        telling.move(connection, version, VersionTrigger.PICK)
        _SET_UNDONE.rows(connection, of=scene, version=None)
        telling.note_told(connection, of, own, at)
        return reading.read_tip(connection, of, own)
    raise StoryRefused("conflict", "Nothing was undone here since the last change: there is nothing to redo.")


def pick_version(
    scope: Scope, story: str, scene: str, version: str, at: int, transaction: Transaction
) -> BranchTip:
    """Make a shelved version of the last scene active in place of the present one."""
    connection = transaction.connection
    of, own, tip = _find_changed(transaction, scope, story, scene)
    number = lineage.number_of(VERSION, version)
    found = _STATUS.rows(connection, of=number, scene=tip.scene)
    if not found:
        raise lineage.unknown()
    if found[0][0] != "active":
        telling.move(connection, tip.version, VersionTrigger.SHELVE)
        telling.move(connection, number, VersionTrigger.PICK)
        telling.note_change(connection, of, own, at)
    return reading.read_tip(connection, of, own)


def edit_scene(
    scope: Scope,
    story: str,
    scene: str,
    text: str,
    found: Sequence[EntityState],
    at: int,
    transaction: Transaction,
) -> BranchTip:
    """Put a corrected text, as another version, in the place of the last scene's active one."""
    connection = transaction.connection
    of, own, tip = _find_changed(transaction, scope, story, scene)
    ((directive,),) = _DIRECTIVE.rows(connection, of=tip.version)
    asked = telling.read_snapshot(connection, tip.version)  # so that it can still be told again
    new = NewVersion(kind="edit", directive=directive, text=text, at=at, snapshot=asked)
    _, version = telling.write_version(connection, of, own, tip.seq, new)
    _MET_AGAIN.rows(connection, of=tip.version, version=version)
    state_rows.write_scene_states(connection, of.number, own, version, tip.seq, found)
    return reading.read_tip(connection, of, own)


def find_scene_branch(scope: Scope, story: str, scene: str, connection: sa.Connection) -> str:
    """Return the branch that owns a scene of a story."""
    of = lineage.find_story(connection, scope, story)
    for (branch,) in _BRANCH_OF.rows(connection, of=lineage.number_of(SCENE, scene)):
        own = lineage.find_branch(connection, of, lineage.id_of(lineage.BRANCH, branch))
        return lineage.id_of(lineage.BRANCH, own.number)
    raise lineage.unknown()


def _find_changed(
    transaction: Transaction, scope: Scope, story: str, scene: str
) -> tuple[StoryRow, BranchRow, Tip]:
    """Return story, branch and tip of a scene that is to be changed: the last one of the branch that owns it."""
    connection = transaction.connection
    of, number = lineage.find_story(connection, scope, story), lineage.number_of(SCENE, scene)
    for (branch,) in _BRANCH_OF.rows(connection, of=number):
        own = lineage.find_branch(connection, of, lineage.id_of(lineage.BRANCH, branch))
        tip = _find_last(transaction, own)
        if tip.scene != number:
            raise StoryRefused(
                "inherited",
                "Only the last scene of a branch changes: fork before this one, or undo the later ones.",
            )
        return of, own, tip
    raise lineage.unknown()


def _find_last(transaction: Transaction, own: BranchRow) -> Tip:
    """Return the tip of a branch, unless a scene is being told or another branch has it."""
    claims.refuse_busy(transaction, own)
    tip = lineage.find_tip(transaction.connection, own)
    if tip.seq:
        claims.refuse_inherited(transaction.connection, own, tip)
    return tip
