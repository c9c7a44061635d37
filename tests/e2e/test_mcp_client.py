"""The official `mcp` package as a client of the real command: the handshake, the tools, refusals and the token."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from ..both import EACH_AT_LENGTH, Flags
from .test_openai import QUESTION, TOKEN, wait_until_ready
from .test_process import PATIENCE, serve

mcp: Any = pytest.importorskip("mcp", reason="install the extra `proof` for the client of others")
httpx2: Any = pytest.importorskip("httpx2")
transport: Any = pytest.importorskip("mcp.client.streamable_http")

pytestmark = pytest.mark.proof


@pytest.fixture(name="port", scope="module", params=EACH_AT_LENGTH)
def _port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a server that has read its documents."""
    workers: Flags = request.param
    folder = tmp_path_factory.mktemp("mcp")
    with serve(folder, "--vectors", "off", "--name", "Helper", *workers) as (_, port):
        wait_until_ready(port)
        yield port


@asynccontextmanager
async def connected(port: int, mode: str, key: str = "") -> AsyncGenerator[Any, None]:
    """Connect as its users do. `mode`: how the client finds the revision."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        to = transport.streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        with trio.fail_after(PATIENCE):
            async with mcp.Client(to, mode=mode) as client:
                yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_mcp_package_lists_and_calls_the_tools(port: int, mode: str) -> None:
    """Whether it asks for a newer revision first or not; a refusal is a result, and so is a wrong argument."""
    async with connected(port, mode) as client:
        assert (client.server_info.name, client.protocol_version) == ("Helper", "2025-11-25")
        assert {tool.name for tool in (await client.list_tools()).tools} == {"ask", "search", "source"}
        answer = await client.call_tool("ask", {"text": QUESTION})
        assert (answer.is_error, "299 kr" in answer.structured_content["text"]) == (False, True)
        cited = answer.structured_content["citations"][0]
        assert cited["file"] == "kb/pricing.md"
        source = await client.call_tool("source", {"file": cited["file"], "lines": cited["lines"]})
        assert "299 kr" in source.content[0].text
        found = await client.call_tool("search", {"text": QUESTION, "limit": 1})
        assert [each["file"] for each in found.structured_content["sections"]] == ["kb/pricing.md"]
        refused = await client.call_tool("ask", {"text": "How far is the moon?"})
        assert (refused.is_error, refused.structured_content["blocked"]["code"]) == (False, "no_sources")
        wrong = await client.call_tool("ask", {})
        assert (wrong.is_error, "/text: Add this field." in wrong.content[0].text) == (True, True)
        with pytest.raises(mcp.MCPError, match="no such tool"):
            await client.call_tool("rm", {})


async def test_the_mcp_package_shows_the_token(tmp_path: Path) -> None:
    """Without it the client is told what to send."""
    with serve(tmp_path, "--vectors", "off", "--token", TOKEN) as (_, port):
        async with connected(port, "legacy", TOKEN) as client:
            assert len((await client.list_tools()).tools) == 3
        with pytest.RaisesGroup(pytest.RaisesExc(mcp.MCPError, match="token"), flatten_subgroups=True):
            async with connected(port, "legacy", "another-token-of-some-length"):
                pass
