"""One memory of two servers over one folder: what one has accepted the other tells, and what it has forgotten no more.

In one loop on virtual time, each with stores, an index and sessions of its own, as two workers have them; and among the
proofs as two workers in processes of their own.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.config import MEMORY_READ
from agent.errors import StorageFailed
from agent.ports.conversation import Scope
from agent.ports.memory import MemoryStore
from agent.recall.recall import LOOK, Recall
from tests.e2e.plain import Plain, plain
from tests.server.api.whole import Whole, whole

SENTINEL = "Zanzibarium-864209753"
TELLS = f"Remember that my locker code is {SENTINEL}."
SAYS = f"Your locker code is {SENTINEL}."
ASKS = "What is my locker code?"
STATES = "My fence is 40 metres."
OTHER = "When does the house open?"
ANNA = "a-token-of-anna-24-characters"


@pytest.fixture(autouse=True)
def _finds_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has a word of the question is told: nothing is left out for not being sure enough."""
    monkeypatch.setattr("agent.remembering.Recall", partial(Recall, floor=0.0))


class Side:
    """One of the servers, and a socket of anna's to it."""

    def __init__(self, server: Whole, client: Plain) -> None:
        self.server, self.client = server, client
        self._asked = 0

    async def ask(self, text: str) -> dict[str, Any]:
        """Return the answer to a question over the socket, once what came of it is kept."""
        self._asked += 1
        await self.client.ask(text, id=f"m{self._asked}")
        answer = (await self.client.until("response"))[-1]
        await trio.testing.wait_all_tasks_blocked()
        return answer

    async def told(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return the frame that answers what is asked of what is remembered."""
        self._asked += 1
        await self.client.send(type=kind, id=f"m{self._asked}", **fields)
        while (frame := await self.client.next()).get("id") != f"m{self._asked}":
            pass
        return frame

    @property
    def prompts(self) -> list[str]:
        """What its model was asked."""
        return self.server.model.asked

    @property
    def store(self) -> MemoryStore:
        """What it remembers in."""
        return self.server.memory[1]


@asynccontextmanager
async def sides(folder: Path) -> AsyncGenerator[tuple[Side, Side], None]:
    """Two servers over one folder, whose models repeat what they were told, and anna at each."""
    users = folder / "users.toml"
    users.write_text(f'anna = "{ANNA}"\n')
    how = {"memory": "on", "data": str(folder / "data"), "users": users}
    async with (
        whole(**how) as one,
        whole(**how) as other,
        plain(one.net.open(), [f"bearer.{ANNA}"]) as here,
        plain(other.net.open(), [f"bearer.{ANNA}"]) as there,
    ):
        one.model.says = other.model.says = SAYS
        yield Side(one, here), Side(other, there)


async def test_what_one_accepts_the_other_tells_at_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """In its prompt, in its answer, which cites it, in its list and where it is searched for; nobody waits for that."""
    async with sides(tmp_path) as (one, other):
        await other.ask("Hello!")
        await one.ask(TELLS)
        began = trio.current_time()
        answer = await other.ask(ASKS)
        assert answer["text"] == SAYS
        assert {each["file"] for each in answer["citations"]} == {"memory/i1"}
        assert SENTINEL in other.prompts[-1]
        (item,) = (await other.told("memory_list"))["items"]
        assert (item["id"], item["status"]) == ("i1", "accepted")
        found = await other.told("recall", query=ASKS)
        assert any(each["source"] == "memory/i1" for each in found["excerpts"])
        assert trio.current_time() - began < LOOK / 2


async def test_what_one_forgets_the_other_tells_no_more(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Nor its session, whose conversation holds the words: in no prompt, answer, list or search from then on."""
    async with sides(tmp_path) as (one, other):
        await other.ask(TELLS)
        assert SENTINEL in (await other.ask(ASKS))["text"]
        assert (await one.told("memory_forget", item="i1"))["item"]["status"] == "forgotten"
        began, prompts, frames = trio.current_time(), len(other.prompts), len(other.client.frames)
        other.server.model.says = "The house opens at 8."
        assert "8" in (await other.ask(OTHER))["text"]
        await other.ask(ASKS)
        await other.told("recall", query=ASKS)
        assert (await other.told("memory_list"))["items"] == []
        assert trio.current_time() - began < LOOK / 2
        assert "Zanzibarium" not in "".join(other.prompts[prompts:])
        assert len(other.prompts) > prompts
        assert "Zanzibarium" not in json.dumps([frame for _, frame in other.client.frames[frames:]])


async def test_a_thread_that_is_awake_elsewhere_tells_it_no_more(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """What was said in it stays in the mind of the server in which it is awake, and is in none of its prompts."""
    async with sides(tmp_path) as (one, other):
        server = other.server
        told = await server.chat(TELLS)
        (item,) = told["response_json"]["memory_updates"]
        thread = told["thread_id"]
        await server.chat(ASKS, thread_id=thread)
        assert SENTINEL in other.prompts[-1]
        gone = {"user_id": "anna", "decision": "forget"}
        await one.server.good("POST", f"/memory/{item['id']}", gone)
        prompts = len(other.prompts)
        server.model.says = "The house opens at 8."
        for place in ({"thread_id": thread}, {}):
            await server.chat(OTHER, **place)
            await server.chat(ASKS, **place)
        assert len(other.prompts) > prompts
        assert "Zanzibarium" not in "".join(other.prompts[prompts:])


async def test_an_answer_that_is_not_kept_yet_is_told_no_more_either(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """It is known by what it cites."""
    async with sides(tmp_path) as (one, other):
        await one.ask(TELLS)
        keeping, real = trio.Event(), other.store.keep

        async def keep(*args: Any) -> Any:
            await keeping.wait()
            return await real(*args)

        vars(other.store)["keep"] = keep
        assert SENTINEL in (await other.ask(ASKS))["text"]
        await one.told("memory_forget", item="i1")
        prompts = len(other.prompts)
        other.server.model.says = "The house opens at 8."
        await other.ask(OTHER)
        assert len(other.prompts) == prompts + 1
        assert "Zanzibarium" not in other.prompts[-1]
        keeping.set()


@pytest.mark.parametrize("stalls", [False, True])
async def test_where_that_cannot_be_read_a_question_stands_alone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, stalls: bool
) -> None:
    """What was said before it may be forgotten; it is answered all the same, and soon."""
    async with sides(tmp_path) as (_, other):
        other.server.model.says = "The house opens at 8."
        await other.ask(OTHER)
        real = other.store.unsaid

        async def unsaid(*args: Any) -> Any:
            if stalls:
                await trio.sleep(60)
            raise StorageFailed("gone")

        vars(other.store)["unsaid"] = unsaid
        began = trio.current_time()
        assert "8" in (await other.ask("When does the house open then?"))["text"]
        assert trio.current_time() - began <= MEMORY_READ + 0.1
        assert OTHER not in other.prompts[-1]
        vars(other.store)["unsaid"] = real
        await other.ask("When does the house open then?")
        assert OTHER in other.prompts[-1]


async def test_a_proposal_that_is_confirmed_in_both_is_accepted_once(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """By its suggestion in one, in the list of the other, at the same moment: both are told of the same item."""
    async with sides(tmp_path) as (one, other):
        await other.ask(STATES)
        suggested = (await other.client.until("action_suggestion"))[-1]
        item = suggested["payload"]["item"]
        await other.client.send(type="confirm_action", suggestionId=suggested["suggestionId"])
        changed = await one.told("memory_decide", item=item, decision="accept")
        executed = (await other.client.until("action_executed"))[-1]
        assert changed["item"]["status"] == "accepted"
        assert executed["result"]["success"]
        again = await other.told("memory_decide", item=item, decision="accept")
        assert again["item"]["revision"] == changed["item"]["revision"]
        (found,) = (await other.store.changed(0, 99)).items
        history = [each.trigger for each in await one.store.history(found.scope, found.id)]
        assert history == ["propose", "approve"]
        assert found.scope == Scope(found.scope.project, "", "anna")
