"""A project's key opens a session that answers from the project's documents; the operator's, from his uploads too."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.client.client import Client, TokenAs, connect_over
from agent.compose.adapters import Adapters
from agent.config import UPLOAD_MAX
from agent.errors import StorageFailed, WireClosed
from agent.ports.projects import HOUSE
from agent.server.api.key_watch import CHECK_EVERY, KeyWatch
from agent.settings import Settings
from agent.testing.network import network
from tests.projects import FakeProjects

from ...threads.lab import Wall
from . import TOKEN, request
from .whole import HOUSES, Carried, NotingModel, Whole

GARDEN = "# Garden\n\nThe garden closes at 21 every evening.\n"
BOATS = "# Boats\n\nA boat costs 350 kr a day.\n"
FORGED = f"ak_{'x' * 43}"


@asynccontextmanager
async def quoting(**settings: Any) -> AsyncGenerator[Whole, None]:
    """Run a server that quotes its documents, for the time of a block."""
    chosen = Settings.of(
        **{"pace_ms": 0, "rate_limit": 0, "api_rate": 0, "token": TOKEN, "data": "memory", "vectors": "off"}
        | settings
    )
    async with network(chosen, Adapters(clock=Wall()), (HOUSES,)) as net:
        yield Whole(net, NotingModel(), Carried())


@asynccontextmanager
async def opened(
    server: Whole, key: str | None, token_as: TokenAs = "subprotocol"
) -> AsyncGenerator[Client, None]:
    """Open a socket with a key."""
    async with connect_over(server.net.open(), token=key, token_as=token_as) as client:
        yield client


async def answer(client: Client, text: str) -> dict[str, Any]:
    """Ask, and return the response."""
    await client.ask(text)
    return (await client.frames_until("response"))[-1]


async def refused(server: Whole, key: str | None) -> int:
    """Return the code that a socket with a key is closed with."""
    async with opened(server, key) as client:
        with pytest.raises(WireClosed) as closed:
            await client.next_frame()
    return closed.value.code


async def page(server: Whole, target: str, key: str | None) -> tuple[int, bytes]:
    """Ask for a page's data as the page does."""
    shown = () if key is None else (f"Authorization: Bearer {key}",)
    status, _, body = await server.raw(
        request("GET", target, None, "Accept: application/json", *shown, key=None)
    )
    return status, body


async def two_projects(server: Whole) -> list[tuple[str, str]]:
    """Make two projects with a document each; return their ids and keys."""
    made = [await server.project("Garden"), await server.project("Boats")]
    for (project, key), name, text in zip(made, ("garden.md", "boats.md"), (GARDEN, BOATS), strict=True):
        await server.put(project, key, "FACTS", name, text)
    return made


async def test_a_key_opens_a_session_of_its_project(autojump_clock: trio.testing.MockClock) -> None:
    """It answers from the project's documents, and knows nothing of another's or of the folder."""
    async with quoting() as server:
        (_, garden), (_, boats) = await two_projects(server)
        async with opened(server, garden) as mine, opened(server, boats, "header") as theirs:
            told = await answer(mine, "When does the garden close?")
            assert "21" in told["text"]
            assert [each["file"] for each in told["citations"]] == ["docs/garden.md"]
            for strange in ("What does a boat cost?", "When does the house open?"):
                assert (await answer(mine, strange))["blocked"]["code"] == "no_sources"
            assert "350 kr" in (await answer(theirs, "What does a boat cost?"))["text"]
            hello = await answer(theirs, "Hello!")
            assert "House" not in hello["text"]
            assert "Boats" in hello["text"]
        async with opened(server, TOKEN) as operators:
            for strange in ("What does a boat cost?", "When does the garden close?"):
                assert (await answer(operators, strange))["blocked"]["code"] == "no_sources"
            assert "8" in (await answer(operators, "When does the house open?"))["text"]


