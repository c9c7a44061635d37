"""What consecutive prompts of a conversation have in common: a service keeps its work on a beginning that is the same.

A conversation of 60 turns, with a memory that grows. What stands before the cache border is the system message and the
conversation as it was told before: the prefix that two prompts share reaches over all of that in nine turns of ten, and
the system message changes only where something is remembered that it tells.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
import trio
import trio.testing

from agent.ports.model import ModelMessage, ModelRequest
from agent.ports.pages import Window
from agent.threads.settings import THREAD_CALM
from agent.threads.thread_registry import SWEEP_EVERY
from tests.server.api import TOKEN
from tests.server.api.whole import Whole, whole

from .plain import plain

TURNS = 60
STANDS, FITS = 12, 31
ITEMS = {
    STANDS: "From now on answer briefly.",  # a rule, which stands before the border
    FITS: "Remember that my garden is green.",  # a fact, which is told of where it fits
}
WORDS = "The house opens at 8. A visitor may come in by the door on the left side of the garden."
Ask = Callable[[str], Awaitable[object]]


def question(turn: int, long: bool) -> str:
    """What is asked in a turn: of one length, or of many."""
    words = turn * 7 % (31 if long else 5)
    return f"When does the house{', that house' * words} open?"


def at_border(request: ModelRequest) -> list[ModelMessage]:
    """What stands before the border: all but what is said about this turn."""
    return [*request.messages[:-1]]


def shared(one: ModelRequest, other: ModelRequest) -> bool:
    """Whether what two prompts share holds all that stood before the border of the first."""
    before = at_border(one)
    return list(other.messages[: len(before)]) == before


async def asked_all(server: Whole, ask: Ask, long: bool) -> list[tuple[int, ModelRequest]]:
    """Go through the conversation; return each turn whose question a model was asked, with that prompt."""
    found = []
    server.model.says = WORDS
    for turn in range(1, TURNS + 1):
        await ask(ITEMS.get(turn) or question(turn, long))
        drafts = [each for each in server.model.sent if not each.tools]
        if drafts:
            assert len(drafts) == 1
            found.append((turn, drafts[0]))
        server.model.sent.clear()
    return found


@asynccontextmanager
async def over_a_socket(server: Whole) -> AsyncGenerator[Ask, None]:
    """One connection."""
    async with plain(server.net.open(), [f"bearer.{TOKEN}"]) as client:
        ids = iter(range(999))

        async def ask(text: str) -> None:
            await client.ask(text, id=str(next(ids)))
            await client.until("response")
            await trio.sleep(1)  # until it is kept
            desk, store = server.memory
            scope = (await store.turns(0, 1))[0].scope
            for item in (await store.items(scope, Window(9), ["proposed"])).entries:
                await desk.decide_item(scope, item.id, "accept")

        yield ask


@asynccontextmanager
async def over_http(server: Whole) -> AsyncGenerator[Ask, None]:
    """One thread, which sleeps after each of its turns and wakes with the next."""
    thread: dict[str, str] = {}

    async def ask(text: str) -> None:
        answer = await server.chat(text, **thread)
        thread["thread_id"] = answer["thread_id"]
        for update in answer["response_json"]["memory_updates"]:
            if update["status"] == "proposed":
                decided = {"user_id": "anna", "decision": "accept"}
                await server.good("POST", f"/memory/{update['id']}", decided)
        await trio.sleep(THREAD_CALM + 2 * SWEEP_EVERY)

    yield ask


@pytest.mark.proof
@pytest.mark.parametrize(
    ("over", "long"),
    [(over_a_socket, True), (over_http, False)],
    ids=["socket, of any length", "http, short"],
)
async def test_prompts_begin_alike(
    over: Callable[[Whole], AsyncGenerator[Ask, None]], long: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """In nine turns of ten, beyond what was said before; and the system message changes with an item, and only then."""
    async with whole(memory="on") as server, over(server) as ask:  # type: ignore[attr-defined]
        prompts = await asked_all(server, ask, long)
    assert len(prompts) >= TURNS - 2
    alike = [shared(one, other) for (_, one), (_, other) in pairwise(prompts)]
    assert sum(alike) >= 0.9 * len(alike), f"{sum(alike)} of {len(alike)}"
    changed = [turn for (_, one), (turn, other) in pairwise(prompts) if one.messages[0] != other.messages[0]]
    assert changed == [STANDS + 1]
    for turn, request in prompts:
        told = said_before(request.messages)
        assert turn < 5 or len(told) >= 4, f"turn {turn} is told only {len(told)} exchanges"


def said_before(messages: Sequence[ModelMessage]) -> list[str]:
    """What the user said before, as a model is told it."""
    return [each.text for each in messages[1:-1] if each.role == "user"]
