"""Making, renaming and deleting stories and branches.

A fork is one row of `branches`. Deleting overwrites words: rows that hold words are emptied, all other rows go, and the
request sets `erases`, so that the log is truncated before it is answered.
"""

from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...lang import Lang
from ...ports.conversation import Scope
from ...ports.stories import BRANCH_DEPTH, STORY_BRANCHES, USER_STORIES, Branch, Story
from ..dialect import NUMBER
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import claims, lineage
from .lineage import BranchRow, id_of
from .schema import (
    asides,
    branches,
    chapters,
    choices,
    conclusions,
    make_digest,
    members,
    met,
    milestones,
    scene_log,
    scenes,
    snapshots,
    state_words,
    states,
    stories,
    version_words,
    versions,
    words,
)
from .schema import claims as claims_table
from .words import empty_words, write_words

FIRST_BRANCH: Final = "main"

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_STORY_NEW: Final = (
    *("project", "user", "thread", "lang", "words"),
    *("created_at", "updated_at", "revision", "told"),
)
_MAKE_STORY = PreparedStatement(sa.insert(stories).returning(stories.c.number), *_STORY_NEW)
_COUNT_STORIES = PreparedStatement(
    sa.select(sa.func.count()).select_from(stories).where(lineage.OWNED_STORIES)
)
_REWORD_STORY = PreparedStatement(
    sa.update(stories)
    .where(stories.c.number == _OF)
    .values(
        words=sa.bindparam("packed", type_=NUMBER),
        updated_at=sa.bindparam("at", type_=NUMBER),
        revision=stories.c.revision + sa.bindparam("more", type_=NUMBER),
    )
)
_WORDS_OF_STORY = PreparedStatement(sa.select(stories.c.words).where(stories.c.number == _OF))
_BRANCH_NEW: Final = ("story", "called", "name", "parent", "cut", "depth", "created_at")
_MAKE_BRANCH = PreparedStatement(sa.insert(branches).returning(branches.c.number), *_BRANCH_NEW)
_RENAME = PreparedStatement(
    sa.update(branches)
    .where(branches.c.number == _OF)
    .values(called=sa.bindparam("called", type_=sa.Text), renamed=sa.bindparam("packed", type_=NUMBER))
)
_RENAMED = PreparedStatement(sa.select(branches.c.renamed).where(branches.c.number == _OF))
_CALLED = PreparedStatement(
    sa.select(branches.c.number).where(branches.c.story == _OF, branches.c.called == sa.bindparam("called"))
)
_COUNT = PreparedStatement(sa.select(sa.func.count()).select_from(branches).where(branches.c.story == _OF))
_CHILD = PreparedStatement(sa.select(branches.c.number).where(branches.c.parent == _OF).limit(1))

_SCENES = sa.select(scenes.c.number).where(scenes.c.branch == _OF)
_VERSIONS = sa.select(versions.c.number).where(versions.c.scene.in_(_SCENES))
_STATES = sa.select(states.c.number).where(states.c.branch == _OF)
_CHAPTERS = sa.select(chapters.c.number).where(chapters.c.branch == _OF)
_MILESTONES = sa.select(milestones.c.number).where(milestones.c.chapter.in_(_CHAPTERS))


def _empty_words_of(rows: Any) -> sa.Update:
    return sa.update(words).where(words.c.number.in_(rows), words.c.text != "").values(text="")


