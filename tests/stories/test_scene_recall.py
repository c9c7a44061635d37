"""Which scenes of a story are found: in the lineage only, by their best statement, and as long as they are active."""

from collections.abc import Callable
from typing import TypeVar

import pytest
import trio

from agent.host import WorkerThreads
from agent.recall.index import BATCH
from agent.stories.scene_recall import SceneIndex
from agent.testing.network import inline

from .made import LEFT, RIGHT, TRUNK, add, found, index_of, scene

T = TypeVar("T")
FILLER = "Rain fell on the roof. Nobody had slept well. "


@pytest.mark.parametrize("written", [False, True])
def test_a_branch_finds_its_lineage(written: bool) -> None:
    """Neither a sibling's scenes nor those that its parent was told after the cut."""
    index = index_of(
        scene("Mira hid the key in the mill.", seq=1),
        scene("Mira threw the key into the sea.", seq=9),
        scene("Oren found the key.", LEFT, 5),
        scene("Oren broke the key.", RIGHT, 5),
        written=written,
    )
    assert set(found(index, "the key", (LEFT, 99), (TRUNK, 4))) == {"1.1", "2.5"}
    assert set(found(index, "the key", (RIGHT, 4), (TRUNK, 4))) == {"1.1"}
    assert found(index, "the key", (LEFT, 4)) == []


@pytest.mark.parametrize("written", [False, True])
def test_the_best_statement_counts_for_its_scene(written: bool) -> None:
    """A scene is found once, however many of its statements fit, and the best one is shown."""
    index = index_of(
        scene(FILLER + "Mira lost the copper key. The key was old. " + FILLER, seq=1),
        scene(FILLER + "A key fits a lock.", seq=2),
        written=written,
    )
    recalled = index.recall(((TRUNK, 9),), "copper key", 10)
    assert [(each.version, each.branch, each.seq, each.text) for each in recalled.scenes] == [
        ("1.1", TRUNK, 1, "Mira lost the copper key."),
        ("1.2", TRUNK, 2, "A key fits a lock."),
    ]
    scores = [each.score for each in recalled.scenes]
    assert recalled.score == scores[0] > scores[1] > 0
    assert found(index, "copper key", limit=1) == ["1.1"]


@pytest.mark.parametrize("written", [False, True])
def test_a_shelved_version_is_found_no_more(written: bool) -> None:
    """Its place has another version, at once and once that is written; and it can be picked again."""
    index = index_of(scene("Mira hid the key in the mill.", version="first"), written=written)
    index.remove_scene("first")
    assert found(index, "key mill") == []
    add(index, scene("Mira kept the key.", version="second"), written=written)
    assert found(index, "key mill") == ["second"]
    index.remove_scene("second")
    index.remove_scene("never there")
    for _ in range(2):
        add(index, scene("Mira hid the key in the mill.", version="first"), written=written)
        assert found(index, "key mill") == ["first"]


@pytest.mark.parametrize("written", [False, True])
def test_a_statement_that_names_a_known_place_counts_more(written: bool) -> None:
    """The verb is in no list; a place that the story does not know lifts nothing."""
    index = index_of(
        scene("Oren drew the silver key in the dust.", seq=1),
        scene("Mira slipped the silver key behind a loose board of the old mill.", seq=2),
        written=written,
    )
    assert found(index, "Where is the silver key hidden?") == ["1.1", "1.2"]
    index.set_places(["the old mill", "the harbour", ""])
    assert found(index, "Where is the silver key hidden?") == ["1.2", "1.1"]
    index.set_places(["the old harbour", "mill stone"])
    assert found(index, "Where is the silver key hidden?") == ["1.1", "1.2"]


def test_a_place_that_a_later_scene_names_is_known() -> None:
    """Places are known by their names, whenever these are first told."""
    index = index_of(scene("Oren drew the silver key in the dust.", seq=1))
    index.set_places(["old mill"])
    assert found(index, "Where is the silver key?") == ["1.1"]
    add(index, scene("Mira slipped the silver key behind a loose board of the old mill.", seq=2))
    assert found(index, "Where is the silver key?") == ["1.2", "1.1"]


@pytest.mark.parametrize("written", [False, True])
def test_of_two_places_the_later_one_comes_first(written: bool) -> None:
    """Since what was told last is what holds."""
    first, second = "Mira put the key in the old mill.", "Mira put the key in the new barn."
    for one, other in ((first, second), (second, first)):
        index = index_of(scene(one, seq=100), scene(other, seq=900), written=written)
        index.set_places(["old mill", "new barn"])
        assert found(index, "Where is the key?", (TRUNK, 999)) == ["1.900", "1.100"]
        assert found(index, "Where is the key?", (TRUNK, 899)) == ["1.100"]


@pytest.mark.parametrize("written", [False, True])
def test_a_pronoun_refers_to_the_statement_before(written: bool) -> None:
    """So the place that is said of "it" is found for the thing, before those who only speak of the thing."""
    index = index_of(
        *[scene(f"Oren spoke of the silver key, {word}.", seq=at) for at, word in enumerate(WORDS, 1)],
        scene(FILLER + "Mira took the silver key. Then she hid it in the old mill. " + FILLER, seq=50),
        written=written,
    )
    index.set_places(["old mill"])
    best = index.recall(((TRUNK, 99),), "Where is the silver key?", 3).scenes[0]
    assert best.text == "Then she hid it in the old mill."


