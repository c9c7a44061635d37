"""One memory of two servers over one folder: what one has accepted the other tells, and what it has forgotten no more.

In one loop on virtual time, each with stores, an index and sessions of its own, as two workers have them; and among the
proofs as two workers in processes of their own.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.config import MEMORY_READ
from agent.errors import StorageFailed
from agent.memory.recall.recall import LOOK, IndexRecaller
from agent.ports.change_mark import BEGINNING
from agent.ports.conversation import Scope
from agent.ports.note import ReadStore
from tests.e2e.plain import Plain, plain
from tests.server.api.whole import Whole, whole

from .processes import PATIENCE, Pair, pair, until

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
    monkeypatch.setattr("agent.compose.memory.IndexRecaller", partial(IndexRecaller, floor=0.0))


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
    def store(self) -> ReadStore:
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
        keeping, real = trio.Event(), other.store.keep_exchanges

        async def keep(*args: Any) -> Any:
            await keeping.wait()
            return await real(*args)

        vars(other.store)["keep_exchanges"] = keep
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
        real = other.store.forgotten_messages

        async def unsaid(*args: Any) -> Any:
            if stalls:
                await trio.sleep(60)
            raise StorageFailed("gone")

        vars(other.store)["forgotten_messages"] = unsaid
        began = trio.current_time()
        assert "8" in (await other.ask("When does the house open then?"))["text"]
        assert trio.current_time() - began <= MEMORY_READ + 0.1
        assert OTHER not in other.prompts[-1]
        vars(other.store)["forgotten_messages"] = real
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
        (found,) = (await other.store.changes_after(BEGINNING, 99)).items
        history = [each.trigger for each in await one.store.history(found.scope, found.id)]
        assert history == ["propose", "approve"]
        assert found.scope == Scope(found.scope.project, "", "anna")


async def in_each(stack: AsyncExitStack, server: Pair) -> list[Plain]:
    """Connect anna until each worker has one connection of hers; return those."""
    found: dict[int, Plain] = {}
    for _ in range(20):
        stream = await trio.open_tcp_stream("127.0.0.1", server.port)
        port, host = stream.socket.getsockname()[1], f"127.0.0.1:{server.port}"
        client = await stack.enter_async_context(plain(stream, [f"bearer.{ANNA}"], host=host))
        await until(lambda port=port: port in server.holders())  # type: ignore[misc]
        found.setdefault(server.holders()[port], client)
        if len(found) == 2:
            break
    return list(found.values())


async def accepted(client: Plain) -> dict[str, Any]:
    """Return the item that is live, as soon as there is one: a turn is kept behind its answer."""
    with trio.fail_after(PATIENCE):
        while True:
            items = (await until_told(client, "memory_list", status="accepted"))["items"]
            if items:
                return items[0]  # type: ignore[no-any-return]
            await trio.sleep(0.01)


async def until_told(client: Plain, kind: str, **fields: Any) -> dict[str, Any]:
    """Ask something of what is remembered; return the frame that answers it."""
    await client.send(type=kind, id="q", **fields)
    while (frame := await client.next()).get("id") != "q":
        pass
    return frame


async def until_answered(client: Plain, text: str) -> dict[str, Any]:
    """Ask a question; return its answer."""
    await client.ask(text)
    return (await client.until("response"))[-1]


@pytest.mark.proof
def test_two_workers_in_processes_have_one_memory(tmp_path: Path) -> None:
    """Told in one and cited in the other, forgotten in one and gone in the other, and confirmed in both but once."""
    users = tmp_path / "users.toml"
    users.write_text(f'anna = "{ANNA}"\n')
    flags = ("--pace-ms", "0", "--users", str(users), "--token", "a-token-of-the-operator")

    async def use() -> None:
        async with AsyncExitStack() as stack:
            one, other = await in_each(stack, server)
            for number in range(5):
                code = f"86420975{number}"
                await until_answered(one, f"Remember that my locker code is {code}.")
                item = await accepted(other)
                answer = await until_answered(other, ASKS)
                assert code in answer["text"]
                assert any(each["file"].startswith("memory/") for each in answer["citations"])
                await until_told(one, "memory_forget", item=item["id"])
                told = [
                    await until_answered(other, ASKS),
                    await until_told(other, "recall", query=ASKS),
                    await until_told(other, "memory_list"),
                ]
                assert code not in json.dumps(told)
                assert holding(tmp_path / "data", code) == []
            for number in range(5):
                await until_answered(other, f"My fence is {40 + number} metres.")
                suggested = (await other.until("action_suggestion"))[-1]
                id = suggested["payload"]["item"]
                async with trio.open_nursery() as both:
                    both.start_soon(
                        partial(other.send, type="confirm_action", suggestionId=suggested["suggestionId"])
                    )
                    both.start_soon(partial(until_told, one, "memory_decide", item=id, decision="accept"))
                await other.until("action_executed")
                kept = await until_told(one, "memory_list", item=id)
                assert [each["trigger"] for each in kept["history"] if each["item"] == id] == [
                    *("propose", "approve"),
                ]

    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "house.md").write_text("# House\n\nThe house opens at 8.\n")
    with pair(tmp_path, *flags, kb=kb) as server:
        server.ready()
        trio.run(use)
    assert "Traceback" not in server.log.read_text()


def holding(folder: Path, word: str) -> list[str]:
    """The files below a folder that hold a word."""
    files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
    return [each.name for each in files if word.encode() in each.read_bytes()]
