"""Changes and shows stories for programs and pages, beside directing them: the port `StoryService`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .conversation import Scope
from .draft import PromptSection
from .stories import Branch, BranchTip, Chapter, EntityState, RecalledScene, Story
from .story_store import StoryStore


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A prompt as its sections; the first `border` of them stay as they are for several scenes."""

    sections: tuple[PromptSection, ...]
    border: int


@dataclass(frozen=True, slots=True)
class ShownStates:
    """The states of a branch, and the contradictions between them, as sentences."""

    states: tuple[EntityState, ...]
    contradictions: tuple[str, ...]


class StoryService(Protocol):
    """Changes and shows stories. Every method raises as `agent.ports.story_store.StoryStore` does."""

    @property
    def store(self) -> StoryStore:
        """The rows."""
        ...

    async def delete_story(self, scope: Scope, story: str) -> None:
        """Erase a story, and forget the words of it that are held in memory."""
        ...

    async def edit_scene(self, scope: Scope, story: str, scene: str, text: str) -> BranchTip:
        """Put a corrected text in the place of a branch's last scene, with the states that its words set."""
        ...

    async def recall(
        self, scope: Scope, story: str, branch: str, query: str, limit: int
    ) -> Sequence[RecalledScene]:
        """Return the scenes of a branch that fit, best first."""
        ...

    async def show_prompt(self, scope: Scope, story: str, branch: str, directive: str) -> ShownPrompt:
        """Return the prompt that a directive would have."""
        ...

    async def show_states(
        self, scope: Scope, story: str, branch: str, at: int | None, history: bool
    ) -> ShownStates:
        """Return the states of a branch, as of its scene `at`."""
        ...

    async def conclude_chapter(
        self, scope: Scope, story: str, chapter: str, summary: str | None, branch: str = ""
    ) -> Chapter:
        """Conclude a chapter on `branch`, or on that on which it began; without a `summary` the model writes it.

        Raises `agent.errors.ModelFailed`.
        """
        ...

    async def import_story(self, scope: Scope, document: bytes) -> tuple[Story, Branch]:
        """Store an exported story, JSON in UTF-8, with the states that its words set."""
        ...
