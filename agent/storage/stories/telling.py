"""Writing scenes: a version with its words, snapshot and states, in the place of its branch.

A place has one scene, whichever versions it has. A version that is told or made by hand is active from then on; the one
before is shelved. Beyond `SCENE_VERSIONS` the oldest one that is not active leaves, with all that it set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...ports.conversation import Scope
from ...ports.stories import (
    SCENE_BYTES,
    SCENE_VERSIONS,
    SNAPSHOT_BYTES,
    STORY_ASIDES,
    Aside,
    BranchTip,
    DirectiveKind,
    EntityState,
    SceneChoice,
    SceneDraft,
    StoredScene,
)
from ...stories.versions import VersionTrigger, move_version
from ..dialect import NUMBER, clean_text
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import claims, lineage
from . import states as state_rows
from .lineage import CHOICE, SCENE, VERSION, BranchRow, StoryRow, id_of
from .schema import (
    asides,
    branches,
    choices,
    met,
    scenes,
    snapshots,
    state_words,
    states,
    stories,
    version_words,
    versions,
    words,
)
from .words import empty_words, write_words

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_SCENE = PreparedStatement(
    sa.select(scenes.c.number).where(
        scenes.c.branch == sa.bindparam("branch", type_=NUMBER),
        scenes.c.seq == sa.bindparam("seq", type_=NUMBER),
    )
)
_MAKE_SCENE = PreparedStatement(sa.insert(scenes).returning(scenes.c.number), "branch", "seq")
_VERSION: Final = ("scene", "status", "kind", "seed", "model", "at", "claim")
_MAKE_VERSION = PreparedStatement(sa.insert(versions).returning(versions.c.number), *_VERSION)
_WRITE = PreparedStatement(sa.insert(version_words), "version", "story", "directive", "text")
_PACK = PreparedStatement(sa.insert(snapshots), "version", "story", "packed")
_ACTIVE = PreparedStatement(
    sa.select(versions.c.number).where(versions.c.scene == _OF, versions.c.status == "active")
)
_MOVE = PreparedStatement(
    sa.update(versions).where(versions.c.number == _OF).values(status=sa.bindparam("to", type_=sa.Text))
)
_VERSIONS = PreparedStatement(
    sa.select(versions.c.number).where(versions.c.scene == _OF).order_by(versions.c.number)
)
_REDO_NOTHING = PreparedStatement(
    sa.update(scenes).where(scenes.c.branch == _OF, scenes.c.undone.is_not(None)).values(undone=sa.null())
)
_TOLD = PreparedStatement(
    sa.update(stories)
    .where(stories.c.number == _OF)
    .values(updated_at=sa.bindparam("at", type_=NUMBER), told=sa.bindparam("told_last", type_=NUMBER))
)
_RECEIPT = PreparedStatement(
    sa.select(versions.c.number, scenes.c.number.label("scene"), scenes.c.branch, scenes.c.seq)
    .join(scenes, scenes.c.number == versions.c.scene)
    .where(versions.c.claim == sa.bindparam("claim"))
)
_STORY_OF = PreparedStatement(
    sa.select(branches.c.story, versions.c.status)
    .select_from(versions)
    .join(scenes, scenes.c.number == versions.c.scene)
    .join(branches, branches.c.number == scenes.c.branch)
    .where(versions.c.number == _OF)
)
_OFFER = PreparedStatement(sa.insert(choices).returning(choices.c.number), "version", "nth", "words")
_OFFERS = PreparedStatement(
    sa.select(choices.c.number, words.c.text)
    .join(words, words.c.number == choices.c.words)
    .where(choices.c.version == _OF)
    .order_by(choices.c.nth)
)
_SNAPSHOT = PreparedStatement(sa.select(snapshots.c.packed).where(snapshots.c.version == _OF))
ASIDE: Final = PreparedStatement(sa.insert(asides), "story", "at", "words")
_OLD_ASIDES = PreparedStatement(
    sa.select(asides.c.number, asides.c.words)
    .where(asides.c.story == _OF)
    .order_by(asides.c.number.desc())
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .offset(sa.bindparam("most", type_=sa.Integer))
)
_DROP_ASIDE = PreparedStatement(sa.delete(asides).where(asides.c.number == _OF))
_DROP_VERSION = tuple(
    PreparedStatement(statement)
    for statement in (
        sa.update(words)
        .where(words.c.number.in_(sa.select(choices.c.words).where(choices.c.version == _OF)))
        .values(text=""),
        sa.update(state_words)
        .where(state_words.c.state.in_(sa.select(states.c.number).where(states.c.version == _OF)))
        .values(entity="", value=""),
        sa.update(version_words).where(version_words.c.version == _OF).values(directive="", text=""),
        sa.update(snapshots).where(snapshots.c.version == _OF).values(packed=b""),
        sa.delete(choices).where(choices.c.version == _OF),
        sa.delete(met).where(met.c.version == _OF),
        sa.delete(states).where(states.c.version == _OF),
        sa.delete(versions).where(versions.c.number == _OF),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version that is about to be written. `claim` is the claim that it was told under, `None` for one by hand."""

    kind: DirectiveKind
    directive: str
    text: str
    at: int
    seed: int = 0
    model: str = ""
    snapshot: bytes = b""
    claim: str | None = None


