"""A story's prompts: their sections, their border, their budgets, and their snapshots."""

from dataclasses import replace
from itertools import takewhile
from random import Random

import pytest

from agent.lang import LANGUAGES, Lang
from agent.ports.stories import SNAPSHOT_BYTES, Chapter, EntityState, Milestone, RecalledScene, StoryContext
from agent.ports.teller import TellingPrompt
from agent.stories import settings
from agent.stories.prompts import (
    StoryPrompt,
    assemble_aside,
    assemble_choices,
    assemble_milestones,
    assemble_scene,
    assemble_summary,
    pack_prompt,
    unpack_prompt,
)

from .tales import context, member, scene

SECRET = "The dragon is slain"
CHAPTERS = (
    Chapter(id="c1", branch="b", from_seq=1, title="One", status="concluded", summary="They met."),
    Chapter(
        id="c2",
        branch="b",
        from_seq=12,
        title="Two",
        place="the mill",
        scenario="A storm.",
        direction="Towards the sea.",
        milestones=(Milestone(number=1, text=SECRET), Milestone(number=2, text="Met", met_at=12)),
    ),
)
CAST = (
    member("Mira", "person", look="tall", voice="low"),
    member("the mill", "place"),
    member("copper key", "thing"),
)


def state(entity: str, value: str, seq: int, locked: bool = False) -> EntityState:
    return EntityState(
        entity=entity, field="place", value=value, seq=seq, branch="b", by="rule", locked=locked
    )


def tale(count: int, lang: Lang = "en") -> StoryContext:
    """Return a story of `count` scenes, in which a thing moves at the scenes 3 and 13."""
    scenes = [scene(seq, f"Scene text {seq}.", f"directive {seq}") for seq in range(1, count + 1)]
    moved = [state("copper key", f"place {seq}", seq) for seq in (3, 13) if seq <= count]
    return context(scenes, CAST, CHAPTERS, [*moved, state("Mira", "the mill", 2, locked=True)], lang)


def names(prompt: StoryPrompt) -> list[str]:
    return [each.name for each in prompt.sections]


def recalled(seq: int, text: str = "The key was cold.") -> RecalledScene:
    return RecalledScene(f"s{seq}", seq, "b", text, 0.5)


def test_a_scene_has_its_sections_in_order() -> None:
    """What seldom changes stands before the border."""
    made = assemble_scene(tale(25), "Go on.", [recalled(5), recalled(14)], ["Two keys."])
    before = ["instructions", "foundation", "cast", "chapters", "chapter", "states"]
    behind = ["window", "changes", "contradictions", "recalled", "pacing", "directive"]
    assert names(made) == before + behind
    assert made.border == len(before)
    texts = [each.text for each in made.sections]
    assert made.prompt.stable == "\n\n".join(texts[: made.border])
    assert made.prompt.fresh == "\n\n".join(texts[made.border :])
    by_name = {each.name: each.text for each in made.sections}
    assert "Mira (person); look: tall; voice: low" in by_name["cast"]
    assert "One: They met." in by_name["chapters"]
    assert "copper key is at place 3" in by_name["states"]
    assert "Mira is at the mill (fixed by the reader)" in by_name["states"]
    assert "place 13" in by_name["changes"]
    assert "Mira" not in by_name["changes"]
    assert "Scene 11\n" in by_name["window"]
    assert "Scene 10\n" not in by_name["window"]
    assert "Scene 5: The key was cold." in by_name["recalled"]
    assert "Scene 14" not in by_name["recalled"]
    assert "Scene 26" in by_name["pacing"]
    assert "the scene 15 of this chapter" in by_name["pacing"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_milestones_stand_in_no_scene(lang: Lang) -> None:
    """Those ahead stand in the prompt of choices, and in their check."""
    told = tale(25, lang)
    for made in (assemble_scene(told, "Go on."), assemble_aside(told, "Why?")):
        assert SECRET not in str(made)
    choices = assemble_choices(told).prompt
    assert SECRET in choices.fresh
    assert "Met" not in choices.fresh
    check = assemble_milestones(told, CHAPTERS[1].milestones).prompt
    assert f"1. {SECRET}" in check.fresh
    assert "Scene text 25." in check.fresh
    assert "Scene text 24." not in check.fresh


def test_a_first_scene_needs_nothing() -> None:
    """Empty sections are left out."""
    assert names(assemble_scene(context(), "Begin.")) == ["instructions", "foundation", "pacing", "directive"]


def test_the_common_prefix_reaches_the_border() -> None:
    """In nine of ten scenes of a hundred, whatever the rules find in each."""
    found = 0
    before: TellingPrompt | None = None
    states: list[EntityState] = []
    scenes = [scene(seq, f"Text {seq}.") for seq in range(1, 201)]
    for count in range(100, 200):
        states += [state(f"thing {count % 7}", f"place {count}", count)]
        made = assemble_scene(
            context(scenes[:count], CAST, CHAPTERS, states), f"Go {count}.", [recalled(count - 90)]
        ).prompt
        if before is not None:
            whole = [each.stable + "\n\n" + each.fresh for each in (before, made)]
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*whole, strict=False)))
            found += same >= len(before.stable)
        before = made
    assert found >= 90


