"""Stories as the tests of their store need them."""

from collections.abc import Sequence
from typing import Any

from agent.ports.conversation import Scope
from agent.ports.stories import BranchTip, EntityState, SceneDraft, StateField, StateSetter, StoredScene
from agent.ports.story_store import StoryStore

ANA = Scope("p1", "t1", "ana")
OTHERS = (Scope("p1", "t1", "bo"), Scope("p2", "t1", "ana"), Scope("p1", "t1", ""))


def a_state(
    entity: str = "key",
    value: str = "box",
    field: StateField = "place",
    by: StateSetter = "rule",
    **other: Any,
) -> EntityState:
    """A state as rules find it, without its place."""
    return EntityState(entity=entity, field=field, value=value, seq=0, branch="", by=by, **other)


async def begin(stories: StoryStore, scope: Scope = ANA, title: str = "The harbour") -> BranchTip:
    """Create a story and open its branch."""
    story, branch = await stories.create_story(scope, title, "A harbour town in winter.", "en")
    return await stories.open_branch(scope, story.id, branch.id)


async def tell(
    stories: StoryStore,
    tip: BranchTip,
    text: str,
    states: Sequence[EntityState] = (),
    scope: Scope = ANA,
    **other: Any,
) -> BranchTip:
    """Tell one scene, or with `retold` another version of the last one; return the tip after it."""
    stored = await tell_receipt(stories, tip, text, states, scope, **other)
    after = await stories.open_branch(scope, tip.story, stored.branch)
    assert (after.version, after.seq) == (stored.version, stored.seq)
    return after


async def tell_receipt(
    stories: StoryStore,
    tip: BranchTip,
    text: str,
    states: Sequence[EntityState] = (),
    scope: Scope = ANA,
    retold: str = "",
    directive: str = "Go on.",
    snapshot: bytes = b"packed",
) -> StoredScene:
    """Tell one scene and return its receipt."""
    claim = await stories.claim_scene(scope, tip, "m1", retold)
    draft = SceneDraft(
        claim=claim,
        kind="retell" if retold else "text",
        directive=directive,
        seed=7,
        snapshot=snapshot,
        model="mock",
    )
    return await stories.store_scene(draft, text, states)


async def tell_all(stories: StoryStore, tip: BranchTip, *texts: str) -> BranchTip:
    """Tell several scenes; return the last tip."""
    for text in texts:
        tip = await tell(stories, tip, text)
    return tip


async def read(stories: StoryStore, story: str, branch: str, scope: Scope = ANA) -> list[str]:
    """Return the texts of a branch's scenes."""
    return [each.text for each in await stories.list_scenes(scope, story, branch, 0, 10_000)]
