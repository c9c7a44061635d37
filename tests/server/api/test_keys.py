"""Who may: the operator everything, a project's key its project, and nobody else anything."""

from hashlib import sha256
from typing import Any

import pytest
import trio.testing

from agent.errors import StorageFailed
from agent.ports.projects import HOUSE, Project, ProjectKey
from agent.ports.threads import StoredMessage
from agent.protocol.http import Upload
from agent.protocol.route import Route
from agent.protocol.routes import ROUTES
from agent.server.addresses import THIS_MACHINE
from agent.server.api.keys import KEY, make_key
from agent.server.rates import API_REQUESTS, request_rate
from agent.server.settings import WRONG_TOKENS, ServerSettings
from tests.examples import sample

from . import TOKEN, Asker, asker, code_in, held_to_the_document, request
from .stores import House
from .test_uploads import form

THEIRS, OURS = f"ak_{'t' * 43}", f"ak_{'o' * 43}"
SENTINEL = "31337"
GUARDED = sorted(
    (route for route in ROUTES if route.access != "open"), key=lambda route: "{project_id}" in route.path
)
WITH_IDS = [
    route
    for route in GUARDED
    if route.access != "operator" and {"thread_id", "call_id", "document_id"} & {*route.names}
]
BODIES: dict[str, dict[str, Any]] = {
    "create_project": {"name": "x", "role_statement": "x"},
    "change_project": {"name": "x"},
    "create_key": {"name": "x"},
    "chat": {"user_id": "u", "message": "Hello"},
    "approve_call": {"user_id": "u"},
    "resume_call": {"command": {"resume": [{"type": "ignore", "args": None}]}},
    "report_call": {"ok": True},
    "propose_item": {"user_id": "u", "type": "event", "subject": "x", "text": "x"},
    "decide_item": {"user_id": "u", "decision": "accept"},
    "give_feedback": {"user_id": "user", "message_id": "m", "verdict": "up"},
    "create_story": {"title": "x"},
    "import_story": {"format": "agent-story/1", "title": "x"},
    "fork_branch": {"branch": "b", "seq": 1, "name": "x"},
    "rename_branch": {"name": "x"},
    "pick_version": {"version": "v"},
    "edit_scene": {"text": "x"},
    "set_state": {"entity": "x", "field": "place", "value": "x"},
    "add_member": {"name": "x", "kind": "person"},
    "change_member": {"name": "x", "kind": "person"},
    "add_chapter": {"branch": "b", "title": "x"},
}


def house() -> House:
    """Two projects with a thread, a message, a call and a document each; a sentinel in theirs."""
    made = House()
    for project, key, word in (("theirs", THEIRS, SENTINEL), ("ours", OURS, "word")):
        made.projects[project] = Project(project, word, word, 1)
        digest = sha256(key.encode()).hexdigest()
        made.keys[f"key-{project}"] = digest, ProjectKey(f"key-{project}", project, word, 1)
        made.add_thread(f"thread-{project}", project)
        made.add_call(f"call-{project}", project, approved_by=word)
        made.messages.append(
            StoredMessage(
                id=f"m-{project}",
                thread=f"thread-{project}",
                turn=1,
                role="user",
                content=word,
                status="done",
                created_at=1,
            )
        )
    return made


def asked(route: Route, project: str) -> tuple[str, Any, tuple[str, ...]]:
    """Return target, body and headers of a request for the things of a project, which it names wherever it can."""
    names = {"project_id": project, "key_id": f"key-{project}", "document_id": f"doc-{project}"}
    names |= {"thread_id": f"thread-{project}", "call_id": f"call-{project}", "item_id": f"item-{project}"}
    names |= {
        "story_id": f"story-{project}",
        "branch_id": "b",
        "scene_id": "c",
        "member_id": "k",
        "chapter_id": "h",
    }
    target = route.path.format(**names)
    query = {"project_id": project} if "project_id" in route.query.__struct_fields__ else {}
    query |= {"branch": "b"} if "branch" in route.query.__struct_fields__ else {}
    query |= {"query": "x"} if route.name == "recall_scenes" else {}
    query |= {"message": "x"} if route.name == "prompt_debug" else {}
    query |= {"user_id": "anna"} if route.name in ("list_items", "get_item") else {}
    target += "?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else ""
    if route.body is Upload:
        body, kind = form(category="FACTS")
        return target, body, (kind,)
    if route.body is None:
        return target, None, ()
    content = dict(BODIES.get(route.name, {}))
    if "project_id" in route.body.__struct_fields__:
        content["project_id"] = project
    if route.name == "give_feedback":
        content["thread_id"] = names["thread_id"]
    if route.name == "report_call":
        content["tool_call_id"] = names["call_id"]
    return target, content, ()


