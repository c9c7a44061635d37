"""Of another project nothing is there: every route of the document, with its ids; and no word of it in another's."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
import trio
import trio.testing

from agent.log import short_hash
from agent.ports.action import Call
from agent.protocol.openapi import document
from tests.examples import sample

from ..logs import logged
from ..server import parted
from ..server.api import TOKEN, request
from ..server.api.whole import Whole, whole

NEVER = "never-was-there-00000A"
FREE = {"requires_approval": False, "risk": "low"}
SHIP = {
    "name": "ship",
    "description": "Ship an order",
    "parameters": {"order": {"type": "string", "required": True}},
}
FORM = (
    b'--b\r\nContent-Disposition: form-data; name="category"\r\n\r\nFACTS\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nText.\r\n--b--\r\n'
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the document, with a place for each id that it can name. ids: of what it names, by where."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any] | bytes | None
    operators: bool

    def about(self, ids: Mapping[str, str]) -> bytes:
        """Return it as it is sent, without a key: with these ids where it has a place for one."""
        path = self.path
        for name, id in ids.items():
            path = path.replace("{" + name + "}", id)
        query = {name: ids.get(name, value) for name, value in self.query.items() if ids.get(name, value)}
        data = self.body
        headers: tuple[str, ...] = ()
        if isinstance(data, bytes):
            headers = ("Content-Type: multipart/form-data; boundary=b",)
        elif data is not None:
            filled = {name: ids.get(name, value) for name, value in data.items()}
            data = json.dumps({name: value for name, value in filled.items() if value != ""}).encode()
        target = f"{path}?{urlencode(query)}" if query else path
        return request(self.method, target, data, *headers, key="KEY")

    @property
    def places(self) -> set[str]:
        """Where it can name an id."""
        named = {part[1:-1] for part in self.path.split("/") if part.startswith("{")}
        body = self.body if isinstance(self.body, Mapping) else {}
        every = {each for each in (*named, *self.query, *body) if each.endswith("_id")}
        return every - {"user_id", "previous_response_id"}  # no response is stored: any id is refused


VALUES: Mapping[str, Any] = {
    "message": "Hello there",
    "user_id": "anna",
    "ok": True,
    "name": "A name",
    "role_statement": "You help.",
    "decision": "accept",
    "type": "event",
    "subject": "door",
    "text": "My door is blue.",
    "verdict": "up",
    "command": {"resume": [{"type": "ignore", "args": None}]},
    "title": "A title",
    "branch": "b999",
    "seq": 0,
    "version": "v999",
    "entity": "Key",
    "field": "place",
    "value": "mill",
    "kind": "person",
    "query": "key",
    "format": "agent-story/1",
}
TALE: Mapping[str, Any] = {
    "format": "agent-story/1",
    "title": "The mill",
    "cast": [{"name": "Mira", "kind": "person"}],
    "branches": [{"name": "main"}],
    "scenes": [{"branch": "main", "seq": 1, "text": "Mira opens the gate."}],
}
DECISIONS: Mapping[str, Mapping[str, Any]] = {
    each: {"decision": each, **({"text": "My door is blue."} if each == "edit" else {})}
    for each in ("accept", "reject", "start", "done", "block", "unblock", "reopen", "edit", "forget")
}
OUTCOMES: Mapping[str, Mapping[str, Any]] = {
    "accept": {},
    "edit": {"arguments": {"order": "W-1"}},
    "respond": {"text": "No."},
    "ignore": {},
}


def ways(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a body with these fields says, each way that it can be meant."""
    if "outcome" in fields:
        return [{"outcome": name, **more} for name, more in OUTCOMES.items()]
    if "interrupt" in fields:
        return [{}, {"interrupt": True}]
    return [*DECISIONS.values()] if "decision" in fields else [{}]


