"""Stories and branches as rows, their ids, and the lineage of a branch.

A branch owns its scenes with a `seq` over its `cut`. Its lineage is the branch itself, then its parent up to the cut,
and so on: a fork names as its parent the branch that owns the scene at its cut, so a lineage is as long as there were
real forks. An inherited scene cannot change, so the scene at a cut is always active, and the tip of a branch without
active scenes of its own is its cut.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...lang import DEFAULT, LANGUAGES, Lang
from ...ports.conversation import Scope
from ...ports.stories import Branch, Lineage, Story
from ..dialect import NUMBER
from ..prepared import PreparedStatement
from .schema import IS_ACTIVE, branches, scenes, stories, versions, words
from .words import decode_words

_ID = re.compile(r"([a-z])([1-9][0-9]{0,17})", re.ASCII)

STORY, BRANCH, SCENE, VERSION, CHOICE, CHAPTER, MEMBER = "s", "b", "c", "v", "o", "k", "m"
"""The letters of ids: an id is a letter and the row's number, which is never used again."""

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
OWNED_STORIES: Final = sa.and_(
    stories.c.project == sa.bindparam("project"),
    stories.c.user == sa.bindparam("user"),
    stories.c.thread == sa.bindparam("thread"),
)
"""The condition for the stories of an owner; `owner_of` has its parameters."""

_STORY = PreparedStatement(
    sa.select(
        stories.c.number,
        words.c.text,
        stories.c.lang,
        stories.c.created_at,
        stories.c.updated_at,
        stories.c.revision,
        stories.c.told,
    )
    .join(words, words.c.number == stories.c.words)
    .where(stories.c.number == _OF, OWNED_STORIES)
)
_NUMBERS = PreparedStatement(
    sa.select(branches.c.number).where(branches.c.story == _OF).order_by(branches.c.number)
)
_COLUMNS = (
    branches.c.number,
    sa.func.coalesce(words.c.text, branches.c.name),
    branches.c.parent,
    branches.c.cut,
    branches.c.depth,
)
BRANCHES: Final = sa.select(*_COLUMNS).outerjoin(words, words.c.number == branches.c.renamed)
_BRANCH = PreparedStatement(
    BRANCHES.where(branches.c.number == _OF, branches.c.story == sa.bindparam("story", type_=NUMBER))
)
_LATEST = PreparedStatement(
    BRANCHES.where(branches.c.story == sa.bindparam("story", type_=NUMBER))
    .order_by(sa.desc(branches.c.number == sa.bindparam("told", type_=NUMBER)), branches.c.number)
    .limit(1)
)
_ALL = PreparedStatement(
    BRANCHES.where(branches.c.story == sa.bindparam("story", type_=NUMBER)).order_by(branches.c.number)
)
_TIP = PreparedStatement(
    sa.select(scenes.c.seq, scenes.c.number, versions.c.number.label("version"))
    .join(versions, sa.and_(versions.c.scene == scenes.c.number, sa.text(f"versions.{IS_ACTIVE}")))
    .where(scenes.c.branch == _OF)
    .order_by(scenes.c.seq.desc())
    .limit(1)
)
_AT = PreparedStatement(
    sa.select(scenes.c.number, versions.c.number.label("version"))
    .join(versions, sa.and_(versions.c.scene == scenes.c.number, sa.text(f"versions.{IS_ACTIVE}")))
    .where(scenes.c.branch == _OF, scenes.c.seq == sa.bindparam("seq", type_=NUMBER))
)


def _make_lineage_table() -> Any:
    """Return the lineage of the branch in the parameter `branch` as a table for statements: branch and upto.

    The parameter `tip` is the last `seq` that counts.
    """
    of = sa.bindparam("branch", type_=NUMBER)
    begin = sa.select(
        branches.c.number.label("branch"),
        sa.cast(sa.bindparam("tip", type_=NUMBER), NUMBER).label("upto"),
        branches.c.parent,
        branches.c.cut,
        branches.c.depth,
    ).where(branches.c.number == of)
    lineage = begin.cte("lineage", recursive=True)
    upto = sa.case((lineage.c.cut < lineage.c.upto, lineage.c.cut), else_=lineage.c.upto)
    step = sa.select(branches.c.number, upto, branches.c.parent, branches.c.cut, branches.c.depth).where(
        branches.c.number == lineage.c.parent, lineage.c.cut > 0
    )
    return lineage.union_all(step)


def _select_owner() -> Any:
    """Return the statement for the branch that owns the scene `seq` of the lineage of `branch`."""
    seq = sa.bindparam("seq", type_=NUMBER)
    columns = (branches.c.number, branches.c.parent, branches.c.cut, branches.c.depth)
    begin = sa.select(*columns).where(branches.c.number == sa.bindparam("branch", type_=NUMBER))
    above = begin.cte("above", recursive=True)
    step = sa.select(*columns).where(branches.c.number == above.c.parent, above.c.cut >= seq)
    found = above.union_all(step)
    return sa.select(found).order_by(found.c.depth).limit(1)


