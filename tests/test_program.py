"""`serve`: a server inside a program or a test."""

from pathlib import Path
from typing import Any

import pytest
import trio

from agent import serve, tool
from agent.client.client import connect
from agent.errors import UsageError


@tool(requires_approval=False, risk="low")
def order_state(order: str) -> str:
    """Tell the state of an order."""
    return f"order {order} is on its way"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one document."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "cards.md").write_text("# Cards\n\nA lost card is replaced for 25 EUR.\n")
    return folder


async def test_a_server_answers_for_the_time_of_a_block(docs: Path) -> None:
    """A folder may be given as text; the port is free and known; at the end nobody listens there."""
    async with serve(kb=str(docs), port=0, vectors="off") as server:
        assert server.url.startswith("http://127.0.0.1:")
        async with connect(server.websocket_url) as client:
            await client.ask("What does a lost card cost?")
            response = (await client.frames_until("response"))[-1]
    assert "25 EUR" in response["text"]
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", server.app.port)


async def test_functions_of_the_program_are_tools(docs: Path) -> None:
    """Marked ones; an unmarked one, or a module beside them, is refused with the remedy."""
    async with (
        serve(kb=docs, port=0, tools=[order_state], vectors="off") as server,
        connect(server.websocket_url) as client,
    ):
        await client.ask("Tell me the state of order A-12")
        frames = await client.frames_until("response")
    assert "order A-12 is on its way" in frames[-1]["text"]
    for tools, more, says in (
        ([len], {}, "tools: len is not marked: put @tool above it"),
        ("no_such_module", {}, "no_such_module"),
    ):
        with pytest.raises(UsageError, match=says):
            async with serve(kb=docs, port=0, tools=tools, vectors="off", **more):
                pytest.fail("it started")


async def test_what_a_block_raises_is_raised_as_it_is(docs: Path) -> None:
    """No group is around it, and the server is gone."""
    with pytest.raises(ZeroDivisionError):
        async with serve(kb=docs, port=0, vectors="off") as server:
            raise ZeroDivisionError
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", server.app.port)


async def test_a_cancel_ends_the_server_at_once(docs: Path) -> None:
    """The scope of the program around it decides."""
    with trio.move_on_after(0.1) as scope:
        async with serve(kb=docs, port=0, vectors="off"):
            await trio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"colour": "red"}, "there is no setting colour"),
        ({"port": -1}, "port"),
        ({"workers": 2}, "workers: one process serves here"),
        ({"model": "openai"}, "model"),
    ],
)
async def test_settings_that_cannot_work_are_one_line(settings: dict[str, Any], says: str) -> None:
    """As on the command line."""
    with pytest.raises(UsageError, match=says):
        async with serve(**settings):
            pytest.fail("it started")
