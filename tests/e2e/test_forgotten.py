"""What its user has forgotten is in no file, prompt, answer, log line or figure any more, however it was told."""

import io
import json
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
import trio.testing

from agent import log
from agent.memory.recall.dense import RowVectors
from agent.memory.recall.recall import AGAIN
from agent.ports.vectors import VectorKind, VectorStore
from agent.ports.work import RunSync
from agent.testing.vectors import WordsEmbedder
from tests.hostile.process import server_process
from tests.server.api import TOKEN, request
from tests.server.api.whole import Whole, whole

from .plain import plain

SENTINEL = "Zanzibarium-864209753"
TELLS = f"Remember that my locker code is {SENTINEL}."
ASKS = "What is my locker code?"
TICKET = {
    "name": "open_ticket",
    "description": "Opens a ticket with a text.",
    "parameters": {"text": {"type": "string", "required": True}},
}


def holding(folder: Path, word: str = "Zanzibarium") -> list[str]:
    """The files below a folder that hold a word, or its number."""
    files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
    return [
        each.name for each in files if any(part.encode() in each.read_bytes() for part in (word, "864209753"))
    ]


@asynccontextmanager
async def remembering(folder: Path) -> AsyncGenerator[Whole, None]:
    """A server that remembers in a folder, with a model that repeats what it was told."""
    async with whole(memory="on", data=str(folder)) as server:
        server.model.says = f"Your locker code is {SENTINEL}."
        yield server


async def test_what_was_told_over_http_is_gone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """From its thread's own messages too, from the answers that cite it, and from what repeated requests are told."""
    lines = io.StringIO()
    log.configure("console", "debug", lines)
    data = tmp_path / "data"
    async with remembering(data) as server:
        named = "Idempotency-Key: one"
        body = {"user_id": "anna", "message": TELLS}
        told = await server.good("POST", "/chat", body, named)
        (item,) = told["response_json"]["memory_updates"]
        thread = told["thread_id"]
        asked = [await server.chat(ASKS, thread_id=thread), await server.chat(ASKS)]
        assert all(SENTINEL in each["response_json"]["message"] for each in asked)
        assert [cited["file"][:7] for cited in asked[1]["citations"]] == ["memory/"]
        assert holding(data)
        prompts = len(server.model.asked)
        assert SENTINEL in server.model.asked[-1]
        gone = {"user_id": "anna", "decision": "forget"}
        assert (await server.good("POST", f"/memory/{item['id']}", gone))["item"]["status"] == "forgotten"
        assert holding(data) == []
        server.told.clear()
        server.model.says = "I do not know."
        for place in ({"thread_id": thread}, {"thread_id": asked[1]["thread_id"]}, {}):
            await server.chat(ASKS, **place)
            await server.chat("When does the house open?", **place)
        assert await server.code("POST", "/chat", body, named) == "key_reused"
        for target in (f"/threads/{thread}/messages", "/threads", f"/memory/{item['id']}?user_id=anna"):
            await server.good("GET", target)
        await server.good("GET", "/memory?user_id=anna&status=forgotten")
        await server.raw(request("GET", "/metrics", None, f"Authorization: Bearer {TOKEN}"))
        assert "Zanzibarium" not in "".join(server.model.asked[prompts:])
        assert len(server.model.asked) == prompts + 3
        assert not [each for told in server.told.values() for each in told if b"Zanzibarium" in each]
    assert holding(data) == []
    assert "turn ended" in lines.getvalue()
    assert "Zanzibarium" not in lines.getvalue()


