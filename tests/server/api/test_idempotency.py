"""A request that names a key: once, whatever happens to it."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest
import trio
import trio.testing

from agent.errors import Conflict, StorageFailed
from agent.ports.requests import StoredAnswer
from agent.ports.thread_service import ChatRequest, Listener
from agent.server.api.idempotency import answer_once
from agent.server.responses import Answer
from agent.server.serve import serve_stream
from agent.testing.faults import pipe

from . import TOKEN, asker, code_in, request
from .stores import House
from .test_events import thinking
from .test_uploads import form

KEY = "Idempotency-Key: once"
MESSAGE = {"user_id": "anna", "message": "Hello"}


async def test_the_same_request_gets_the_same_answer_and_does_nothing() -> None:
    """And says so; another path, query or body under the key is refused, another key's is its own."""
    ask = asker(token=TOKEN)
    first = await ask.ask("POST", "/chat", MESSAGE, KEY, key=TOKEN)
    again = await ask.ask("POST", "/chat", MESSAGE, KEY, key=TOKEN)
    assert (first[0], first[2]) == (again[0], again[2])
    assert ("idempotent-replayed" in first[1], again[1]["idempotent-replayed"]) == (False, "true")
    assert len(ask.house.done) == 1
    for path, body in (
        ("/chat", MESSAGE | {"lang": "en"}),
        ("/projects", {"name": "x", "role_statement": "y"}),
    ):
        status, _, value = await ask.ask("POST", path, body, KEY, key=TOKEN)
        assert (status, code_in(value)) == (422, "key_reused")
    made = (await ask.ask("POST", "/projects/default/keys", {"name": "x"}, key=TOKEN))[2]["key"]
    await ask.ask("POST", "/chat", MESSAGE, KEY, key=made)
    assert len(ask.house.done) == 2


async def test_an_answer_is_kept_with_its_project() -> None:
    """The one that is asked about, whoever asks; of one that is made, the new one."""
    ask = asker(token=TOKEN)
    new = {"name": "x", "role_statement": "y"}
    made = (await ask.ask("POST", "/projects", new, KEY, key=TOKEN))[2]["id"]
    await ask.ask("POST", "/chat", MESSAGE | {"project_id": made}, "Idempotency-Key: two", key=TOKEN)
    assert ask.house.asked_of == ["default", made]
    assert [kept.project for _, kept in ask.house.requests.values() if kept] == [made, None]


async def test_the_same_words_to_another_path_are_another_request() -> None:
    """An approval is not replayed for another call, nor a cancel for another thread."""
    ask = asker()
    ask.house.add_thread("a")
    ask.house.add_thread("b")
    assert (await ask.ask("POST", "/threads/a/cancel", None, KEY))[0] == 204
    assert (await ask.ask("POST", "/threads/a/cancel", None, KEY))[0] == 204
    assert await ask.code("POST", "/threads/b/cancel", None, KEY) == "key_reused"
    assert ask.house.done == [("cancel", "a")]


async def test_an_upload_is_known_by_what_it_holds() -> None:
    """A client chooses a boundary anew each time."""
    ask = asker()
    for boundary, again in (("one", False), ("two", True)):
        body, kind = form(category="FACTS", boundary=boundary)
        status, headers, _ = await ask.ask("POST", "/projects/default/docs", body, kind, KEY)
        assert (status, "idempotent-replayed" in headers) == (201, again)
    body, kind = form(b"other", category="FACTS")
    assert await ask.code("POST", "/projects/default/docs", body, kind, KEY) == "key_reused"


@pytest.mark.parametrize(
    "failure", [Conflict("turn_in_progress"), StorageFailed("disk"), RuntimeError("bug")]
)
async def test_what_failed_may_be_tried_again(failure: Exception) -> None:
    """Under the same key."""

    async def fail(_: ChatRequest, listener: Listener | None) -> None:
        raise failure

    ask = asker(House(play=fail))
    assert (await ask.ask("POST", "/chat", MESSAGE, KEY))[0] >= 400
    assert ask.house.requests == {}
    ask.house.play = None
    assert (await ask.ask("POST", "/chat", MESSAGE, KEY))[0] == 200