def test_each_section_keeps_its_budget() -> None:
    """And what is recalled gives way before the window does."""
    long = "word " * 20_000
    cast = [member(f"Person {n}", "person", look="x" * 500) for n in range(200)]
    chapters = [replace(CHAPTERS[0], summary="y" * 4000) for _ in range(9)]
    chapters += [replace(CHAPTERS[1], scenario=long)]
    scenes = [scene(seq, long[:9000], "d" * 8000) for seq in range(1, 40)]
    states = [state(f"thing {n}", "z" * 90, n % 40) for n in range(5000)]
    made = assemble_scene(
        context(scenes, cast, chapters, states, foundation=long),
        long,
        [recalled(n, long) for n in range(1, 20)],
        ["contradiction " * 20] * 40,
    )
    budgets = {
        "foundation": settings.PROMPT_FOUNDATION,
        "cast": settings.PROMPT_CAST,
        "chapters": settings.PROMPT_SUMMARIES,
        "chapter": settings.PROMPT_CHAPTER,
        "states": settings.PROMPT_STATES,
        "window": settings.PROMPT_WINDOW,
        "changes": settings.PROMPT_CHANGES,
        "contradictions": settings.PROMPT_CONTRADICTIONS,
        "recalled": settings.PROMPT_RECALLED,
        "pacing": settings.PROMPT_PACING,
        "directive": settings.PROMPT_DIRECTIVE,
    }
    heading = 80
    assert {each.name for each in made.sections} == {"instructions", *budgets}
    for each in made.sections[1:]:
        assert len(each.text) <= budgets[each.name] + heading, each.name
    window = next(each.text for each in made.sections if each.name == "window")
    assert window.count("Scene 39\n") == 1
    assert len(pack_prompt(made.prompt)) <= SNAPSHOT_BYTES


def test_a_snapshot_is_never_too_large() -> None:
    """Of text that cannot be packed, recalled statements go first, then the oldest scenes."""
    rng = Random(1)
    noise = "".join(chr(rng.randrange(0x20000, 0x2A6DF)) for _ in range(60_000))
    scenes = [scene(seq, noise[seq * 800 :][:8000], noise[:200]) for seq in range(1, 20)]
    made = assemble_scene(
        context(scenes, [member(noise[n * 60 :][:60], "thing") for n in range(200)], foundation=noise),
        noise[:8000],
        [recalled(0, noise[:500])],
    )
    assert "recalled" not in names(made)
    assert "Scene 19\n" in made.prompt.fresh
    assert len(pack_prompt(made.prompt)) <= SNAPSHOT_BYTES


def test_a_snapshot_gives_the_prompt_back() -> None:
    """Byte for byte, and packed again it is the same snapshot."""
    prompt = assemble_scene(tale(25), "Gå vidare. 😀", [recalled(5)]).prompt
    snapshot = pack_prompt(prompt)
    again = unpack_prompt(snapshot)
    assert (again.stable, again.fresh, again.lang) == (prompt.stable, prompt.fresh, prompt.lang)
    assert pack_prompt(again) == snapshot


@pytest.mark.parametrize(
    "snapshot", [b"", b"x", pack_prompt(TellingPrompt(stable="", fresh="", lang="xx", facts={}))]
)
def test_what_is_no_snapshot_is_refused(snapshot: bytes) -> None:
    """As a value that is wrong."""
    with pytest.raises(ValueError, match="not a snapshot"):
        unpack_prompt(snapshot)


def test_a_summary_is_of_its_chapter() -> None:
    """Its scenes are given, and its milestones are not."""
    made = assemble_summary(tale(25), CHAPTERS[1], [scene(12, "They fled."), scene(13, "They hid.")])
    assert "They fled." in made.prompt.fresh
    assert "Direction: Towards the sea." in made.prompt.stable
    assert SECRET not in str(made)


def test_an_old_state_that_the_directive_names_is_told() -> None:
    """Even where a long table has no room for it."""
    states = [state("copper key", "the mill", 1), *(state(f"thing {n}", "z" * 90, 2) for n in range(400))]
    scenes = [scene(seq, f"Text {seq}.") for seq in range(1, 31)]
    made = assemble_scene(context(scenes, (), (), states), "Find the copper key.").prompt
    assert "copper key is at the mill" in made.fresh
    assert "copper key" not in made.stable