def every_request(with_users: bool = False) -> Iterator[Asked]:
    """Every request that the document has: its required fields, and a place for every id.

    with_users: it names a user wherever it can, also where it need not.
    """
    made = json.loads(document())
    for path, methods in made["paths"].items():
        for method, described in methods.items():
            query = {
                each["name"]: str(VALUES.get(each["name"], ""))
                for each in described.get("parameters", [])
                if each.get("in") == "query" and (each.get("required") or each["name"].endswith("_id"))
            }
            names_user = with_users or path.startswith(
                ("/memory", "/stories")
            )  # where programs must name one
            if not names_user:
                query.pop("user_id", None)
            operators = (
                path == "/projects"
                or "/keys" in path
                or (path, method) == ("/projects/{project_id}", "delete")
            )
            content = described.get("requestBody", {}).get("content", {})
            if "multipart/form-data" in content:
                yield Asked(method.upper(), path, query, FORM, operators)
            elif content:
                name = content["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
                schema = made["components"]["schemas"][name]
                fields = {
                    each: VALUES.get(each, "")
                    for each in schema["properties"]
                    if each in schema.get("required", ())
                    or (each.endswith("_id") and (names_user or each != "user_id"))
                }
                for more in ways(schema["properties"]):
                    yield Asked(method.upper(), path, query, {**fields, **more}, operators)
            else:
                yield Asked(method.upper(), path, query, None, operators)


REQUESTS = [each for each in every_request() if each.path not in ("/health", "/openapi.json")]


async def settled(server: Whole, project: str, key: str, word: str = "W-77123") -> dict[str, list[str]]:
    """Fill a project: a document, and a thread whose calls are in every status that something can be done to."""
    document = await server.put(project, key, "FACTS", "plan.md", f"# Plan\n\nThe {word} costs 299 kr.")
    suggested = await server.act("ship", {"order": word}, key, tools=[SHIP])
    confirmed = await server.act("ship", {"order": word}, key, tools=[SHIP])
    await server.good("POST", f"/calls/{confirmed['id']}/approve", {"user_id": "anna"}, key=key)
    begun = await server.act("ship", {"order": word}, key, tools=[{**SHIP, **FREE}])
    assert begun["status"] == "claimed"
    reported = await server.act("ship", {"order": word}, key, tools=[{**SHIP, **FREE}])
    said = {"tool_call_id": reported["id"], "ok": True, "data": {"order": word}}
    await server.good("POST", "/tools/result", said, key=key)
    items = [await remembered(server, key, text) for text in told_by(word)]
    tale = await told_tale(server, key)
    made = (await server.good("GET", f"/projects/{project}/keys"))["items"]
    calls = [each["id"] for each in (suggested, confirmed, begun, reported)]
    threads = [each["thread_id"] for each in (suggested, begun)]
    written = (await server.good("GET", f"/threads/{threads[0]}/messages?project_id={project}", key=key))[
        "items"
    ]
    return {
        "project_id": [project],
        "message_id": [each["id"] for each in written],
        "document_id": [document["id"]],
        "thread_id": threads,
        "call_id": calls,
        "tool_call_id": calls,
        "key_id": [each["id"] for each in made],
        "item_id": items,
        **tale,
    }


async def told_tale(server: Whole, key: str, user: str = "anna") -> dict[str, list[str]]:
    """Store a story of a user; return the ids in it."""
    of = f"user_id={user}"
    made = await server.good("POST", f"/stories/import?{of}", TALE, key=key)
    story, branch = made["id"], made["branch"]
    chapter = {"branch": branch, "title": "One", "user_id": user}
    chapters = await server.good("POST", f"/stories/{story}/chapters", chapter, key=key)
    scenes = await server.good("GET", f"/stories/{story}/scenes?branch={branch}&{of}", key=key)
    cast = await server.good("GET", f"/stories/{story}/cast?{of}", key=key)
    return {
        "story_id": [story],
        "branch_id": [branch],
        "scene_id": [each["scene"] for each in scenes["scenes"]],
        "member_id": [each["id"] for each in cast["cast"]],
        "chapter_id": [chapters["id"]],
    }


def told_by(word: str) -> tuple[str, str]:
    """What a user says, of which the first is remembered and the second is proposed to be."""
    return f"Remember that my door is {word}.", f"My wall is {word} and 20 metres long."


async def remembered(server: Whole, key: str, text: str, user: str = "anna") -> str:
    """Say something; return the item that it leads to."""
    answer = await server.chat(text, key, user_id=user)
    (update,) = answer["response_json"]["memory_updates"]
    return str(update["id"])


async def all_of(server: Whole, project: str) -> Any:
    """All that the operator sees of a project."""
    seen: list[Any] = [await server.good("GET", f"/projects/{project}")]
    for target in (f"/projects/{project}/docs", f"/projects/{project}/keys"):
        seen.append(await server.good("GET", target))
    for target in ("/threads", "/calls"):
        seen.append(await server.good("GET", f"{target}?project_id={project}"))
    for thread in seen[-2]["items"]:
        seen.append(await server.good("GET", f"/threads/{thread['id']}/messages?project_id={project}"))
    of = f"?project_id={project}&user_id=anna"
    seen.append(await server.good("GET", f"/memory{of}"))
    for item in seen[-1]["items"]:
        seen.append(await server.good("GET", f"/memory/{item['id']}{of}"))
    for story in (await server.good("GET", f"/stories{of}"))["stories"]:
        seen.insert(0, await server.good("GET", f"/stories/{story['id']}/export{of}"))
    return seen


@pytest.mark.parametrize(("ids", "keys", "pairs"), sample([(1, 1, 50), (99, 2, 180)], 2))
async def test_of_another_project_nothing_is_there(
    ids: int, keys: int, pairs: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Every route, with up to `ids` ids of each kind: to the byte what an id is answered that never was."""
    async with whole(memory="on") as server:
        (theirs, their_key), (ours, our_key) = await server.project("Theirs"), await server.project("Ours")
        there = {name: each[:ids] for name, each in (await settled(server, theirs, their_key)).items()}
        here = {name: ids[0] for name, ids in (await settled(server, ours, our_key)).items()}
        before = await all_of(server, theirs)
        assert [each["status"] for each in before[-3]["items"]] == ["accepted", "proposed"]
        carried = [*server.carried.called]
        count = await compared(server, there, here, (our_key, TOKEN)[:keys])
        assert count > pairs
        assert await all_of(server, theirs) == before
        assert server.carried.called == carried


async def test_what_only_the_operator_may_is_nowhere_for_a_project(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """With the project's own ids too: what it answers is what a path answers that leads nowhere."""
    async with whole() as server:
        ours, key = await server.project("Ours")
        made = (await server.good("GET", f"/projects/{ours}/keys"))["items"]
        asked = [each for each in REQUESTS if each.operators]
        for each in asked:
            about = each.about({"project_id": ours, "key_id": made[0]["id"]})
            _, _, nowhere = await server.ask("GET", "/projects/a/b/c", key=key)
            status, _, body = await server.raw(about.replace(b": KEY", b": " + key.encode()))
            assert (status, json.loads(body)) == (404, nowhere)
        assert len(asked) == 6
        assert (await server.good("GET", f"/projects/{ours}/keys"))["items"] == made
        assert len((await server.good("GET", "/projects"))["items"]) == 2  # the house's own, and ours


TALES = {"story_id", "branch_id", "scene_id", "member_id", "chapter_id"}


def whose(asked: Asked) -> set[str]:
    """Where a request that names a user names something that is one user's."""
    body = asked.body if isinstance(asked.body, Mapping) else {}
    return (
        asked.places - {"project_id", "document_id", "key_id"}
        if "user_id" in {*asked.query, *body}
        else set()
    )


def by(asked: Asked, user: str) -> Asked:
    """Return a request as another user's."""
    body = asked.body
    if isinstance(body, Mapping) and "user_id" in body:
        body = {**body, "user_id": user}
    query = {**asked.query, **({"user_id": user} if "user_id" in asked.query else {})}
    return replace(asked, query=query, body=body)


@pytest.mark.parametrize("most", sample([1, 99], 2))
async def test_of_another_user_nothing_is_there(most: int, autojump_clock: trio.testing.MockClock) -> None:
    """Every route that takes a user and what is one user's: to the byte what an id is answered that never was."""
    async with whole(memory="on") as server:
        project, key = await server.project("Ours")
        ids = await settled(server, project, key)
        before, carried = await all_of(server, project), [*server.carried.called]
        asked = [each for each in every_request(with_users=True) if whose(each)]
        taken = {place for each in asked for place in whose(each)}
        assert taken == {"thread_id", "message_id", "call_id", "tool_call_id", "item_id", *TALES}
        for each in asked:
            for place, id in [(where, one) for where in sorted(whose(each)) for one in ids[where][:most]]:
                answers = []
                for named in (id, NEVER):
                    both = ("thread_id", "message_id") if "message_id" in each.places else ()
                    of = {other: ids[other][0] for other in both} | {place: named}
                    about = by(each, "eve").about(of).replace(b": KEY", b": " + key.encode())
                    answers.append(await server.raw(about, key))
                assert answers[0] == answers[1], (each, place)
                assert answers[0][0] == 404, (each, place, answers[0])
        assert await all_of(server, project) == before
        assert server.carried.called == carried


async def compared(
    server: Whole, there: Mapping[str, list[str]], here: Mapping[str, str], keys: tuple[str, ...]
) -> int:
    """Ask everything with another's ids, and with such as never were; return how many pairs were the same."""
    count = 0
    for asked, key in product(REQUESTS, keys):
        for place, id in [(where, each) for where in sorted(asked.places) for each in there[where]]:
            if place == "project_id" and key == TOKEN:
                continue  # the operator's key opens each
            told = []
            for named in (id, NEVER):
                about = asked.about({**here, place: named}).replace(b": KEY", b": " + key.encode())
                told.append(await server.raw(about, key))
            assert told[0] == told[1], (asked, place)
            assert told[0][0] == 404, (asked, place, told[0])
            count += 1
    return count


WORD, NUMBER = "Zanzibarium", "864209753"
MARK = f"{WORD}-{NUMBER}"
LOOKS = [
    {"name": name, "description": "Look something up", "parameters": {"what": {"type": "string"}}, **FREE}
    for name in ("look_up", "break_down")
]


def answering(call: Call) -> Mapping[str, Any]:
    """Return what a tool says: all that it was told; or break, and say so."""
    if call.action == "break_down":
        raise ZeroDivisionError(f"cannot divide {call.payload}")
    return {"found": f"It is {call.payload.get('what', '')}."}


async def lived(server: Whole, project: str, key: str, mark: str) -> None:
    """Do all that can be done in a project, with a mark in every text that is anybody's."""
    await server.good("PUT", f"/projects/{project}", {"name": mark, "role_statement": f"You serve {mark}."})
    for category in ("FACTS", "RULES", "STATE"):
        await server.put(
            project, key, category, f"{mark}.md", f"# Plan {mark}\n\nThe plan of {mark} is good."
        )
    ask = partial(server.ask, key=key)
    more = {"project_id": project, "user_id": mark}
    tool: dict[str, Any] = {**SHIP, "name": f"ship_{mark}", "description": f"Ship {mark}"}
    named = f"Idempotency-Key: {mark}"
    chat = {"user_id": mark, "message": f"What is the plan of {mark}?"}
    _, _, said = await ask("POST", "/chat", chat, named)
    await ask("POST", "/chat", chat, named)
    alike = {"user_id": "anna", "message": "What is the plan that is good?"}
    found = await server.good("POST", "/chat", alike, "Idempotency-Key: of-both", key=key)
    assert (await server.good("GET", f"/threads/{found['thread_id']}", key=key))["project_id"] == project
    events = {**chat, "thread_id": said["thread_id"]}
    await server.raw(
        request("POST", "/chat", json.dumps(events).encode(), "Accept: text/event-stream", key=key), key
    )
    await ask("POST", "/chat", {**chat, "message": ""})
    await ask("POST", "/chat", {**chat, mark: mark})
    await ask("POST", "/chat", {**chat, "tools": [{**tool, "parameters": {mark: mark}}]})
    await ask("GET", f"/calls/{mark}")
    await ask("GET", f"/calls?cursor={mark}")
    await ask("GET", f"/projects/{project}/prompt-debug?message={mark}&thread_id={said['thread_id']}")
    for name in ("look_up", "break_down"):
        decided = json.dumps({"mode": "ACT", "tool": name, "args": {"what": mark}})
        await server.chat(f"Please {mark} DECIDE {decided}", key, user_id=mark)
    calls = [await server.act(tool["name"], {"order": mark}, key, tools=[tool]) for _ in range(4)]
    first, second, third, fourth = (f"/calls/{each['id']}" for each in calls)
    await ask("POST", f"{first}/approve", {**more, "arguments_hash": mark})
    await ask("POST", f"{first}/approve", {**more, "outcome": "edit", "arguments": {"order": [mark]}})
    await ask("POST", f"{first}/approve", {**more, "outcome": "edit", "arguments": {"order": f"{mark}!"}})
    await ask("POST", f"{first}/begin")
    report = {
        "tool_call_id": calls[0]["id"],
        "ok": True,
        "data": {"said": f"It is {mark}."},
        "continue": True,
    }
    await ask("POST", "/tools/result", report)
    await ask("POST", "/tools/result", {**report, "data": mark})
    await ask("POST", f"{second}/approve", {**more, "outcome": "respond", "text": f"No, {mark}."})
    failed = {"tool_call_id": calls[2]["id"], "ok": False, "error": mark}
    await ask("POST", f"{third}/approve", more)
    await ask("POST", f"{third}/begin")
    await ask("POST", "/tools/result", {**failed, "continue": True})
    await ask("POST", "/tools/result", {**failed, "tool_call_id": calls[3]["id"]})
    await ask("POST", f"{fourth}/reject")


async def seen(server: Whole, project: str, key: str) -> None:
    """Read all that a project's key opens."""
    for target in (f"/projects/{project}", f"/projects/{project}/docs", "/threads", "/calls"):
        value = await server.good("GET", target, key=key)
        for thread in value.get("items", ()) if target == "/threads" else ():
            for part in ("", "/messages", "/calls"):
                await server.good("GET", f"/threads/{thread['id']}{part}", key=key)


async def test_no_word_of_one_project_is_in_another(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Nor in what the other's model is asked, nor in the log or in the figures."""
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": LOOKS}))
    theirs, ours = MARK, "Quietude-5551212"
    with logged() as log:
        async with whole(tools=file) as server:
            server.carried.answers = answering
            made = {mark: await server.project(mark, mark) for mark in (theirs, ours)}
            async with trio.open_nursery() as nursery:  # at the same time
                for mark, (project, key) in made.items():
                    nursery.start_soon(lived, server, project, key, mark)
            for project, key in made.values():
                await seen(server, project, key)
            _, _, figures = await server.raw(
                request("GET", "/metrics", None, f"Authorization: Bearer {TOKEN}")
            )
        told = {mark: b"".join(server.told[key]).decode() for mark, (_, key) in made.items()}
        written = log.getvalue() + figures.decode()
    assert told[theirs].count(WORD) > 100
    for mark, other in ((theirs, ours), (ours, theirs)):
        words, others = mark.split("-"), other.split("-")
        assert not [each for each in others if each in told[mark]]
        prompts = [each for each in server.model.asked if mark in each]
        assert len(prompts) > 10
        assert not [each for prompt in prompts for each in others if each in prompt]
        assert not [each for each in words if each in written]
        assert not [prompt for prompt in prompts if f"You serve {mark}." not in prompt]
    assert not [each for each in server.model.asked if theirs not in each and ours not in each]
    assert "agent_" in written


async def test_a_project_s_key_opens_nothing_under_v1(autojump_clock: trio.testing.MockClock) -> None:
    """Neither questions to the house's documents nor vectors; the token does."""
    async with whole() as server:
        _, key = await server.project("Theirs")
        asked = f"When does the plan of {WORD} open?"
        for path, body, opened in (
            ("chat/completions", {"messages": [{"role": "user", "content": asked}]}, 200),
            ("responses", {"input": asked}, 200),
            ("embeddings", {"input": WORD}, 404),
        ):
            for shown, expected in ((key, 401), (TOKEN, opened)):
                status, _, answer = await server.raw(
                    request(
                        "POST", f"/v1/{path}", json.dumps(body).encode(), f"Authorization: Bearer {shown}"
                    )
                )
                assert (status, NUMBER.encode() in answer) == (expected, False)


async def test_the_tools_over_mcp_show_the_house_s_documents_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A project's document is in none of their results, and a project's key opens none of them."""
    async with whole() as server:
        project, key = await server.project("Theirs")
        document = await server.put(
            project, key, "FACTS", "plan.md", f"# Plan\n\nThe plan of {MARK} opens at 9."
        )
        files = ("plan.md", "docs/plan.md", f"{project}/plan.md", document["id"], "kb/plan.md")
        calls: list[tuple[str, Mapping[str, str]]] = [("source", {"file": file}) for file in files]
        calls += [(tool, {"text": f"When does the plan of {WORD} open?"}) for tool in ("ask", "search")]
        for tool, arguments in (*calls, ("source", {"file": "kb/house.md"})):
            params = {"name": tool, "arguments": arguments}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
            status, _, answer = await server.raw(
                request("POST", "/mcp", body, f"Authorization: Bearer {TOKEN}")
            )
            assert (status, NUMBER.encode() in answer) == (200, False)
            status, _, _ = await server.raw(request("POST", "/mcp", body, f"Authorization: Bearer {key}"))
            assert status == 401
            await trio.sleep(10)  # or they are too many wrong tokens
        assert b"opens at 8" in answer


def opening(value: Any, name: str = "") -> Iterator[str]:
    """Every id in what a server told that is long enough to open anything by itself."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from opening(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from opening(each, name)
    elif isinstance(value, str) and len(value) > 16 and OPENS.search(name):
        yield value


OPENS = re.compile(r"(?:^|_)(?:id|key|session|thread)$|Id$")


async def talked(server: Whole) -> list[Mapping[str, Any]]:
    """Do what a socket's client can: have an action done, one declined and a question cancelled, look at memory."""
    async with server.net.connect(TOKEN) as client:
        told: list[Mapping[str, Any]] = []
        for frame in (
            {"type": "open_thread"},
            {"type": "message", "id": "message-of-my-own", "text": "Remember that my door is green."},
            {"type": "memory_list"},
            {"type": "recall", "query": "door"},
        ):
            await client.send(frame)
            await trio.sleep(1)
        for answer in ("confirm_action", "reject_action"):
            await client.ask("Call me on 070-123 45 67")
            told += await client.frames_until("action_suggestion")
            await client.send({"type": answer, "suggestionId": told[-1]["suggestionId"]})
            told += await client.frames_until(
                "action_executed" if answer == "confirm_action" else "action_closed"
            )
        await client.send({"type": "cancel"})
        await client.send({"type": "open_thread"})
        return [*told, *await client.frames_until("thread")]


@pytest.mark.parametrize("level", ["debug", pytest.param("info", marks=pytest.mark.proof)])
async def test_nothing_that_opens_anything_is_logged(
    level: Literal["info", "debug"], autojump_clock: trio.testing.MockClock
) -> None:
    """No id of a thread, a session, a project, a call or a message, and no key: a short hash tells lines together."""
    with logged(level) as log:
        async with whole(memory="on") as server:
            server.carried.answers = answering
            project, key = await server.project("Ours")
            await settled(server, project, key)
            await lived(server, project, key, MARK)
            frames = await talked(server)
        written = log.getvalue()
    said = [
        json.loads(body)
        for each in server.told.values()
        for _, _, body in map(parted, each)
        if body[:1] == b"{"
    ]
    ids = {*opening([*said, *frames]), "message-of-my-own", key, TOKEN}
    assert len(ids) > 40
    assert not [each for each in ids if each in written]
    threads = [frame["thread"] for frame in frames if frame["type"] == "thread"]
    assert threads
    assert not [each for each in threads if short_hash(each) in written], "a thread's id is its own"
    assert short_hash("message-of-my-own") in written


async def test_no_u0000_comes_in(autojump_clock: trio.testing.MockClock) -> None:
    """In a body, a query, a file or its name, or a frame: it is U+FFFD wherever it is kept, shown or asked about."""
    async with whole(memory="on") as server:
        project, key = await server.project("Sh\0op", "You help the sh\0op.")
        await server.good("PUT", f"/projects/{project}", {"name": "Sho\0p"})
        await server.put(project, key, "FACTS", "pl\0an.md", "# Pl\0an\n\nThe plan of the shop costs 299 kr.")
        await server.chat("What does the pl\0an of the shop cost?", key, user_id="an\0na")
        await server.chat("Remember that my door is gre\0en.", key, user_id="an\0na")
        tool = {**SHIP, **FREE, "parameters": {"ord\0er": {"type": "string"}}}
        call = await server.act("ship", {"ord\ufffder": "W-7\ufffd"}, key, tools=[tool])
        report = {"tool_call_id": call["id"], "ok": True, "data": {"ke\0y": ["val\0ue"]}, "continue": True}
        await server.good("POST", "/tools/result", report, key=key)
        (item,) = (await server.good("GET", "/memory?user_id=an%00na", key=key))["items"]
        assert item["text"] == "My door is gre\ufffden"
        (document,) = (await server.good("GET", f"/projects/{project}/docs"))["items"]
        assert document["filename"] == "pl\ufffdan.md"
        threads = (await server.good("GET", "/threads?user_id=an%00na", key=key))["items"]
        said = [
            each["content"]
            for thread in threads
            for each in (await server.good("GET", f"/threads/{thread['id']}/messages", key=key))["items"]
        ]
        assert "What does the pl\ufffdan of the shop cost?" in said
        assert (await server.good("GET", f"/calls/{call['id']}", key=key))["arguments"] == {
            "ord\ufffder": "W-7\ufffd"
        }
        async with server.net.connect(TOKEN) as client:
            await client.ask("When does the house open\0?")
            frames = await client.frames_until("response")
        told = [*(each for some in server.told.values() for each in some), json.dumps(frames).encode()]
        assert not [each for each in told if b"\0" in each or b"\\u0000" in each]
        assert not [each for each in server.model.asked if "\0" in each or "\\u0000" in each]
        assert "open\ufffd?" in "".join(server.model.asked)