_EMPTY_BRANCH = tuple(
    PreparedStatement(statement)
    for statement in (
        sa.update(version_words).where(version_words.c.version.in_(_VERSIONS)).values(directive="", text=""),
        sa.update(snapshots).where(snapshots.c.version.in_(_VERSIONS)).values(packed=b""),
        sa.update(state_words).where(state_words.c.state.in_(_STATES)).values(entity="", value=""),
        _empty_words_of(sa.select(choices.c.words).where(choices.c.version.in_(_VERSIONS))),
        _empty_words_of(sa.select(milestones.c.words).where(milestones.c.chapter.in_(_CHAPTERS))),
        _empty_words_of(
            sa.select(conclusions.c.words).where(
                sa.or_(conclusions.c.branch == _OF, conclusions.c.chapter.in_(_CHAPTERS))
            )
        ),
        _empty_words_of(sa.select(chapters.c.words).where(chapters.c.branch == _OF)),
        _empty_words_of(sa.select(branches.c.renamed).where(branches.c.number == _OF)),
    )
)
_DROP_BRANCH = tuple(
    PreparedStatement(statement)
    for statement in (
        sa.delete(claims_table).where(claims_table.c.branch == _OF),
        sa.delete(choices).where(choices.c.version.in_(_VERSIONS)),
        sa.delete(met).where(sa.or_(met.c.version.in_(_VERSIONS), met.c.milestone.in_(_MILESTONES))),
        sa.delete(states).where(states.c.branch == _OF),
        sa.delete(conclusions).where(
            sa.or_(conclusions.c.branch == _OF, conclusions.c.chapter.in_(_CHAPTERS))
        ),
        sa.delete(milestones).where(milestones.c.chapter.in_(_CHAPTERS)),
        sa.delete(chapters).where(chapters.c.branch == _OF),
        sa.delete(versions).where(versions.c.scene.in_(_SCENES)),
        sa.delete(scenes).where(scenes.c.branch == _OF),
        sa.update(branches)
        .where(branches.c.number == _OF)
        .values(story=sa.null(), parent=sa.null(), cut=0, called="", name=""),
    )
)
_EMPTY_STORY = tuple(
    PreparedStatement(statement)
    for statement in (
        sa.update(words).where(words.c.story == _OF, words.c.text != "").values(text=""),
        sa.update(version_words)
        .where(version_words.c.story == _OF, version_words.c.text != "")
        .values(directive="", text=""),
        sa.update(state_words)
        .where(state_words.c.story == _OF, state_words.c.entity != "")
        .values(entity="", value=""),
        sa.update(snapshots).where(snapshots.c.story == _OF, snapshots.c.packed != b"").values(packed=b""),
    )
)
_DROP_STORY = tuple(
    PreparedStatement(statement)
    for statement in (
        sa.delete(asides).where(asides.c.story == _OF),
        sa.delete(members).where(members.c.story == _OF),
        sa.delete(scene_log).where(scene_log.c.story == _OF),
        sa.delete(stories).where(stories.c.number == _OF),
    )
)


def create_story(
    scope: Scope, title: str, foundation: str, lang: Lang, at: int, transaction: Transaction
) -> tuple[Story, Branch]:
    """Write a new story with one empty branch."""
    connection = transaction.connection
    number = write_story(connection, scope, title, foundation, lang, at)
    branch = write_branch(connection, number, FIRST_BRANCH, None, 0, at)
    return lineage.find_story(connection, scope, id_of(lineage.STORY, number)).story, branch.make_branch()


def write_story(
    connection: sa.Connection, scope: Scope, title: str, foundation: str, lang: Lang, at: int
) -> int:
    """Write a story without branches; return its number."""
    owner = lineage.owner_of(scope)
    ((count,),) = _COUNT_STORIES.rows(connection, **owner)
    if count >= USER_STORIES:
        raise StoryRefused(
            "story_full", f"A user has at most {USER_STORIES} stories: export one, and delete it."
        )
    row = (*owner.values(), lang, 0, at, at, 1, 0)
    ((number,),) = _MAKE_STORY.rows(connection, **dict(zip(_STORY_NEW, row, strict=True)))
    packed = write_words(connection, number, title, foundation)
    _REWORD_STORY.rows(connection, of=number, packed=packed, at=at, more=0)
    return int(number)


