"""Reading scenes along the lineage of a branch, versions, the changes that an index follows, and a prompt's context."""

from typing import Any, Final

import sqlalchemy as sa

from ...ports.change_mark import ChangeMark
from ...ports.conversation import Scope
from ...ports.stories import (
    Aside,
    BranchTip,
    SceneChanges,
    SceneText,
    SceneVersion,
    Story,
    StoryContext,
)
from ..dialect import NUMBER, are_among
from ..followed_rows import FollowedRows
from ..prepared import PreparedStatement, encode_among
from . import cast, chapters, lineage, telling
from . import states as state_rows
from .lineage import BRANCH, LINEAGE, SCENE, VERSION, BranchRow, StoryRow, id_of
from .schema import asides, branches, scene_log, scenes, stories, version_words, versions, words
from .words import decode_words

WINDOW: Final = 10
"""A prompt's window begins at a multiple of this many scenes, and is this long at least."""

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_LIMIT: sa.BindParameter[Any] = sa.bindparam("limit", type_=sa.Integer)
_COLUMNS = (
    scenes.c.number.label("scene"),
    versions.c.number.label("version"),
    scenes.c.seq,
    scenes.c.branch,
    version_words.c.directive,
    version_words.c.text,
    versions.c.kind,
)
_ACTIVE = sa.and_(versions.c.scene == scenes.c.number, versions.c.status == "active")
_SCENES = PreparedStatement(
    sa.select(*_COLUMNS)
    .select_from(
        LINEAGE.join(
            scenes,
            sa.and_(
                scenes.c.branch == LINEAGE.c.branch,
                scenes.c.seq > sa.bindparam("after", type_=NUMBER),
                scenes.c.seq <= LINEAGE.c.upto,
            ),
        )
        .join(versions, _ACTIVE)
        .join(version_words, version_words.c.version == versions.c.number)
    )
    .order_by(scenes.c.seq)
    .limit(_LIMIT)
)
_OF_STORY = (
    sa.select(*_COLUMNS)
    .select_from(branches)
    .join(scenes, scenes.c.branch == branches.c.number)
    .join(versions, _ACTIVE)
    .join(version_words, version_words.c.version == versions.c.number)
    .where(branches.c.story == _OF)
)
_SOME = PreparedStatement(_OF_STORY.where(are_among(scenes.c.number, "scenes")).order_by(scenes.c.number))
_CHANGED = FollowedRows(scene_log, sa.select(scene_log.c.scene).where(scene_log.c.story == _OF))
_VERSIONS = PreparedStatement(
    sa.select(
        versions.c.number,
        versions.c.status,
        version_words.c.text,
        version_words.c.directive,
        versions.c.kind,
        versions.c.at,
    )
    .select_from(versions)
    .join(version_words, version_words.c.version == versions.c.number)
    .join(scenes, scenes.c.number == versions.c.scene)
    .join(branches, branches.c.number == scenes.c.branch)
    .where(branches.c.story == _OF, scenes.c.number == sa.bindparam("scene", type_=NUMBER))
    .order_by(versions.c.number)
)
_STORIES = PreparedStatement(
    sa.select(
        stories.c.number,
        words.c.text,
        stories.c.lang,
        stories.c.created_at,
        stories.c.updated_at,
        stories.c.revision,
    )
    .join(words, words.c.number == stories.c.words)
    .where(lineage.OWNED_STORIES)
    .order_by(stories.c.updated_at.desc(), stories.c.number.desc())
)
_ASIDES = PreparedStatement(
    sa.select(words.c.text, asides.c.at)
    .join(words, words.c.number == asides.c.words)
    .where(asides.c.story == _OF)
    .order_by(asides.c.number)
)


def list_stories(scope: Scope, connection: sa.Connection) -> tuple[Story, ...]:
    """Return the stories of a user, the one changed last first."""
    made = []
    for number, packed, lang, created_at, updated_at, revision in _STORIES.rows(
        connection, **lineage.owner_of(scope)
    ):
        title, foundation = decode_words(packed)
        made.append(
            Story(
                id=id_of(lineage.STORY, number),
                title=title,
                foundation=foundation,
                lang=lang,
                created_at=created_at,
                updated_at=updated_at,
                revision=revision,
            )
        )
    return tuple(made)


def open_branch(scope: Scope, story: str, branch: str | None, connection: sa.Connection) -> BranchTip:
    """Return a branch's tip; without `branch` that of the branch told last."""
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_told(connection, of) if branch is None else lineage.find_branch(connection, of, branch)
    return read_tip(connection, of, own)


