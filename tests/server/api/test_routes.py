"""Every route does what it is for, and answers what the document says."""

import json
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from openapi_spec_validator import validate

from agent.errors import Conflict, StorageFailed
from agent.ports.calls import CallStatus
from agent.ports.conversation import Scope
from agent.ports.feedback import RatedAnswer
from agent.ports.thread_service import ChatRequest, Listener
from agent.ports.threads import StoredMessage
from agent.ports.tools import ToolDefinition
from agent.protocol.openapi import document
from agent.protocol.paths import DESCRIBED, QUESTIONS
from agent.protocol.routes import ROUTES
from agent.server.api.http_api import HANDLERS
from tests.examples import sample

from . import TOKEN, asker, code_in
from .stores import House

MESSAGE = {"user_id": "anna", "message": "Refund order 4711."}


def test_the_document_is_one_and_has_every_route() -> None:
    """OpenAPI 3.1, with an operation for each route but the page's own files, and a handler for each of the API.

    Generators of clients read it: `items: false`, which some of them cannot read, stands nowhere.
    """
    made = json.loads(document())
    validate(made)
    assert b'"items": false' not in document()
    operations = {each["operationId"] for path in made["paths"].values() for each in path.values()}
    paths = {
        "/ask",
        "/mcp",
        "/v1/chat/completions",
        "/v1/embeddings",
        "/v1/responses",
        "/v1/models",
        "/v1/models/{model}",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    assert paths.issubset(made["paths"])
    assert {route.name for route in ROUTES} == {*HANDLERS, "health", "openapi"}
    assert operations == {route.name for route in DESCRIBED} > {route.name for route in (*ROUTES, *QUESTIONS)}


def test_a_field_that_may_be_missing_has_no_default() -> None:
    """Generators of clients take a field with a default for one that is always there: not so in any request, nor in an
    answer that is sent without its defaults.
    """
    made = json.loads(document())
    schemas = made["components"]["schemas"]
    with_defaults = {
        name
        for name, schema in schemas.items()
        if any("default" in field for field in schema.get("properties", {}).values())
    }
    assert {"Completion", "CompletionAnswer"} <= with_defaults
    assert not with_defaults & {route.body.__name__ for route in DESCRIBED if route.body is not None}
    assert not with_defaults & {"CompletionMessage", "CompletionCall", "TextPart"}
    waiting: list[Any] = [msgspec.Struct]
    while waiting:
        struct = waiting.pop()
        assert not (struct.__struct_config__.omit_defaults and struct.__name__ in with_defaults), struct
        waiting += struct.__subclasses__()


async def test_health_and_the_document_are_open(autojump_clock: trio.testing.MockClock) -> None:
    """Also where a token is asked for elsewhere; health says whether anything can be kept."""
    ask = asker(token=TOKEN)
    status, _, health = await ask.ask("GET", "/health")
    assert (status, health["status"], health["database"]) == (200, "ok", "ok")
    assert health["timestamp"].startswith("2023-11-14T22:13:2")
    assert (await ask.ask("HEAD", "/health"))[0] == 200
    status, _, served = await ask.ask("GET", "/openapi.json")
    assert (status, served) == (200, json.loads(document()))
    ask.house.broken = StorageFailed("no disk")
    status, _, health = await ask.ask("GET", "/health")
    assert (status, health["status"]) == (503, "unavailable")
    ask.house.broken, ask.house.hangs = None, True
    status, _, health = await ask.ask("GET", "/health")
    assert (status, health["database"]) == (503, "unavailable")
    assert trio.current_time() < 5


async def test_a_project_is_made_read_changed_and_deleted() -> None:
    """By either spelling of its role; the house's own cannot be deleted."""
    ask = asker()
    status, _, made = await ask.ask("POST", "/projects", {"name": "Shop", "roleStatement": "You sell."})
    assert (status, made["role_statement"]) == (201, "You sell.")
    here = f"/projects/{made['id']}"
    assert (await ask.ask("GET", here))[2] == made
    _, _, changed = await ask.ask("PUT", here, {"role_statement": "You help."})
    assert changed == made | {"role_statement": "You help."}
    _, _, page = await ask.ask("GET", "/projects?limit=1")
    assert [each["id"] for each in page["items"]] == ["default"]
    _, _, page = await ask.ask("GET", f"/projects?limit=1&cursor={page['next_cursor']}")
    assert (page["items"], page["next_cursor"]) == ([changed], None)
    assert (await ask.ask("DELETE", here))[0] == 204
    assert await ask.code("GET", here) == "not_found"
    assert await ask.code("DELETE", "/projects/default") == "kept"
    assert await ask.code("POST", "/projects", {"name": "Shop"}) == "bad_request"
    assert (
        await ask.code("POST", "/projects", {"name": "one too many", "role_statement": "x"})
        == "too_many_projects"
    )


async def test_a_key_is_told_once_and_can_be_revoked() -> None:
    """It opens its project until then; lists, and a request that comes again, do not hold it."""
    ask = asker(token=TOKEN)
    made = ("POST", "/projects/default/keys", {"name": "n8n"}, "Idempotency-Key: one")
    status, _, key = await ask.ask(*made, key=TOKEN)
    assert status == 201
    again = await ask.ask(*made, key=TOKEN)
    assert again[1]["idempotent-replayed"] == "true"
    assert again[2] == key | {"key": None}
    _, _, page = await ask.ask("GET", "/projects/default/keys", key=TOKEN)
    assert [each["id"] for each in page["items"]] == [key["id"]]
    assert key["key"] not in repr((ask.house.keys, ask.house.requests, page))
    assert (await ask.ask("GET", "/calls", key=key["key"]))[0] == 200
    assert (await ask.ask("DELETE", f"/projects/default/keys/{key['id']}", key=TOKEN))[0] == 204
    assert await ask.code("GET", "/calls", key=key["key"]) == "unauthorized"


async def test_a_message_is_answered() -> None:
    """In the shape that callers know; without a project it is the house's."""
    ask = asker()
    status, _, answer = await ask.ask(
        "POST", "/chat", MESSAGE | {"tools": [{"name": "refund"}], "lang": "en"}
    )
    assert status == 200
    assert answer["response_json"] == {
        "mode": "NOOP",
        "message": "It is so.",
        "tool_request": None,
        "memory_updates": [],
    }
    assert answer["render"] == {"text_to_send_to_user": "It is so."}
    assert (answer["thread_id"], answer["tool_call"], answer["calls"]) == ("thread", None, [])
    (asked,) = ask.house.done
    assert (asked.project, asked.text, asked.tools, asked.interrupt, asked.begin) == (
        "default",
        MESSAGE["message"],
        ({"name": "refund"},),
        False,
        True,
    )
    ask.house.mode = "ACT"
    ask.house.add_call("c1", risk="high")
    _, _, answer = await ask.ask("POST", "/chat", MESSAGE | {"project_id": "default"})
    assert answer["tool_call_id"] == answer["tool_call"]["id"] == "c1"
    assert answer["response_json"]["tool_request"] == {
        "name": "refund",
        "args": {"order": "4711"},
        "requires_approval": True,
        "risk": "high",
    }


async def test_threads_messages_and_calls_are_read_and_ended() -> None:
    """A page at a time, by user, status and thread; a cursor belongs to its list."""
    ask = asker()
    house = ask.house
    house.add_thread("t1")
    house.messages += [
        StoredMessage(
            id=f"m{n}", thread="t1", turn=n, role="user", content="Hello", status="done", created_at=n
        )
        for n in range(3)
    ]
    house.add_call("c1", status="done")
    house.add_call("c2")
    assert (await ask.ask("GET", "/threads/t1"))[2]["user_id"] == "user"
    assert (await ask.ask("GET", "/threads?user_id=nobody"))[2]["items"] == []
    _, _, page = await ask.ask("GET", "/threads/t1/messages?limit=2")
    assert [each["id"] for each in page["items"]] == ["m0", "m1"]
    cursor = page["next_cursor"]
    _, _, rest = await ask.ask("GET", f"/threads/t1/messages?limit=2&cursor={cursor}")
    assert [each["id"] for each in rest["items"]] == ["m2"]
    assert await ask.code("GET", f"/calls?cursor={cursor}") == "bad_cursor"
    _, _, page = await ask.ask("GET", "/calls?status=suggested&project_id=default")
    assert [each["id"] for each in page["items"]] == ["c2"]
    assert (await ask.ask("GET", "/threads/t1/calls"))[2]["items"] == []
    assert (await ask.ask("GET", "/calls/c1"))[2]["status"] == "done"
    assert (await ask.ask("DELETE", "/threads/t1/turn"))[0] == 204
    assert (await ask.ask("POST", "/threads/t1/cancel"))[0] == 204
    assert (await ask.ask("POST", "/threads/t1/cancel", {"project_id": "default"}))[0] == 204
    assert (await ask.ask("DELETE", "/threads/t1"))[0] == 204
    assert house.done == [("cancel_turn", "t1"), ("cancel", "t1"), ("cancel", "t1")]
    for method, path in (
        ("GET", "/threads/t1"),
        ("GET", "/threads/t1/messages"),
        ("GET", "/threads/t1/calls"),
        ("DELETE", "/threads/t1/turn"),
        ("POST", "/threads/t1/cancel"),
        ("DELETE", "/threads/t1"),
    ):
        assert await ask.code(method, path) == "not_found"


async def test_feedback_is_given_listed_and_exported() -> None:
    """By a thread's user, in place of an earlier verdict; by verdict, page by page, and as lines after a number."""
    ask = asker()
    ask.house.add_thread("t1")
    for number in range(3):
        ask.house.feedback.answers[f"m{number}"] = RatedAnswer(
            project="default",
            scope=Scope("default", "t1", "user"),
            question="What does Basic cost?",
            answer=f"Basic costs {number} kr.",
            citations=({"file": "kb/prices.md", "lines": [1, 1], "snippet": "49 kr"},),
            confidence="high",
        )
    given = {"user_id": "user", "thread_id": "t1", "message_id": "m0", "verdict": "down", "text": " Old "}
    status, _, receipt = await ask.ask("POST", "/feedback", given)
    assert (status, receipt) == (
        200,
        {"number": 1, "message_id": "m0", "thread_id": "t1", "verdict": "down"},
    )
    for message, verdict in (("m1", "up"), ("m2", "down"), ("m0", "up")):
        await ask.ask("POST", "/feedback", given | {"message_id": message, "verdict": verdict})
    _, _, page = await ask.ask("GET", "/feedback?limit=2")
    assert [(each["message_id"], each["verdict"]) for each in page["items"]] == [("m1", "up"), ("m2", "down")]
    assert (page["items"][0]["text"], page["items"][0]["model"]) == ("Old", "mock")
    _, _, rest = await ask.ask("GET", f"/feedback?limit=2&cursor={page['next_cursor']}")
    assert [each["number"] for each in rest["items"]] == [4]
    assert rest["next_cursor"] is None
    _, _, up = await ask.ask("GET", "/feedback?verdict=up&after=2")
    assert [each["number"] for each in up["items"]] == [4]
    _, _, lines = await ask.ask("GET", "/feedback/export?limit=1&after=2")
    assert [each["answer"] for each in lines] == ["Basic costs 2 kr."]
    assert (await ask.ask("GET", "/feedback/export?after=4"))[2] == []
    for change, code in (
        ({"user_id": "eve"}, "not_found"),
        ({"message_id": "m9"}, "not_found"),
        ({"thread_id": "t9"}, "not_found"),
        ({"verdict": "fine"}, "bad_request"),
        ({"text": "x" * 1001}, "bad_request"),
        ({"answer": "forged"}, "bad_request"),
    ):
        assert await ask.code("POST", "/feedback", given | change) == code
    assert len(ask.house.feedback.stored) == 3
    ask.house.broken = StorageFailed("no disk")
    assert await ask.code("POST", "/feedback", given) == "storage"


async def test_the_paths_of_a_project_list_its_threads_and_waiting_calls() -> None:
    """As the lists beside them do: one user's threads, and no call that has its approval."""
    ask = asker()
    ask.house.add_thread("t1")
    statuses: tuple[CallStatus, ...] = ("suggested", "confirmed", "suggested", "done")
    for number, status in enumerate(statuses):
        ask.house.add_call(f"c{number}", status=status)
    _, _, page = await ask.ask("GET", "/projects/default/threads")
    assert page == (await ask.ask("GET", "/threads"))[2]
    _, _, page = await ask.ask("GET", "/projects/default/threads?user_id=user")
    assert [each["id"] for each in page["items"]] == ["t1"]
    assert (await ask.ask("GET", "/projects/default/threads?user_id=nobody"))[2]["items"] == []
    _, _, page = await ask.ask("GET", "/projects/default/tools/pending?limit=1")
    assert [each["id"] for each in page["items"]] == ["c0"]
    _, _, page = await ask.ask("GET", f"/projects/default/tools/pending?cursor={page['next_cursor']}")
    assert ([each["id"] for each in page["items"]], page["next_cursor"]) == (["c2"], None)
    for path in ("threads", "tools/pending"):
        assert await ask.code("GET", f"/projects/nowhere/{path}") == "not_found"


async def test_the_operators_tools_are_listed() -> None:
    """In their order, without the address at which one runs."""
    tools = (
        ToolDefinition(name="refund", description="Refund", parameters={}, url="http://127.0.0.1/secret"),
        ToolDefinition(name="look_up", description="", parameters={}, requires_approval=False, risk="low"),
    )
    ask = asker(House(tools=tools))
    _, _, listed = await ask.ask("GET", "/tools")
    assert [(each["name"], each["requires_approval"], each["risk"]) for each in listed["items"]] == [
        ("refund", True, "medium"),
        ("look_up", False, "low"),
    ]
    assert "secret" not in json.dumps(listed)
    assert (await asker().ask("GET", "/tools"))[2] == {"items": []}


async def test_a_call_is_approved_taken_and_reported() -> None:
    """Each once; the same report again gets the same answer, another one does not."""
    ask = asker()
    ask.house.add_call("c1")
    yes = {"user_id": "bo", "arguments_hash": "hash"}
    assert await ask.code("POST", "/calls/c1/begin") == "not_approved"
    assert await ask.code("POST", "/calls/c1/approve", yes | {"arguments_hash": "old"}) == "arguments_changed"
    status, _, call = await ask.ask("POST", "/calls/c1/approve", yes, "Prefer: respond-async")
    assert (status, call["status"], call["approved_by"], call["reply"]) == (200, "confirmed", "bo", None)
    assert ask.house.done[-1] == ("bo", None, "hash", 0.0)
    assert await ask.code("POST", "/calls/c1/approve", yes) == "closed"
    assert ask.house.done[-1][-1] == 14.0
    _, _, call = await ask.ask("POST", "/calls/c1/begin", {})
    assert (call["lease_until"], call["arguments"]) == ("1970-01-01T00:00:00.009000Z", {"order": "4711"})
    assert await ask.code("POST", "/calls/c1/begin") == "begun"
    report = {"tool_call_id": "c1", "ok": True, "data": {"refunded": 299}}
    _, headers, taken = await ask.ask("POST", "/tools/result", report)
    assert "idempotent-replayed" not in headers
    assert (taken["status"], taken["call"]["result"]) == (
        "acknowledged",
        {"success": True, "data": {"refunded": 299}},
    )
    _, headers, again = await ask.ask("POST", "/tools/result", report | {"continue": True})
    assert headers["idempotent-replayed"] == "true"
    assert again["reply"]["render"]["text_to_send_to_user"] == "It is so."
    assert await ask.code("POST", "/tools/result", report | {"ok": False}) == "already_reported"
    assert [event for _, _, event, _ in ask.house.notes] == [
        "approved",
        "begun",
        "reported",
        "reported",
        "report_already_reported",
    ]


async def test_a_call_is_edited_answered_or_declined() -> None:
    """An outcome needs what it is made of, and takes nothing else."""
    ask = asker()
    for id in ("c1", "c2", "c3", "c4"):
        ask.house.add_call(id)
    edit = {"user_id": "bo", "outcome": "edit", "arguments": {"order": "12"}}
    _, _, call = await ask.ask("POST", "/calls/c1/approve", edit)
    assert (call["edited"], call["arguments"]) == (True, {"order": "12"})
    words = {"user_id": "bo", "outcome": "respond", "text": "Which one?"}
    _, _, call = await ask.ask("POST", "/calls/c2/approve", words)
    assert (call["status"], call["reply"]["message_id"]) == ("answered", "message")
    _, _, call = await ask.ask("POST", "/calls/c3/approve", {"user_id": "bo", "outcome": "ignore"})
    assert (call["status"], call["closed_by"]) == ("rejected", "bo")
    assert (await ask.ask("POST", "/calls/c4/reject"))[2]["status"] == "rejected"
    wrong: tuple[dict[str, Any], ...] = (
        {"outcome": "edit"},
        {"outcome": "respond"},
        {"outcome": "accept", "arguments": {}},
        {"outcome": "accept", "text": "no"},
        {"outcome": "perhaps"},
        {"arguements": {}},
    )
    for each in wrong:
        status, _, value = await ask.ask("POST", "/calls/c1/approve", {"user_id": "bo"} | each)
        assert (status, code_in(value), len(value["errors"])) == (400, "bad_request", 1)


async def test_a_call_says_who_rejected_it() -> None:
    """So does the audit; where nobody is named the call names none, and the audit has whose key it was."""
    ask = asker()
    for id in ("c1", "c2"):
        ask.house.add_call(id)
    assert await ask.code("POST", "/calls/c1/reject", {"user_id": "eve"}) == "not_found"
    assert await ask.code("POST", "/calls/c1/reject", {"user_id": ["bo"]}) == "bad_request"
    assert ask.house.calls["c1"].status == "suggested"
    _, _, call = await ask.ask("POST", "/calls/c1/reject", {"user_id": "bo", "project_id": "default"})
    assert (call["status"], call["closed_by"]) == ("rejected", "bo")
    _, _, call = await ask.ask("POST", "/calls/c2/reject", {"user_id": "", "reason": "Not approved"})
    assert (call["status"], call["closed_by"]) == ("rejected", None)
    _, _, page = await ask.ask("GET", "/calls")
    assert [each["closed_by"] for each in page["items"]] == ["bo", None]
    assert [(by, event, id) for _, by, event, id in ask.house.notes] == [
        ("bo", "rejected", "c1"),
        ("operator", "rejected", "c2"),
    ]


async def test_who_approves_may_have_the_turn_go_on() -> None:
    """Once the server has run the call; where no turn can begin, the approval stands."""
    ask = asker()
    for id in ("c1", "c2", "c3", "c4"):
        ask.house.add_call(id, runs_at="record")
    yes = {"user_id": "bo", "continue": True}
    _, _, call = await ask.ask("POST", "/calls/c1/approve", yes)
    assert (call["status"], call["reply"]["render"]["text_to_send_to_user"]) == ("done", "It is so.")
    assert ask.house.done[-1].text == "go on from c1"
    edit = yes | {"outcome": "edit", "arguments": {"order": "12"}}
    assert (await ask.ask("POST", "/calls/c2/approve", edit))[2]["reply"] is not None
    assert (await ask.ask("POST", "/calls/c3/approve", {"user_id": "bo"}))[2]["reply"] is None

    async def busy(asked: ChatRequest, listener: Listener | None) -> None:
        raise Conflict("turn_in_progress")

    ask.house.play = busy
    _, _, call = await ask.ask("POST", "/calls/c4/approve", yes)
    assert (call["status"], call["reply"]) == ("done", None)


async def test_a_turn_does_not_go_on_from_what_has_not_ended() -> None:
    """Words are a message of their own, what the caller runs goes on with its report, and nobody waits for a call."""
    ask = asker()
    ask.house.add_call("c1")
    ask.house.add_call("c2", runs_at="record")
    yes = {"user_id": "bo", "continue": True}
    for id, body, headers in (
        ("c1", yes, ()),
        ("c2", yes | {"outcome": "respond", "text": "Which one?"}, ()),
        ("c2", yes | {"outcome": "ignore"}, ()),
        ("c2", yes, ("Prefer: respond-async",)),
    ):
        status, _, value = await ask.ask("POST", f"/calls/{id}/approve", body, *headers)
        assert (status, [each["pointer"] for each in value["errors"]]) == (400, ["/continue"])
    assert {call.status for call in ask.house.calls.values()} == {"suggested"}


async def test_a_prompt_is_shown() -> None:
    """Its parts in their order."""
    ask = asker()
    _, _, shown = await ask.ask("GET", "/projects/default/prompt-debug?message=Hello%20there")
    assert [(each["name"], each["text"]) for each in shown["sections"]] == [
        ("rules", "Rules."),
        ("message", "Hello there"),
    ]
    here = "/projects/default/prompt-debug"
    ask.house.add_thread("t1")
    _, _, shown = await ask.ask("GET", f"{here}?message=Hello&thread_id=t1")
    assert [each["text"] for each in shown["sections"]] == ["Rules.", "Before?", "Hello"]
    assert await ask.code("GET", f"{here}?message=Hello&thread_id=t2") == "not_found"
    assert await ask.code("GET", f"{here}?message=too%20long") == "prompt_too_long"
    assert await ask.code("GET", here) == "bad_request"
    none = asker(House(prompts=False))
    assert await none.code("GET", f"{here}?message=Hello") == "not_found"


@pytest.mark.parametrize("route", sample(ROUTES, 6), ids=lambda route: route.name)
async def test_a_method_that_is_none_is_told_which_ones_are(route: Any) -> None:
    """With Allow, once the key is shown."""
    ask = asker(House())
    path = route.path.replace("{", "").replace("}", "")
    status, headers, _ = await ask.ask("PATCH", path)
    assert status == 405
    assert route.method in headers["allow"].split(", ")
