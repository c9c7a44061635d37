"""What every teller of stories must do. A new one joins by a line in TELLERS.

Each is made so that it takes a second or more for a scene, and fails for the directive "break".
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest
import trio
from trio.testing import MockClock

from agent.errors import ModelFailed
from agent.llm.mock_storyteller import MockTeller
from agent.llm.script import ScriptEntry
from agent.llm.story_teller import ModelTeller, ScriptTeller
from agent.ports.model import Finish, ModelRequest, Piece, TextDelta
from agent.ports.stories import Branch, Story, StoryContext
from agent.ports.teller import Teller, TellingPrompt
from agent.stories.prompts import assemble_choices, assemble_scene, pack_prompt, unpack_prompt
from agent.stories.sentences import SentenceCutter

TOLD = "The gate stood open. Nobody came, and nobody called. It rained. "


class SlowModel:
    """A language model that says TOLD, a word a second, and breaks where it is told to."""

    def __init__(self) -> None:
        self.open = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        self.open += 1
        try:
            for word in TOLD.split():
                await trio.sleep(1)
                if "break" in request.messages[-1].text:
                    raise ModelFailed("the model broke", "server")
                yield TextDelta(f"{word} ")
            yield Finish("stop")
        finally:
            self.open -= 1


MODEL = SlowModel()
TELLERS: dict[str, Callable[[], Teller]] = {
    "mock": lambda: MockTeller(delay=1.0),
    "script": lambda: ScriptTeller(
        [
            ScriptEntry(match="break", error="the model broke", delay_ms=1000),
            ScriptEntry(match="", deltas=tuple(f"{word} " for word in TOLD.split()), delay_ms=1000),
        ]
    ),
    "language model": lambda: ModelTeller(MODEL, "slow"),
}


@pytest.fixture(params=sorted(TELLERS))
def teller(request: pytest.FixtureRequest) -> Teller:
    return TELLERS[request.param]()


def ask(directive: str) -> TellingPrompt:
    return assemble_scene(STORY, directive).prompt


STORY = StoryContext(
    story=Story(id="s", title="T", foundation="A gate.", lang="en", created_at=0, updated_at=0, revision=1),
    branch=Branch("b", "main", None, 0),
    lineage=(("b", 0),),
    tip=0,
)


async def told(teller: Teller, prompt: TellingPrompt) -> str:
    """Return a scene as it is told: cut into sentences."""
    cutter = SentenceCutter()
    async with aclosing(teller.tell_scene(prompt, 1)) as pieces:
        async for piece in pieces:
            cutter.feed(piece)
    cutter.finish()
    return cutter.text


async def test_a_scene_comes_in_pieces(teller: Teller, autojump_clock: MockClock) -> None:
    """It takes its time, and has words."""
    assert teller.name
    text = await told(teller, ask("Go on."))
    assert trio.current_time() > 1
    assert text.endswith(".")
    assert len(text.split()) >= 11


async def test_a_stored_prompt_is_told_as_it_was(teller: Teller, autojump_clock: MockClock) -> None:
    """Unpacked from its snapshot; the same seed tells the same where a teller has no will of its own."""
    prompt = ask("Go on.")
    assert await told(teller, unpack_prompt(pack_prompt(prompt))) == await told(teller, prompt)


async def test_a_scene_that_is_left_is_closed(teller: Teller, autojump_clock: MockClock) -> None:
    """By a cancel at any instant."""
    for seconds in range(5):
        with trio.move_on_after(seconds + 0.5) as scope:
            await told(teller, ask("Go on."))
        assert scope.cancelled_caught
        assert MODEL.open == 0


async def test_a_failure_is_one_of_the_model(teller: Teller, autojump_clock: MockClock) -> None:
    """And no other error; the mock never fails."""
    if teller.name == "mock":
        assert await told(teller, ask("break"))
        return
    with pytest.raises(ModelFailed, match="broke"):
        await told(teller, ask("break"))
    assert MODEL.open == 0


async def test_a_short_text_is_bounded(teller: Teller, autojump_clock: MockClock) -> None:
    """In characters."""
    for most in (20, 400):
        assert 0 < len(await teller.write(assemble_choices(STORY).prompt, 1, most)) <= most
