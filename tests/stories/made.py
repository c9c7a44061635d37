"""Scenes for tests, and an index of them."""

import trio

from agent.stories.scene_recall import IndexedScene, SceneIndex
from agent.testing.network import inline

TRUNK, LEFT, RIGHT = 1, 2, 3


def scene(text: str, branch: int = TRUNK, seq: int = 1, version: str = "") -> IndexedScene:
    return IndexedScene(version or f"{branch}.{seq}", branch, seq, text)


def index_of(*scenes: IndexedScene, written: bool = True) -> SceneIndex:
    """Return the index of an English story; written: none of its scenes waits."""
    index = SceneIndex("en")
    add(index, *scenes, written=written)
    return index


def add(index: SceneIndex, *scenes: IndexedScene, written: bool = False) -> None:
    """Add scenes; written: with so many others, of no words, that all are written at once."""
    others = [scene("...", branch=0, seq=at) for at in range(1, 20)] if written else []
    trio.run(index.add_scenes, [*scenes, *others], inline)


def found(index: SceneIndex, text: str, *lineage: tuple[int, int], limit: int = 10) -> list[str]:
    """Return the versions that are found, best first; the whole trunk without a lineage."""
    return [each.version for each in index.recall(lineage or ((TRUNK, 99),), text, limit).scenes]
