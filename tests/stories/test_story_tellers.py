"""Tellers of scenes: the mock's grammar and facts, a language model's requests and ends, and a script."""

import json
import re
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agent.errors import ModelFailed
from agent.lang import LANGUAGES, Lang
from agent.llm.mock_storyteller import LEAST_WORDS, MOST_WORDS, MockTeller
from agent.llm.open import make_teller
from agent.llm.script import ScriptEntry
from agent.llm.settings import MockSettings
from agent.llm.story_teller import ModelTeller, ScriptTeller
from agent.ports.model import CallDelta, Finish, FinishReason, TextDelta
from agent.ports.stories import Chapter, EntityState, Milestone, RecalledScene, StateField
from agent.ports.teller import Teller, TellingPrompt
from agent.stories.answers import parse_choices, parse_milestones
from agent.stories.prompts import (
    assemble_aside,
    assemble_choices,
    assemble_milestones,
    assemble_scene,
    assemble_summary,
)
from agent.testing.models import FakeModel, Step

from .tales import context, member, scene

CAST = {
    "en": (
        member("Mira", "person"),
        member("Jonas", "person"),
        member("the chapel", "place"),
        member("the mill", "place"),
    ),
    "sv": (
        member("Mira", "person"),
        member("Jonas", "person"),
        member("kapellet", "place"),
        member("kvarnen", "place"),
    ),
}


async def told(teller: Teller, prompt: TellingPrompt, seed: int = 0) -> str:
    async with aclosing(teller.tell_scene(prompt, seed)) as pieces:
        return "".join([piece async for piece in pieces])


def state(entity: str, value: str, field: StateField = "place", seq: int = 3) -> EntityState:
    return EntityState(entity=entity, field=field, value=value, seq=seq, branch="b", by="rule")


def asked(
    directive: str,
    lang: Lang = "en",
    states: Sequence[EntityState] = (),
    recalled: Sequence[tuple[int, str]] = (),
) -> TellingPrompt:
    """Return the prompt of a scene late in a story."""
    scenes = [scene(seq, "It rained.") for seq in range(300, 310)]
    found = [RecalledScene(f"s{seq}", seq, "b", text, 0.9) for seq, text in recalled]
    return assemble_scene(context(scenes, CAST[lang], (), states, lang), directive, found).prompt


# --- the mock


@pytest.mark.parametrize(
    ("lang", "directive"),
    [
        ("en", "Mira walks down to the river."),
        ("en", "go"),
        ("en", "Where is the copper key?"),
        ("en", "x " * 3000),
        ("sv", "Mira går ner till floden"),
        ("sv", "Var är kopparnyckeln?"),
        ("sv", ""),
    ],
)
async def test_a_scene_has_its_length(lang: Lang, directive: str) -> None:
    """60 to 150 words, whatever the directive; the same prompt and seed give the same text, others another."""
    prompt = asked(directive, lang)
    texts = [await told(MockTeller(), prompt, seed) for seed in range(20)]
    assert [await told(MockTeller(), prompt, seed) for seed in range(20)] == texts
    assert len(set(texts)) > 10
    for text in texts:
        assert LEAST_WORDS <= len(text.split()) <= MOST_WORDS, text
        assert "{" not in text


async def test_a_directive_stands_in_its_scene() -> None:
    """As a sentence of its own, so that what it places is found."""
    assert "Mira hides the ring in the mill." in await told(
        MockTeller(), asked("mira hides the ring in the mill".capitalize())
    )


