"""Describes stories over HTTP: the bodies, the queries, the answers and the routes; pure.

Names are snake_case. The caller is a user with a token of the user's own, or names one by `user_id`; without it, the
stories are those of clients without a name.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from ..config import MAX_TEXT
from ..lang import DEFAULT, Lang
from ..ports.draft import PromptSection
from ..ports.stories import (
    SCENE_BYTES,
    CastKind,
    ChapterStatus,
    DirectiveKind,
    StateField,
    StateSetter,
    VersionStatus,
)
from .http import Id, Name, RowNumber, TolerantStruct

FOUNDATION_TEXT = 8_000  # characters
STATE_TEXT = 300
LOOK_TEXT = 1_000
SCENES_MOST, SCENES_USUAL = 1_000, 50  # of one answer
RECALLED_MOST, RECALLED_USUAL = 50, 10
CHAPTER_MILESTONES = 20

Title: TypeAlias = Name
Foundation: TypeAlias = Annotated[str, Meta(max_length=FOUNDATION_TEXT)]
Words: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
SceneWords: TypeAlias = Annotated[str, Meta(min_length=1, max_length=SCENE_BYTES)]
StateWords: TypeAlias = Annotated[str, Meta(max_length=STATE_TEXT)]
Look: TypeAlias = Annotated[str, Meta(max_length=LOOK_TEXT)]
MilestoneText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=STATE_TEXT)]


class StoryQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names the owner of the story."""

    user_id: Id | None = None
    project_id: Id | None = None


class BranchQuery(StoryQuery, frozen=True, kw_only=True):
    """Names a branch; the one told last where none is named."""

    branch: Id | None = None


class ScenesQuery(BranchQuery, frozen=True, kw_only=True):
    """Selects the scenes of a branch whose `seq` is over `after`."""

    after: RowNumber = 0
    limit: Annotated[int, Meta(ge=1, le=SCENES_MOST)] = SCENES_USUAL


class SceneRecallQuery(BranchQuery, frozen=True, kw_only=True):
    """Searches the scenes of a branch."""

    query: Words
    limit: Annotated[int, Meta(ge=1, le=RECALLED_MOST)] = RECALLED_USUAL


class ScenePromptQuery(BranchQuery, frozen=True, kw_only=True):
    """Names a directive, or none, whose prompt is shown."""

    text: Annotated[str, Meta(max_length=MAX_TEXT)] = ""


class StatesQuery(BranchQuery, frozen=True, kw_only=True):
    """Selects the states of a branch, as of its scene `at`; with `history`, earlier ones too."""

    at: RowNumber | None = None
    history: Literal["true", "false"] = "false"


class StoryExportQuery(StoryQuery, frozen=True, kw_only=True):
    """Names the form of an export; a text in Markdown is of one branch, the first one unless it is named."""

    form: Literal["json", "markdown"] = "json"
    branch: Id | None = None


class StoryBody(TolerantStruct, frozen=True, kw_only=True):
    """The base of bodies: names the owner of the story, as a query does."""

    user_id: Id | None = None
    project_id: Id | None = None


class NewStory(StoryBody, frozen=True, kw_only=True):
    """A story to begin. `foundation` says what holds in all of it."""

    title: Title
    foundation: Foundation = ""
    lang: Lang = DEFAULT


class StoryChange(StoryBody, frozen=True, kw_only=True):
    """Other words for a story; what is left out stays."""

    title: Title | None = None
    foundation: Foundation | None = None


class NewBranch(StoryBody, frozen=True, kw_only=True):
    """A branch to begin after the scene `seq` of another one, which may have inherited it."""

    branch: Id
    seq: RowNumber
    name: Name


class BranchName(StoryBody, frozen=True, kw_only=True):
    """Another name for a branch."""

    name: Name


class PickedVersion(StoryBody, frozen=True, kw_only=True):
    """The version to make active."""

    version: Id


class EditedScene(StoryBody, frozen=True, kw_only=True):
    """The corrected words of a scene."""

    text: SceneWords


class NewState(StoryBody, frozen=True, kw_only=True):
    """A value to set by hand, as of the branch's last scene. With `locked`, only a hand changes it."""

    entity: Name
    field: StateField
    value: StateWords
    locked: bool = True


class NewMember(StoryBody, frozen=True, kw_only=True):
    """A person, a place or a thing for the cast."""

    name: Name
    kind: CastKind
    look: Look = ""
    voice: Look = ""


class NewChapter(StoryBody, frozen=True, kw_only=True):
    """A chapter to begin after the last scene of `branch`. `milestones` are events that it works towards."""

    branch: Id
    title: Title
    place: Look = ""
    scenario: Foundation = ""
    direction: Foundation = ""
    milestones: Annotated[tuple[MilestoneText, ...], Meta(max_length=CHAPTER_MILESTONES)] = ()


