"""Each attack, over memory streams in virtual time: the attacker is told what it must be, and nobody else notices.

An innocent client is connected before and asks all through the attack; its answers are whole and as quick as ever.
Another gets in afterwards. Nothing reaches the log's error level, what waits for a client stays within bounds, and no
step of any task, the attacker's own too, takes more than STEP_CPU seconds of CPU each time that it is played: on a busy
machine one or another step does.
"""

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.client.client import Client
from agent.compose.adapters import Adapters
from agent.config import CONFIRM_SECONDS, MAX_FRAME, OUTBOX_DELTAS
from agent.llm.script import ScriptEntry, ScriptModel
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.websocket import Connection
from agent.settings import Settings
from agent.testing.demo import CALL, PRICE
from agent.testing.network import Network, network
from agent.wire.outbox import OUTBOX_BYTES, OUTBOX_FRAMES, Outbox, OutboxChunk
from tests.strikes.steps import Step, steps

from ..examples import sample
from .attacks import ATTACKS
from .enemy import MemoryEnemy

KNOWLEDGE = {
    "pricing.md": """\
# Plans and prices

| Plan | Price per month |
| --- | --- |
| Basic | 149 kr |
| Standard | 299 kr |
| Premium | 599 kr |
""",
    "returns.md": """\
# Returns

You can return an unopened product within 14 days of delivery.
A return costs 49 kr, which is taken from the refund.
The refund is paid within 5 business days.
""",
    "contact.md": """\
# Contact

Customer service answers the phone on weekdays between 09:00 and 17:00.
""",
}
STORY = "Once upon a time there was a plan that everybody liked. " * 400
SCRIPT = (
    ScriptEntry(match="for ever", hang=True),
    ScriptEntry(match="long story", text=STORY),
    ScriptEntry(match=PRICE, text="The Standard plan costs 299 kr per month."),
    ScriptEntry(match="", text="Customer service answers on weekdays."),
)
SETTINGS = Settings.of(max_connections=20)
CLEAN_UP = 60.0  # virtual seconds after which nothing of an attack may be left
PLAYS = 4  # at most, until no step was long


@cache
def knowledge() -> KnowledgeBase:
    """A small knowledge base, indexed once."""
    return KnowledgeBase.build([SourceFile.of(f"kb/{name}", text) for name, text in KNOWLEDGE.items()])


class Watch:
    """The most that has ever waited in an outbox."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.frames = self.bytes = 0
        append = Outbox._append

        def watched(outbox: Outbox, chunk: OutboxChunk) -> None:
            append(outbox, chunk)
            self.frames = max(self.frames, len(outbox))
            self.bytes = max(self.bytes, outbox._bytes)

        patch.setattr(Outbox, "_append", watched)


class Innocent:
    """A client who asks for a price, again and again."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self) -> float:
        """Ask, check the answer, and return the seconds to its first frame."""
        asked = trio.current_time()
        await self.client.ask(PRICE)
        frame = await self.client.next_frame()
        if frame["type"] == "action_closed":  # its suggestion has expired meanwhile
            frame = await self.client.next_frame()
        first = trio.current_time() - asked
        said = ""
        while frame["type"] == "stream":
            said += frame["delta"]
            frame = await self.client.next_frame()
        response = await self.client.next_frame()
        assert (frame["type"], frame["reason"], response["type"]) == ("stream_end", "done", "response")
        assert said == response["text"] == "The Standard plan costs 299 kr per month."
        return first

    async def suggestion(self) -> dict[str, Any]:
        """Ask for something that an action is suggested for, and return the suggestion."""
        await self.client.ask(CALL)
        return (await self.client.frames_until("action_suggestion"))[-1]

    async def confirm(self, suggestion: dict[str, Any]) -> None:
        """Confirm a suggestion, and see it carried out."""
        await self.client.confirm(suggestion["suggestionId"])
        executed = (await self.client.frames_until("action_executed"))[-1]
        assert executed["suggestionId"] == suggestion["suggestionId"]
        assert executed["result"]["success"] is True


@asynccontextmanager
async def innocent(server: Network) -> AsyncGenerator[Innocent, None]:
    """Connect, with the welcome behind."""
    async with server.connect() as client:
        assert (await client.next_frame())["type"] == "welcome"
        yield Innocent(client)


async def ask_until(client: Innocent, over: trio.Event, usual: float) -> int:
    """Ask every half second until the attack is over; return how often."""
    asked = 0
    while not over.is_set() or not asked:
        assert await client.ask() == pytest.approx(usual)
        asked += 1
        with trio.move_on_after(0.5):
            await over.wait()
    return asked


@pytest.mark.parametrize("name", sample(ATTACKS, 12))
async def test_an_attack_harms_nobody(
    name: str, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """The attacker gets its answer, the innocent theirs, and nothing is left of it."""
    for _ in range(PLAYS):
        with monkeypatch.context() as patch:
            slow = await play(name, patch)
        if not slow:
            break
    assert slow == []


async def play(name: str, monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """Play an attack and check its outcome; return the steps that were too long."""
    attack = ATTACKS[name]
    watch = Watch(monkeypatch)
    told: list[str] = []
    over = trio.Event()
    with capture_logs() as logs, steps() as measured:
        async with (
            network(SETTINGS, Adapters(knowledge=knowledge(), model=ScriptModel(SCRIPT))) as server,
            innocent(server) as before,
        ):
            enemy = MemoryEnemy(server)
            suggested = await before.suggestion()
            expires = trio.current_time() + CONFIRM_SECONDS
            enemy.secret = suggested["suggestionId"]
            usual = await before.ask()

            async def run() -> None:
                told.extend(await attack.run(enemy))
                over.set()

            with trio.fail_after(600):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(run)
                    await ask_until(before, over, usual)
            assert tuple(told) == attack.told
            if trio.current_time() < expires:
                await before.confirm(suggested)
            with trio.fail_after(1):
                async with innocent(server) as after:
                    assert await after.ask() == pytest.approx(usual)
            await trio.sleep(CLEAN_UP)
            assert len(server.app.registry) == 1
            assert await before.ask() == pytest.approx(usual)
    assert watch.frames <= OUTBOX_FRAMES + OUTBOX_DELTAS + 1
    assert watch.bytes <= OUTBOX_BYTES + MAX_FRAME
    assert [entry for entry in logs if entry["log_level"] in ("error", "critical")] == []
    gc.collect()
    assert [each for each in gc.get_objects() if type(each) in (Connection, Outbox)] == []
    return measured.slow()