FACTS: list[tuple[Lang, str, str]] = [
    ("en", "Where is the copper key?", "under the third step of the chapel"),
    ("en", "Mira goes back to fetch the copper key.", "under the third step of the chapel"),
    ("en", "Jonas asks Mira where she hid the copper key", "under the third step of the chapel"),
    ("en", "How many steps does the tower have?", "forty steps"),
    ("en", "Who has the blue lantern?", "to the ferryman"),
    ("en", "Which number is painted on the boathouse?", "17"),
    ("sv", "Var är kopparnyckeln?", "under det tredje trappsteget i kapellet"),
    ("sv", "Mira letar efter kopparnyckeln.", "under det tredje trappsteget i kapellet"),
    ("sv", "Jonas frågar var kopparnyckeln ligger", "under det tredje trappsteget i kapellet"),
    ("sv", "Hur många trappsteg har tornet?", "fyrtio trappsteg"),
    ("sv", "Vem har den blå lyktan?", "till färjkarlen"),
]
RECALLED: dict[Lang, list[tuple[int, str]]] = {
    "en": [
        (9, "Jonas had dreamt of keys all night."),
        (5, "Mira hid the copper key under the third step of the chapel."),
        (7, "The tower had forty steps, and every one of them was worn."),
        (8, "She had given the blue lantern to the ferryman."),
        (6, "Somebody had painted the number 17 on the boathouse."),
        (4, "The silver ring lay in the mill."),
    ],
    "sv": [
        (9, "Jonas hade drömt om nycklar hela natten."),
        (5, "Mira gömde kopparnyckeln under det tredje trappsteget i kapellet."),
        (7, "Tornet hade fyrtio trappsteg, och vartenda ett var slitet."),
        (8, "Hon hade gett den blå lyktan till färjkarlen."),
        (4, "Silverringen låg i kvarnen."),
    ],
}


@pytest.mark.parametrize(("lang", "directive", "fact"), FACTS)
async def test_a_recalled_fact_is_told(lang: Lang, directive: str, fact: str) -> None:
    """The statement that speaks of what is asked, not another one."""
    for seed in range(5):
        assert fact in await told(MockTeller(), asked(directive, lang, (), RECALLED[lang]), seed)


async def test_the_state_table_comes_first() -> None:
    """A recalled statement of an earlier place is not told."""
    states = [state("copper key", "the mill", seq=20), state("blue lantern", "Jonas", "holder", 30)]
    text = await told(MockTeller(), asked("Where is the copper key?", "en", states, RECALLED["en"]))
    assert "the copper key was at the mill" in text
    assert "chapel" not in text
    text = await told(MockTeller(), asked("Mira needs the blue lantern.", "en", states, RECALLED["en"]))
    assert "Jonas had the blue lantern" in text


@pytest.mark.parametrize(
    ("lang", "directive"),
    [
        ("en", "Where is the silver whistle?"),
        ("en", "Mira looks for the silver whistle."),
        ("en", "Who knows where Jonas left the glass eye?"),
        ("en", "How many bells hang there?"),
        ("sv", "Var är silvervisslan?"),
        ("sv", "Mira letar efter glasögat."),
    ],
)
async def test_of_a_thing_that_nobody_mentioned_no_place_is_invented(lang: Lang, directive: str) -> None:
    """The scene says that nobody remembers it, and names no place."""
    start = re.compile(
        "|".join(re.escape(each.partition("{")[0]) for each in LANGUAGES[lang].storytelling.grammar.unknown)
    )
    places = re.compile("chapel|mill|kapell|kvarn|tower|torn")
    for seed in range(20):
        text = await told(MockTeller(), asked(directive, lang, (), RECALLED[lang]), seed)
        assert start.search(text), text
        assert not places.search(text), text


async def test_the_mock_writes_what_belongs_beside_a_scene() -> None:
    """Choices and milestones that are read as such, a summary and an aside."""
    told_so_far = context([scene(1, "Mira found the gate. It was open.")], CAST["en"])
    teller = MockTeller()
    for seed in range(9):
        assert (
            2 <= len(parse_choices(await teller.write(assemble_choices(told_so_far).prompt, seed, 4000))) <= 4
        )
    listed = (
        Milestone(number=1, text="Mira finds the gate"),
        Milestone(number=2, text="The dragon is slain"),
    )
    check = await teller.write(assemble_milestones(told_so_far, listed).prompt, 0, 4000)
    assert parse_milestones(check, (1, 2)) == {1: False, 2: False} | (
        {1: True} if '"1":true' in check else {}
    )
    one = (Milestone(number=3, text="Mira found the gate."),)
    check = await teller.write(assemble_milestones(told_so_far, one).prompt, 0, 4000)
    assert parse_milestones(check, (3,)) == {3: True}
    assert "valley" in await teller.write(assemble_aside(told_so_far, "Why?").prompt, 0, 4000)


# --- language models and scripts

EMPTY = Chapter(id="c", branch="b", from_seq=1, title="One")
SPEC = asked("Go on.")