class ChapterChange(StoryBody, frozen=True, kw_only=True):
    """Other words for a chapter; what is left out stays. `met` says by their numbers which milestones came about.

    `status` opens the last chapter of a branch again. It and `met` count for `branch` as of its last scene, and for the
    branches that inherit that; by default for the one on which the chapter began. A branch without a scene of its own
    refuses `met`: its last scene is another branch's.
    """

    title: Title | None = None
    place: Look | None = None
    scenario: Foundation | None = None
    direction: Foundation | None = None
    met: Mapping[str, bool] | None = None
    status: Literal["open"] | None = None
    branch: Id | None = None


class ChapterEnd(StoryBody, frozen=True, kw_only=True):
    """The end of a chapter on `branch`, by default the one on which it began.

    Without a `summary`, the model writes it.
    """

    summary: Foundation | None = None
    branch: Id | None = None


class ImportedStory(TolerantStruct, frozen=True, kw_only=True):
    """A story to store whole; see the export. `cast`, `branches` and `scenes` are lists of objects."""

    format: Literal["agent-story/1"]
    title: Title
    foundation: Foundation = ""
    lang: Lang = DEFAULT
    cast: tuple[Mapping[str, Any], ...] = ()
    branches: tuple[Mapping[str, Any], ...] = ()
    scenes: tuple[Mapping[str, Any], ...] = ()


# --- answers


class StoryView(msgspec.Struct, frozen=True, kw_only=True):
    """A story. `revision` grows with each change of its own words."""

    id: str
    title: str
    foundation: str
    lang: Lang
    created_at: datetime
    updated_at: datetime
    revision: int


class StoryList(msgspec.Struct, frozen=True):
    """A user's stories, the one changed last first."""

    stories: tuple[StoryView, ...]


class StoryCreated(msgspec.Struct, frozen=True):
    """The ids of a new story and of its first branch."""

    id: str
    branch: str


class BranchView(msgspec.Struct, frozen=True):
    """A branch. `parent` owns the scene `cut`, after which the branch begins; null for the first one."""

    id: str
    name: str
    parent: str | None
    cut: int


class BranchList(msgspec.Struct, frozen=True):
    """The branches of a story, the first one first."""

    branches: tuple[BranchView, ...]


class TipView(msgspec.Struct, frozen=True):
    """The last scene of a branch: `seq` is 0, and `scene` and `version` null, where it has none."""

    branch: str
    seq: int
    scene: str | None
    version: str | None


class SceneView(msgspec.Struct, frozen=True, kw_only=True):
    """A scene in its active version. `branch` is the one that owns it."""

    scene: str
    version: str
    seq: int
    branch: str
    directive: str
    text: str
    kind: DirectiveKind


class ScenePage(msgspec.Struct, frozen=True):
    """Scenes, the earliest first. `after` asks for the next ones; null where none follow."""

    scenes: tuple[SceneView, ...]
    after: int | None


class VersionView(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a scene."""

    version: str
    status: VersionStatus
    text: str
    directive: str
    kind: DirectiveKind


class VersionList(msgspec.Struct, frozen=True):
    """The versions of a scene, oldest first."""

    versions: tuple[VersionView, ...]


class RecalledView(msgspec.Struct, frozen=True):
    """A scene that fits, with its best statement."""

    scene: str
    seq: int
    text: str
    score: float


class RecalledList(msgspec.Struct, frozen=True):
    """The scenes that fit, best first. `score` is that of the best."""

    scenes: tuple[RecalledView, ...]
    score: float


class ScenePromptView(msgspec.Struct, frozen=True):
    """The prompt that a directive would have. The first `border` sections stay as they are for several scenes."""

    sections: tuple[PromptSection, ...]
    border: int


class StateView(msgspec.Struct, frozen=True, kw_only=True):
    """A value that holds from the scene `seq` on."""

    entity: str
    field: StateField
    value: str
    seq: int
    by: StateSetter
    locked: bool


class StateList(msgspec.Struct, frozen=True):
    """The states of a branch, and the contradictions between them, as sentences."""

    states: tuple[StateView, ...]
    contradictions: tuple[str, ...]


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the cast."""

    id: str
    name: str
    kind: CastKind
    look: str
    voice: str


class CastList(msgspec.Struct, frozen=True):
    """The cast, in the order of its making."""

    cast: tuple[MemberView, ...]


class MilestoneView(msgspec.Struct, frozen=True):
    """A milestone. `met_at` is the scene in which it came about, null while it is ahead."""

    number: int
    text: str
    met_at: int | None


class ChapterView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter, which begins at the scene `from_seq` of `branch`."""

    id: str
    branch: str
    from_seq: int
    title: str
    place: str
    scenario: str
    direction: str
    status: ChapterStatus
    summary: str
    milestones: tuple[MilestoneView, ...]


class ChapterList(msgspec.Struct, frozen=True):
    """The chapters of a branch, the earliest first."""

    chapters: tuple[ChapterView, ...]


class AsideView(msgspec.Struct, frozen=True):
    """Talk beside a story."""

    question: str
    answer: str
    at: datetime


class AsideList(msgspec.Struct, frozen=True):
    """Talk beside a story, the earliest first."""

    asides: tuple[AsideView, ...]
