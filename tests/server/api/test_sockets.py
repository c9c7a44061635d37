"""The HTTP API over real sockets, with a client that others wrote: JSON, a file, events, and one that leaves."""

import httpx
import pytest
import trio
import trio.lowlevel

from agent.ports.thread_service import ChatRequest, Listener
from agent.server.accept import open_listeners
from agent.server.serve import serve
from agent.server.settings import ServerSettings

from . import Asker, asker, code_in
from .stores import House
from .test_events import DELTA

pytestmark = pytest.mark.proof


async def serving(ask: Asker, nursery: trio.Nursery) -> str:
    """Serve an edge on a free port; return its address."""
    listeners = await open_listeners(ServerSettings(port=0))
    await nursery.start(serve, listeners, ask.edge)
    return f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"


async def test_a_client_of_others_chats_uploads_and_hears_events() -> None:
    """Each answer ends its connection at once: none of it waits for a deadline."""

    async def saying(_: ChatRequest, listener: Listener | None) -> None:
        if listener is not None:
            for _n in range(100):
                listener.take_frame(DELTA)
                await trio.lowlevel.checkpoint()

    ask = asker(House(play=saying), allow_host=("127.0.0.1",))
    message = {"user_id": "anna", "message": "Hello"}
    async with trio.open_nursery() as nursery, httpx.AsyncClient(timeout=60) as client:
        url = await serving(ask, nursery)
        answer = await client.post(f"{url}/chat", json=message)
        assert answer.json()["render"]["text_to_send_to_user"] == "It is so."
        assert code_in((await client.get(f"{url}/calls/none")).json()) == "not_found"
        text = "A line that costs 299 kr.\n\n" * 40_000
        kept = await client.post(
            f"{url}/projects/default/docs",
            files={"file": ("prices, “new”.md", text.encode(), "text/markdown")},
            data={"category": "FACTS"},
            timeout=60,
        )
        assert (kept.status_code, kept.json()["filename"]) == (201, "prices, “new”.md")
        assert next(iter(ask.house.documents.values()))[1] == text
        took: list[float] = []
        while not took or (min(took) > 1.5 and len(took) < 5):  # one that waits for a deadline always does
            began = trio.current_time()
            async with client.stream(
                "POST", f"{url}/chat", json=message, headers={"Accept": "text/event-stream"}
            ) as told:
                lines = [line async for line in told.aiter_lines()]
            took.append(trio.current_time() - began)
            assert lines.count("event: stream") == 100
            assert lines[-3] == "event: result"
        assert min(took) < 1.5
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("headers", [{}, {"Accept": "text/event-stream"}])
async def test_a_client_that_leaves_cancels_its_turn_at_once(headers: dict[str, str]) -> None:
    """Not when something is written to it next."""
    gone: list[float] = []

    async def thinking(_: ChatRequest, listener: Listener | None) -> None:
        if listener is not None:
            listener.take_frame(DELTA)
        try:
            await trio.sleep(30)
        finally:
            gone.append(trio.current_time())

    ask = asker(House(play=thinking), allow_host=("127.0.0.1",))
    async with trio.open_nursery() as nursery:
        url = await serving(ask, nursery)
        async with httpx.AsyncClient(timeout=60) as client:
            with trio.move_on_after(0.5):
                await client.post(f"{url}/chat", json={"user_id": "a", "message": "b"}, headers=headers)
        left = trio.current_time()
        with trio.fail_after(12):  # something would be written to it after 15 seconds
            while not gone:  # noqa: ASYNC110 - what is waited for is told nobody
                await trio.sleep(0.01)
        assert gone[0] - left < 12
        await ask.edge.limits.wait_unused()
        nursery.cancel_scope.cancel()
    ask.left()
