"""The first promise with a memory: what no citation holds, no client gets, and what is not live is in no prompt.

A model that makes numbers up is asked about 200 things that a user had remembered, about 60 that are proposed,
rejected, expired, superseded or another's, and about the documents. MEMORY_QUESTIONS=500 in the environment asks all.
"""

import os
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

import pytest
import trio.testing

from agent.compose.adapters import Adapters
from agent.llm.mock import MockModel
from agent.ports.conversation import Scope
from agent.ports.draft import Delta, Prompt
from agent.ports.memory import Item, MemoryStore
from agent.ports.projects import HOUSE
from agent.ports.search import Hit
from agent.settings import Settings
from agent.testing.network import network
from tests.remembered import DAY, NOW, a_draft
from tests.server.api import TOKEN
from tests.server.api.whole import HOUSES, Whole
from tests.threads.lab import Wall

from .independent import shown, unsupported

QUESTIONS = int(os.environ.get("MEMORY_QUESTIONS", "25"))
ANNA = Scope(HOUSE, "t0", "anna")
FOREIGN = (Scope(HOUSE, "t0", "bo"), Scope("elsewhere", "t0", "anna"))
LIVE, OTHERS = 200, 60
STATES = ("proposed", "rejected", "expired", "superseded", "foreign")
_SYLLABLES = ("ba", "ke", "lo", "mu", "ri", "sa", "te", "vo", "zu", "fi")


class Noting:
    """The mock, and all that it was ever sent. rate: of its drafts that make a number up."""

    def __init__(self, rate: float) -> None:
        self._mock = MockModel(7, rate)
        self.sent: list[str] = []

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Draft."""
        self.sent.append(f"{prompt}\n{[hit.snippet for hit in evidence]}")
        async for delta in self._mock.stream(prompt, evidence):
            yield delta


def name(number: int) -> str:
    """The name of a thing, which is no other's."""
    return "".join(_SYLLABLES[int(digit)] for digit in f"{number:03}") + "x"


def amount(number: int) -> int:
    """What it costs, which nothing else does."""
    return 310_007 + 37 * number


def said(number: int, more: int = 0) -> str:
    """What is remembered of it."""
    return f"The boat {name(number)} cost {amount(number) + more} SEK"


async def item(store: MemoryStore, scope: Scope, number: int, more: int = 0, **other: Any) -> Item:
    """Have it proposed."""
    draft = a_draft(said(number, more), f"cost of boat {name(number)}", message=f"m{number}", **other)
    return (await store.propose_drafts(scope, [draft], NOW))[0].item


async def filled(store: MemoryStore) -> dict[str, str]:
    """Fill a memory; return what may be cited, by its file. Of the others nothing may be told at all."""
    live: dict[str, str] = {}
    for number in range(LIVE):
        made = await item(store, ANNA, number)
        live[f"memory/{made.id}"] = (await store.accept_item(ANNA, made.id, NOW)).text
    for number in range(LIVE, LIVE + OTHERS):
        state = STATES[number % len(STATES)]
        scope = FOREIGN[number % 2] if state == "foreign" else ANNA
        until = {"valid_from": NOW - 2 * DAY, "expires_at": NOW - DAY} if state == "expired" else {}
        made = await item(store, scope, number, at=NOW - 3 * DAY if until else NOW, **until)
        if state == "rejected":
            await store.decide_item(scope, made.id, "reject", NOW)
        elif state != "proposed":
            await store.accept_item(scope, made.id, NOW)
        if state == "superseded":
            newer = await item(store, ANNA, number, 500_000)
            live[f"memory/{newer.id}"] = (await store.accept_item(ANNA, newer.id, NOW)).text
    await store.expire_items(NOW)
    return live


def questions() -> list[str]:
    """Five hundred, of which so many are asked: each thing twice, with a wrong number too, and the documents."""
    every = [f"What did the boat {name(number)} cost?" for number in range(LIVE + OTHERS)]
    every += [f"Did the boat {name(number)} cost {777_000 + number} SEK?" for number in range(220)]
    every += [f"When does the house open{', the house' * number}?" for number in range(20)]
    return every[:: len(every) // QUESTIONS]


@pytest.mark.proof
async def test_nothing_made_up_comes_through_with_a_memory(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """No number without a cited document or item that holds it; none of the 60 in a prompt or in an answer."""
    model = Noting(0.5)
    settings = Settings.of(pace_ms=0, rate_limit=0, api_rate=0, token=TOKEN, data="memory", memory="on")
    parts = Adapters(model=model, clock=Wall())
    outcomes: Counter[str] = Counter()
    async with network(settings, parts, (HOUSES,)) as net:
        server = Whole(net, cast(Any, None), cast(Any, None))
        _, store = server.memory
        live = await filled(store)
        asked = questions()
        for text in asked:
            answer = await server.chat(text)
            body, cited = answer["response_json"]["message"], answer["citations"]
            assert unsupported(body, shown(cited)) == [], (text, answer)
            outcomes[(answer["blocked"] or {}).get("code", "answered")] += 1
            for each in cited:
                if each["file"].startswith("memory/i"):
                    outcomes["cites an item"] += 1
                    assert each["snippet"] == live[each["file"]]
                else:
                    assert each["file"] == "kb/house.md" or each["file"].startswith("memory/t"), each
    assert min(outcomes["answered"], outcomes["number_mismatch"]) >= len(asked) / 12, outcomes
    assert outcomes["cites an item"] >= len(asked) / 12, outcomes
    forbidden = [str(amount(number)) for number in range(LIVE, LIVE + OTHERS)]
    assert len(model.sent) >= len(asked) / 2
    everything = "\n".join(model.sent)
    assert sum(str(amount(number)) in everything for number in range(LIVE)) >= len(asked) / 10
    assert [each for each in forbidden if each in everything] == []
