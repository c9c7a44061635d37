"""Whatever is told, forked and shelved, a branch finds what is in its lineage and active, and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.recall.bounds import Lineage
from agent.stories.scene_recall import SceneIndex
from agent.testing.network import inline

from .made import scene

BRANCHES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=6)
"""Of each branch after the first: its parent, modulo the branches before it, and its cut."""


def lineage_of(branch: int, upto: int, parents: dict[int, tuple[int, int]]) -> Lineage:
    """Return the lineage of a branch, up to a scene."""
    ends = [(branch, upto)]
    while branch in parents:
        branch, cut = parents[branch]
        upto = min(cut, upto)
        ends.append((branch, upto))
    return tuple(ends)


@settings(max_examples=60, deadline=None)
@given(
    forks=BRANCHES,
    told=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 8)), max_size=30),
    shelved=st.lists(st.integers(0, 40), max_size=12),
    written=st.lists(st.integers(0, 40), max_size=3),
    upto=st.integers(0, 9),
)
async def test_a_branch_finds_its_lineage_and_nothing_else(
    forks: list[tuple[int, int]],
    told: list[tuple[int, int]],
    shelved: list[int],
    written: list[int],
    upto: int,
) -> None:
    """All scenes say the same, so each that is active and in the lineage is found."""
    parents = {at: (parent % at, cut) for at, (parent, cut) in enumerate(forks, 1)}
    index = SceneIndex("en")
    active: dict[tuple[int, int], str] = {}
    for step, (branch, seq) in enumerate(told):
        version = f"v{step}"
        old = active.pop((branch, seq), None)
        if old is not None:
            index.remove_scene(old)
        told_with = [scene("...", 99, at, f"{step}.{at}") for at in range(20 * (step in written))]
        await index.add_scenes([scene("Mira hid the copper key.", branch, seq, version), *told_with], inline)
        active[branch, seq] = version
        if step in shelved:
            index.remove_scene(active.pop((branch, seq)))
    for branch in range(len(forks) + 1):
        lineage = lineage_of(branch, upto, parents)
        ends = dict(lineage)
        expected = {version for (at, seq), version in active.items() if seq <= ends.get(at, -1)}
        found = index.recall(lineage, "the copper key", 100).scenes
        assert {each.version for each in found} == expected
