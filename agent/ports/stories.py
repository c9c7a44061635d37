"""Stores interactive stories, and tells their scenes.

A story is a tree of branches. A branch owns the scenes from its `cut` on; before that it has those of its parent. A
scene has versions, one of which at most is active. The lineage of a branch lists where its scenes stand: pairs of a
branch and the last place that counts there. What is not in the lineage does not exist for the branch.

A story belongs to the project and user of its scope, and to a thread alone where the user is not known. Times are Unix
milliseconds.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..lang import Lang
from .change_mark import BEGINNING, ChangeMark
from .conversation import Scope

VersionStatus: TypeAlias = Literal["active", "shelved"]
DirectiveKind: TypeAlias = Literal["text", "choice", "own", "retell", "edit", "import"]
"""The origin of a version: a reader's words, an offered choice, the reader's own scene, another telling of the same
directive, a correction by hand, or an import.
"""
CastKind: TypeAlias = Literal["person", "place", "thing"]
StateSetter: TypeAlias = Literal["rule", "model", "hand"]
StateField: TypeAlias = Literal["place", "holder", "condition"]
ChapterStatus: TypeAlias = Literal["open", "concluded"]
StoryFault: TypeAlias = Literal[
    "unknown_story",  # nothing of that id for this scope: story, branch, scene, version, chapter, member
    "no_story",  # the connection has opened none
    "stale_choice",  # not a choice of the branch's last scene
    "moved",  # the branch has gone on since this connection saw it
    "busy",  # a scene of the branch is being told
    "inherited",  # another branch has this scene, so that it cannot change: fork before it
    "conflict",  # the change is refused in the present state, such as a redo with nothing to redo
    "story_full",  # a limit is reached
    "story_failed",  # the store cannot write
    "bad_story",  # the input is refused, such as an import with a hole
]

SCENE_BYTES = 32 * 1024  # UTF-8 bytes of a scene
SNAPSHOT_BYTES = 256 * 1024  # of a packed snapshot
BRANCH_SCENES, STORY_BRANCHES, BRANCH_DEPTH = 5_000, 1_000, 64
SCENE_VERSIONS, STORY_CAST, STORY_STATES = 20, 200, 5_000
USER_STORIES = 1_000
STORY_ASIDES = 200  # the oldest ones leave
OPEN_STORIES = 16
IMPORT_BYTES = 16 * 1024 * 1024

Lineage: TypeAlias = tuple[tuple[str, int], ...]
"""Pairs of a branch's id and the last `seq` that counts there, the branch itself first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story. `revision` grows with each change of the story's own fields."""

    id: str
    title: str
    foundation: str
    lang: Lang
    created_at: int
    updated_at: int
    revision: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch. `parent` is the branch that owns the scene at `cut`, None for the first branch; `cut` is 0 there."""

    id: str
    name: str
    parent: str | None
    cut: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneText:
    """The active version of a scene. `directive` is "" where none led to it. `branch` is its owner."""

    scene: str
    version: str
    seq: int
    branch: str
    directive: str
    text: str
    kind: DirectiveKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneVersion:
    """A version of a scene, active or shelved."""

    version: str
    status: VersionStatus
    text: str
    directive: str
    kind: DirectiveKind
    at: int


@dataclass(frozen=True, slots=True)
class SceneChoice:
    """A direction that a scene offers."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CastMember:
    """A person, a place or a thing of the story. `look` and `voice` describe it, "" for nothing."""

    id: str
    name: str
    kind: CastKind
    look: str = ""
    voice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityState:
    """A value that holds from the scene `seq` on, until the next one of the same entity and field.

    `version` is the scene's version that set it, "" for one set by hand. `locked`: only a hand changes it.
    """

    entity: str
    field: StateField
    value: str
    seq: int
    branch: str
    by: StateSetter
    locked: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """An event that a chapter works towards. `met_at` is the scene in which it came about, None while ahead."""

    number: int
    text: str
    met_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter, which begins at the scene `from_seq` of `branch`. `summary` is "" until it is concluded."""

    id: str
    branch: str
    from_seq: int
    title: str
    place: str = ""
    scenario: str = ""
    direction: str = ""
    status: ChapterStatus = "open"
    summary: str = ""
    milestones: tuple[Milestone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Talk beside a story: a reader's words, and the answer."""

    question: str
    answer: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTip:
    """A branch as a connection opens it: its last scene, and the choices that this offers.

    `seq` is 0 and `scene` None before the first scene. `version` tells a tip from an earlier one of the same `seq`.
    """

    story: str
    branch: str
    name: str
    seq: int
    lang: Lang
    scene: SceneText | None = None
    choices: tuple[SceneChoice, ...] = ()

    @property
    def version(self) -> str:
        """The version of the last scene, "" before the first."""
        return self.scene.version if self.scene is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryContext:
    """All that a prompt needs of a story, at one moment, as seen from one branch.

    `window` holds the last scenes, oldest first, from a multiple of ten on. `chapters` are those of the lineage, oldest
    first. `states` are the latest of each entity and field, `window_states` those that held when the window began.
    `changed` is the mark after all changes of its scenes, for `StoryStore.scene_changes`.
    """

    story: Story
    branch: Branch
    lineage: Lineage
    tip: int
    cast: tuple[CastMember, ...] = ()
    chapters: tuple[Chapter, ...] = ()
    window: tuple[SceneText, ...] = ()
    window_states: tuple[EntityState, ...] = ()
    states: tuple[EntityState, ...] = ()
    changed: ChangeMark = BEGINNING


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneChanges:
    """The scenes of a story that changed up to the mark `upto`: their active versions, and those that have none now.

    Scenes of a deleted branch are not named: no lineage leads to them any more.
    """

    scenes: tuple[SceneText, ...] = ()
    emptied: tuple[str, ...] = ()
    upto: ChangeMark = BEGINNING


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneClaim:
    """The right to tell the next scene of a branch; there is one at a time. `seq` is the place of that scene.

    `retold` is the scene whose other version is told, "" for a new scene.
    """

    id: str
    scope: Scope
    story: str
    branch: str
    seq: int
    retold: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDraft:
    """A scene that is told, without its text: the text is what was sent.

    `snapshot` is the packed prompt that it was told from, b"" for a reader's own scene. `seed` has 63 bits at most.
    `model` names the teller.
    """

    claim: SceneClaim
    kind: DirectiveKind
    directive: str
    seed: int
    snapshot: bytes
    model: str


@dataclass(frozen=True, slots=True)
class StoredScene:
    """A receipt: the scene is on disk."""

    scene: str
    version: str
    branch: str
    seq: int


@dataclass(frozen=True, slots=True)
class RecalledScene:
    """A scene that fits a query, with its best statement. `score` is 0..1."""

    scene: str
    seq: int
    branch: str
    text: str
    score: float
