"""What every store of stories must do."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pytest

from agent.errors import AgentError, StoryRefused
from agent.ports.change_mark import BEGINNING
from agent.ports.stories import (
    BRANCH_DEPTH,
    SCENE_BYTES,
    SCENE_VERSIONS,
    STORY_CAST,
    Aside,
    CastMember,
    Chapter,
    Milestone,
    SceneDraft,
)
from agent.ports.story_store import StoryStore
from tests.told import ANA, OTHERS, a_state, begin, read, tell, tell_all, tell_receipt

Asked: TypeAlias = Callable[[], Awaitable[Any]]


async def answer(deed: Awaitable[Any]) -> Any:
    """The answer to a request, or the code with which it is refused."""
    try:
        return await deed
    except StoryRefused as error:
        return error.code


async def refused(deed: Awaitable[Any]) -> str:
    """The code with which a request is refused, "" if it is not."""
    code = await answer(deed)
    return code if isinstance(code, str) else ""


async def test_a_scene_is_stored_as_it_was_told(stories: StoryStore) -> None:
    """Its text, directive, prompt and states are there, and the receipt names it."""
    tip = await begin(stories)
    assert (tip.seq, tip.scene, tip.version, tip.name) == (0, None, "", "main")
    receipt = await tell_receipt(
        stories, tip, "Mira hid the key in the box.", [a_state()], directive="Hide it.", snapshot=b"\x00pack"
    )
    after = await stories.open_branch(ANA, tip.story, None)
    assert after.scene is not None
    assert (after.scene.text, after.scene.directive, after.scene.kind) == (
        "Mira hid the key in the box.",
        "Hide it.",
        "text",
    )
    assert (after.scene.scene, after.version, after.branch, after.seq) == (
        receipt.scene,
        receipt.version,
        receipt.branch,
        1,
    )
    assert await stories.snapshot(ANA, tip.story, receipt.version) == b"\x00pack"
    [state] = await stories.list_states(ANA, tip.story, tip.branch)
    assert (state.entity, state.value, state.seq, state.version) == ("key", "box", 1, receipt.version)


async def test_a_claim_is_stored_once(stories: StoryStore) -> None:
    """A write that is tried again gives the same receipt and writes nothing more."""
    tip = await begin(stories)
    claim = await stories.claim_scene(ANA, tip, "m1")
    draft = SceneDraft(claim=claim, kind="text", directive="", seed=1, snapshot=b"", model="mock")
    first = await stories.store_scene(draft, "One.", [a_state()])
    assert await answer(stories.store_scene(draft, "One.", [a_state()])) == first
    assert await read(stories, tip.story, tip.branch) == ["One."]
    assert len(await stories.list_versions(ANA, tip.story, first.scene)) == 1
    assert await stories.snapshot(ANA, tip.story, first.version) == b""


async def test_one_scene_of_a_branch_is_told_at_a_time(stories: StoryStore) -> None:
    """Another claim is busy, from the same tip too; after the scene it is moved, until the branch is opened again."""
    tip = await begin(stories)
    claim = await stories.claim_scene(ANA, tip, "m1")
    assert await refused(stories.claim_scene(ANA, tip, "m2")) == "busy"
    assert await refused(stories.undo(ANA, tip.story, tip.branch)) == "busy"
    await stories.release_claim(claim)
    await stories.release_claim(claim)
    after = await tell(stories, tip, "One.")
    assert await refused(stories.claim_scene(ANA, tip, "m2")) == "moved"
    assert (await stories.claim_scene(ANA, after, "m3")).seq == 2


async def test_a_released_claim_stores_nothing(stories: StoryStore) -> None:
    """What was cancelled is in no row, even if somebody stores it afterwards."""
    tip = await begin(stories)
    claim = await stories.claim_scene(ANA, tip, "m1")
    await stories.release_claim(claim)
    draft = SceneDraft(claim=claim, kind="text", directive="", seed=1, snapshot=b"", model="mock")
    assert await refused(stories.store_scene(draft, "One.", [])) == "moved"
    assert await read(stories, tip.story, tip.branch) == []


async def test_a_fork_has_what_came_before_and_nothing_after(stories: StoryStore) -> None:
    """Scenes and states of both go apart from the cut on; a fork at an inherited scene names its owner."""
    tip = await begin(stories)
    for number in range(1, 6):
        tip = await tell(stories, tip, f"Main {number}.", [a_state(value=f"box {number}")])
    fork = await stories.fork(ANA, tip.story, tip.branch, 3, "other")
    assert (fork.parent, fork.cut, fork.name) == (tip.branch, 3, "other")
    other = await tell(stories, await stories.open_branch(ANA, tip.story, fork.id), "Other 4.")
    again = await stories.fork(ANA, tip.story, fork.id, 2, "again")
    assert (again.parent, again.cut) == (tip.branch, 2)
    below = await stories.fork(ANA, tip.story, fork.id, 4, "below")
    assert (await stories.load_context(ANA, tip.story, below.id)).lineage == (
        (below.id, 4),
        (fork.id, 4),
        (tip.branch, 3),
    )
    assert await read(stories, tip.story, below.id) == ["Main 1.", "Main 2.", "Main 3.", "Other 4."]
    assert await read(stories, tip.story, again.id) == ["Main 1.", "Main 2."]
    inherited, own = await stories.list_scenes(ANA, tip.story, below.id, 2, 2)
    assert await stories.scene_branch(ANA, tip.story, inherited.scene) == tip.branch
    assert await stories.scene_branch(ANA, tip.story, own.scene) == fork.id
    assert await read(stories, tip.story, tip.branch) == [f"Main {number}." for number in range(1, 6)]
    assert [each.value for each in await stories.list_states(ANA, tip.story, other.branch)] == ["box 3"]
    assert [each.value for each in await stories.list_states(ANA, tip.story, tip.branch)] == ["box 5"]
    assert [each.value for each in await stories.list_states(ANA, tip.story, tip.branch, at=2)] == ["box 2"]
    history = await stories.list_states(ANA, tip.story, fork.id, history=True)
    assert [each.value for each in history] == ["box 1", "box 2", "box 3"]
    assert [each.name for each in await stories.list_branches(ANA, tip.story)] == [
        "main",
        "other",
        "again",
        "below",
    ]


async def test_forks_have_bounds(stories: StoryStore) -> None:
    """None is made past the tip, with a name that is there, or deeper than the limit."""
    tip = await tell(stories, await begin(stories), "One.")
    assert await refused(stories.fork(ANA, tip.story, tip.branch, 2, "late")) == "conflict"
    assert await refused(stories.fork(ANA, tip.story, tip.branch, -1, "early")) == "conflict"
    assert await refused(stories.fork(ANA, tip.story, tip.branch, 1, " MAIN ")) == "conflict"
    branch = tip.branch
    for depth in range(BRANCH_DEPTH):
        branch = (await stories.fork(ANA, tip.story, branch, depth + 1, f"deep {depth}")).id
        tip = await tell(stories, await stories.open_branch(ANA, tip.story, branch), f"Deep {depth}.")
    assert await refused(stories.fork(ANA, tip.story, branch, tip.seq, "deeper")) == "story_full"
    assert len((await stories.load_context(ANA, tip.story, branch)).lineage) == BRANCH_DEPTH + 1
    first = await stories.fork(ANA, tip.story, branch, 1, "flat")
    assert first.cut == 1
    begun = await stories.fork(ANA, tip.story, branch, 0, "from the beginning")
    assert (await stories.open_branch(ANA, tip.story, begun.id)).seq == 0


async def test_retelling_keeps_all_versions_and_shows_one(stories: StoryStore) -> None:
    """The last scene gets another version; the one before is shelved with its states, and can be picked."""
    tip = await tell(
        stories, await tell(stories, await begin(stories), "One."), "Two.", [a_state(value="left")]
    )
    assert tip.scene is not None
    scene, first = tip.scene.scene, tip.version
    assert await refused(stories.claim_scene(ANA, tip, "m1", "c1")) == "inherited"
    tip = await tell(stories, tip, "Two, again.", [a_state(value="right")], retold=scene)
    assert [(each.text, each.status) for each in await stories.list_versions(ANA, tip.story, scene)] == [
        ("Two.", "shelved"),
        ("Two, again.", "active"),
    ]
    assert [each.value for each in await stories.list_states(ANA, tip.story, tip.branch)] == ["right"]
    tip = await stories.pick_version(ANA, tip.story, scene, first)
    assert (tip.version, tip.seq) == (first, 2)
    assert await read(stories, tip.story, tip.branch) == ["One.", "Two."]
    assert [each.value for each in await stories.list_states(ANA, tip.story, tip.branch)] == ["left"]
    assert await stories.pick_version(ANA, tip.story, scene, first) == tip
    assert await refused(stories.pick_version(ANA, tip.story, scene, "v1")) == "unknown_story"


async def test_the_oldest_version_leaves(stories: StoryStore) -> None:
    """Of so many versions the oldest one goes that is not active; the active one stays."""
    tip = await tell(stories, await begin(stories), "Version 1.", [a_state()])
    assert tip.scene is not None
    scene = tip.scene.scene
    for number in range(2, SCENE_VERSIONS + 2):
        tip = await tell(stories, tip, f"Version {number}.", retold=scene)
    found = await stories.list_versions(ANA, tip.story, scene)
    assert [each.text for each in found] == [f"Version {each}." for each in range(2, SCENE_VERSIONS + 2)]
    picked = await stories.pick_version(ANA, tip.story, scene, found[0].version)
    again = await tell(stories, picked, "One more.", retold=scene)
    left = [each.text for each in await stories.list_versions(ANA, tip.story, scene)]
    assert (len(left), left[0], again.scene and again.scene.text) == (
        SCENE_VERSIONS,
        "Version 2.",
        "One more.",
    )


async def test_undo_and_redo(stories: StoryStore) -> None:
    """Undone scenes come back in their order, until something is told; the next scene takes their place."""
    tip = await tell_all(stories, await begin(stories), "One.", "Two.", "Three.")
    tip = await stories.undo(ANA, tip.story, tip.branch)
    tip = await stories.undo(ANA, tip.story, tip.branch)
    assert (tip.seq, await read(stories, tip.story, tip.branch)) == (1, ["One."])
    tip = await stories.redo(ANA, tip.story, tip.branch)
    tip = await stories.redo(ANA, tip.story, tip.branch)
    assert await read(stories, tip.story, tip.branch) == ["One.", "Two.", "Three."]
    assert await refused(stories.redo(ANA, tip.story, tip.branch)) == "conflict"
    tip = await stories.undo(ANA, tip.story, tip.branch)
    tip = await tell(stories, await stories.undo(ANA, tip.story, tip.branch), "Two, otherwise.")
    assert tip.scene is not None
    assert len(await stories.list_versions(ANA, tip.story, tip.scene.scene)) == 2
    assert await refused(stories.redo(ANA, tip.story, tip.branch)) == "conflict"
    tip = await tell(stories, tip, "Three, otherwise.")
    assert await read(stories, tip.story, tip.branch) == ["One.", "Two, otherwise.", "Three, otherwise."]
    empty = await begin(stories)
    assert await refused(stories.undo(ANA, empty.story, empty.branch)) == "conflict"


async def test_an_inherited_scene_does_not_change(stories: StoryStore) -> None:
    """Neither on the branch that owns it nor on the one that has it of another; a later scene still does."""
    tip = await tell_all(stories, await begin(stories), "One.", "Two.")
    assert tip.scene is not None
    fork = await stories.fork(ANA, tip.story, tip.branch, 2, "other")
    forked = await stories.open_branch(ANA, tip.story, fork.id)
    for branch, seen in ((tip.branch, tip), (fork.id, forked)):
        assert await refused(stories.undo(ANA, tip.story, branch)) == "inherited"
        assert await refused(stories.claim_scene(ANA, seen, "m1", tip.scene.scene)) == "inherited"
    assert await refused(stories.edit_scene(ANA, tip.story, tip.scene.scene, "Else.", [])) == "inherited"
    assert await refused(stories.pick_version(ANA, tip.story, tip.scene.scene, tip.version)) == "inherited"
    assert await refused(stories.delete_branch(ANA, tip.story, tip.branch)) == "inherited"
    tip = await tell(stories, tip, "Three.")
    assert (await stories.undo(ANA, tip.story, tip.branch)).seq == 2
    await stories.delete_branch(ANA, tip.story, fork.id)
    assert (await stories.undo(ANA, tip.story, tip.branch)).seq == 1
    assert await refused(stories.delete_branch(ANA, tip.story, tip.branch)) == "conflict"


async def test_a_scene_that_is_told_again_is_not_forked(stories: StoryStore) -> None:
    """Else it would be inherited before its other version is stored; an earlier scene may be forked meanwhile."""
    tip = await tell_all(stories, await begin(stories), "One.", "Two.")
    assert tip.scene is not None
    await stories.claim_scene(ANA, tip, "m1", tip.scene.scene)
    assert await refused(stories.fork(ANA, tip.story, tip.branch, 2, "late")) == "busy"
    assert (await stories.fork(ANA, tip.story, tip.branch, 1, "early")).cut == 1


async def test_a_correction_is_another_version(stories: StoryStore) -> None:
    """It has the directive, the marks and states of its own; only the last scene is corrected."""
    tip = await tell(stories, await begin(stories), "One.", [a_state(value="left")], directive="Begin.")
    tip = await tell(stories, tip, "Two.", [a_state(value="right")], directive="Go.")
    assert tip.scene is not None
    assert await refused(stories.edit_scene(ANA, tip.story, "c1", "Else.", [])) == "inherited"
    after = await stories.edit_scene(ANA, tip.story, tip.scene.scene, "Two!", [a_state(value="up")])
    assert after.scene is not None
    assert (after.scene.text, after.scene.kind, after.scene.directive) == ("Two!", "edit", "Go.")
    assert await stories.snapshot(ANA, tip.story, after.version) == b"packed"
    assert [each.value for each in await stories.list_states(ANA, tip.story, tip.branch)] == ["up"]
    assert await refused(stories.edit_scene(ANA, tip.story, tip.scene.scene, " \n", [])) == "bad_story"
    long = "å" * (SCENE_BYTES // 2) + "."
    assert await refused(stories.edit_scene(ANA, tip.story, tip.scene.scene, long, [])) == "story_full"


async def test_choices_are_of_the_last_scene(stories: StoryStore) -> None:
    """They are offered with it, and stale once the story has gone on."""
    tip = await tell(stories, await begin(stories), "One.")
    made = await stories.store_choices(tip.version, ["Go left.", "Go right."])
    assert await stories.store_choices(tip.version, ["Stay."]) == made
    seen = await stories.open_branch(ANA, tip.story, tip.branch)
    assert (seen.choices, [each.text for each in made]) == (made, ["Go left.", "Go right."])
    assert await stories.choice(ANA, seen, made[1].id) == made[1]
    after = await tell(stories, seen, "Two.")
    assert await refused(stories.choice(ANA, after, made[1].id)) == "stale_choice"
    await stories.undo(ANA, tip.story, tip.branch)
    assert await refused(stories.store_choices(after.version, ["Late."])) == "moved"


async def test_a_locked_value_changes_by_hand_only(stories: StoryStore) -> None:
    """Rules write over a value that a hand has set, unless it is locked; on a fork as well."""
    tip = await tell(stories, await begin(stories), "One.", [a_state(value="box")])
    set_by_hand = await stories.set_state(
        ANA, tip.story, tip.branch, a_state("Key", "well", by="hand", locked=True)
    )
    assert (set_by_hand.seq, set_by_hand.locked, set_by_hand.by) == (1, True, "hand")
    fork = await stories.fork(ANA, tip.story, tip.branch, 1, "other")
    tip = await tell(stories, tip, "Two.", [a_state(value="sea"), a_state("lamp", "shelf")])
    await tell(stories, await stories.open_branch(ANA, tip.story, fork.id), "Other.", [a_state(value="sea")])
    for branch in (tip.branch, fork.id):
        now = {each.entity: each.value for each in await stories.list_states(ANA, tip.story, branch)}
        assert now.get("Key") == "well"
    await stories.set_state(ANA, tip.story, tip.branch, a_state("key", "well", by="hand"))
    tip = await tell(stories, tip, "Three.", [a_state(value="sea")])
    now = {each.entity: each.value for each in await stories.list_states(ANA, tip.story, tip.branch)}
    assert now == {"lamp": "shelf", "key": "sea"}


async def test_the_cast(stories: StoryStore) -> None:
    """Members have names of their own, and at most so many are there."""
    tip = await begin(stories)
    mira = await stories.put_member(
        ANA, tip.story, CastMember(id="", name="Mira", kind="person", look="tall")
    )
    await stories.put_member(ANA, tip.story, CastMember(id="", name="Well", kind="place"))
    changed = await stories.put_member(ANA, tip.story, replace(mira, name="Mira Holm", voice="low"))
    assert [each.name for each in await stories.list_cast(ANA, tip.story)] == ["Mira Holm", "Well"]
    assert (await stories.list_cast(ANA, tip.story))[0] == changed
    assert await refused(stories.put_member(ANA, tip.story, replace(mira, name="well "))) == "conflict"
    assert await refused(stories.put_member(ANA, tip.story, replace(mira, id="m99"))) == "unknown_story"
    for number in range(STORY_CAST - 2):
        await stories.put_member(ANA, tip.story, CastMember(id="", name=f"Guard {number}", kind="person"))
    assert (
        await refused(stories.put_member(ANA, tip.story, CastMember(id="", name="One more", kind="thing")))
        == "story_full"
    )


async def test_chapters_follow_their_branch(stories: StoryStore) -> None:
    """A fork has the chapters of its lineage as they stood there; what a branch concludes is its own."""
    tip = await begin(stories)
    first = await stories.add_chapter(
        ANA,
        tip.story,
        Chapter(
            id="",
            branch=tip.branch,
            from_seq=0,
            title="Arrival",
            place="Harbour",
            milestones=(Milestone(number=1, text="find the key"), Milestone(number=2, text="open the door")),
        ),
    )
    assert (first.from_seq, first.status, [each.met_at for each in first.milestones]) == (
        1,
        "open",
        [None, None],
    )
    tip = await tell_all(stories, tip, "One.", "Two.")
    met = await stories.mark_milestones(ANA, tip.story, first.id, tip.version, {1: True, 7: True})
    assert [each.met_at for each in met.milestones] == [2, None]
    early = await stories.fork(ANA, tip.story, tip.branch, 1, "early")
    late = await stories.fork(ANA, tip.story, tip.branch, 2, "late")
    done = await stories.conclude_chapter(ANA, tip.story, first.id, "They arrived.")
    assert (done.status, done.summary) == ("concluded", "They arrived.")
    assert await refused(stories.conclude_chapter(ANA, tip.story, first.id, "Again.")) == "conflict"
    second = await stories.add_chapter(
        ANA, tip.story, Chapter(id="", branch=tip.branch, from_seq=0, title="Storm")
    )
    assert await refused(stories.reopen_chapter(ANA, tip.story, first.id)) == "conflict"
    [seen] = await stories.list_chapters(ANA, tip.story, early.id)
    assert (seen.status, seen.summary, [each.met_at for each in seen.milestones]) == (
        "open",
        "",
        [None, None],
    )
    chapters = await stories.list_chapters(ANA, tip.story, late.id)
    assert [(each.title, each.status) for each in chapters] == [("Arrival", "concluded")]
    assert [each.met_at for each in chapters[0].milestones] == [2, None]
    again = await stories.reopen_chapter(ANA, tip.story, first.id, late.id)
    assert again.status == "open"
    now = await stories.list_chapters(ANA, tip.story, tip.branch)
    assert [(each.title, each.status) for each in now] == [("Arrival", "concluded"), ("Storm", "open")]
    worded = await stories.edit_chapter(
        ANA, tip.story, replace(second, title="The storm", direction="harder")
    )
    assert (worded.title, worded.direction, worded.status) == ("The storm", "harder", "open")
    assert await stories.chapter(ANA, tip.story, second.id) == worded
    assert await refused(stories.chapter(ANA, tip.story, "k99")) == "unknown_story"


async def test_a_milestone_follows_the_versions(stories: StoryStore) -> None:
    """Met in a version that is shelved it is ahead; a correction keeps it; by hand it is ahead again."""
    tip = await begin(stories)
    chapter = await stories.add_chapter(
        ANA,
        tip.story,
        Chapter(id="", branch=tip.branch, from_seq=0, title="A", milestones=(Milestone(number=1, text="x"),)),
    )

    async def met_at() -> int | None:
        [seen] = await stories.list_chapters(ANA, tip.story, tip.branch)
        return seen.milestones[0].met_at

    tip = await tell(stories, tip, "One.")
    assert tip.scene is not None
    await stories.mark_milestones(ANA, tip.story, chapter.id, tip.version, {1: True})
    tip = await stories.edit_scene(ANA, tip.story, tip.scene.scene, "One!", [])
    assert await met_at() == 1
    await stories.undo(ANA, tip.story, tip.branch)
    assert await met_at() is None
    tip = await stories.redo(ANA, tip.story, tip.branch)
    assert await met_at() == 1
    await stories.mark_milestones(ANA, tip.story, chapter.id, tip.version, {1: False})
    assert await met_at() is None
    assert await refused(stories.mark_milestones(ANA, tip.story, chapter.id, "v1", {1: True})) == "moved"


async def test_the_context_of_a_prompt(stories: StoryStore) -> None:
    """It has the window from a multiple of ten on, the states at its beginning and now, of the lineage alone."""
    tip = await begin(stories)
    for number in range(1, 26):
        tip = await tell(stories, tip, f"Scene {number}.", [a_state(value=f"box {number}")])
    fork = await stories.fork(ANA, tip.story, tip.branch, 21, "other")
    await stories.put_member(ANA, tip.story, CastMember(id="", name="Mira", kind="person"))
    context = await stories.load_context(ANA, tip.story, tip.branch)
    assert [each.seq for each in context.window] == [*range(11, 26)]
    assert [each.value for each in context.window_states] == ["box 10"]
    assert [each.value for each in context.states] == ["box 25"]
    assert (context.tip, context.lineage, context.story.title) == (25, ((tip.branch, 25),), "The harbour")
    assert [each.name for each in context.cast] == ["Mira"]
    forked = await stories.load_context(ANA, tip.story, fork.id)
    assert [each.seq for each in forked.window] == [*range(11, 22)]
    assert [each.value for each in forked.states] == ["box 21"]
    assert forked.lineage == ((fork.id, 21), (tip.branch, 21))


async def test_an_index_hears_of_every_change(stories: StoryStore) -> None:
    """Told, retold and undone scenes are named since any place; those without an active version as emptied."""
    tip = await tell_all(stories, await begin(stories), "One.", "Two.")
    other = await tell(stories, await begin(stories), "Elsewhere.")
    assert tip.scene is not None
    all_of_it = await stories.scene_changes(tip.story, BEGINNING, 100)
    assert ([each.text for each in all_of_it.scenes], all_of_it.emptied) == (["One.", "Two."], ())
    assert [each.text for each in (await stories.scene_changes(tip.story, BEGINNING, 99)).scenes] == [
        "One.",
        "Two.",
    ]
    tip = await tell(stories, tip, "Two, again.", retold=tip.scene.scene)
    assert tip.scene is not None
    more = await stories.scene_changes(tip.story, all_of_it.upto, 100)
    assert ([each.text for each in more.scenes], more.emptied) == (["Two, again."], ())
    await stories.undo(ANA, tip.story, tip.branch)
    last = await stories.scene_changes(tip.story, more.upto, 100)
    assert (last.scenes, last.emptied) == ((), (tip.scene.scene,))
    nothing = await stories.scene_changes(tip.story, last.upto, 100)
    assert (nothing.scenes, nothing.emptied, nothing.upto) == ((), (), last.upto)
    await stories.delete_story(ANA, other.story)
    assert await stories.scene_changes(other.story, BEGINNING, 100) == replace(nothing, upto=BEGINNING)


async def test_another_scope_finds_nothing(stories: StoryStore) -> None:
    """A story of another user, project or thread is as unknown as one that never was."""
    tip = await tell(stories, await begin(stories), "One.")
    assert tip.scene is not None
    mine = await begin(stories, OTHERS[0], "Mine")
    for scope in OTHERS:
        asked: tuple[Asked, ...] = (
            partial(stories.story, scope, tip.story),
            partial(stories.open_branch, scope, tip.story, None),
            partial(stories.list_branches, scope, tip.story),
            partial(stories.list_scenes, scope, tip.story, tip.branch, 0, 9),
            partial(stories.list_versions, scope, tip.story, tip.scene.scene),
            partial(stories.snapshot, scope, tip.story, tip.version),
            partial(stories.scene_branch, scope, tip.story, tip.scene.scene),
            partial(stories.claim_scene, scope, tip, "m1"),
            partial(stories.undo, scope, tip.story, tip.branch),
            partial(stories.export_story, scope, tip.story),
            partial(stories.delete_story, scope, tip.story),
        )
        assert [await refused(each()) for each in asked] == ["unknown_story"] * len(asked)
    assert await stories.list_stories(OTHERS[1]) == ()
    within: tuple[Asked, ...] = (  # ids of another's in a story of one's own
        partial(stories.open_branch, OTHERS[0], mine.story, tip.branch),
        partial(stories.list_versions, OTHERS[0], mine.story, tip.scene.scene),
        partial(stories.snapshot, OTHERS[0], mine.story, tip.version),
        partial(stories.scene_branch, OTHERS[0], mine.story, tip.scene.scene),
        partial(stories.pick_version, OTHERS[0], mine.story, tip.scene.scene, tip.version),
        partial(stories.story, OTHERS[0], "s999"),
        partial(stories.story, OTHERS[0], "main"),
        partial(stories.story, OTHERS[0], tip.branch),
    )
    assert [await refused(each()) for each in within] == ["unknown_story"] * len(within)


async def test_stories_are_listed_changed_and_deleted(stories: StoryStore) -> None:
    """A change counts the revision; a deleted story is as one that never was."""
    tip = await begin(stories)
    story = await stories.edit_story(ANA, tip.story, "The lighthouse", None)
    assert (story.title, story.foundation, story.revision) == (
        "The lighthouse",
        "A harbour town in winter.",
        2,
    )
    assert await stories.edit_story(ANA, tip.story, None, None) == story
    second = await begin(stories, title="Second")
    assert [each.title for each in await stories.list_stories(ANA)] == ["Second", "The lighthouse"]
    await stories.store_aside(ANA, tip.story, Aside(question="Who?", answer="Mira.", at=5))
    assert await stories.list_asides(ANA, tip.story) == (Aside(question="Who?", answer="Mira.", at=5),)
    renamed = await stories.rename_branch(ANA, tip.story, tip.branch, "trunk")
    assert renamed.name == "trunk"
    fork = await stories.fork(ANA, tip.story, tip.branch, 0, "main")
    assert await refused(stories.rename_branch(ANA, tip.story, fork.id, "Trunk")) == "conflict"
    await stories.delete_story(ANA, tip.story)
    assert await refused(stories.open_branch(ANA, tip.story, tip.branch)) == "unknown_story"
    assert [each.id for each in await stories.list_stories(ANA)] == [second.story]


async def test_a_user_has_so_many_stories(stories: StoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused, imported or not, until one is deleted; other users have their own."""
    monkeypatch.setattr("agent.storage.stories.branching.USER_STORIES", 2)
    first, _ = [await begin(stories, title=title) for title in ("First", "Second")]
    document = await stories.export_story(ANA, first.story)
    assert await refused(stories.create_story(ANA, "Third", "", "en")) == "story_full"
    assert await refused(stories.import_story(ANA, document)) == "story_full"
    assert len(await stories.list_stories(ANA)) == 2
    await stories.create_story(OTHERS[0], "Another's", "", "en")
    await stories.delete_story(ANA, first.story)
    await stories.import_story(ANA, document)
    assert await refused(stories.create_story(ANA, "Third", "", "en")) == "story_full"


