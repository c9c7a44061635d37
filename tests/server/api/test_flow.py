"""A flow that runs the tools of its agent over HTTP, as n8n does: request bodies as its templates fill them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trio.testing

from ...threads.lab import Wall
from . import request
from .whole import Whole, whole

ISSUE: dict[str, Any] = {
    "name": "jira.create_ticket",
    "description": "Create a ticket",
    "parameters": {"summary": {"type": "string", "description": "Its title", "required": True}},
    "requires_approval": True,
    "risk": "low",
}
CONTEXT = {"source": "messenger", "meta": {"channel": "support", "order": "W-77", "price": 4711}}


def order(tool: str, **arguments: str) -> str:
    """Return words that have the model call a tool."""
    return f"DECIDE {json.dumps({'mode': 'ACT', 'tool': tool, 'args': arguments})}"


async def send(server: Whole, key: str, project: str, message: str, **fields: Any) -> Any:
    """Send a message as the flow does: with fields that it has no value for, and one that is its own."""
    body = {
        "project_id": project,
        "user_id": "user-123",
        "thread_id": "",
        "message": message,
        "tools": None,
        "context": CONTEXT,
        "locale": "en-GB",
    }
    return await server.good("POST", "/chat", {**body, **fields}, key=key)


async def test_a_context_is_part_of_the_prompt_and_no_source(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It supports no number of an answer and no argument of a call; it is bounded, and may be empty."""
    async with whole() as server:
        project, key = await server.project("Shop")
        await server.put(project, key, "FACTS", "plan.md", "# Plan\n\nThe plan costs 299 kr.")
        server.model.says = "The plan costs 4711 kr."
        asked = "What does the plan cost?"
        refused = await send(server, key, project, asked)
        assert (
            '{"meta":{"channel":"support","order":"W-77","price":4711},"source":"messenger"}'
            in (server.model.asked[-1])
        )
        assert refused["blocked"]["code"] == "number_mismatch"
        assert "4711" not in json.dumps(refused)
        act = f"Create a ticket. {order('jira.create_ticket', summary='W-77')}".replace("77", r"7\u0037")
        asks = await send(server, key, project, act, tools=[ISSUE])
        assert (asks["response_json"]["mode"], asks["calls"]) == ("ASK", [])
        said = await send(server, key, project, f"W-77: {act}", tools=[{**ISSUE, "requires_approval": False}])
        assert said["tool_call"]["sources"] == {"/summary": "user"}
        blank: tuple[Any, ...] = ({}, "", None)
        for context in blank:
            await send(server, key, project, asked, context=context)
            assert "messenger" not in server.model.asked[-1]
        body = {"user_id": "anna", "message": asked, "context": {"meta": "x" * 5000}}
        status, _, value = await server.ask("POST", "/chat", body, key=key)
        assert (status, [each["pointer"] for each in value["errors"]]) == (400, ["/context"])


async def test_a_flow_acts_and_reports(autojump_clock: trio.testing.MockClock) -> None:
    """A project, a document, a message, an approval, the begin, the result, and the answer from it.

    The result is of one user: for any other, and in any other project, the call never was, byte for byte.
    """
    async with whole() as server:
        new = {"name": "My Project", "roleStatement": "You manage a team.", "description": ""}
        made = await server.good("POST", "/projects", new)
        assert datetime.fromisoformat(made["created_at"]).tzinfo is UTC
        project = made["id"]
        key = (await server.good("POST", f"/projects/{project}/keys", {"name": "n8n"}))["key"]
        stored = await server.put(project, key, "FACTS", "needs.md", "# Needs\n\nThe login needs a fix.")
        assert (stored["category"], stored["status"]) == ("FACTS", "indexed")
        message = f"Open a ticket: Login bug {order(ISSUE['name'], summary='Login bug')}"
        answer = await send(server, key, project, message, tools=[ISSUE])
        wanted, call = answer["response_json"]["tool_request"], f"/calls/{answer['tool_call_id']}"
        assert wanted == {
            "name": "jira.create_ticket",
            "args": {"summary": "Login bug"},
            "requires_approval": True,
            "risk": "low",
        }
        (waiting,) = (await server.good("GET", f"/projects/{project}/tools/pending", key=key))["items"]
        assert (waiting["id"], waiting["status"]) == (answer["tool_call_id"], "suggested")
        result = {
            "tool_call_id": answer["tool_call_id"],
            "project_id": project,
            "user_id": "user-123",
            "ok": True,
            "data": {"ticket_id": "ECOM-1234"},
            "error": "",
            "tools": [ISSUE],
            "continue": True,
        }
        assert await server.code("POST", "/tools/result", result, key=key) == "not_approved"
        approval = {"user_id": "user-123", "project_id": project}
        await server.good("POST", f"{call}/approve", approval, key=key)
        assert await server.code("POST", "/tools/result", result, key=key) == "not_begun"
        await server.good("POST", f"{call}/begin", {"project_id": project, "user_id": ""}, key=key)
        for path, body in (("/tools/result", result), (f"{call}/reject", {"reason": "Not approved"})):
            await check_hidden(server, path, {**body, "user_id": "eve"}, result["tool_call_id"], key)
        server.model.says = "The ticket is ECOM-1234."
        report = await server.good("POST", "/tools/result", result, key=key)
        assert report["status"] == "acknowledged"
        assert report["reply"]["render"]["text_to_send_to_user"] == "The ticket is ECOM-1234."
        threads = f"/projects/{project}/threads"
        (thread,) = (await server.good("GET", f"{threads}?user_id=user-123", key=key))["items"]
        assert thread["id"] == answer["thread_id"]
        _, other = await server.project("Other")
        await check_hidden(server, "/tools/result", result, result["tool_call_id"], other)
        await check_hidden(server, threads, None, project, other)
        await check_hidden(server, f"/projects/{project}/tools/pending", None, project, other)


