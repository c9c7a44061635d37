"""Claims: the right to tell the next scene of a branch, or another version of its last one.

A branch has one claim at most, which names the process that tells. A claim whose owner has ended is free at once; those
of the dead are freed when the database is opened, too. While a scene is told, the last scene of its branch does not
change.
"""

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...ports.stories import BRANCH_SCENES, BranchTip, SceneClaim
from ..dialect import NUMBER, insert
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import lineage
from .lineage import SCENE, VERSION, BranchRow, Tip
from .schema import branches, claims, scenes

_NAMES: Final = ("id", "branch", "owner", "message", "seq", "retold", "at")
_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_CLAIM = PreparedStatement(
    insert(claims).on_conflict_do_nothing(index_elements=["branch"]).returning(claims.c.number), *_NAMES
)
_HELD = PreparedStatement(
    sa.select(claims.c.owner, claims.c.seq, claims.c.retold).where(claims.c.branch == _OF)
)
_FREE = PreparedStatement(
    sa.delete(claims).where(claims.c.branch == _OF, claims.c.owner == sa.bindparam("owner"))
)
_RELEASE = PreparedStatement(sa.delete(claims).where(claims.c.id == sa.bindparam("id")))
_FIND = PreparedStatement(
    sa.select(claims.c.branch, claims.c.seq, claims.c.retold).where(claims.c.id == sa.bindparam("id"))
)
_IS_OF_STORY = PreparedStatement(
    sa.select(scenes.c.number)
    .join(branches, branches.c.number == scenes.c.branch)
    .where(scenes.c.number == _OF, branches.c.story == sa.bindparam("story", type_=NUMBER))
)
_INHERITED = PreparedStatement(
    sa.select(branches.c.number)
    .where(branches.c.parent == _OF, branches.c.cut >= sa.bindparam("seq", type_=NUMBER))
    .limit(1)
)


def claim_scene(
    wanted: SceneClaim, seen: BranchTip, message: str, at: int, transaction: Transaction
) -> SceneClaim:
    """Make the claim `wanted`, of which the place is not known yet (see `claim_scene` of the port `StoryStore`)."""
    connection = transaction.connection
    story = lineage.find_story(connection, wanted.scope, seen.story)
    branch = lineage.find_branch(connection, story, seen.branch)
    tip = lineage.find_tip(connection, branch)
    if (tip.seq, _version_id(tip)) != (seen.seq, seen.version):
        refuse_busy(transaction, branch)  # the one that goes on is the reason
        raise StoryRefused("moved", "The story has gone on elsewhere: open the branch again.")
    seq, scene = tip.seq + 1, 0
    if wanted.retold:
        scene = lineage.number_of(SCENE, wanted.retold)
        if scene != tip.scene:
            if not _IS_OF_STORY.rows(connection, of=scene, story=story.number):
                raise lineage.unknown()
            raise StoryRefused(
                "inherited", "Only the last scene of a branch is told again: fork before that one."
            )
        refuse_inherited(connection, branch, tip)
        seq = tip.seq
    if seq > BRANCH_SCENES:
        raise StoryRefused(
            "story_full",
            f"A branch has at most {BRANCH_SCENES} scenes: fork at an earlier one, or begin a story.",
        )
    row = {"id": wanted.id, "branch": branch.number, "owner": transaction.owner, "message": message}
    refuse_busy(transaction, branch)
    if not _CLAIM.rows(connection, **row, seq=seq, retold=scene, at=at):
        raise _busy()
    return replace(wanted, seq=seq)


def _version_id(tip: Tip) -> str:
    return lineage.id_of(VERSION, tip.version) if tip.version else ""


def _busy() -> StoryRefused:
    return StoryRefused("busy", "A scene of this branch is being told: wait for its end.")


def refuse_busy(transaction: Transaction, branch: BranchRow, seq: int = 0) -> None:
    """Raise `busy` while a living process tells a scene of `branch`; with `seq` only if it tells that scene again.

    The claim of a process that has ended is freed.
    """
    for owner, told, retold in _HELD.rows(transaction.connection, of=branch.number):
        if transaction.dead(owner):
            _FREE.rows(transaction.connection, of=branch.number, owner=owner)
        elif not seq or (retold and told == seq):
            raise _busy()


def refuse_inherited(connection: sa.Connection, branch: BranchRow, tip: Tip) -> None:
    """Raise `inherited` unless the last scene of a branch is its own, and no other branch has it."""
    if tip.owner != branch.number or _INHERITED.rows(connection, of=branch.number, seq=tip.seq):
        raise StoryRefused(
            "inherited",
            f"Another branch has this scene, so it stays as it is: fork at scene {tip.seq - 1} and go on there.",
        )


def release_claim(id: str, transaction: Transaction) -> None:
    """Free a claim, if it is still there."""
    _RELEASE.rows(transaction.connection, id=id)


def find_claim(connection: sa.Connection, id: str) -> tuple[int, int, int] | None:
    """Return branch, `seq` and retold scene of a claim, or `None` if it is not there."""
    for branch, seq, retold in _FIND.rows(connection, id=id):
        return branch, seq, retold
    return None
