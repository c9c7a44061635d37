"""A workflow over HTTP as a caller plays it, with real parts: from a project to a call that was carried out."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.protocol.openapi import document
from agent.threads.hashes import digest
from tests.server import parted
from tests.server.api import held_to_the_document, request
from tests.workers.processes import Pair

from .flow import PATIENCE, TOKEN, Caller, House, caller, house, served

pytestmark = pytest.mark.proof


async def test_a_workflow(tmp_path: Path) -> None:
    """One server, one caller, each way in which a call is decided; nothing is carried out that was not approved."""
    with house(tmp_path) as at, served(at) as server:
        async with caller(server) as client:
            assert json.loads((await client.client.get("/openapi.json")).content) == json.loads(document())
            project = await _with_a_document(client)
            await _run_by_the_server(client, at, project)
            await _run_by_the_caller(client, project)
            await _answered_and_rejected(client, at, project)
            await _as_events(client, project)
            assert {len(at.hook.of(key)) for key, _ in at.hook.effects} == {1}


async def _with_a_document(client: Caller) -> str:
    """A project of its own, answered from what was uploaded to it and from nothing else."""
    made = await client.post("/projects", {"name": "Shop", "role_statement": "You help a shop."})
    project = str(made["id"])
    answer = await client.client.post(
        f"/projects/{project}/docs",
        files={"file": ("fees.md", b"# Fees\n\nExpress delivery costs 49 kr.\n", "text/markdown")},
        data={"category": "FACTS"},
    )
    uploaded = held_to_the_document(
        "POST",
        f"/projects/{project}/docs",
        answer.status_code,
        dict(answer.headers),
        answer.content,
    )
    assert (answer.status_code, uploaded["status"]) == (201, "indexed")
    debug = await client.get(f"/projects/{project}/prompt-debug?message=express")
    shown = json.dumps(debug)
    assert "49 kr" in shown
    assert "299" not in shown
    return project


async def _run_by_the_server(client: Caller, at: House, project: str) -> None:
    """Suggested, approved with other arguments, carried out with those by the webhook; a replay does nothing more."""
    said = await client.chat("please refund order A-17", project_id=project)
    call = said["tool_call"]
    assert (said["response_json"]["mode"], call["status"], call["sources"]) == (
        "ACT",
        "suggested",
        {"/order": "user"},
    )
    assert at.hook.effects == []
    status, wrong = await client.approve(
        call["id"], project_id=project, outcome="edit", arguments={"order": 17}
    )
    assert (status, wrong["code"]) == (400, "bad_edit")
    status, wrong = await client.approve(call["id"], project_id=project, arguments_hash="0" * 64)
    assert (status, wrong["code"]) == (409, "arguments_changed")
    status, wrong = await client.approve(call["id"], outcome="accept")  # of the house's own project
    assert (status, wrong["code"]) == (404, "not_found")
    edit = {"project_id": project, "outcome": "edit", "arguments": {"order": "A-18"}}
    status, done = await client.approve(call["id"], **edit)
    assert (status, done["status"], done["edited"]) == (200, "done", True)
    assert done["result"] == {"success": True, "data": {"paid": 299}}
    (payload,) = at.hook.of(call["id"])
    assert (payload, digest(payload)) == ({"order": "A-18"}, done["arguments_hash"])
    assert (await client.approve(call["id"], **edit))[1]["code"] == "closed"

    key = {"Idempotency_Key": "once"}
    message = {"user_id": "anna", "message": "please refund order A-17", "project_id": project}
    first = await client.post("/chat", message, **key)
    assert await client.post("/chat", message, **key) == first
    assert (await client.ask("POST", "/chat", message | {"lang": "sv"}, **key))[1]["code"] == "key_reused"
    yes = {"project_id": project, "user_id": "anna"}
    path = f"/calls/{first['tool_call_id']}/approve"
    carried = await client.post(path, yes, **key | {"Idempotency_Key": "twice"})
    assert await client.post(path, yes, **key | {"Idempotency_Key": "twice"}) == carried
    assert len(at.hook.of(first["tool_call_id"])) == 1

    last = await client.chat("please refund order A-17", project_id=project)
    status, told = await client.approve(last["tool_call_id"], project_id=project, **{"continue": True})
    assert (status, told["status"]) == (200, "done")
    assert told["reply"]["response_json"]["message"] == "We paid back 299."
    assert {each["file"] for each in told["reply"]["citations"]} == {f"tool/{last['tool_call_id']}"}


async def _run_by_the_caller(client: Caller, project: str) -> None:
    """Approved, begun, reported; then it is answered from what was reported."""
    said = await client.chat("ship order A-17", project_id=project)
    id, of = said["tool_call_id"], {"project_id": project}
    result = of | {"tool_call_id": id, "ok": True, "data": {"weight": "12 kg"}}
    assert (await client.ask("POST", f"/calls/{id}/begin", of))[1]["code"] == "not_approved"
    assert (await client.ask("POST", "/tools/result", result))[1]["code"] == "not_approved"
    assert (await client.approve(id, **of))[1]["status"] == "confirmed"
    assert (await client.ask("POST", "/tools/result", result))[1]["code"] == "not_begun"
    begun = await client.post(f"/calls/{id}/begin", of)
    assert (begun["status"], begun["arguments"]) == ("claimed", {"order": "A-17"})
    assert (await client.ask("POST", f"/calls/{id}/begin", of))[1]["code"] == "begun"
    seen = {"arguments_hash": begun["arguments_hash"], "continue": True}
    taken = await client.post("/tools/result", result | seen)
    assert (taken["status"], taken["call"]["status"]) == ("acknowledged", "done")
    assert taken["reply"]["response_json"]["message"] == "The parcel weighs 12 kg."
    assert {each["file"] for each in taken["reply"]["citations"]} == {f"tool/{id}"}
    again = await client.client.post("/tools/result", json=result | seen)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
    other = result | {"data": {"weight": "13 kg"}}
    assert (await client.ask("POST", "/tools/result", other))[1]["code"] == "already_reported"
    messages = await client.get(f"/threads/{said['thread_id']}/messages?project_id={project}")
    assert [(each["role"], each["status"]) for each in messages["items"]] == [
        ("user", "done"),
        ("assistant", "done"),
        ("tool", "done"),
        ("assistant", "done"),
    ]
    assert messages["items"][0]["content"] == "ship order A-17"


async def _answered_and_rejected(client: Caller, at: House, project: str) -> None:
    """Words in place of a yes are the thread's next message; what is closed is carried out no more."""
    of = {"project_id": project}
    said = await client.chat("please refund order A-17", project_id=project)
    status, answered = await client.approve(
        said["tool_call_id"], **of, outcome="respond", text="No, tell me about it"
    )
    assert (status, answered["status"]) == (200, "answered")
    assert answered["reply"]["thread_id"] == said["thread_id"]
    rejected = await client.chat("please refund order A-17", thread_id=said["thread_id"], project_id=project)
    closed = await client.post(f"/calls/{rejected['tool_call_id']}/reject", of)
    assert closed["status"] == "rejected"
    for id in (said["tool_call_id"], rejected["tool_call_id"]):
        status, wrong = await client.approve(id, **of)
        assert (status, wrong["code"]) == (409, "closed")
        assert at.hook.of(id) == []
    listed = await client.get(f"/calls?project_id={project}&status=rejected")
    assert [each["id"] for each in listed["items"]] == [rejected["tool_call_id"]]


