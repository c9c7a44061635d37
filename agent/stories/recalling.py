"""Keeps the index of each open story up to date with the store, and finds the scenes of a lineage in it.

An index is made at the first search of its story, and catches up before each search with the scenes that changed since
then, in any process, so that no change has to be announced. The stories that were searched least recently go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import trio

from ..ports.change_mark import BEGINNING, ChangeMark
from ..ports.stories import OPEN_STORIES, RecalledScene, SceneText, StoryContext
from ..ports.story_store import StoryStore
from ..ports.work import RunSync
from .scene_recall import IndexedScene, SceneIndex

CHANGES_READ = 200  # scenes in one read of the store
PROMPT_SCENES = 12  # recalled for a prompt


@dataclass(slots=True, kw_only=True)
class _HeldIndex:
    """The index of a story. `upto`: the mark after the changes that it has."""

    index: SceneIndex
    lock: trio.Lock = field(default_factory=trio.Lock)
    upto: ChangeMark = BEGINNING
    versions: dict[str, str] = field(default_factory=dict)  # by scene
    scenes: dict[str, SceneText] = field(default_factory=dict)  # by version
    branches: dict[str, int] = field(default_factory=dict)  # the numbers that the index knows them by


class StoryRecall:
    """Finds scenes of stories by their words. `run_sync`: writes an index."""

    def __init__(self, store: StoryStore, run_sync: RunSync, most: int = OPEN_STORIES) -> None:
        self._store = store
        self._run_sync = run_sync
        self._most = most
        self._open: dict[str, _HeldIndex] = {}  # the least recently asked first

    async def recall(self, context: StoryContext, text: str, limit: int) -> tuple[RecalledScene, ...]:
        """Return the scenes of the context's lineage that fit, best first.

        Raises `agent.errors.StorageFailed`. A cancel leaves an index that the next search catches up.
        """
        held = self._open_story(context)
        async with held.lock:
            await self._catch_up(held, context)
        held.index.set_places(_list_places(context))
        lineage = [
            (held.branches[branch], last) for branch, last in context.lineage if branch in held.branches
        ]
        found = held.index.recall(tuple(lineage), text, limit)
        return tuple(_name_scene(held.scenes[each.version], each.text, each.score) for each in found.scenes)

    def forget_story(self, story: str) -> None:
        """Drop the index of a story, if it has one."""
        self._open.pop(story, None)

    async def recall_for_prompt(self, context: StoryContext, directive: str) -> tuple[RecalledScene, ...]:
        """Return the scenes that a directive is about, best first: enough of them before the prompt's window."""
        return await self.recall(context, directive, PROMPT_SCENES + len(context.window))

    def _open_story(self, context: StoryContext) -> _HeldIndex:
        """Return the index of a story, a new one if it has none, as the one asked last."""
        story = context.story.id
        held = self._open.pop(story, None) or _HeldIndex(index=SceneIndex(context.story.lang))
        self._open[story] = held
        while len(self._open) > self._most:
            del self._open[next(iter(self._open))]
        return held

    async def _catch_up(self, held: _HeldIndex, context: StoryContext) -> None:
        """Take the changes of the story that the context was read with, or later ones, into the index."""
        while not held.upto.covers(context.changed):
            changes = await self._store.scene_changes(context.story.id, held.upto, CHANGES_READ)
            for scene in changes.emptied:
                _drop(held, scene)
            for each in changes.scenes:
                if held.versions.get(each.scene) != each.version:
                    _drop(held, each.scene)
                held.versions[each.scene] = each.version
                held.scenes[each.version] = each
            # It skips those that it has; after a cancel in here the next search reads the same changes again.
            await held.index.add_scenes(
                [_make_indexed(held, each) for each in changes.scenes], self._run_sync
            )
            if changes.upto == held.upto:
                break  # nothing more is there to read
            held.upto = changes.upto


def _drop(held: _HeldIndex, scene: str) -> None:
    version = held.versions.pop(scene, None)
    if version is not None:
        held.index.remove_scene(version)
        del held.scenes[version]


def _make_indexed(held: _HeldIndex, scene: SceneText) -> IndexedScene:
    branch = held.branches.setdefault(scene.branch, len(held.branches))
    return IndexedScene(scene.version, branch, scene.seq, scene.text)


def _name_scene(scene: SceneText, text: str, score: float) -> RecalledScene:
    return RecalledScene(scene=scene.scene, seq=scene.seq, branch=scene.branch, text=text, score=score)


def _list_places(context: StoryContext) -> Sequence[str]:
    """Return the known places of a story: those of its cast, and where its things and persons are."""
    cast = [each.name for each in context.cast if each.kind == "place"]
    return list(dict.fromkeys([*cast, *(each.value for each in context.states if each.field == "place")]))