def store_scene(
    draft: SceneDraft, text: str, found: Sequence[EntityState], at: int, transaction: Transaction
) -> StoredScene:
    """Write a scene that was told (see `store_scene` of the port `StoryStore`)."""
    connection, claim = transaction.connection, draft.claim
    for version, scene, branch, seq in _RECEIPT.rows(connection, claim=claim.id):
        return _make_receipt(scene, version, branch, seq)
    story = lineage.find_story(connection, claim.scope, claim.story)
    own = lineage.find_branch(connection, story, claim.branch)
    claimed = claims.find_claim(connection, claim.id)
    if claimed is None or claimed[0] != own.number:
        raise StoryRefused("moved", "The claim for this scene has ended: open the branch again.")
    if len(draft.snapshot) > SNAPSHOT_BYTES:
        raise StoryRefused(
            "story_full", f"A prompt has at most {SNAPSHOT_BYTES // 1024} KiB: shorten the foundation."
        )
    new = NewVersion(
        kind=draft.kind,
        directive=draft.directive,
        text=text,
        at=at,
        seed=draft.seed,
        model=draft.model,
        snapshot=draft.snapshot,
        claim=claim.id,
    )
    scene, version = write_version(connection, story, own, claim.seq, new)
    state_rows.write_scene_states(connection, story.number, own, version, claim.seq, found)
    claims.release_claim(claim.id, transaction)
    return _make_receipt(scene, version, own.number, claim.seq)


def _make_receipt(scene: int, version: int, branch: int, seq: int) -> StoredScene:
    return StoredScene(id_of(SCENE, scene), id_of(VERSION, version), id_of(lineage.BRANCH, branch), seq)


def check_text(text: str) -> None:
    """Raise `bad_story` for a scene that is empty, and `story_full` for one that is too long."""
    if not text.strip():
        raise StoryRefused("bad_story", "A scene has words: write some.")
    if len(text.encode("utf-8", "surrogatepass")) > SCENE_BYTES:
        raise StoryRefused("story_full", f"A scene has at most {SCENE_BYTES // 1024} KiB: divide it.")


def write_version(
    connection: sa.Connection, story: StoryRow, branch: BranchRow, seq: int, new: NewVersion
) -> tuple[int, int]:
    """Write an active version at the place `seq` of a branch, and shelve the one before; return scene and version."""
    check_text(new.text)
    found = _SCENE.rows(connection, branch=branch.number, seq=seq)
    scene = found[0][0] if found else insert_scene(connection, branch.number, seq)
    before = [active for (active,) in _ACTIVE.rows(connection, of=scene)]
    for active in before:
        move(connection, active, VersionTrigger.SHELVE)
    version = insert_version(connection, story.number, scene, new)
    present = [each for (each,) in _VERSIONS.rows(connection, of=scene)]
    leaving = [each for each in present if each not in (version, *before)]
    for each in leaving[: max(0, len(present) - SCENE_VERSIONS)]:
        drop_version(connection, each)
    note_change(connection, story, branch, new.at)
    return scene, version


def insert_scene(connection: sa.Connection, branch: int, seq: int) -> int:
    """Write a scene without a version where the branch has none; return its number."""
    ((scene,),) = _MAKE_SCENE.rows(connection, branch=branch, seq=seq)
    return int(scene)