@pytest.mark.parametrize("route", sample(GUARDED, 2), ids=lambda route: route.name)
async def test_what_is_another_projects_is_not_there(route: Route) -> None:
    """With its key, by whatever name: the answer of an id that never existed, byte for byte, and nothing was done."""
    answers = []
    for project in ("theirs", "nobodys"):
        ask = asker(house(), token=TOKEN)
        before = repr(ask.house)
        target, body, headers = asked(route, project)
        status, told, value = await ask.ask(route.method, target, body, *headers, key=OURS)
        assert (status, code_in(value)) == (404, "not_found")
        assert repr(ask.house).replace("lookups=1", "lookups=0") == before
        figures = [line for line in ask.metrics.text().decode().splitlines() if "_created" not in line]
        assert SENTINEL not in repr((told, value, figures))  # in a time its digits come by chance
        answers.append((status, told, value))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("route", sample(WITH_IDS, 3), ids=lambda route: route.name)
async def test_ids_of_another_project_are_not_there_in_ones_own(route: Route) -> None:
    """What is named by an id alone is looked for in the caller's project."""
    ask = asker(house(), token=TOKEN)
    target, body, headers = asked(route, "theirs")
    target = target.partition("?")[0].replace("/projects/theirs", "/projects/ours")
    if isinstance(body, dict):
        body.pop("project_id", None)
    assert await ask.code(route.method, target, body, *headers, key=OURS) == "not_found"
    assert ask.house.done == []


@pytest.mark.parametrize("route", sample(ROUTES, 3), ids=lambda route: route.name)
async def test_nothing_is_answered_without_a_key(route: Route) -> None:
    """But what is open; a wrong key is none."""
    ask = asker(house(), token=TOKEN)
    target, body, headers = asked(route, "ours")
    if route.access == "open":
        assert (await ask.ask(route.method, target))[0] == 200
        return
    for each in ((), (f"X-AGENT-KEY: ak_{'x' * 43}",)):
        status, told, value = await ask.ask(route.method, target, body, *headers, *each)
        assert (status, code_in(value)) == (401, "unauthorized")
        assert told["www-authenticate"] == "Bearer"
    assert ask.house.done == []


async def test_a_key_that_is_shown_wrongly_is_none() -> None:
    """One that is another's, in the wrong place, or beside another; what does not look like one is not looked up."""
    ask = asker(house(), token=TOKEN)
    shown: tuple[tuple[str, ...], ...] = (
        ("X-AGENT-KEY: wrong",),
        (f"Authorization: Basic {TOKEN}",),
        (f"X-AGENT-KEY: {TOKEN}", f"X-AGENT-KEY: {OURS}"),
        (f"X-AGENT-KEY: {OURS}", f"Authorization: Bearer {TOKEN}"),
        (f"Authorization: Bearer {TOKEN}x",),
        (f"X-AGENT-KEY: ak_{'x' * 43}",),
    )
    for each in shown:
        assert await ask.code("GET", "/calls", None, *each) == "unauthorized"
    assert ask.house.lookups == 1  # of what looks like a key


async def test_a_server_without_a_token_ignores_the_keys_of_other_servers() -> None:
    """A key of a project's form counts there all the same: a wrong one opens nothing, and two are none."""
    ask = asker(house())
    for shown in ("X-AGENT-KEY: changeme", "X-AGENT-KEY: ", "Authorization: Bearer changeme"):
        assert (await ask.ask("GET", "/calls", None, shown))[0] == 200
    assert ask.house.lookups == 0
    for shown in (f"ak_{'x' * 43}", "ak_", f"{OURS}x"):
        assert await ask.code("GET", "/calls", None, f"X-AGENT-KEY: {shown}") == "unauthorized"
    both = (f"X-AGENT-KEY: {OURS}", f"Authorization: Bearer {THEIRS}")
    assert await ask.code("GET", "/calls", None, *both) == "unauthorized"
    seen, theirs = (f"X-AGENT-KEY: {OURS}", "Authorization: Bearer changeme"), "/projects/theirs/keys"
    assert await ask.code("GET", theirs, None, *seen) == "not_found"