def read_tip(connection: sa.Connection, of: StoryRow, own: BranchRow) -> BranchTip:
    """Return a branch's tip, with its choices."""
    tip = lineage.find_tip(connection, own)
    found = read_scenes(connection, own, tip.seq - 1, 1, tip.seq) if tip.seq else ()
    return BranchTip(
        story=of.story.id,
        branch=id_of(BRANCH, own.number),
        name=own.name,
        seq=tip.seq,
        lang=of.story.lang,
        scene=found[0] if found else None,
        choices=telling.list_choices(connection, tip.version) if tip.version else (),
    )


def read_scenes(
    connection: sa.Connection, own: BranchRow, after: int, limit: int, tip: int
) -> tuple[SceneText, ...]:
    """Return the active scenes of a branch's lineage after a `seq`, up to `tip`."""
    found = _SCENES.rows(connection, branch=own.number, tip=tip, after=after, limit=limit)
    return tuple(map(_scene_of, found))


def list_scenes(
    scope: Scope, story: str, branch: str, after: int, limit: int, connection: sa.Connection
) -> tuple[SceneText, ...]:
    """Return the active scenes of a branch's lineage after a `seq`, oldest first."""
    own = lineage.find_branch(connection, lineage.find_story(connection, scope, story), branch)
    return read_scenes(connection, own, after, limit, lineage.find_tip(connection, own).seq)


def load_changes(story: str, after: ChangeMark, limit: int, connection: sa.Connection) -> SceneChanges:
    """Return the scenes of a story that changed after a mark (see `scene_changes` of the port `StoryStore`)."""
    of = lineage.number_of(lineage.STORY, story)
    logged, upto, _ = _CHANGED.read(connection, after, limit, of=of)
    changed = {scene for scene, _ in logged}
    found = tuple(map(_scene_of, _SOME.rows(connection, of=of, scenes=encode_among(changed))))
    emptied = {id_of(SCENE, each) for each in changed}.difference(each.scene for each in found)
    return SceneChanges(scenes=found, emptied=tuple(sorted(emptied)), upto=upto)


def _scene_of(row: tuple[Any, ...]) -> SceneText:
    scene, version, seq, branch, directive, text, kind = row
    return SceneText(
        scene=id_of(SCENE, scene),
        version=id_of(VERSION, version),
        seq=seq,
        branch=id_of(BRANCH, branch),
        directive=directive,
        text=text,
        kind=kind,
    )


def list_versions(
    scope: Scope, story: str, scene: str, connection: sa.Connection
) -> tuple[SceneVersion, ...]:
    """Return the versions of a scene, oldest first."""
    of = lineage.find_story(connection, scope, story)
    found = tuple(
        SceneVersion(
            version=id_of(VERSION, number), status=status, text=text, directive=directive, kind=kind, at=at
        )
        for number, status, text, directive, kind, at in _VERSIONS.rows(
            connection, of=of.number, scene=lineage.number_of(SCENE, scene)
        )
    )
    if not found:
        raise lineage.unknown()
    return found


def load_context(scope: Scope, story: str, branch: str, connection: sa.Connection) -> StoryContext:
    """Return all that a prompt needs, as of one moment."""
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, branch)
    tip = lineage.find_tip(connection, own).seq
    begin = begin_window(tip)
    held = state_rows.latest_states(connection, own, begin) if begin else {}
    later = state_rows.states_after(connection, own, begin, tip)
    return StoryContext(
        story=of.story,
        branch=own.make_branch(),
        lineage=lineage.name_lineage(lineage.make_lineage(connection, own, tip)),
        tip=tip,
        cast=cast.read_cast(connection, of.number),
        chapters=chapters.read_chapters(connection, own, tip),
        window=read_scenes(connection, own, begin, tip, tip),
        window_states=tuple(held.values()),
        states=state_rows.merge_states(held, later),
        changed=_CHANGED.find_mark(connection),
    )


def begin_window(tip: int) -> int:
    """Return the last `seq` before the window of a prompt: a multiple of `WINDOW`, so that the window seldom moves."""
    return max(0, tip // WINDOW - 1) * WINDOW


def list_asides(scope: Scope, story: str, connection: sa.Connection) -> tuple[Aside, ...]:
    """Return the talk beside a story, oldest first."""
    return read_asides(connection, lineage.find_story(connection, scope, story).number)


def read_asides(connection: sa.Connection, story: int) -> tuple[Aside, ...]:
    """Return the talk beside a story, oldest first."""
    made = []
    for packed, at in _ASIDES.rows(connection, of=story):
        question, answer = decode_words(packed)
        made.append(Aside(question=question, answer=answer, at=at))
    return tuple(made)