LINEAGE: Final = _make_lineage_table()
_OWNER = PreparedStatement(_select_owner())
_LINEAGE = PreparedStatement(sa.select(LINEAGE.c.branch, LINEAGE.c.upto).order_by(LINEAGE.c.depth.desc()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRow:
    """A story with the number of its row, and that of the branch told last."""

    number: int
    story: Story
    told: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRow:
    """A branch as its row. `parent` is 0 for the first branch."""

    number: int
    name: str
    parent: int
    cut: int
    depth: int

    def make_branch(self) -> Branch:
        """Return the branch with its id."""
        parent = id_of(BRANCH, self.parent) if self.parent else None
        return Branch(id_of(BRANCH, self.number), self.name, parent, self.cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """The last active scene of a branch, 0 for none, with the branch that owns it and its active version."""

    seq: int
    owner: int
    scene: int = 0
    version: int = 0


def id_of(letter: str, number: int) -> str:
    """Return the id of a row."""
    return f"{letter}{number}"


def number_of(letter: str, id: str) -> int:
    """Return the number in an id; raises `unknown_story` if it is no such id."""
    match = _ID.fullmatch(id)
    if match is None or match[1] != letter:
        raise unknown()
    return int(match[2])


def unknown() -> StoryRefused:
    """Return the error for what does not exist, or belongs to another scope."""
    return StoryRefused("unknown_story", "There is no such thing: list the stories and their branches.")


def owner_of(scope: Scope) -> dict[str, str]:
    """Return the columns of a story's owner: all threads of a user, or one thread without a user."""
    return {"project": scope.project, "user": scope.user, "thread": "" if scope.user else scope.thread}


def find_story(connection: sa.Connection, scope: Scope, id: str) -> StoryRow:
    """Return a story; raises `unknown_story`."""
    found = _STORY.rows(connection, of=number_of(STORY, id), **owner_of(scope))
    if not found:
        raise unknown()
    number, packed, lang, created_at, updated_at, revision, told = found[0]
    title, foundation = decode_words(packed)
    story = Story(
        id=id,
        title=title,
        foundation=foundation,
        lang=_lang_of(lang),
        created_at=created_at,
        updated_at=updated_at,
        revision=revision,
    )
    return StoryRow(number=number, story=story, told=told)


def _lang_of(lang: str) -> Lang:
    return next((each for each in LANGUAGES if each == lang), DEFAULT)


def branch_of(row: tuple[Any, ...]) -> BranchRow:
    """Return the branch of a row of `BRANCHES`."""
    number, name, parent, cut, depth = row
    return BranchRow(number=number, name=name, parent=parent or 0, cut=cut, depth=depth)


def find_branch(connection: sa.Connection, story: StoryRow, id: str) -> BranchRow:
    """Return a branch of a story; raises `unknown_story`."""
    found = _BRANCH.rows(connection, of=number_of(BRANCH, id), story=story.number)
    if not found:
        raise unknown()
    return branch_of(found[0])


def find_told(connection: sa.Connection, story: StoryRow) -> BranchRow:
    """Return the branch of a story that was told last, or else the first one."""
    return branch_of(_LATEST.rows(connection, story=story.number, told=story.told)[0])


def list_branches(connection: sa.Connection, story: StoryRow) -> list[BranchRow]:
    """Return the branches of a story, the first one first."""
    return [branch_of(row) for row in _ALL.rows(connection, story=story.number)]


def list_branch_numbers(connection: sa.Connection, story: StoryRow) -> list[int]:
    """Return the numbers of a story's branches, each after its parent."""
    return [number for (number,) in _NUMBERS.rows(connection, of=story.number)]


def find_tip(connection: sa.Connection, branch: BranchRow) -> Tip:
    """Return the last active scene of a branch, its own or inherited."""
    for seq, scene, version in _TIP.rows(connection, of=branch.number):
        return Tip(seq=seq, owner=branch.number, scene=scene, version=version)
    if not branch.cut:
        return Tip(seq=0, owner=branch.number)
    for scene, version in _AT.rows(connection, of=branch.parent, seq=branch.cut):
        return Tip(seq=branch.cut, owner=branch.parent, scene=scene, version=version)
    raise ValueError("the scene at a branch's cut is not there")


def make_lineage(connection: sa.Connection, branch: BranchRow, tip: int) -> list[tuple[int, int]]:
    """Return the lineage of a branch: numbers of branches, each with the last `seq` that counts there."""
    return [(of, upto) for of, upto in _LINEAGE.rows(connection, branch=branch.number, tip=tip)]


def find_owner(connection: sa.Connection, own: BranchRow, seq: int) -> BranchRow:
    """Return the branch that owns the scene `seq` of a lineage, or for 0 the first branch."""
    if seq > own.cut or not own.parent:
        return own
    ((number, parent, cut, depth),) = _OWNER.rows(connection, branch=own.number, seq=seq)
    return BranchRow(number=number, name="", parent=parent or 0, cut=cut, depth=depth)


def name_lineage(lineage: list[tuple[int, int]]) -> Lineage:
    """Return a lineage with the ids of its branches."""
    return tuple((id_of(BRANCH, branch), upto) for branch, upto in lineage)
