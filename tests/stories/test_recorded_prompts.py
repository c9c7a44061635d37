"""What a recorder in place of the model is asked: nothing that its branch does not have, and a retelling the same."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec
import pytest
import trio
import trio.testing

from agent.llm.mock_storyteller import MockTeller
from agent.ports.teller import TellingPrompt

from .harness import Reader, StoryServer, telling


@dataclass
class Recorder:
    """The mock, with a list of all that it was asked (implements `agent.ports.teller.Teller`)."""

    mock: MockTeller = field(default_factory=lambda: MockTeller(1, 0.0))
    scenes: list[tuple[TellingPrompt, int]] = field(default_factory=list)
    others: list[TellingPrompt] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the mock."""
        return self.mock.name

    async def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Tell a scene as the mock does."""
        self.scenes.append((prompt, seed))
        async with aclosing(self.mock.tell_scene(prompt, seed)) as pieces:
            async for piece in pieces:
                yield piece

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Write as the mock does."""
        self.others.append(prompt)
        return await self.mock.write(prompt, seed, max_characters)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """The teller of all servers of a test."""
    teller = Recorder()
    monkeypatch.setattr("agent.compose.stories.make_teller", lambda *_: teller)
    return teller


def written(prompt: TellingPrompt) -> str:
    """Return all of a prompt."""
    return msgspec.json.encode(prompt).decode()


async def tell_around(server: StoryServer, reader: Reader) -> str:
    """Begin a story whose branch does not have some of what was told, cancelled and planned; return its id."""
    story, branch = await server.story()
    for name, kind in (("the mill", "place"), ("the chapel", "place"), ("Mira", "person")):
        await server.good("POST", f"/stories/{story}/cast", {"name": name, "kind": kind})
    chapter = {"branch": branch, "title": "One", "milestones": ["The xylophone plays in the mill"]}
    await server.good("POST", f"/stories/{story}/chapters", chapter)
    await reader.open(story)
    await reader.tell("Mira puts the basket in the mill.", own=True)
    fork = await server.good("POST", f"/stories/{story}/branches", {"branch": branch, "seq": 1, "name": "b"})
    await reader.open(story, fork["id"])
    await reader.tell("Mira puts the quince in the mill.", own=True)
    await reader.open(story, branch)
    _, stored = await reader.tell("Mira puts the gooseberry in the mill.", own=True)
    recall = f"/stories/{story}/recall?branch={branch}&query=mill"
    await server.good("GET", recall)  # so that the index has to let it go
    text = {"text": "Mira sat in the mill."}
    await server.good("POST", f"/stories/{story}/scenes/{stored['scene']}/edit", text)
    await reader.open(story, branch)
    await reader.tell("Mira puts the persimmon in the mill.", own=True)
    await server.good("GET", recall)
    await server.good("POST", f"/stories/{story}/branches/{branch}/undo")
    assert "persimmon" not in json.dumps(await server.good("GET", recall))
    await reader.open(story, branch)
    await reader.direct("Mira puts the tamarind in the mill.")
    await reader.client.cancel()
    assert (await reader.until("stream_end"))["reason"] == "cancelled"
    other, _ = await server.story("Another", "A town. The loquat stands in the mill.")
    await reader.open(other)
    await reader.tell("Mira puts the medlar in the mill.", own=True)
    await reader.open(story, branch)
    return story


async def test_no_prompt_has_what_the_branch_does_not_have(
    recorder: Recorder, autojump_clock: trio.testing.MockClock
) -> None:
    """Shelved, undone, cancelled, of another branch, of another story; and milestones only where they are asked for."""
    async with telling() as server, server.reader() as reader:
        await tell_around(server, reader)
        begun = len(recorder.scenes), len(recorder.others)
        for number in range(25):
            await reader.tell(f"Number {number}: Mira looks for the fruit that she put in the mill.")
            await reader.until("choices")
        scenes = [written(prompt) for prompt, _ in recorder.scenes[begun[0] :]]
        others = [written(prompt) for prompt in recorder.others[begun[1] :]]
    assert len(scenes) == 25
    for word in ("quince", "gooseberry", "persimmon", "tamarind", "loquat", "medlar"):
        assert [each for each in (*scenes, *others) if word in each] == []
    assert [each for each in scenes if "xylophone" in each] == []
    assert any("xylophone" in each for each in others)
    assert any("basket" in each for each in scenes[-3:]), "recall finds what the branch has"


@pytest.mark.parametrize("kind", ["text", "choice"])
async def test_a_retelling_asks_the_same_bytes(
    kind: str, recorder: Recorder, autojump_clock: trio.testing.MockClock
) -> None:
    """The stored prompt is asked again with another seed, though the cast has changed meanwhile."""
    async with telling() as server, server.reader() as reader:
        story, _ = await server.story()
        await reader.open(story)
        await reader.tell("Mira opens the gate.")
        if kind == "choice":
            await reader.tell(choice=(await reader.until("choices"))["choices"][0]["id"])
        else:
            await reader.tell("Mira shuts the gate.")
        scene = reader.told[-1]["scene"]
        await server.good("POST", f"/stories/{story}/cast", {"name": "Jon", "kind": "person"})
        await reader.tell(retell=scene)
        await reader.tell(retell=scene)
    (first, one), (second, two), (third, three) = recorder.scenes[-3:]
    assert written(first) == written(second) == written(third)
    assert len({one, two, three}) == 3


@pytest.mark.proof
async def test_a_service_can_keep_its_work(
    recorder: Recorder, autojump_clock: trio.testing.MockClock
) -> None:
    """Of a hundred scenes nine in ten ask for a prompt that begins as the one before, up to the border."""
    async with telling() as server, server.reader() as reader:
        story, _ = await server.story()
        for name, kind in (("the mill", "place"), ("the chapel", "place"), ("lantern", "thing")):
            await server.good("POST", f"/stories/{story}/cast", {"name": name, "kind": kind})
        await reader.open(story)
        for number in range(101):
            place = "the mill" if number % 3 else "the chapel"
            await reader.tell(f"Mira carries the lantern to {place}, for the {number}th time.")
    prompts = [f"{prompt.stable}\n\n{prompt.fresh}" for prompt, _ in recorder.scenes]
    borders = [len(prompt.stable) for prompt, _ in recorder.scenes]
    kept = [
        before[:border] == after[:border]
        for before, after, border in zip(prompts, prompts[1:], borders[1:], strict=False)
    ]
    assert len(kept) == 100
    assert sum(kept) >= 90, sum(kept)
