"""A server over streams in memory that tells stories: its HTTP API, and readers on `/story`."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import trio

from agent.client.client import Client, connect_over
from agent.compose.adapters import Adapters
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.network import Network, network
from tests.server import parted
from tests.server.api import held_to_the_document, read, request
from tests.threads.lab import Wall

HOUSE = SourceFile.of("kb/house.md", "# House\n\nThe house opens at 8.\n")
PATIENCE = 120.0  # seconds for a frame
FOUNDATION = "A valley without roads. Mira keeps the mill."


@dataclass
class Reader:
    """A connection on `/story`. `told`: every frame that came."""

    client: Client
    told: list[dict[str, Any]]
    sent: int = 0

    async def until(self, kind: str) -> dict[str, Any]:
        """Return the next frame of a type; the ones before it are kept in `told`."""
        with trio.move_on_after(PATIENCE):
            while True:
                frame: dict[str, Any] = await self.client.next_frame()
                self.told.append(frame)
                if frame["type"] == kind:
                    return frame
        raise AssertionError(f"no {kind} came, after {self.told[-3:]}")

    async def open(self, story: str, branch: str | None = None) -> dict[str, Any]:
        """Open a branch; return the answer, a `story` or an `error`."""
        await self.client.send({"type": "open_story", "story": story, "branch": branch, "id": "open"})
        while True:
            frame: dict[str, Any] = await self.client.next_frame()
            self.told.append(frame)
            if frame.get("id") == "open":
                return frame

    async def direct(self, text: str = "", **fields: Any) -> str:
        """Send a message; return its id."""
        self.sent += 1
        await self.client.send({"type": "message", "id": f"m{self.sent}", "text": text, **fields})
        return f"m{self.sent}"

    async def tell(self, text: str = "", **fields: Any) -> tuple[str, dict[str, Any]]:
        """Have a scene told; return its text, and its receipt."""
        message = await self.direct(text, **fields)
        response = await self.until("response")
        assert response["id"] == message
        assert response["fiction"], response
        assert (response["citations"], response.get("blocked")) == ([], None)
        stored = await self.until("scene_stored")
        assert stored["id"] == message
        return response["text"], stored

    async def refused(self, text: str = "", **fields: Any) -> str:
        """Send a message that cannot be done; return the code of the error."""
        message = await self.direct(text, **fields)
        error = await self.until("error")
        assert error["id"] == message
        response = await self.until("response")
        assert response["blocked"]["code"] == error["code"]
        assert response["text"] == ""
        return str(error["code"])

    def deltas(self, message: str) -> str:
        """Return the joined deltas of a message."""
        return "".join(
            each["delta"] for each in self.told if each["type"] == "stream" and each["id"] == message
        )


@dataclass
class StoryServer:
    """A running server."""

    net: Network

    @asynccontextmanager
    async def reader(self) -> AsyncGenerator[Reader, None]:
        """Connect a reader."""
        async with connect_over(self.net.open(), path="/story") as client:
            reader = Reader(client, [])
            await reader.until("welcome")
            yield reader

    async def ask(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Call the HTTP API; return the status and the value that came, which fits its description."""
        end = self.net.open()
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        end.feed(request(method, target, data, key=None))
        status, headers, content = parted(await read(end))
        return status, held_to_the_document(method, target, status, headers, content)

    async def good(self, method: str, target: str, body: Any = None) -> Any:
        """Call the HTTP API for something that is no problem; return its value."""
        status, value = await self.ask(method, target, body)
        assert status < 300, value
        return value

    async def text(self, target: str) -> str:
        """Return a text that the HTTP API answers with."""
        end = self.net.open()
        end.feed(request("GET", target, None, key=None))
        status, _, content = parted(await read(end))
        assert status == 200
        return content.decode()

    async def code(self, method: str, target: str, body: Any = None) -> str:
        """Call the HTTP API for a problem; return its code."""
        status, value = await self.ask(method, target, body)
        assert status >= 400, value
        return str(value["code"])

    async def story(
        self, title: str = "The mill", foundation: str = FOUNDATION, lang: str = "en"
    ) -> tuple[str, str]:
        """Begin a story; return its id and that of its first branch."""
        made = await self.good("POST", "/stories", {"title": title, "foundation": foundation, "lang": lang})
        return made["id"], made["branch"]


@asynccontextmanager
async def telling(**settings: Any) -> AsyncGenerator[StoryServer, None]:
    """Run a server for the time of a block; it tells with the mock unless the settings say another model."""
    chosen = Settings.of(
        **{"pace_ms": 0, "rate_limit": 0, "api_rate": 0, "data": "memory", "mock_delay_ms": 0} | settings
    )
    async with network(chosen, Adapters(clock=Wall()), (HOUSE,)) as net:
        yield StoryServer(net)