async def test_the_operators_uploads_are_searched_beside_the_folder(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """From the next question on, over sockets and HTTP; a removed one is in no answer, and no project sees them."""
    async with quoting() as server:
        (_, garden), _ = await two_projects(server)
        async with opened(server, TOKEN) as operators, opened(server, garden) as mine:
            assert (await answer(operators, "What does a sauna cost?"))["blocked"]["code"] == "no_sources"
            document = await server.put(
                HOUSE, TOKEN, "FACTS", "sauna.md", "# Sauna\n\nA sauna costs 90 kr.\n"
            )
            told = await answer(operators, "What does a sauna cost?")
            assert "90 kr" in told["text"]
            assert [each["file"] for each in told["citations"]] == ["docs/sauna.md"]
            assert "8" in (await answer(operators, "When does the house open?"))["text"]
            assert (await answer(mine, "What does a sauna cost?"))["blocked"]["code"] == "no_sources"
            chat = await server.chat("What does a sauna cost?")
            assert "90 kr" in chat["response_json"]["message"]
            await server.good("DELETE", f"/projects/{HOUSE}/docs/{document['id']}")
            assert (await answer(operators, "What does a sauna cost?"))["blocked"]["code"] == "no_sources"


@pytest.mark.parametrize("end", ["revoked", "deleted"])
async def test_the_sessions_of_a_revoked_key_end(end: str, autojump_clock: trio.testing.MockClock) -> None:
    """With 4401, all of them and no other, within a moment; and nothing of them is left."""
    async with quoting() as server:
        (project, garden), (_, boats) = await two_projects(server)
        async with opened(server, boats) as other:
            async with opened(server, garden) as first, opened(server, garden) as second:
                await answer(first, "When does the garden close?")
                await second.next_frame()
                target = f"/projects/{project}"
                if end == "revoked":
                    listed = await server.good("GET", f"{target}/keys")
                    target += f"/keys/{listed['items'][0]['id']}"
                await server.good("DELETE", target)
                for client in (first, second):
                    with trio.move_on_after(2 * CHECK_EVERY) as late, pytest.raises(WireClosed) as closed:
                        await client.next_frame()
                    assert not late.cancelled_caught
                    assert closed.value.code == 4401
            assert "350 kr" in (await answer(other, "What does a boat cost?"))["text"]
            assert await refused(server, garden) == 4401
            assert len(server.net.app.registry) == 1


@pytest.mark.parametrize("token", [TOKEN, None])
async def test_a_wrong_key_opens_no_session(
    token: str | None, autojump_clock: trio.testing.MockClock
) -> None:
    """Also where no token is needed: it never counts as none."""
    async with quoting(token=token) as server:
        for key in (FORGED, "ak_short", "ak_"):
            assert await refused(server, key) == 4401, key
            assert (await page(server, "/openers.json", key))[0] == 401
        if token is None:
            async with opened(server, None) as client:
                assert "8" in (await answer(client, "When does the house open?"))["text"]


async def test_two_keys_at_once_open_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """Neither as subprotocols nor in a header and a subprotocol."""
    async with quoting() as server:
        (_, garden), (_, boats) = await two_projects(server)
        upgrade = (
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Authorization: Bearer {garden}\r\nSec-WebSocket-Protocol: agent.v1, bearer.{boats}\r\n\r\n"
        )
        end = server.net.open()
        end.feed(upgrade.encode())
        told = b""
        while b"not authorised" not in told:
            piece = await end.receive_some()
            assert piece
            told += piece
        assert b"welcome" not in told


async def test_the_pages_data_is_of_the_keys_project(autojump_clock: trio.testing.MockClock) -> None:
    """Sources, openers and where to upload; another project's file is as one that never was."""
    async with quoting() as server:
        (project, garden), (_, boats) = await two_projects(server)
        await server.put(HOUSE, TOKEN, "FACTS", "sauna.md", "# Sauna\n\nA sauna costs 90 kr.\n")
        status, body = await page(server, "/source/docs/garden.md?lines=3", garden)
        assert status == 200
        assert json.loads(body)["file"] == "docs/garden.md"
        never = await page(server, "/source/docs/never.md", boats)
        assert never[0] == 404
        for file in ("docs/garden.md", "kb/house.md", "docs/sauna.md"):
            assert await page(server, f"/source/{file}", boats) == never
        assert (await page(server, "/source/docs/sauna.md", TOKEN))[0] == 200
        assert (await page(server, "/source/docs/garden.md", TOKEN))[0] == 404
        assert (await page(server, "/source/kb/house.md", TOKEN))[0] == 200
        assert await page(server, "/openers.json", garden) == (200, b"[]")
        told = {key: json.loads((await page(server, "/uploads.json", key))[1]) for key in (garden, TOKEN)}
        assert [told[key]["project"] for key in (garden, TOKEN)] == [project, HOUSE]
        assert told[TOKEN]["most"] == UPLOAD_MAX
        assert told[TOKEN]["types"][".pdf"] == "application/pdf"
        for key in (None, "wrong"):
            assert (await page(server, "/uploads.json", key))[0] == 401


async def test_a_user_with_a_token_may_not_upload(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """The page is told so; without any token everybody is the operator."""
    users = tmp_path / "users.toml"
    users.write_text('ana = "a-token-of-ana-that-is-long"\n')
    async with quoting(users=users) as server:
        _, body = await page(server, "/uploads.json", "a-token-of-ana-that-is-long")
        assert json.loads(body)["project"] is None
    async with quoting(token=None) as server:
        assert json.loads((await page(server, "/uploads.json", None))[1])["project"] == HOUSE


async def test_a_store_that_fails_ends_no_session(autojump_clock: trio.testing.MockClock) -> None:
    """The key is looked up again; without a key in use nothing is."""
    found: list[str | StorageFailed | None] = [StorageFailed(), "p", None]
    looked: list[float] = []

    class Store(FakeProjects):
        async def find_key(self, digest: str) -> str | None:
            looked.append(trio.current_time())
            one = found.pop(0)
            if isinstance(one, StorageFailed):
                raise one
            return one

    watch, ended = KeyWatch(Store().store), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.run)
        await trio.sleep(100)
        assert looked == []
        with watch.hold("digest", ended.set):
            await ended.wait()
            assert len(watch) == 1
        assert (len(watch), len(looked), found) == (0, 3, [])
        await trio.sleep(100)
        assert len(looked) == 3
        nursery.cancel_scope.cancel()


async def conversations(server: Whole, key: str) -> tuple[str, list[str]]:
    """Return the text of an answer to a browser's question with a key, and the titles of its conversations."""
    async with connect_over(server.net.open(), token=key, visitor="s" * 32) as client:
        told = await answer(client, "When does the garden close?")
        await client.send({"type": "thread_list", "id": "list"})
        frames = await client.frames_until("threads")
    return told["text"], [each["title"] for each in frames[-1]["threads"]]


async def test_a_browsers_conversations_are_of_one_project(autojump_clock: trio.testing.MockClock) -> None:
    """They are listed by the key of the project that they were in, and by no other key or token."""
    async with quoting(memory="on") as server:
        (_, garden), (_, boats) = await two_projects(server)
        assert "21" in (await conversations(server, garden))[0]
        assert len((await conversations(server, garden))[1]) == 2
        for other in (boats, TOKEN):
            assert len((await conversations(server, other))[1]) == 1  # the one that this asks itself