@pytest.mark.parametrize(
    ("status", "kept"), [(200, True), (204, True), (409, False), (422, False), (503, False)]
)
async def test_only_a_good_answer_stands(status: int, kept: bool) -> None:
    """One of a handler that says no by itself, and raises nothing, is not kept: the same request is tried again."""
    house, done = House(), list[int]()

    async def act() -> Answer:
        done.append(status)
        return Answer(status=status, content=b"{}")

    for _ in range(2):
        answer = await answer_once(house.rooms().requests, "operator", "once", "digest", 0, "default", act)
        assert answer.status == status
    assert done == [status] * (1 if kept else 2)


async def test_what_is_in_progress_is_not_done_twice(autojump_clock: trio.testing.MockClock) -> None:
    """And a client that leaves frees its key."""
    ask = asker(House(play=thinking))
    ours, theirs = pipe(1 << 30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, ask.edge, theirs)
        ours.feed(request("POST", "/chat", json.dumps(MESSAGE).encode(), KEY))
        await trio.sleep(1)
        end, again = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, again)
        end.feed(request("POST", "/chat", json.dumps(MESSAGE).encode(), KEY))
        assert b'"code":"in_progress"' in await end.receive_some(1 << 16)
        end.close()
        ours.close()
    assert ask.house.done[-1] == "cancelled"
    assert ask.house.requests == {}
    ask.left()


@pytest.mark.parametrize("value", ["", "x" * 129, "a b", "\x7f", "ö"])
async def test_a_key_is_short_and_plain(value: str) -> None:
    """Else it is refused, and nothing done."""
    ask = asker()
    status, _, _ = await ask.raw(
        request("POST", "/chat", json.dumps(MESSAGE).encode(), f"Idempotency-Key: {value}")
    )
    assert status == 400
    assert ask.house.done == []


async def test_two_keys_are_none() -> None:
    """Nobody guesses which one is meant."""
    ask = asker()
    assert await ask.code("POST", "/chat", MESSAGE, KEY, "Idempotency-Key: two") == "bad_request"


YES = {"user_id": "bo"}


@pytest.mark.parametrize("takes", [3.0, 60.0])
async def test_a_repeated_approval_waits_for_the_answer_of_the_first(
    autojump_clock: trio.testing.MockClock, takes: float
) -> None:
    """Until its call has ended, which another process runs; where that takes too long, it is in progress still."""
    ask = asker()
    ask.house.add_call("c0", runs_at="webhook")
    first = (await ask.ask("POST", "/calls/c0/approve", YES))[2]
    call = ask.house.add_call("c1", status="claimed", runs_at="webhook")
    requests = ask.house.rooms().requests

    async def approve_elsewhere() -> None:
        """The call ends, and a moment later the answer is stored."""
        digest = sha256(f"POST /calls/c1/approve\n{json.dumps(YES)}".encode()).hexdigest()
        await requests.begin_request("operator", "once", digest, 0, "default")
        await trio.sleep(takes)
        ask.house.calls["c1"] = replace(call, status="done")
        await trio.sleep(0.1)
        await requests.record_answer("operator", "once", StoredAnswer(200, json.dumps(first).encode()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(approve_elsewhere)
        await trio.sleep(1)
        in_progress = await ask.code("POST", "/calls/c1/approve", YES, KEY, "Prefer: respond-async")
        asked_at = trio.current_time()
        status, _, value = await ask.ask("POST", "/calls/c1/approve", YES, KEY)
        waited = trio.current_time() - asked_at
        nursery.cancel_scope.cancel()
    assert (in_progress, len(ask.house.done)) == ("in_progress", 1)
    if takes < 14:
        assert (status, value) == (200, first)
        assert waited == pytest.approx(takes - 1, abs=0.4)
    else:
        assert (status, code_in(value)) == (409, "in_progress")
        assert 14 <= waited <= 16