async def test_the_last_asides_stay(stories: StoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest one leaves for each that is too many, and those of other stories stay."""
    monkeypatch.setattr("agent.storage.stories.telling.STORY_ASIDES", 3)
    tip, other = [await begin(stories, title=title) for title in ("First", "Second")]
    asides = [Aside(question=f"Who {number}?", answer="Mira.", at=number) for number in range(6)]
    await stories.store_aside(ANA, other.story, asides[0])
    for aside in asides:
        await stories.store_aside(ANA, tip.story, aside)
    assert await stories.list_asides(ANA, tip.story) == tuple(asides[3:])
    assert await stories.list_asides(ANA, other.story) == tuple(asides[:1])
    document = await stories.export_story(ANA, tip.story)
    monkeypatch.setattr("agent.stories.exchange.STORY_ASIDES", 2)
    assert await refused(stories.import_story(ANA, document)) == "bad_story"


async def a_rich_story(stories: StoryStore) -> str:
    tip = await begin(stories)
    await stories.put_member(ANA, tip.story, CastMember(id="", name="Mira", kind="person", look="tall"))
    chapter = await stories.add_chapter(
        ANA,
        tip.story,
        Chapter(id="", branch=tip.branch, from_seq=0, title="A", milestones=(Milestone(number=1, text="x"),)),
    )
    for number in range(4):
        tip = await tell(stories, tip, f"Scene {number}.", [a_state(value=f"b{number}")])
    assert tip.scene is not None
    tip = await tell(stories, tip, "Scene 3, again.", [a_state("lamp", "on")], retold=tip.scene.scene)
    await stories.store_choices(tip.version, ["Left.", "Right."])
    await stories.mark_milestones(ANA, tip.story, chapter.id, tip.version, {1: True})
    await stories.conclude_chapter(ANA, tip.story, chapter.id, "So far.")
    fork = await stories.fork(ANA, tip.story, tip.branch, 2, "other")
    forked = await tell_all(
        stories, await stories.open_branch(ANA, tip.story, fork.id), "Other 3.", "Other 4.", "Other 5."
    )
    await stories.set_state(
        ANA, tip.story, fork.id, a_state("door", "shut", "condition", "hand", locked=True)
    )
    await stories.undo(ANA, tip.story, forked.branch)
    await stories.undo(ANA, tip.story, forked.branch)
    await stories.store_aside(ANA, tip.story, Aside(question="Who?", answer="Mira.", at=5))
    return tip.story


async def test_an_import_is_what_was_exported(stories: StoryStore) -> None:
    """Exported, imported and exported again a story is the same, and reads the same on every branch."""
    story = await a_rich_story(stories)
    exported = await stories.export_story(ANA, story)
    imported, told = await stories.import_story(ANA, exported)
    assert await stories.export_story(ANA, imported.id) == exported
    assert told.name == "other"
    for before, after in zip(
        await stories.list_branches(ANA, story), await stories.list_branches(ANA, imported.id), strict=True
    ):
        assert await read(stories, imported.id, after.id) == await read(stories, story, before.id)
        ours = [(each.entity, each.value) for each in await stories.list_states(ANA, story, before.id)]
        theirs = [(each.entity, each.value) for each in await stories.list_states(ANA, imported.id, after.id)]
        assert ours == theirs
        [was], [now] = (
            await stories.list_chapters(ANA, story, before.id),
            await stories.list_chapters(ANA, imported.id, after.id),
        )
        assert (was.status, was.milestones) == (now.status, now.milestones)


async def test_an_import_is_taken_whole_or_not_at_all(stories: StoryStore) -> None:
    """The first fault is named by its place, and nothing of the story is there."""
    whole: dict[str, Any] = {
        "format": "agent-story/1",
        "title": "T",
        "lang": "en",
        "branches": [{"name": "main", "parent": None, "cut": 0}, {"name": "b", "parent": "main", "cut": 1}],
        "scenes": [
            {"branch": "main", "seq": 1, "text": "One."},
            {"branch": "b", "seq": 2, "text": "Two."},
        ],
    }
    one, two = whole["scenes"]
    main, forked = whole["branches"]
    faults: tuple[tuple[dict[str, Any], str], ...] = (
        ({"format": "agent-story/2"}, "format"),
        ({"title": 5}, "title"),
        ({"branches": [main, forked | {"parent": "c"}]}, "branches[1].parent"),
        ({"branches": [main, forked | {"parent": "b"}]}, "branches[1].parent"),
        ({"branches": [main, forked | {"cut": 2}], "scenes": [one, two | {"seq": 3}]}, 'branch "b"'),
        ({"branches": [main, main]}, "branches[1].name"),
        ({"branches": [forked]}, "branches"),
        ({"scenes": [one, one, two]}, "scenes[1].seq"),
        ({"scenes": [one, two | {"seq": 3}]}, 'branch "b"'),
        ({"scenes": [one, two, {"branch": "b", "seq": 4, "shelved": [{"text": "Four."}]}]}, 'branch "b"'),
        ({"scenes": [one, two | {"branch": "x"}]}, "scenes[1].branch"),
        ({"scenes": [one, two | {"text": " "}]}, "scenes[1].text"),
        ({"scenes": [one, two | {"text": "x" * (SCENE_BYTES + 1)}]}, "scenes[1].text"),
        ({"scenes": [one, two | {"text": "\ud800"}]}, "scenes[1].text"),
        ({"scenes": [one, two | {"seq": 1}]}, "scenes[1].seq"),
        (
            {"states": [{"branch": "b", "seq": -1, "entity": "k", "field": "place", "value": "x"}]},
            "states[0]",
        ),
        ({"told": "x"}, "told"),
    )
    for change, place in faults:
        with pytest.raises(AgentError) as error:
            await stories.import_story(ANA, whole | change)
        assert isinstance(error.value, StoryRefused)
        assert (error.value.code, place in error.value.message) == ("bad_story", True), error.value.message
    assert await stories.list_stories(ANA) == ()
    story, _ = await stories.import_story(ANA, whole)
    by_name = {each.name: each.id for each in await stories.list_branches(ANA, story.id)}
    assert await read(stories, story.id, by_name["b"]) == ["One.", "Two."]