async def test_a_model_is_asked_with_the_border(autojump_clock: MockClock) -> None:
    """The text before it is the system's, and the one message that the next request repeats."""
    model = FakeModel(
        [[TextDelta("It was "), TextDelta("late. She"), 5.0, TextDelta(" went. And"), Finish("stop")]]
    )
    teller = ModelTeller(model, "openai:big", 700)
    times = []
    async with aclosing(teller.tell_scene(SPEC, 1)) as pieces:
        async for piece in pieces:
            times.append((trio.current_time(), piece))
    request = model.requests[0]
    assert [(each.role, each.text) for each in request.messages] == [
        ("system", SPEC.stable),
        ("user", SPEC.fresh),
    ]
    assert (request.stable, request.max_tokens, teller.name) == (1, 700, "openai:big")
    start = times[0][0]
    assert [(at - start, piece) for at, piece in times] == [
        (0, "It was late."),
        (5, " She went."),
        (5, " And"),
    ]


def says(*texts: str, end: FinishReason = "stop") -> list[Step]:
    return [*map(TextDelta, texts), Finish(end)]


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        (says("One. Two. Thr", end="length"), "One. Two."),
        (says("One.\n\nReader: I go.\n\nTwo. "), "One."),
        (says("\x1bOne\x00. T\ud83d", "\ude00wo."), "One. T😀wo."),
        (says(*["Å word. "] * 25_000), " ".join(["Å word."] * 3641)),
    ],
)
async def test_a_models_scene_is_whole(steps: list[Step], text: str) -> None:
    """Cut off, going on without an end or with the reader's turn: its whole sentences are told, and it is closed."""
    model = FakeModel([steps])
    assert await told(ModelTeller(model, "m"), SPEC) == text
    assert model.running == 0


@pytest.mark.parametrize(
    "steps",
    [says(), says("  \n"), says("Half of", end="length"), says("No.", end="refusal"), says(end="filtered"),
     [ModelFailed("broken", "server")], [TextDelta("One. Two."), ModelFailed("broken", "cut")],
     [CallDelta(0, "c", "f", "{}"), Finish("calls")], says("Reader: I go on.")],
)  # fmt: skip
async def test_a_model_that_writes_nothing_has_failed(steps: list[Step]) -> None:
    """As one that declines, calls, or breaks off."""
    model = FakeModel([steps, steps])
    with pytest.raises(ModelFailed):
        await told(ModelTeller(model, "m"), SPEC)
    assert model.running == 0


async def test_a_model_writes_short_texts() -> None:
    """Bounded, clean, and never empty."""
    model = FakeModel([says("One is\x00 here. Two"), says("One is here. Two is here."), says(" ")])
    teller = ModelTeller(model, "m")
    assert await teller.write(SPEC, 0, 400) == "One is here. Two"
    assert await teller.write(SPEC, 0, 20) == "One is here."
    with pytest.raises(ModelFailed):
        await teller.write(SPEC, 0, 20)


async def test_a_script_plays_by_the_directive(autojump_clock: MockClock) -> None:
    """And by the task for what belongs beside a scene."""
    script = ScriptTeller(
        [
            ScriptEntry(match="choices", text='["A.", "B."]'),
            ScriptEntry(match="hang", deltas=("One. ",), hang=True),
            ScriptEntry(match="fail", deltas=("One. ",), error="broken"),
            ScriptEntry(match="go", deltas=("One. ", "Two.")),
        ]
    )
    assert await told(script, SPEC) == "One. Two."
    assert await script.write(assemble_choices(context()).prompt, 0, 400) == '["A.", "B."]'
    with pytest.raises(ModelFailed, match="broken"):
        await told(script, asked("Fail."))
    with pytest.raises(ModelFailed, match="no entry"):
        await told(script, asked("Wait."))
    with pytest.raises(ModelFailed, match="no entry"):
        await script.write(assemble_summary(context(), EMPTY, ()).prompt, 0, 400)
    with trio.move_on_after(60) as scope:
        await told(script, asked("Hang on."))
    assert scope.cancelled_caught


async def test_a_setting_names_its_teller(tmp_path: Path) -> None:
    """The mock, a script, or the language model that was opened."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"match": "", "text": "One."}]), encoding="utf-8")
    settings = MockSettings()
    assert make_teller("mock", None, settings).name == "mock"
    assert await told(make_teller(f"script:{path}", None, settings), SPEC) == "One."
    model = FakeModel([says("Two.")])
    teller = make_teller("openai:big", model, settings, 3000)
    assert (teller.name, await told(teller, SPEC)) == ("openai:big", "Two.")
    assert model.requests[0].max_tokens == 3000