async def test_what_was_told_over_a_socket_is_gone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Its own conversation goes on without it."""
    data = tmp_path / "data"
    async with remembering(data) as server, plain(server.net.open(), [f"bearer.{TOKEN}"]) as client:
        desk, store = server.memory

        async def ask(text: str, id: str) -> dict[str, Any]:
            await client.ask(text, id=id)
            return (await client.until("response"))[-1]

        await ask(TELLS, "a")
        await trio.sleep(1)
        scope = (await store.turns(0, 1))[0].scope
        assert scope.user == ""
        (item,) = await store.live_items(scope, 1 << 60)
        assert SENTINEL in (await ask(ASKS, "b"))["text"]
        await trio.sleep(1)
        assert SENTINEL in server.model.asked[-1]
        assert holding(data)
        await desk.forget_item(scope, item.id)
        assert holding(data) == []
        prompts = len(server.model.asked)
        server.model.says = "The house opens at 8."
        answer = await ask("When does the house open?", "c")
        await trio.sleep(1)
        assert "Zanzibarium" not in json.dumps(answer)
        assert len(server.model.asked) == prompts + 1
        assert "Zanzibarium" not in server.model.asked[-1]
    assert holding(data) == []


async def test_the_vector_of_what_was_told_is_gone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words can be guessed from it: of the item, of its message, and of the answers that say it."""
    embedder = WordsEmbedder()

    async def open_near(vectors: str, url: str | None, run_sync: RunSync, store: VectorStore) -> Any:
        return lambda index: RowVectors(index.rows, embedder, run_sync, None, store)

    monkeypatch.setattr("agent.compose.memory.open_near", open_near)
    data = tmp_path / "data"
    async with whole(memory="on", data=str(data), vectors="off") as server:
        server.model.says = f"Your locker code is {SENTINEL}."
        _, store = server.memory
        told = await server.chat(TELLS)
        (item,) = told["response_json"]["memory_updates"]
        await server.chat(ASKS)
        server.model.says = "The house opens at 8."
        await server.chat("When does the house open?")
        await trio.sleep(2 * AGAIN)
        kind = VectorKind(embedder.name, embedder.dimension)
        ids = [item["id"], *(turn.id for turn in await store.turns(0, 99))]
        kept = {each.id: each.steps for each in await store.vectors(kind, ids)}
        assert kept.keys() == {*ids}
        assert found_in(data, kept.values()) == {*kept.values()}
        gone = {"user_id": "anna", "decision": "forget"}
        await server.good("POST", f"/memory/{item['id']}", gone)
        await trio.sleep(2 * AGAIN)
        left = [turn.id for turn in await store.turns(0, 99) if turn.remark.text]
        assert 0 < len(left) < len(ids) - 2
        assert found_in(data, kept.values()) == {kept[id] for id in left}
        assert sorted([each.id for each in await store.vectors(kind, ids)]) == sorted(left)
    assert found_in(data, kept.values()) == {kept[id] for id in left}


def found_in(folder: Path, contents: Collection[bytes]) -> set[bytes]:
    """Those that some file below a folder holds."""
    files = [each.read_bytes() for each in folder.rglob("*") if each.is_file()]
    return {each for each in contents if any(each in file for file in files)}


@pytest.mark.proof
def test_what_is_forgotten_is_in_no_file_of_a_server(tmp_path: Path) -> None:
    """A process of its own on a real disk: while it runs, and after its end."""
    data = tmp_path / "data"
    with (
        server_process("--memory", "on", "--data", str(data), "--model", "mock", "--api-rate", "0") as server,
        httpx.Client(base_url=server.url.replace("ws", "http", 1).removesuffix("/ws")) as client,
    ):
        while client.get("/readyz").status_code != 200:
            time.sleep(0.05)
        body = {"user_id": "anna", "message": TELLS}
        told = client.post("/chat", json=body, headers={"Idempotency-Key": "one"}).json()
        for _ in range(5):
            client.post("/chat", json={"user_id": "anna", "message": "What does the Standard plan cost?"})
        again = f'Open ticket with the text "my locker code is {SENTINEL}"'
        for number in range(5):
            key = {"Idempotency-Key": f"again-{number}"}
            client.post("/chat", json={"user_id": "anna", "message": again, "tools": [TICKET]}, headers=key)
        calls = client.get("/calls").json()["items"]
        assert calls
        for call in calls[1:3]:
            client.post(f"/calls/{call['id']}/approve", json={"user_id": "anna", "outcome": "accept"})
            client.post(f"/calls/{call['id']}/begin", json={})
        assert holding(data)
        (item,) = told["response_json"]["memory_updates"]
        gone = {"user_id": "anna", "decision": "forget"}
        assert client.post(f"/memory/{item['id']}", json=gone).status_code == 200
        assert holding(data) == []
        client.post("/chat", json={"user_id": "anna", "message": "What does the Standard plan cost?"})
    assert holding(data) == []
