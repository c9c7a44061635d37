"""Two workers that speak and hear: each serves as many voices as one server does."""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio

from agent.client.client import Client, connect_over, open_stream
from agent.ports.voice import CHUNK_BYTES
from tests.voice.ears import FRAME, digest, sound

from .processes import PATIENCE, Pair, pair, until

pytestmark = pytest.mark.proof
QUESTION = "What does the Standard plan cost per month?"
SOUNDS = (sound(1), sound(2))


def test_each_worker_hears_as_many_clients_as_the_setting_says(tmp_path: Path) -> None:
    """In all, that is the setting times the workers; those that are heard are answered aloud."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({digest(*SOUNDS): QUESTION}))
    voice = ("--mouth", "tone", "--ear", f"script:{script}", "--voice-streams", "1")
    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "prices.md").write_text("# Prices\n\nThe Standard plan costs 299 kr per month.\n")
    with pair(tmp_path, *voice, kb=kb) as server:
        server.ready()
        trio.run(_all_are_heard, server)
        assert "Traceback" not in server.log.read_text()


async def _all_are_heard(server: Pair) -> None:
    async with AsyncExitStack() as stack:
        clients = await _connect_two_by_worker(stack, server)
        assert len(clients) == 2
        for first, second in clients.values():
            assert await _ask_to_be_heard(first) == []
            assert await _ask_to_be_heard(second) == ["busy"]
        async with trio.open_nursery() as nursery:
            for first, _ in clients.values():
                nursery.start_soon(_talk, first)


async def _connect_two_by_worker(stack: AsyncExitStack, server: Pair) -> dict[int, list[Client]]:
    """Connect clients until each worker has two; a third is left idle."""
    clients: dict[int, list[Client]] = {pid: [] for pid in server.workers()}
    deadline = trio.current_time() + PATIENCE
    while any(len(each) < 2 for each in clients.values()):
        assert trio.current_time() < deadline, clients
        client, port = await stack.enter_async_context(_connected(server))
        await until(lambda port=port: port in server.holders())  # type: ignore[misc]
        of_worker = clients[server.holders()[port]]
        if len(of_worker) < 2:
            of_worker.append(client)
    return clients


@asynccontextmanager
async def _connected(server: Pair) -> AsyncGenerator[tuple[Client, int]]:
    """Connect a client that talks; yield it and its port."""
    stream, host, path = await open_stream(f"ws://127.0.0.1:{server.port}/ws")
    port = cast(trio.SocketStream, stream).socket.getsockname()[1]
    async with connect_over(stream, host, path, voice=True) as client:
        welcome = await client.next_frame()
        assert welcome["voice"] == {"speaks": ["en", "sv"], "hears": ["en", "sv"]}
        yield client, port


async def _ask_to_be_heard(client: Client) -> list[str]:
    """Send `listen`; return the codes of the errors that come."""
    await client.listen(True)
    await client.ping()
    codes = []
    with trio.move_on_after(0.2):
        while True:
            codes.append((await client.next_frame())["code"])
    return codes


async def _talk(client: Client) -> None:
    """Ask aloud, and listen to the answer."""
    for pcm in SOUNDS:
        await client.send_raw(pcm)
        await trio.sleep(FRAME)
    await client.listen(False)
    frames: list[dict[str, Any]] = []
    audio = 0
    with trio.fail_after(PATIENCE):
        while not frames or frames[-1]["type"] != "speech_end":
            message = await client.next_message()
            if isinstance(message, bytes):
                assert len(message) == CHUNK_BYTES
                audio += 1
            else:
                frames.append(message)
    of = {frame["type"]: frame for frame in frames}
    assert (of["heard"]["text"], of["heard"]["final"]) == (QUESTION, True)
    assert "299" in of["response"]["text"]
    assert of["speech"]["id"] == of["response"]["id"] == of["heard"]["id"]
    assert of["speech_end"]["reason"] == "done"
    assert audio
