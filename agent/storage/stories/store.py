"""The store of stories: the port `agent.ports.story_store.StoryStore` over the queue of a `Database`."""

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import trio

from ...errors import StorageFailed
from ...lang import Lang
from ...ports.change_mark import ChangeMark
from ...ports.clock import Clock
from ...ports.conversation import Scope
from ...ports.stories import (
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
from ...ports.work import RunSync
from ...stories.exchange import read_story
from ...stories.versions import ChapterTrigger
from ..database import Database
from ..places import Data, place_of
from . import (
    branching,
    cast,
    changing,
    chapters,
    checking,
    claims,
    lineage,
    moving,
    reading,
    states,
    telling,
)
from .story_contents import STORIES


class DatabaseStories:
    """Stories in an open database (implements `agent.ports.story_store.StoryStore`).

    `reader` is the same database, in a folder over a connection of its own, so that no read waits for a write that is
    held up. `clock` stamps rows.
    """

    def __init__(self, database: Database, reader: Database, clock: Clock, run_sync: RunSync) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock
        self._run_sync = run_sync

    # --- stories
    async def create_story(
        self, scope: Scope, title: str, foundation: str, lang: Lang
    ) -> tuple[Story, Branch]:
        """Store a new story with one empty branch, "main"."""
        at = self._clock.now_ms()
        return await self._database.write(partial(branching.create_story, scope, title, foundation, lang, at))

    async def list_stories(self, scope: Scope) -> tuple[Story, ...]:
        """Return the stories of a user, the one changed last first."""
        return await self._reader.read(partial(reading.list_stories, scope))

    async def story(self, scope: Scope, story: str) -> Story:
        """Return a story."""
        return await self._reader.read(lambda connection: lineage.find_story(connection, scope, story).story)

    async def edit_story(self, scope: Scope, story: str, title: str | None, foundation: str | None) -> Story:
        """Change the fields that are not None."""
        at = self._clock.now_ms()
        return await self._database.write(partial(branching.edit_story, scope, story, title, foundation, at))

    async def delete_story(self, scope: Scope, story: str) -> None:
        """Erase a story; afterwards its words are in no file."""
        await self._database.write(partial(branching.delete_story, scope, story))

    # --- branches
    async def list_branches(self, scope: Scope, story: str) -> tuple[Branch, ...]:
        """Return the branches of a story, the first one first."""
        return await self._reader.read(partial(branching.list_branches, scope, story))

    async def fork(self, scope: Scope, story: str, branch: str, seq: int, name: str) -> Branch:
        """Begin a branch after the scene `seq` of `branch`; one row is written."""
        at = self._clock.now_ms()
        return await self._database.write(partial(branching.fork, scope, story, branch, seq, name, at))

    async def rename_branch(self, scope: Scope, story: str, branch: str, name: str) -> Branch:
        """Give a branch another name, unique in its story."""
        return await self._database.write(partial(branching.rename_branch, scope, story, branch, name))

    async def delete_branch(self, scope: Scope, story: str, branch: str) -> None:
        """Erase a branch that no other comes from, and that is not the only one."""
        await self._database.write(partial(branching.delete_branch, scope, story, branch))

    # --- telling
    async def open_branch(self, scope: Scope, story: str, branch: str | None) -> BranchTip:
        """Return a branch's tip; without `branch` that of the branch told last."""
        return await self._reader.read(partial(reading.open_branch, scope, story, branch))

    async def claim_scene(self, scope: Scope, tip: BranchTip, message: str, retold: str = "") -> SceneClaim:
        """Claim the next scene of a branch, or with `retold` another version of its last scene."""
        claim = SceneClaim(
            id=secrets.token_hex(8),
            scope=scope,
            story=tip.story,
            branch=tip.branch,
            seq=tip.seq,
            retold=retold,
        )
        release = partial(claims.release_claim, claim.id)
        work = partial(claims.claim_scene, claim, tip, message, self._clock.now_ms())
        try:
            return await self._database.write(work, undo=release)
        except trio.Cancelled:  # the claim may be written meanwhile
            with suppress(StorageFailed):
                await self._database.write_eventually(release)
            raise

    async def release_claim(self, claim: SceneClaim) -> None:
        """Free a claim whose scene was not told to its end. Idempotent."""
        await self._database.write_eventually(partial(claims.release_claim, claim.id))

    async def store_scene(self, draft: SceneDraft, text: str, states: Sequence[EntityState]) -> StoredScene:
        """Store a scene with all that belongs to it, and free its claim, in one transaction."""
        at = self._clock.now_ms()
        return await self._database.write(partial(telling.store_scene, draft, text, states, at))

    async def store_choices(self, version: str, choices: Sequence[str]) -> tuple[SceneChoice, ...]:
        """Store the directions that an active version offers; return them with their ids."""
        return await self._database.write(partial(telling.store_choices, version, choices))

    async def store_aside(self, scope: Scope, story: str, aside: Aside) -> None:
        """Store talk beside a story."""
        await self._database.write(partial(telling.store_aside, scope, story, aside))

    async def choice(self, scope: Scope, tip: BranchTip, choice: str) -> SceneChoice:
        """Return a choice of the branch's last scene; raises `stale_choice` for any other."""
        return await self._reader.read(partial(telling.find_choice, scope, tip, choice))

    async def snapshot(self, scope: Scope, story: str, version: str) -> bytes:
        """Return the packed prompt of a version, b"" where it has none."""
        return await self._reader.read(partial(telling.load_snapshot, scope, story, version))

    # --- changing the last scene
    async def undo(self, scope: Scope, story: str, branch: str) -> BranchTip:
        """Shelve the last scene's active version; its place stands empty."""
        at = self._clock.now_ms()
        return await self._database.write(partial(changing.undo, scope, story, branch, at))

    async def redo(self, scope: Scope, story: str, branch: str) -> BranchTip:
        """Pick again what `undo` shelved last, unless something was told since."""
        at = self._clock.now_ms()
        return await self._database.write(partial(changing.redo, scope, story, branch, at))

    async def pick_version(self, scope: Scope, story: str, scene: str, version: str) -> BranchTip:
        """Make a shelved version of the last scene active in place of the present one."""
        at = self._clock.now_ms()
        return await self._database.write(partial(changing.pick_version, scope, story, scene, version, at))

    async def edit_scene(
        self, scope: Scope, story: str, scene: str, text: str, states: Sequence[EntityState]
    ) -> BranchTip:
        """Put a corrected text, as another version, in the place of the last scene's active one."""
        at = self._clock.now_ms()
        return await self._database.write(partial(changing.edit_scene, scope, story, scene, text, states, at))

    # --- reading
    async def list_scenes(
        self, scope: Scope, story: str, branch: str, after: int, limit: int
    ) -> tuple[SceneText, ...]:
        """Return the active scenes of a branch's lineage with a `seq` over `after`, oldest first."""
        return await self._reader.read(partial(reading.list_scenes, scope, story, branch, after, limit))

    async def list_versions(self, scope: Scope, story: str, scene: str) -> tuple[SceneVersion, ...]:
        """Return the versions of a scene, oldest first."""
        return await self._reader.read(partial(reading.list_versions, scope, story, scene))

    async def scene_branch(self, scope: Scope, story: str, scene: str) -> str:
        """Return the branch that owns a scene."""
        return await self._reader.read(partial(changing.find_scene_branch, scope, story, scene))

    async def load_context(self, scope: Scope, story: str, branch: str) -> StoryContext:
        """Return all that a prompt needs, as of one moment."""
        return await self._reader.read(partial(reading.load_context, scope, story, branch))

    async def scene_changes(self, story: str, after: ChangeMark, limit: int) -> SceneChanges:
        """Return the scenes that changed after a place, 0 for all, at most `limit` of them; by any process."""
        return await self._reader.read(partial(reading.load_changes, story, after, limit))

    async def list_asides(self, scope: Scope, story: str) -> tuple[Aside, ...]:
        """Return the talk beside a story, oldest first."""
        return await self._reader.read(partial(reading.list_asides, scope, story))

    # --- cast, chapters, states
    async def list_cast(self, scope: Scope, story: str) -> tuple[CastMember, ...]:
        """Return the cast, in the order of its making."""
        return await self._reader.read(partial(cast.list_cast, scope, story))

    async def put_member(self, scope: Scope, story: str, member: CastMember) -> CastMember:
        """Store a member; with an empty `id` a new one."""
        return await self._database.write(partial(cast.put_member, scope, story, member))

    async def list_states(
        self, scope: Scope, story: str, branch: str, at: int | None = None, history: bool = False
    ) -> tuple[EntityState, ...]:
        """Return the states of a lineage, as of the scene `at`: the latest of each, or with `history` all of them."""
        return await self._reader.read(partial(states.list_states, scope, story, branch, at, history))

    async def set_state(self, scope: Scope, story: str, branch: str, state: EntityState) -> EntityState:
        """Set a value by hand, as of the branch's last scene, and lock or unlock it."""
        return await self._database.write(partial(states.set_state, scope, story, branch, state))

    async def list_chapters(self, scope: Scope, story: str, branch: str) -> tuple[Chapter, ...]:
        """Return the chapters of a lineage, oldest first."""
        return await self._reader.read(partial(chapters.list_chapters, scope, story, branch))

    async def add_chapter(self, scope: Scope, story: str, chapter: Chapter) -> Chapter:
        """Begin a chapter after the last scene of its branch, with an id of the store's."""
        return await self._database.write(partial(chapters.add_chapter, scope, story, chapter))

    async def chapter(self, scope: Scope, story: str, chapter: str) -> Chapter:
        """Return a chapter, as the branch sees it on which it began."""
        return await self._reader.read(partial(chapters.find_chapter, scope, story, chapter))

    async def edit_chapter(self, scope: Scope, story: str, chapter: Chapter) -> Chapter:
        """Put other words in the place of a chapter's."""
        return await self._database.write(partial(chapters.edit_chapter, scope, story, chapter))

    async def conclude_chapter(
        self, scope: Scope, story: str, chapter: str, summary: str, branch: str = ""
    ) -> Chapter:
        """Conclude a chapter with its summary, for a branch and those that inherit its last scene."""
        work = partial(
            chapters.move_conclusion, scope, story, chapter, ChapterTrigger.CONCLUDE, summary, branch
        )
        return await self._database.write(work)

    async def reopen_chapter(self, scope: Scope, story: str, chapter: str, branch: str = "") -> Chapter:
        """Open the last chapter of a branch again."""
        work = partial(chapters.move_conclusion, scope, story, chapter, ChapterTrigger.REOPEN, "", branch)
        return await self._database.write(work)

    async def mark_milestones(
        self, scope: Scope, story: str, chapter: str, version: str, met: Mapping[int, bool]
    ) -> Chapter:
        """Mark milestones, by their numbers, as met in the scene of `version` or as ahead."""
        return await self._database.write(
            partial(chapters.mark_milestones, scope, story, chapter, version, met)
        )

    # --- moving
    async def export_story(self, scope: Scope, story: str) -> dict[str, Any]:
        """Return a story as JSON of the format "agent-story/1"."""
        return await self._reader.read(partial(moving.export_story, scope, story))

    async def import_story(self, scope: Scope, document: Mapping[str, Any]) -> tuple[Story, Branch]:
        """Store an exported story whole or not at all; raises `bad_story` with the first fault, named by its place."""
        checked = await self._run_sync(partial(read_story, document))
        at = self._clock.now_ms()
        return await self._database.write(partial(moving.import_story, scope, checked, at))

    async def list_faults(self, most: int) -> tuple[str, ...]:
        """Read all rows of all stories; return what cannot be, at most `most` of each kind."""
        return await self._reader.read(partial(checking.list_faults, most))


@asynccontextmanager
async def open_database_stories(
    data: Data, run_sync: RunSync, clock: Clock, told: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[DatabaseStories, None]:
    """Open the stories in the folder `data`, or with `None` in memory (see `Database`), for the block.

    `run_sync` must run two calls at a time, or a read waits for a write. `told` gets the reason why nothing can be
    written, and "" when writes work again. Raises `agent.errors.UsageError` when the folder cannot be used.
    """
    place = place_of(data)
    impatient = not place.reads_beside
    async with Database(place, run_sync, clock, None, told, STORIES, impatient=impatient) as database:
        if not place.reads_beside:
            yield DatabaseStories(database, database, database.clock, run_sync)
            return
        async with Database(place, run_sync, clock, contents=STORIES, beside=True, impatient=True) as reader:
            yield DatabaseStories(database, reader, database.clock, run_sync)
