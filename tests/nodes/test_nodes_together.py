"""Two nodes are one server to their callers: threads, calls, the inbox and memory are the same at both."""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.e2e.flow import (
    PATIENCE,
    Caller,
    House,
    Server,
    begin_server,
    caller,
    house,
    served,
    wait_for_server,
)
from tests.nodes.rows import find_in_rows
from tests.servers import empty_database, run_statement

pytestmark = pytest.mark.proof

AT_ONCE = int(os.environ.get("NODES_AT_ONCE", "4"))
MOST_CONNECTIONS = 3  # of a node
CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


async def test_a_thread_goes_on_at_either_node(nodes: tuple[Server, Server]) -> None:
    """A message at one and the next at the other are one conversation, which both show alike."""
    async with caller(nodes[0]) as one, caller(nodes[1]) as other:
        thread = (await one.chat("hello"))["thread_id"]
        for number, client in enumerate((other, one, other, one)):
            told = await client.chat(f"hello {number}", thread_id=thread)
            assert told["thread_id"] == thread
        messages = (await one.get(f"/threads/{thread}/messages?limit=200"))["items"]
        assert messages == (await other.get(f"/threads/{thread}/messages?limit=200"))["items"]
        said = [each["content"] for each in messages if each["role"] == "user"]
        assert said == ["hello", *(f"hello {number}" for number in range(4))]
        assert {each["status"] for each in messages} == {"done"}


async def test_a_turn_at_one_is_seen_refused_and_ended_at_the_other(nodes: tuple[Server, Server]) -> None:
    """While it is in progress no other begins there; cancelled there, its client is told so, and the next begins."""
    async with caller(nodes[0]) as one, caller(nodes[1]) as other:
        thread = (await one.chat("hello"))["thread_id"]
        told: list[tuple[int, Any]] = []

        async def look() -> None:
            body = {"user_id": "anna", "message": "look slowly at order A-17", "thread_id": thread}
            told.append(await one.ask("POST", "/chat", body))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            await until_pending(other, thread)
            status, value = await other.ask(
                "POST", "/chat", {"user_id": "anna", "message": "hello", "thread_id": thread}
            )
            assert (status, value["code"]) == (409, "turn_in_progress")
            status, _ = await other.ask("DELETE", f"/threads/{thread}/turn")
            assert status == 204
            await other.chat("hello again", thread_id=thread)
        assert [(status, value["code"]) for status, value in told] == [(409, "cancelled")]


async def test_a_call_of_one_is_approved_at_the_other_and_runs_once(
    shared: House, nodes: tuple[Server, Server]
) -> None:
    """The inbox of each lists it; of all who approve it at both at once, one does, and it takes effect once."""
    done = 0
    async with caller(nodes[0]) as one, caller(nodes[1]) as other:
        for number in range(6):
            first, second = (one, other) if number % 2 else (other, one)
            call = (await first.chat("refund order A-17"))["tool_call_id"]
            assert call in [each["id"] for each in (await second.get("/calls/waiting"))["items"]]
            told: list[int] = []

            async def approve(client: Caller, call: str = call, told: list[int] = told) -> None:
                told.append((await client.approve(call))[0])

            async with trio.open_nursery() as nursery:
                nursery.start_soon(approve, second)
                if number % 3:
                    nursery.start_soon(approve, first)
            assert sorted(told)[0] == 200
            assert set(told[1:]) <= {200, 409}
            for client in (one, other):
                ended = await until_ended(client, call)
                assert call not in [each["id"] for each in (await client.get("/calls/waiting"))["items"]]
            assert len(shared.hook.of(call)) == (ended["status"] == "done")
            done += ended["status"] == "done"
    assert done  # a machine that is too busy refuses some


async def test_memory_of_one_is_recalled_and_forgotten_at_the_other(tmp_path: Path) -> None:
    """Told at one, it is cited at the other; forgotten there, it is in no answer and no row."""
    with (
        empty_database() as url,
        house(tmp_path, url, model="mock") as at,
        served(at) as first,
        served(at) as second,
    ):
        async with caller(first) as one, caller(second) as other:
            for number in range(3):
                code = f"86420975{number}"
                assert find_in_rows(url, code) == []
                told = await one.chat(f"Remember that my locker code is {code}.")
                item = (await until_listed(other))["id"]
                answer = await other.chat("What is my locker code?")
                assert code in answer["response_json"]["message"]
                assert any(each["file"].startswith("memory/") for each in answer["citations"])
                assert find_in_rows(url, code)
                await other.post(f"/memory/{item}", {"user_id": "anna", "decision": "forget"})
                for client in (one, other):
                    again = await client.chat("What is my locker code?")
                    listed = await client.get("/memory?user_id=anna")
                    messages = await client.get(f"/threads/{told['thread_id']}/messages")
                    assert code not in json.dumps([again, listed, messages])
                assert find_in_rows(url, code) == []


async def test_all_that_start_at_once_on_an_empty_database_come_up(tmp_path: Path) -> None:
    """They make the tables once, answer, and see each other's threads."""
    with empty_database() as url, house(tmp_path, url) as at, ExitStack() as stack:
        started = [begin_server(tmp_path, at.flags()) for _ in range(AT_ONCE)]
        for process in started:
            stack.callback(Server(process, 0).kill)
        servers = [wait_for_server(tmp_path, process) for process in started]
        threads = []
        for server in servers:
            async with caller(server) as client:
                threads.append((await client.chat("hello"))["thread_id"])
        async with caller(servers[0]) as client:
            for thread in threads:
                assert len((await client.get(f"/threads/{thread}/messages"))["items"]) == 2
        ((count,),) = run_statement(url, CONNECTIONS)
        assert count <= MOST_CONNECTIONS * AT_ONCE
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


async def until_pending(client: Caller, thread: str) -> None:
    """Wait until a thread has a turn in progress."""
    with trio.fail_after(PATIENCE):
        while True:
            messages = (await client.get(f"/threads/{thread}/messages?limit=200"))["items"]
            if "pending" in [each["status"] for each in messages]:
                return
            await trio.sleep(0.02)


async def until_ended(client: Caller, call: str) -> dict[str, Any]:
    """Return a call once it has ended."""
    with trio.fail_after(PATIENCE):
        while True:
            found: dict[str, Any] = await client.get(f"/calls/{call}")
            if found["status"] not in ("suggested", "confirmed", "claimed"):
                return found
            await trio.sleep(0.05)


async def until_listed(client: Caller) -> dict[str, Any]:
    """Return the accepted item of anna's, once there is one: a turn's items are stored behind its answer."""
    with trio.fail_after(PATIENCE):
        while True:
            items = (await client.get("/memory?user_id=anna&status=accepted"))["items"]
            if items:
                found: dict[str, Any] = items[0]
                return found
            await trio.sleep(0.05)