WORDS = ("loudly", "softly", "angrily", "again", "at last", "in vain", "twice", "with a smile")


@pytest.mark.parametrize(
    ("lang", "told", "other", "question"),
    [
        (
            "en",
            "Mira gave the trader nineteen crowns for the silver key.",
            "Oren wondered about the silver key in the old mill.",
            "How much did the silver key cost?",
        ),
        (
            "sv",
            "Mira gav handlaren 260 kronor för silvernyckeln.",
            "Orvar undrade över silvernyckeln i gamla kvarnen.",
            "Hur mycket kostade silvernyckeln?",
        ),
    ],
)
def test_a_number_counts_where_one_is_asked_for(lang: str, told: str, other: str, question: str) -> None:
    """And a place does not."""
    index = SceneIndex("sv" if lang == "sv" else "en")
    index.set_places(["old mill", "gamla kvarnen"])
    add(index, scene(told, seq=1))
    add(index, scene(other, seq=2))
    assert found(index, question) == ["1.1", "1.2"]


def test_the_score_tells_whether_anything_was_said() -> None:
    """Of a thing that nobody mentioned little is held; nothing is found for a question of no words."""
    told = [scene(f"The lamp in room {at} burned. {FILLER}", seq=at) for at in range(2, 90)]
    index = index_of(scene("Mira hid the silver key in the mill."), *told)
    assert index.recall(((TRUNK, 99),), "Where did Mira hide the silver key?", 5).score > 0.7
    assert index.recall(((TRUNK, 99),), "Where did Mira hide the emerald crown?", 5).score < 0.6
    assert index.recall(((TRUNK, 99),), "?!", 5).scenes == ()
    assert index.recall(((TRUNK, 99),), "zanzibar", 5).scenes == ()
    assert SceneIndex("en").recall(((TRUNK, 99),), "silver key", 5).score == 0


async def test_many_scenes_are_added_in_slices() -> None:
    """The event loop goes on between them."""
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    index = SceneIndex("en")
    scenes = [scene(FILLER * 5 + f"Lamp {at} burned.", seq=at) for at in range(1, 101)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(count_turns)
        await index.add_scenes(scenes, inline)
        nursery.cancel_scope.cancel()
    assert turns > 10
    assert found(index, "lamp 77", (TRUNK, 200))[0] == "1.77"
    await index.add_scenes(scenes, inline)
    assert len(found(index, "lamp", (TRUNK, 200), limit=200)) == len(scenes)


async def test_many_statements_are_written() -> None:
    """Few wait, and are found meanwhile; removed ones leave the index with the next scene."""
    index = SceneIndex("en")
    written = 0

    async def write(function: Callable[[], T]) -> T:
        nonlocal written
        written += 1
        return function()

    await index.add_scenes([scene("The lamp burned.", seq=1)], write)
    assert (written, found(index, "lamp")) == (0, ["1.1"])
    await index.add_scenes([scene("The lamp went out. " + FILLER * BATCH, seq=2)], write)
    assert (written, set(found(index, "lamp"))) == (1, {"1.1", "1.2"})
    index.remove_scene("1.1")
    await index.add_scenes([], write)
    assert (written, found(index, "lamp")) == (2, ["1.2"])
    await index.add_scenes([scene("The lamp burned.", seq=1)], write)
    assert written == 2


MANY = [scene(f"Lamp {at} burned. " + FILLER * 30, seq=at) for at in range(1, 31)]


async def test_a_cancelled_write_is_made_good() -> None:
    """What the thread wrote for nobody is written again with the next scenes, or without any, and found once."""
    index = SceneIndex("en")
    scenes = [scene(f"Lamp {at} burned.", seq=at) for at in range(1, 31)]
    with trio.CancelScope() as scope:

        async def leave(function: Callable[[], T]) -> T:
            function()
            scope.cancel()
            await trio.lowlevel.checkpoint()
            return function()

        await index.add_scenes(scenes, leave)
    assert scope.cancelled_caught
    await index.add_scenes(scenes[:1], inline)
    for at in (1, 17, 30):
        assert found(index, f"lamp {at}")[:1] == [f"1.{at}"]
    assert len(found(index, "lamp", limit=100)) == len(scenes)


async def test_a_thread_that_was_left_is_waited_for() -> None:
    """Two threads never write one index: that would fail, or tear it."""
    index = SceneIndex("en")
    threads = WorkerThreads(2)
    begun = trio.Event()

    async def begin(function: Callable[[], T]) -> T:
        token = trio.lowlevel.current_trio_token()

        def in_thread() -> T:
            token.run_sync_soon(begun.set)
            return function()

        return await threads(in_thread)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.add_scenes, MANY, begin)
        await begun.wait()
        nursery.cancel_scope.cancel()
    await index.add_scenes(MANY, threads)
    assert len(found(index, "lamp", limit=100)) == len(MANY)
