"""A session with payloads that a model fills in: what is missing is told by the next message, and a cancel drops it."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock

from agent.client.client import Client
from agent.compose.adapters import Adapters
from agent.llm.drafter import ModelDrafter
from agent.llm.payloads import PayloadFiller
from agent.ports.model import Finish, TextDelta
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.models import FakeModel, Step
from agent.testing.network import inline, network

KNOWLEDGE = KnowledgeBase.build(
    [SourceFile.of("kb/a.md", "# Plans\n\nThe Standard plan costs 299 kr a month.\n")]
)
PHONE = "070-123 45 67"
QUESTION = "Can you also tell me which phone number to use?"
ASKED = "What does the Standard plan cost? Call me, I am Anna"


def says(said: Any, seconds: float = 0.0) -> Sequence[Step]:
    """Return what a model answers after some seconds."""
    return (seconds, TextDelta(said if isinstance(said, str) else json.dumps(said)), Finish("stop"))


@asynccontextmanager
async def talking(*fills: Sequence[Step], seconds: float = 0.0) -> AsyncGenerator[tuple[Client, FakeModel]]:
    """Give a client of a server whose models say these, and the one that fills in."""
    drafter = FakeModel([says("It costs 299 kr a month.", seconds)] * 4)
    filler = FakeModel(fills)
    chosen = Adapters(model=ModelDrafter(drafter), filler=PayloadFiller(filler, inline), knowledge=KNOWLEDGE)
    settings = Settings.of(pace_ms=0, payloads="model")
    async with network(settings, chosen) as server, server.connect() as client:
        yield client, filler


async def hear(client: Client, text: str) -> tuple[str, list[dict[str, Any]]]:
    """Ask; return the text of the response, and the suggestions that follow it within a second."""
    await client.ask(text)
    (*_, response) = await client.frames_until("response")
    return response["text"], await rest(client)


async def rest(client: Client) -> list[dict[str, Any]]:
    """Return the frames that come within a second."""
    frames: list[dict[str, Any]] = []
    with trio.move_on_after(1):
        while True:
            frames.append(await client.next_frame())
    return frames


async def test_what_is_missing_is_told_by_the_next_message(autojump_clock: MockClock) -> None:
    """The question is a part of the answer; then the action is suggested, and runs when it is confirmed."""
    fields = {"name": "Anna"}
    async with talking(says(fields), says(fields)) as (client, _):
        text, suggested = await hear(client, ASKED)
        assert text.endswith(f"\n\n{QUESTION}")
        assert suggested == []
        text, (suggestion,) = await hear(client, PHONE)
        assert text == "Thank you."
        assert suggestion["payload"] == {"phone": PHONE, "name": "Anna"}
        await client.confirm(suggestion["suggestionId"])
        (*_, executed) = await client.frames_until("action_executed")
        assert executed["result"]["success"] is True


async def test_a_refusal_keeps_the_wish_too(autojump_clock: MockClock) -> None:
    """Though it is no part of what was said before."""
    async with talking(says({}), says({})) as (client, _):
        text, suggested = await hear(client, "Please call me")
        assert text.endswith(f"\n\n{QUESTION}")
        assert suggested == []
        _, (suggestion,) = await hear(client, PHONE)
        assert suggestion["payload"] == {"phone": PHONE}


async def test_a_new_subject_drops_the_wish(autojump_clock: MockClock) -> None:
    """It is open for one message."""
    async with talking(says({})) as (client, _):
        await hear(client, ASKED)
        await hear(client, "What does the Standard plan cost?")
        assert (await hear(client, PHONE))[1] == []


async def test_so_does_one_that_is_not_answered(autojump_clock: MockClock) -> None:
    """The message after it pre-empts it, and comes too late to tell what was asked for."""
    async with talking(says({}), seconds=2.0) as (client, _):
        await hear(client, ASKED)
        await client.ask("What does the Standard plan cost?", id="b")
        await trio.sleep(1.0)
        assert (await hear(client, PHONE))[1] == []


async def test_a_cancel_drops_the_wish(autojump_clock: MockClock) -> None:
    """Of nothing in progress, or of the message that was to tell it."""
    async with talking(says({}), says({}), says({}, 3.0)) as (client, filler):
        await hear(client, ASKED)
        await client.cancel()
        assert (await hear(client, PHONE))[1] == []
        await hear(client, ASKED)
        await client.ask(PHONE)
        await trio.sleep(2.0)
        await client.cancel()
        assert (await client.frames_until("stream_end"))[-1]["reason"] == "cancelled"
        assert (await hear(client, PHONE))[1] == []
        assert filler.running == 0


async def test_a_cancel_while_it_is_filled_in_leaves_nothing(autojump_clock: MockClock) -> None:
    """The answer has been said by then; its end is cancelled, no action is suggested, and no model goes on."""
    call = f"{ASKED} on {PHONE}"
    async with talking(says({"name": "Anna"}, 3.0), says({"name": "Anna"})) as (client, filler):
        await client.ask(call)
        await trio.sleep(1.0)
        assert filler.running == 1
        await client.cancel()
        frames = await rest(client)
        assert {frame["type"] for frame in frames} == {"welcome", "stream", "stream_end"}
        assert frames[-1]["reason"] == "cancelled"
        assert "299" in "".join(frame.get("delta", "") for frame in frames)
        assert filler.running == 0
        assert (await hear(client, call))[1][0]["payload"] == {"phone": PHONE, "name": "Anna"}


async def test_a_client_that_leaves_ends_it(autojump_clock: MockClock) -> None:
    """No model goes on for nobody."""
    async with talking(says({}, 3.0)) as (client, filler):
        await client.ask(f"{ASKED} on {PHONE}")
        await trio.sleep(1.0)
        assert filler.running == 1
    assert filler.running == 0
