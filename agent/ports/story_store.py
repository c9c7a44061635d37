"""Stores stories, branches, scenes with their versions, and the rest of a story: the port `StoryStore`."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..lang import Lang
from .change_mark import ChangeMark
from .conversation import Scope
from .stories import (
    Aside,
    Branch,
    BranchTip,
    CastMember,
    Chapter,
    EntityState,
    SceneChanges,
    SceneChoice,
    SceneClaim,
    SceneDraft,
    SceneText,
    SceneVersion,
    StoredScene,
    Story,
    StoryContext,
)


class StoryStore(Protocol):
    """Stores stories, their branches, scenes, chapters and states.

    Every method raises `agent.errors.StoryRefused` with a `StoryFault` and a sentence with the remedy, and
    `agent.errors.StorageFailed` when the store cannot be used: then trying again may help, and with `StoryRefused` it
    does not. A disk that hangs is not reported: a caller bounds its own wait. Cancelled, a write is done whole or not
    at all, and a claim is freed. What belongs to another scope raises `unknown_story`, as what never was.
    """

    # --- stories
    async def create_story(
        self, scope: Scope, title: str, foundation: str, lang: Lang
    ) -> tuple[Story, Branch]:
        """Store a new story with one empty branch, "main". Raises `story_full` for a user with `USER_STORIES`."""
        ...

    async def list_stories(self, scope: Scope) -> tuple[Story, ...]:
        """Return the stories of a user, the one changed last first."""
        ...

    async def story(self, scope: Scope, story: str) -> Story:
        """Return a story."""
        ...

    async def edit_story(self, scope: Scope, story: str, title: str | None, foundation: str | None) -> Story:
        """Change the fields that are not None."""
        ...

    async def delete_story(self, scope: Scope, story: str) -> None:
        """Erase a story, also while a scene of it is told; afterwards its words are in no file."""
        ...

    # --- branches
    async def list_branches(self, scope: Scope, story: str) -> tuple[Branch, ...]:
        """Return the branches of a story, the first one first."""
        ...

    async def fork(self, scope: Scope, story: str, branch: str, seq: int, name: str) -> Branch:
        """Begin a branch after the scene `seq` of `branch`, an inherited one too; one row is written."""
        ...

    async def rename_branch(self, scope: Scope, story: str, branch: str, name: str) -> Branch:
        """Give a branch another name, unique in its story."""
        ...

    async def delete_branch(self, scope: Scope, story: str, branch: str) -> None:
        """Erase a branch that no other comes from (else `inherited`), and that is not the only one."""
        ...

    # --- telling
    async def open_branch(self, scope: Scope, story: str, branch: str | None) -> BranchTip:
        """Return a branch's tip; without `branch` that of the branch told last."""
        ...

    async def claim_scene(self, scope: Scope, tip: BranchTip, message: str, retold: str = "") -> SceneClaim:
        """Claim the next scene of a branch, or with `retold` another version of its last scene; in one statement.

        Raises `moved` unless `tip` is still the branch's tip, `busy` while a living process tells a scene of it,
        `inherited` for a last scene that another branch has, `story_full` at a limit. The claim of a process that died
        is free at once; on a database server, as soon as that process is known to be dead.
        """
        ...

    async def release_claim(self, claim: SceneClaim) -> None:
        """Free a claim whose scene was not told to its end. Idempotent."""
        ...

    async def store_scene(self, draft: SceneDraft, text: str, states: Sequence[EntityState]) -> StoredScene:
        """Store a scene, its active version, words, snapshot and states, and free its claim, in one transaction.

        Idempotent for one claim. `states` name entity, field, value and setter; the place is the scene's. Those of a
        locked value are left out, and so are those beyond `STORY_STATES` entities and fields. Raises `moved` when the
        claim is not there any more, `unknown_story` when the branch was deleted meanwhile.
        """
        ...

    async def store_choices(self, version: str, choices: Sequence[str]) -> tuple[SceneChoice, ...]:
        """Store the directions that an active version offers, unless it has some; return them with their ids.

        Raises `moved` for a version that is not active.
        """
        ...

    async def store_aside(self, scope: Scope, story: str, aside: Aside) -> None:
        """Store talk beside a story; beyond `STORY_ASIDES` the oldest leaves."""
        ...

    async def choice(self, scope: Scope, tip: BranchTip, choice: str) -> SceneChoice:
        """Return a choice of the branch's last scene; raises `stale_choice` for any other."""
        ...

    async def snapshot(self, scope: Scope, story: str, version: str) -> bytes:
        """Return the packed prompt of a version, b"" where it has none."""
        ...

    # --- changing the last scene
    async def undo(self, scope: Scope, story: str, branch: str) -> BranchTip:
        """Shelve the last scene's active version; its place stands empty."""
        ...

    async def redo(self, scope: Scope, story: str, branch: str) -> BranchTip:
        """Pick again the version that `undo` shelved last, unless a scene was told since."""
        ...

    async def pick_version(self, scope: Scope, story: str, scene: str, version: str) -> BranchTip:
        """Make a shelved version of the last scene active in place of the present one."""
        ...

    async def edit_scene(
        self, scope: Scope, story: str, scene: str, text: str, states: Sequence[EntityState]
    ) -> BranchTip:
        """Put a corrected text, as another version, in the place of the last scene's active one.

        The version keeps directive, prompt and milestones of the one that it corrects.
        """
        ...

    # --- reading
    async def list_scenes(
        self, scope: Scope, story: str, branch: str, after: int, limit: int
    ) -> tuple[SceneText, ...]:
        """Return the active scenes of a branch's lineage with a `seq` over `after`, oldest first."""
        ...

    async def list_versions(self, scope: Scope, story: str, scene: str) -> tuple[SceneVersion, ...]:
        """Return the versions of a scene, oldest first."""
        ...

    async def scene_branch(self, scope: Scope, story: str, scene: str) -> str:
        """Return the branch that owns a scene."""
        ...

    async def load_context(self, scope: Scope, story: str, branch: str) -> StoryContext:
        """Return all that a prompt needs, as of one moment."""
        ...

    async def scene_changes(self, story: str, after: ChangeMark, limit: int) -> SceneChanges:
        """Return the first scenes that changed after a mark, some `limit` of them; by any process."""
        ...

    async def list_asides(self, scope: Scope, story: str) -> tuple[Aside, ...]:
        """Return the talk beside a story, oldest first."""
        ...

    # --- cast, chapters, states
    async def list_cast(self, scope: Scope, story: str) -> tuple[CastMember, ...]:
        """Return the cast, in the order of its making."""
        ...

    async def put_member(self, scope: Scope, story: str, member: CastMember) -> CastMember:
        """Store a member; with an empty `id` a new one."""
        ...

    async def list_states(
        self, scope: Scope, story: str, branch: str, at: int | None = None, history: bool = False
    ) -> tuple[EntityState, ...]:
        """Return the states of a lineage, as of the scene `at`: the latest of each, or with `history` all of them."""
        ...

    async def set_state(self, scope: Scope, story: str, branch: str, state: EntityState) -> EntityState:
        """Set a value by hand, as of the branch's last scene, and lock or unlock it."""
        ...

    async def list_chapters(self, scope: Scope, story: str, branch: str) -> tuple[Chapter, ...]:
        """Return the chapters of a lineage, oldest first."""
        ...

    async def add_chapter(self, scope: Scope, story: str, chapter: Chapter) -> Chapter:
        """Begin a chapter after the last scene of `chapter.branch`, with an id of the store's.

        Of `chapter` the title, place, scenario, direction and the milestones' texts count.
        """
        ...

    async def chapter(self, scope: Scope, story: str, chapter: str) -> Chapter:
        """Return a chapter, as the branch sees it on which it began."""
        ...

    async def edit_chapter(self, scope: Scope, story: str, chapter: Chapter) -> Chapter:
        """Put title, place, scenario and direction of `chapter` in the place of the present ones."""
        ...

    async def conclude_chapter(
        self, scope: Scope, story: str, chapter: str, summary: str, branch: str = ""
    ) -> Chapter:
        """Conclude a chapter with its summary, for `branch` and those that inherit its last scene.

        Without `branch` that is the branch on which the chapter began; another one must have it in its lineage.
        """
        ...

    async def reopen_chapter(self, scope: Scope, story: str, chapter: str, branch: str = "") -> Chapter:
        """Open the last chapter of a branch again; raises `conflict` for any other."""
        ...

    async def mark_milestones(
        self, scope: Scope, story: str, chapter: str, version: str, met: Mapping[int, bool]
    ) -> Chapter:
        """Mark milestones, by their numbers, as met in the scene of `version` or as ahead; return the chapter as seen
        there.

        What is marked so already, and a number that the chapter does not have, changes nothing. Raises `moved` for a
        version that is not active.
        """
        ...

    # --- moving
    async def export_story(self, scope: Scope, story: str) -> dict[str, Any]:
        """Return a story as JSON of the format "agent-story/1"."""
        ...

    async def import_story(self, scope: Scope, document: Mapping[str, Any]) -> tuple[Story, Branch]:
        """Store an exported story whole or not at all; raises `bad_story` with the first fault, named by its place.

        Rule-found states are not looked for here: the caller adds them to the document, to each scene's `states`.
        """
        ...

    async def list_faults(self, most: int) -> tuple[str, ...]:
        """Read all rows of all stories; return the faults, at most `most` of each kind, for an operator."""
        ...
