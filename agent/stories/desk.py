"""Changes and shows stories for programs and pages (implements `agent.ports.story_service.StoryService`)."""

from collections.abc import Sequence
from functools import partial

from ..ports.conversation import Scope
from ..ports.stories import Branch, BranchTip, Chapter, RecalledScene, Story
from ..ports.story_service import ShownPrompt, ShownStates
from ..ports.story_store import StoryStore
from ..ports.teller import Teller
from ..ports.work import RunSync
from .contradictions import describe_contradictions
from .importing import read_import
from .prompts import assemble_scene, assemble_summary
from .recalling import StoryRecall
from .settings import SUMMARY_TEXT
from .states import find_scene_states

SUMMARISED_SCENES = 200  # of one chapter


class StoryDesk:
    """Does the work on stories that needs more than rows. `run_sync`: reads an import, which may be large."""

    def __init__(self, store: StoryStore, teller: Teller, recall: StoryRecall, run_sync: RunSync) -> None:
        self.store = store
        self._teller = teller
        self._recall = recall
        self._run_sync = run_sync

    async def delete_story(self, scope: Scope, story: str) -> None:
        """Erase a story, and the index of it."""
        await self.store.delete_story(scope, story)
        self._recall.forget_story(story)

    async def edit_scene(self, scope: Scope, story: str, scene: str, text: str) -> BranchTip:
        """Put a corrected text in the place of a branch's last scene, with the states that its words set."""
        branch = await self.store.scene_branch(scope, story, scene)
        context = await self.store.load_context(scope, story, branch)
        return await self.store.edit_scene(
            scope, story, scene, text, find_scene_states(context, text, context.tip)
        )

    async def recall(
        self, scope: Scope, story: str, branch: str, query: str, limit: int
    ) -> Sequence[RecalledScene]:
        """Return the scenes of a branch that fit, best first."""
        return await self._recall.recall(await self.store.load_context(scope, story, branch), query, limit)

    async def show_prompt(self, scope: Scope, story: str, branch: str, directive: str) -> ShownPrompt:
        """Return the prompt that a directive would have."""
        context = await self.store.load_context(scope, story, branch)
        recalled = await self._recall.recall_for_prompt(context, directive)
        prompt = assemble_scene(context, directive, recalled, describe_contradictions(context))
        return ShownPrompt(prompt.sections, prompt.border)

    async def show_states(
        self, scope: Scope, story: str, branch: str, at: int | None, history: bool
    ) -> ShownStates:
        """Return the states of a branch, as of its scene `at`, and the contradictions of today."""
        states = await self.store.list_states(scope, story, branch, at, history)
        context = await self.store.load_context(scope, story, branch)
        return ShownStates(tuple(states), describe_contradictions(context))

    async def conclude_chapter(
        self, scope: Scope, story: str, chapter: str, summary: str | None, branch: str = ""
    ) -> Chapter:
        """Conclude a chapter on `branch`, or on that on which it began; without a `summary` the model writes it."""
        if summary is None:
            summary = await self._summarise(scope, story, chapter, branch)
        return await self.store.conclude_chapter(scope, story, chapter, summary, branch)

    async def _summarise(self, scope: Scope, story: str, id: str, branch: str) -> str:
        chapter = await self.store.chapter(scope, story, id)
        branch = branch or chapter.branch
        context = await self.store.load_context(scope, story, branch)
        scenes = await self.store.list_scenes(scope, story, branch, chapter.from_seq - 1, SUMMARISED_SCENES)
        prompt = assemble_summary(context, chapter, scenes).prompt
        return await self._teller.write(prompt, 0, SUMMARY_TEXT)

    async def import_story(self, scope: Scope, document: bytes) -> tuple[Story, Branch]:
        """Store an exported story, JSON in UTF-8, with the states that its words set."""
        return await self.store.import_story(scope, await self._run_sync(partial(read_import, document)))