async def check_hidden(server: Whole, path: str, body: Any, id: str, key: str) -> None:
    """Check that a request about an id is answered, byte for byte, as one about an id that never was."""
    answers = []
    for named in (id, "never-was-there"):
        data = None if body is None else json.dumps(body).replace(id, named).encode()
        method = "GET" if body is None else "POST"
        answers.append(await server.raw(request(method, path.replace(id, named), data, key=key), key))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


async def test_a_call_that_its_tool_lets_run_is_reported_at_once(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """It is handed over as begun; and where the message asked for that not, its report begins it."""
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": [{"name": "look_up", "description": "Look something up"}]}))
    async with whole(tools=file) as server:
        project, key = await server.project("Shop")
        (listed,) = (await server.good("GET", "/tools", key=key))["items"]
        assert (listed["name"], listed["requires_approval"]) == ("look_up", True)
        free = {**ISSUE, "requires_approval": False}
        for begin, status in ((None, "claimed"), (False, "confirmed")):
            words = f"Login bug {order(ISSUE['name'], summary='Login bug')}"
            answer = await send(server, key, project, words, tools=[free], begin=begin)
            assert answer["tool_call"]["status"] == status
            result = {"tool_call_id": answer["tool_call_id"], "project_id": project, "ok": True, "data": {}}
            report = await server.good("POST", "/tools/result", result, key=key)
            assert report["call"]["status"] == "done"
            _, headers, _ = await server.ask("POST", "/tools/result", result, key=key)
            assert headers["idempotent-replayed"] == "true"


async def test_a_flow_proposes_events_and_metrics(autojump_clock: trio.testing.MockClock) -> None:
    """A rule accepts one that ends and contradicts nothing; it is its user's, who can decide about it."""
    async with whole(memory="on") as server:
        project, key = await server.project("Shop")
        ends = "2100-01-01T00:00:00+01:00"
        velocity = {"user_id": "anna", "type": "metric", "subject": "velocity of the sprint"}
        metric = {**velocity, "text": "The velocity of the sprint is 21 points.", "expires_at": ends}
        status, _, made = await server.ask("POST", "/memory", {**metric, "tags": ["sprint"]}, key=key)
        item = made["item"]
        assert (status, item["status"], item["decided_by"]) == (201, "accepted", "rule")
        assert (item["expires_at"], item["project_id"]) == ("2099-12-31T23:00:00Z", project)
        assert [each["kind"] for each in item["sources"]] == ["tool"]
        status, _, again = await server.ask("POST", "/memory", metric, key=key)
        assert (status, again["item"]["id"]) == (200, item["id"])
        other = await server.good(
            "POST", "/memory", {**metric, "text": "The velocity is 34 points."}, key=key
        )
        assert (other["item"]["status"], other["item"]["decided_by"]) == ("proposed", None)
        event = {"user_id": "anna", "type": "event", "subject": "release", "text": "The release went out."}
        made = await server.good("POST", "/memory", {**event, "expires_at": ""}, key=key)
        lasts = [datetime.fromisoformat(made["item"][name]) for name in ("created_at", "expires_at")]
        assert (made["item"]["status"], (lasts[1] - lasts[0]).days) == ("accepted", 7)
        server.model.says = "The velocity of the sprint is 21 points."
        answer = await server.chat("What is the velocity of the sprint?", key)
        assert [each["file"] for each in answer["citations"]] == [f"memory/{item['id']}"]
        for user in ("bo", "anna"):
            page = await server.good("GET", f"/memory?user_id={user}", key=key)
            assert len(page["items"]) == (3 if user == "anna" else 0)
        forget = {"user_id": "anna", "decision": "forget"}
        await server.good("POST", f"/memory/{item['id']}", forget, key=key)


async def test_a_program_proposes_nothing_else(autojump_clock: trio.testing.MockClock) -> None:
    """No fact, no metric without an end, no time that is over or has no offset, and nothing where nobody remembers."""
    async with whole(memory="on") as server:
        _, key = await server.project("Shop")
        event = {"user_id": "anna", "type": "event", "subject": "release", "text": "The release went out."}
        wrong: tuple[tuple[dict[str, Any], str], ...] = (
            ({"type": "fact"}, "/type"),
            ({"type": "rule"}, "/type"),
            ({"type": "metric"}, "/expires_at"),
            ({"expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
            ({"expires_at": "2100-01-01T00:00:00"}, "/expires_at"),
            ({"expires_at": 4102444800000}, "/expires_at"),
            ({"text": ""}, "/text"),
            ({"text": "x" * 501}, "/text"),
            ({"user_id": None}, "/user_id"),
        )
        for more, pointer in wrong:
            status, _, value = await server.ask("POST", "/memory", {**event, **more}, key=key)
            assert (status, [each["pointer"] for each in value["errors"]]) == (400, [pointer]), more
        assert (await server.good("GET", "/memory?user_id=anna", key=key))["items"] == []
        assert await server.code("POST", "/memory", {**event, "project_id": "nowhere"}) == "not_found"
    async with whole(memory="off") as server:
        assert await server.code("POST", "/memory", event) == "not_found"


async def test_a_chat_records_an_event_in_its_user_s_words(autojump_clock: trio.testing.MockClock) -> None:
    """A rule accepts it; in other words, or where it contradicts something, it waits for its user."""
    async with whole(memory="on") as server:
        _, key = await server.project("Shop")
        metric = {"type": "metric", "subject": "velocity", "text": "The velocity is 21 points"}
        for told, text, decided in (
            ("The velocity is 21 points.", "The velocity is 21 points", ("accepted", "rule")),
            ("The velocity is 34 points.", "The velocity is 34 points", ("proposed", None)),
        ):
            words = f"{told} {order('memory.propose_add', **{**metric, 'text': text})}"
            answer = await server.chat(words, key, tools=[ISSUE])
            (id,) = (each["id"] for each in answer["response_json"]["memory_updates"])
            item = (await server.good("GET", f"/memory/{id}?user_id=anna", key=key))["item"]
            assert (item["status"], item["decided_by"]) == decided
            assert [each["kind"] for each in item["sources"]] == ["message"]
        event = {"type": "event", "subject": "boiler", "text": "The boiler is broken for good"}
        words = f"The boiler broke down. {order('memory.propose_add', **event)}"
        answer = await server.chat(words, key, tools=[ISSUE])
        assert [each["status"] for each in answer["response_json"]["memory_updates"]] == ["proposed"]
        assert len((await server.good("GET", "/memory?user_id=anna", key=key))["items"]) == 3


async def test_what_has_ended_is_in_no_prompt_and_no_answer(autojump_clock: trio.testing.MockClock) -> None:
    """From the moment that it ends, before anything has looked for what is over."""
    async with whole(memory="on") as server:
        project, key = await server.project("Shop")
        await server.put(project, key, "FACTS", "plan.md", "# Plan\n\nThe velocity is measured on Fridays.")
        ends = datetime.fromtimestamp(Wall().now_ms() / 1000 + 90, UTC).isoformat()
        common = {"user_id": "anna", "subject": "velocity", "expires_at": ends}
        for new in (
            {"type": "metric", "text": "The velocity is 21 points."},
            {"type": "event", "text": "The velocity board went live."},
        ):
            await server.good("POST", "/memory", {**common, **new}, key=key)
        asked = "What is the velocity?"
        await server.chat(asked, key)
        assert all(each in server.model.asked[-1] for each in ("21 points", "went live"))
        prompts = len(server.model.asked)
        await trio.sleep(90)
        server.model.says = "The velocity is 21 points."
        answer = await server.chat(asked, key)
        assert answer["blocked"]["code"] == "number_mismatch"
        assert [each["file"] for each in answer["citations"]] == ["docs/plan.md"]
        assert not any(each in server.model.asked[prompts] for each in ("21 points", "went live"))
        await trio.sleep(60)
        page = await server.good("GET", "/memory?user_id=anna&status=expired", key=key)
        assert len(page["items"]) == 2


async def test_ideas_lessons_and_events_of_a_message_wait_for_its_user(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """No rule accepts what the server only reads in plain words; approved, it ends by itself."""
    async with whole(memory="on") as server:
        _, key = await server.project("Shop")
        for message, type, days in (
            ("I have an idea: print the label on both sides.", "idea", 30),
            ("Lärdom: testa alltid backupen.", "lesson", 90),
            ("Yesterday the boiler broke.", "event", 7),
        ):
            answer = await server.chat(message, key)
            (update,) = answer["response_json"]["memory_updates"]
            assert (update["type"], update["status"]) == (type, "proposed")
            accept = {"user_id": "anna", "decision": "accept"}
            made = await server.good("POST", f"/memory/{update['id']}", accept, key=key)
            lasts = [datetime.fromisoformat(made["item"][name]) for name in ("created_at", "expires_at")]
            assert (made["item"]["decided_by"], (lasts[1] - lasts[0]).days) == ("user", days)