async def test_of_two_keys_none_is_right() -> None:
    """Though each of them opens a project by itself; nothing is looked up, and it counts as a guess."""
    ask = asker(house(), token=TOKEN)
    for one, other in ((OURS, THEIRS), (THEIRS, OURS)):
        shown = (f"X-AGENT-KEY: {one}", f"Authorization: Bearer {other}")
        assert await ask.code("GET", "/calls", None, *shown) == "unauthorized"
    assert ask.house.lookups == 0
    codes = {await ask.code("GET", "/calls", None, *shown) for _ in range(WRONG_TOKENS)}
    assert codes == {"unauthorized", "rate_limited"}


async def test_a_key_may_be_shown_either_way() -> None:
    """As X-AGENT-KEY or as a Bearer, or both alike; the operator sees every project."""
    ask = asker(house(), token=TOKEN)
    for key in (TOKEN, OURS):
        for shown in ((f"X-AGENT-KEY: {key}",), (f"Authorization: bearer {key}",)):
            status, _, value = await ask.ask("GET", "/calls?project_id=ours", None, *shown)
            assert (status, [each["id"] for each in value["items"]]) == (200, ["call-ours"])
    both = (f"X-AGENT-KEY: {TOKEN}", f"Authorization: Bearer {TOKEN}")
    assert (await ask.ask("GET", "/projects", None, *both))[0] == 200
    assert (await ask.ask("GET", "/calls/call-theirs?project_id=theirs", key=TOKEN))[0] == 200
    assert await ask.code("GET", "/calls/call-theirs", key=TOKEN) == "not_found"  # in the house's own


async def test_a_projects_key_needs_not_name_it() -> None:
    """What is left out is the project that the key opens, and for others the house's own."""
    ask = asker(house(), token=TOKEN)
    assert [each["id"] for each in (await ask.ask("GET", "/calls", key=OURS))[2]["items"]] == ["call-ours"]
    await ask.ask("POST", "/chat", BODIES["chat"], key=OURS)
    await ask.ask("POST", "/chat", BODIES["chat"], key=TOKEN)
    assert [each.project for each in ask.house.done] == ["ours", HOUSE]


async def test_where_there_is_no_token_everybody_is_the_operator() -> None:
    """But who shows a key must show a right one, so that one that was revoked does not open everything."""
    ask = asker(house())
    assert (await ask.ask("GET", "/projects"))[0] == 200
    assert await ask.code("GET", "/projects", key=OURS) == "not_found"