def insert_version(connection: sa.Connection, story: int, scene: int, new: NewVersion) -> int:
    """Write the active version of a scene that has no other active one; return its number."""
    row = (scene, "active", new.kind, new.seed, new.model, new.at, new.claim)
    ((version,),) = _MAKE_VERSION.rows(connection, **dict(zip(_VERSION, row, strict=True)))
    _WRITE.rows(connection, version=version, story=story, directive=new.directive, text=new.text)
    if new.snapshot:
        _PACK.rows(connection, version=version, story=story, packed=new.snapshot)
    return int(version)


def move(connection: sa.Connection, version: int, trigger: VersionTrigger) -> None:
    """Move a version of the last scene of a branch, whose callers know that no other branch inherits it."""
    status = move_version("active" if trigger is VersionTrigger.SHELVE else "shelved", trigger, is_last=True)
    _MOVE.rows(connection, of=version, to=status)


def note_change(connection: sa.Connection, story: StoryRow, branch: BranchRow, at: int) -> None:
    """Note that a branch has gone on: it was told last, and what was undone before cannot come back."""
    _REDO_NOTHING.rows(connection, of=branch.number)
    note_told(connection, story, branch, at)


def note_told(connection: sa.Connection, story: StoryRow, branch: BranchRow, at: int) -> None:
    """Note that a branch was told last."""
    _TOLD.rows(connection, of=story.number, at=at, told_last=branch.number)


def drop_version(connection: sa.Connection, version: int) -> None:
    """Delete a version with all that it set, and empty its words."""
    for statement in _DROP_VERSION:
        statement.rows(connection, of=version)


def store_choices(id: str, texts: Sequence[str], transaction: Transaction) -> tuple[SceneChoice, ...]:
    """Write the choices of an active version, unless it has some; return them."""
    connection, version = transaction.connection, lineage.number_of(VERSION, id)
    for story, status in _STORY_OF.rows(connection, of=version):
        if status != "active":
            break
        if not list_choices(connection, version):
            write_choices(connection, story, version, texts)
        return list_choices(connection, version)
    raise StoryRefused("moved", "The story has gone on elsewhere: open the branch again.")


def write_choices(connection: sa.Connection, story: int, version: int, texts: Sequence[str]) -> None:
    """Write the choices of a version that has none."""
    for nth, text in enumerate(texts):
        _OFFER.rows(connection, version=version, nth=nth, words=write_words(connection, story, text))


def list_choices(connection: sa.Connection, version: int) -> tuple[SceneChoice, ...]:
    """Return the choices of a version, in their order."""
    return tuple(
        SceneChoice(id_of(CHOICE, number), text) for number, text in _OFFERS.rows(connection, of=version)
    )


def find_choice(scope: Scope, seen: BranchTip, id: str, connection: sa.Connection) -> SceneChoice:
    """Return a choice of a branch's last scene; raises `stale_choice` for any other."""
    story = lineage.find_story(connection, scope, seen.story)
    tip = lineage.find_tip(connection, lineage.find_branch(connection, story, seen.branch))
    for choice in list_choices(connection, tip.version):
        if choice.id == id:
            return choice
    raise StoryRefused("stale_choice", "This is no choice of the last scene: choose one of the present ones.")


def load_snapshot(scope: Scope, story: str, version: str, connection: sa.Connection) -> bytes:
    """Return the packed prompt of a version, b"" where it has none."""
    of = lineage.find_story(connection, scope, story).number
    number = lineage.number_of(VERSION, version)
    if not any(found == of for found, _ in _STORY_OF.rows(connection, of=number)):
        raise lineage.unknown()
    return read_snapshot(connection, number)


def read_snapshot(connection: sa.Connection, version: int) -> bytes:
    """Return the packed prompt of a version, b"" where it has none."""
    return bytes(next((packed for (packed,) in _SNAPSHOT.rows(connection, of=version)), b""))


def store_aside(scope: Scope, story: str, aside: Aside, transaction: Transaction) -> None:
    """Write talk beside a story; beyond `STORY_ASIDES` the oldest leaves."""
    of = lineage.find_story(transaction.connection, scope, story).number
    number = write_words(transaction.connection, of, clean_text(aside.question), clean_text(aside.answer))
    ASIDE.rows(transaction.connection, story=of, at=aside.at, words=number)
    for old, packed in _OLD_ASIDES.rows(transaction.connection, of=of, limit=STORY_ASIDES, most=STORY_ASIDES):
        _DROP_ASIDE.rows(transaction.connection, of=old)
        empty_words(transaction.connection, packed)