def edit_story(
    scope: Scope, story: str, title: str | None, foundation: str | None, at: int, transaction: Transaction
) -> Story:
    """Change the fields that are not None."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    wanted = (
        of.story.title if title is None else title,
        of.story.foundation if foundation is None else foundation,
    )
    if wanted == (of.story.title, of.story.foundation):
        return of.story
    ((before,),) = _WORDS_OF_STORY.rows(connection, of=of.number)
    packed = write_words(connection, of.number, *wanted)
    _REWORD_STORY.rows(connection, of=of.number, packed=packed, at=at, more=1)
    empty_words(connection, before)
    return lineage.find_story(connection, scope, story).story


def delete_story(scope: Scope, story: str, transaction: Transaction) -> None:
    """Erase a story with all that belongs to it."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    transaction.erases = True
    for statement in _EMPTY_STORY:
        statement.rows(connection, of=of.number)
    for branch in reversed(lineage.list_branch_numbers(connection, of)):
        for statement in _DROP_BRANCH:
            statement.rows(connection, of=branch)
    for statement in _DROP_STORY:
        statement.rows(connection, of=of.number)


def fork(
    scope: Scope, story: str, branch: str, seq: int, name: str, at: int, transaction: Transaction
) -> Branch:
    """Begin a branch after the scene `seq` of a branch: its parent is the branch that owns that scene."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    tip = lineage.find_tip(connection, own).seq
    if not 0 <= seq <= tip:
        raise StoryRefused("conflict", f"This branch ends at scene {tip}: fork at one from 0 to {tip}.")
    ((count,),) = _COUNT.rows(connection, of=of.number)
    if count >= STORY_BRANCHES:
        raise StoryRefused("story_full", f"A story has at most {STORY_BRANCHES} branches: delete one.")
    parent = lineage.find_owner(connection, own, seq)
    if parent.depth >= BRANCH_DEPTH:
        raise StoryRefused(
            "story_full",
            f"Branches fork {BRANCH_DEPTH} deep at most: fork one that has fewer forks behind it.",
        )
    claims.refuse_busy(transaction, parent, seq)
    return write_branch(connection, of.number, name, parent, seq, at).make_branch()


def write_branch(
    connection: sa.Connection, story: int, name: str, parent: BranchRow | None, cut: int, at: int
) -> BranchRow:
    """Write a branch; raises `conflict` for a name that another one has."""
    refuse_name(connection, story, name)
    depth = parent.depth + 1 if parent is not None else 0
    above = parent.number if parent is not None else None
    row = (story, make_digest(name), name, above, cut, depth, at)
    ((number,),) = _MAKE_BRANCH.rows(connection, **dict(zip(_BRANCH_NEW, row, strict=True)))
    return BranchRow(number=number, name=name, parent=above or 0, cut=cut, depth=depth)


def refuse_name(connection: sa.Connection, story: int, name: str, but: int = 0) -> None:
    """Raise `conflict` if a branch of the story, other than `but`, has the name."""
    if any(each != but for (each,) in _CALLED.rows(connection, of=story, called=make_digest(name))):
        raise StoryRefused("conflict", "A branch of this story has this name: choose another.")


def rename_branch(scope: Scope, story: str, branch: str, name: str, transaction: Transaction) -> Branch:
    """Give a branch another name."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    if own.name != name:
        refuse_name(connection, of.number, name, but=own.number)
        ((before,),) = _RENAMED.rows(connection, of=own.number)
        packed = write_words(connection, of.number, name)
        _RENAME.rows(connection, of=own.number, called=make_digest(name), packed=packed)
        if before is not None:
            empty_words(connection, before)
    return lineage.find_branch(connection, of, branch).make_branch()


def delete_branch(scope: Scope, story: str, branch: str, transaction: Transaction) -> None:
    """Erase a branch that no other branch comes from, and that is not the only one."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    if _CHILD.rows(connection, of=own.number):
        raise StoryRefused("inherited", "Other branches come from this one: delete them first.")
    ((count,),) = _COUNT.rows(connection, of=of.number)
    if count == 1:
        raise StoryRefused("conflict", "This is the story's only branch: delete the story.")
    transaction.erases = True
    for statement in (*_EMPTY_BRANCH, *_DROP_BRANCH):
        statement.rows(connection, of=own.number)


def list_branches(scope: Scope, story: str, connection: sa.Connection) -> tuple[Branch, ...]:
    """Return the branches of a story, the first one first."""
    of = lineage.find_story(connection, scope, story)
    return tuple(each.make_branch() for each in lineage.list_branches(connection, of))