async def test_who_guesses_is_told_so_at_leisure_only_so_often(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """And who shows the right key is refused nothing for it."""
    ask = asker(house(), token=TOKEN)
    assert (await ask.ask("GET", "/calls", key=OURS))[0] == 200
    codes = [await ask.code("GET", "/calls", key=f"wrong{n}") for n in range(WRONG_TOKENS + 1)]
    assert codes == ["unauthorized"] * WRONG_TOKENS + ["rate_limited"]
    for key in (OURS, TOKEN):
        assert (await ask.ask("GET", "/calls", key=key))[0] == 200
    assert await ask.code("GET", "/calls") == "unauthorized"  # shows none


async def test_who_guesses_is_looked_up_only_so_often(autojump_clock: trio.testing.MockClock) -> None:
    """A key of the right form costs a look-up: of an address as many as it may guess, and every right one."""
    ask = asker(house(), token=TOKEN)
    many = [f"ak_{n:043}" for n in range(2 * WRONG_TOKENS)]
    for key in many:
        digest = sha256(key.encode()).hexdigest()
        ask.house.keys[key[-9:]] = digest, ProjectKey(key[-9:], "ours", "word", 1)
    for _ in range(2):
        assert {(await ask.ask("GET", "/calls", key=key))[0] for key in many} == {200}
    ask.house.lookups = 0
    codes = [await ask.code("GET", "/calls", key=f"ak_{n:044}") for n in range(WRONG_TOKENS + 5)]
    assert codes == ["unauthorized"] * WRONG_TOKENS + ["rate_limited"] * 5
    assert ask.house.lookups == WRONG_TOKENS
    assert await ask.code("GET", "/calls", key=THEIRS) == "rate_limited"  # right, and not known by now
    assert (await ask.ask("GET", "/calls", key=many[0]))[0] == 200
    assert (await ask.ask("DELETE", f"/projects/ours/keys/{many[0][-9:]}", key=TOKEN))[0] == 204
    assert await ask.code("GET", "/calls", key=many[0]) == "rate_limited"
    ask.address = "192.0.2.8"
    assert (await ask.ask("GET", "/calls", key=THEIRS))[0] == 200
    assert await ask.code("GET", "/calls", key=many[0]) == "unauthorized"


async def test_a_revoked_key_is_a_guess_like_any_other(autojump_clock: trio.testing.MockClock) -> None:
    """What it opened before does not count any more: it makes no more work for the store than others do."""
    ask = asker(house(), token=TOKEN)
    assert (await ask.ask("GET", "/calls", key=OURS))[0] == 200
    assert (await ask.ask("DELETE", "/projects/ours/keys/key-ours", key=TOKEN))[0] == 204
    ask.house.lookups = 0
    codes = [await ask.code("GET", "/calls", key=OURS) for _ in range(WRONG_TOKENS + 3)]
    assert codes == ["unauthorized"] * WRONG_TOKENS + ["rate_limited"] * 3
    assert ask.house.lookups == WRONG_TOKENS


async def test_a_guess_through_this_machine_keeps_no_right_key_out(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Where a proxy may bring everybody, a key is looked up first."""
    ask = asker(house(), token=TOKEN)
    ask.address = THIS_MACHINE
    codes = [await ask.code("GET", "/calls", key=f"ak_{n:044}") for n in range(WRONG_TOKENS + 1)]
    assert codes == ["unauthorized"] * WRONG_TOKENS + ["rate_limited"]
    assert (await ask.ask("GET", "/calls", key=OURS))[0] == 200


async def test_a_store_that_fails_costs_nobody_a_guess(autojump_clock: trio.testing.MockClock) -> None:
    """Whether the key was right is not known then."""
    ask = asker(house(), token=TOKEN)
    ask.house.broken = StorageFailed("its disk is full")
    codes = {await ask.code("GET", "/calls", key=OURS) for _ in range(WRONG_TOKENS + 1)}
    assert codes == {"storage"}
    ask.house.broken = None
    assert (await ask.ask("GET", "/calls", key=OURS))[0] == 200


async def test_a_key_and_an_address_may_ask_so_often(autojump_clock: trio.testing.MockClock) -> None:
    """Each key for itself; an address where no key is needed."""

    async def how_many(ask: Asker, key: str | None) -> int:
        for n in range(10):
            if (await ask.ask("GET", "/threads/none?project_id=ours", key=key))[0] == 429:
                return n
        return -1

    keyed = asker(house(), token=TOKEN, api_rate=3.0)
    assert await how_many(keyed, OURS) == 3
    keyed.address = "192.0.2.8"
    status, headers, value = await keyed.ask("GET", "/calls", key=OURS)
    assert (status, code_in(value), headers["retry-after"]) == (429, "rate_limited", "10")
    assert (await keyed.ask("GET", "/calls", key=TOKEN))[0] == 200
    assert 'agent_limited_total{limit="requests"} 2.0' in keyed.metrics.text().decode()
    few = asker(house(), api_rate=3.0)
    assert await how_many(few, None) == 3
    few.address = "192.0.2.8"
    assert await how_many(few, None) == 3
    assert await how_many(asker(house(), api_rate=0.0), None) == -1


def test_the_usual_rate_spares_this_machine() -> None:
    """From where a proxy or a test may bring everybody; not who is known by a key."""
    usual, chosen = request_rate(ServerSettings()), request_rate(ServerSettings(api_rate=6.0))
    assert (usual(THIS_MACHINE), usual("192.0.2.7"), usual("operator")) == (
        0.0,
        API_REQUESTS / 60,
        API_REQUESTS / 60,
    )
    assert chosen(THIS_MACHINE) == 0.1


async def test_host_and_origin_are_looked_at_first() -> None:
    """As for every other request, and told as a problem."""
    ask = asker(house())
    status, _, value = await ask.ask("POST", "/chat", BODIES["chat"], "Origin: https://evil.example")
    assert (status, code_in(value)) == (403, "forbidden")
    wrong = request("GET", "/calls").replace(b"localhost", b"evil.example")
    status, headers, body = await ask.raw(wrong)
    assert held_to_the_document("GET", "/calls", status, headers, body)["code"] == "misdirected"


def test_a_key_is_long_and_looks_like_one() -> None:
    """32 random bytes; what does not look like one is never looked up."""
    assert KEY.fullmatch(make_key().encode())
    assert make_key() != make_key()
    assert KEY.fullmatch(TOKEN.encode()) is None