async def _as_events(client: Caller, project: str) -> None:
    """The socket's frames as they come, then the answer that a plain request has."""
    body = {"user_id": "anna", "message": "ship order A-17", "project_id": project}
    answer = await client.client.post("/chat", json=body, headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [
        dict(line.split(": ", 1) for line in each.splitlines() if not line.startswith(":"))
        for each in answer.text.split("\n\n")
    ]
    kinds = [each["event"] for each in events if each]
    assert kinds[-4:] == ["stream_end", "response", "action_suggestion", "result"]
    data = next(each["data"] for each in events if each.get("event") == "result").encode()
    about = {
        "connection": "close",
        "x-content-type-options": "nosniff",
        "content-length": str(len(data)),
        "content-type": "application/json",
    }
    result = held_to_the_document("POST", "/chat", 200, about, data)
    said = "".join(json.loads(each["data"])["delta"] for each in events if each.get("event") == "stream")
    assert said == result["response_json"]["message"]
    kept = await client.get(f"/calls/{result['tool_call_id']}?project_id={project}")
    assert kept == result["tool_call"]


# --- two workers


class Workers:
    """A server of two workers, asked through whichever of them a connection is with."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    async def connected(self, with_: Callable[[int], bool]) -> tuple[trio.SocketStream, int]:
        """Return a connection that is with a worker of which `with_` is true, and that worker."""
        with trio.fail_after(PATIENCE):
            while True:
                stream = await trio.open_tcp_stream("127.0.0.1", self.pair.port)
                port = stream.socket.getsockname()[1]
                worker = None
                while worker is None:
                    worker = self.pair.holders().get(port)
                    await trio.sleep(0.01)
                if with_(worker):
                    return stream, worker
                await stream.aclose()

    async def ask(self, worker: int, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Ask one of them; return status and JSON value."""
        stream, _ = await self.connected(lambda pid: pid == worker)
        return await self.through(stream, method, target, body)

    async def through(
        self, stream: trio.SocketStream, method: str, target: str, body: Any = None
    ) -> tuple[int, Any]:
        """Ask through a connection."""
        data = None if body is None else json.dumps(body).encode()
        answer = bytearray()
        async with stream:
            await stream.send_all(request(method, target, data, key=TOKEN))
            async for piece in stream:
                answer += piece
        status, headers, content = parted(bytes(answer))
        return status, held_to_the_document(method, target, status, headers, content)


@asynccontextmanager
async def two_workers(at: House) -> AsyncGenerator[tuple[Workers, int, int], None]:
    """Two workers, once both are ready."""
    with served(at, "--workers", "2") as server:
        workers = Workers(Pair(server.process, server.port, at.folder / "log"))
        async with caller(server):
            one, other = workers.pair.workers()
            yield workers, one, other


async def test_any_worker_does_what_is_asked_of_a_thread(tmp_path: Path) -> None:
    """What one suggests the other approves, begins, reports and goes on with; a turn is cancelled through either."""
    with house(tmp_path) as at:
        async with two_workers(at) as (workers, one, other):
            await _decided_by_both(workers, at, one, other)
            for thread in await _cancelled_by_the_other(workers, at, one, other):
                told = await workers.ask(other, "GET", f"/threads/{thread}/messages")
                assert "pending" not in {each["status"] for each in told[1]["items"]}
        assert {len(at.hook.of(key)) for key, _ in at.hook.effects} == {1}


async def _decided_by_both(workers: Workers, at: House, one: int, other: int) -> None:
    said = await _said(workers, one, "please refund order A-17")
    status, done = await workers.ask(
        other, "POST", f"/calls/{said['tool_call_id']}/approve", {"user_id": "anna"}
    )
    assert (status, done["status"], len(at.hook.of(done["id"]))) == (200, "done", 1)
    said = await _said(workers, other, "ship order A-17")
    path = f"/calls/{said['tool_call_id']}"
    assert (await workers.ask(one, "POST", f"{path}/approve", {"user_id": "anna"}))[1][
        "status"
    ] == "confirmed"
    assert (await workers.ask(other, "POST", f"{path}/begin", {}))[1]["status"] == "claimed"
    assert (await workers.ask(one, "POST", f"{path}/begin", {}))[1]["code"] == "begun"
    report = {"tool_call_id": said["tool_call_id"], "ok": True, "data": {"weight": "12 kg"}, "continue": True}
    status, taken = await workers.ask(one, "POST", "/tools/result", report)
    assert taken["reply"]["response_json"]["message"] == "The parcel weighs 12 kg."


async def _cancelled_by_the_other(workers: Workers, at: House, one: int, other: int) -> list[str]:
    """Cancel a turn, and interrupt one, through the worker that has it not, before it calls; return the threads."""
    threads = []
    before = len(at.hook.effects)
    for interrupt in (False, True):
        thread = (await _said(workers, one, "hello"))["thread_id"]
        slowly = {"user_id": "anna", "message": "look slowly at order A-17", "thread_id": thread}
        ends: list[tuple[int, Any]] = []
        async with trio.open_nursery() as nursery:
            stream, _ = await workers.connected(lambda pid: pid == one)

            async def ask(stream: trio.SocketStream = stream, body: Any = slowly, ends: Any = ends) -> None:
                ends.append(await workers.through(stream, "POST", "/chat", body))

            nursery.start_soon(ask)
            await _until_pending(workers, other, thread)
            if interrupt:
                await _said(workers, other, "hello again", thread_id=thread, interrupt=True)
            else:
                assert (await workers.ask(other, "DELETE", f"/threads/{thread}/turn"))[0] == 204
            began = trio.current_time()
        ((status, why),) = ends
        assert (status, why["code"]) == (409, "cancelled")
        assert trio.current_time() - began < PATIENCE / 10
        await _said(workers, one, "hello", thread_id=thread)
        threads.append(str(thread))
    assert len(at.hook.effects) == before
    return threads


async def _said(workers: Workers, worker: int, message: str, **more: Any) -> Any:
    status, said = await workers.ask(worker, "POST", "/chat", {"user_id": "anna", "message": message} | more)
    assert status == 200, said
    return said


async def _until_pending(workers: Workers, worker: int, thread: str) -> None:
    """Wait until a turn of a thread is in progress."""
    with trio.fail_after(PATIENCE):
        while True:
            _, told = await workers.ask(worker, "GET", f"/threads/{thread}/messages")
            if "pending" in {each["status"] for each in told["items"]}:
                return
