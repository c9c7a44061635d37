"""A user's own token opens that user's things over HTTP, on the routes that say so; another user's are not there."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from agent.client.client import connect_over
from agent.ports.projects import HOUSE
from agent.protocol.openapi import document
from agent.protocol.route import Route
from agent.protocol.routes import ROUTES
from agent.server.signed_users import sign_user
from tests.examples import sample

from ...threads.lab import Wall
from . import TOKEN, asker
from .test_keys import asked, house
from .whole import Whole, whole

ANAS, BOS = "a-token-of-ana-that-is-long", "a-token-of-bo-that-is-long"
SIGN_KEY = "s" * 32
OWNERS = [route for route in ROUTES if route.access == "owner"]
LOCKER = "My locker number is 4711."


def bearer(token: str) -> str:
    """Return the header that shows a token."""
    return f"Authorization: Bearer {token}"


def users_file(folder: Path) -> Path:
    """Write the tokens of two users."""
    path = folder / "users.toml"
    path.write_text(f'ana = "{ANAS}"\nbo = "{BOS}"\n', encoding="utf-8")
    return path


@asynccontextmanager
async def remembering(folder: Path, **settings: Any) -> AsyncGenerator[tuple[Whole, str], None]:
    """Run a server on which Ana has had an item remembered over a socket; give the id of the item."""
    users = users_file(folder)
    async with whole(memory="on", users=users, sign_key=SIGN_KEY, **settings) as server:
        async with connect_over(server.net.open(), token=ANAS) as client:
            await client.ask(f"Remember that {LOCKER[0].lower()}{LOCKER[1:]}")
            await client.frames_until("response")
        await trio.sleep(1)
        items = (await server.good("GET", "/memory", None, bearer(ANAS), key=None))["items"]
        assert len(items) == 1
        assert "4711" in items[0]["text"]
        yield server, items[0]["id"]


async def test_a_user_s_memory_is_the_one_of_the_user_s_sockets(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """By a token of the user's own or a signed one, with or without the name; no answer has the server's folder."""
    async with remembering(tmp_path, kb=tmp_path / "documents-of-this-server") as (server, id):
        signed = sign_user(SIGN_KEY, "ana", Wall().now_ms() // 1000 + 60)
        for shown in (ANAS, signed):
            page = await server.good("GET", "/memory?user_id=ana", None, bearer(shown), key=None)
            (item,) = page["items"]
            assert (item["id"], item["user_id"], item["project_id"]) == (id, "ana", HOUSE)
            found = await server.good("GET", f"/memory/{id}", None, bearer(shown), key=None)
            assert found["item"] == item
        edit = {"decision": "edit", "text": "My locker number is 4712."}
        edited = await server.good("POST", f"/memory/{id}", edit, bearer(ANAS), key=None)
        assert edited["item"]["text"] == edit["text"]
        async with connect_over(server.net.open(), token=ANAS) as client:
            await client.send({"type": "memory_list", "id": "l"})
            listed = (await client.frames_until("memory"))[-1]
            assert edited["item"]["id"] in [each["id"] for each in listed["items"]]
        forget = {"decision": "forget"}
        target = f"/memory/{edited['item']['id']}"
        gone = await server.good("POST", target, forget, bearer(ANAS), key=None)
        assert gone["item"]["status"] == "forgotten"
        assert all(b"documents-of-this-server" not in each for each in server.told[None])


async def test_another_user_s_things_are_not_there(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """By the answer of things that never were, byte for byte, whatever is named; and nothing is done to them."""
    async with remembering(tmp_path) as (server, id):
        accept = {"decision": "forget"}
        attempts: list[tuple[str, str, Any]] = [
            ("GET", "/memory/{}", None),
            ("POST", "/memory/{}", accept),
            ("GET", "/memory/{}?user_id=ana", None),
            ("POST", "/memory/{}", {**accept, "user_id": "ana"}),
            ("GET", f"/memory/{{}}?project_id={HOUSE}", None),
            ("POST", "/memory/{}", {**accept, "project_id": HOUSE}),
        ]
        for method, path, body in attempts:
            answers = []
            for each in (id, "nobodys"):
                status, told, value = await server.ask(method, path.format(each), body, bearer(BOS), key=None)
                assert (status, value["code"]) == (404, "not_found")
                answers.append((told, value))
            assert answers[0] == answers[1]
        for query in ("?user_id=ana", f"?project_id={HOUSE}", f"?user_id=bo&project_id={HOUSE}"):
            assert await server.code("GET", f"/memory{query}", None, bearer(BOS), key=None) == "not_found"
        assert (await server.good("GET", "/memory", None, bearer(BOS), key=None))["items"] == []
        (item,) = (await server.good("GET", "/memory", None, bearer(ANAS), key=None))["items"]
        assert (item["id"], item["status"], item["revision"]) == (id, "accepted", item["revision"])


async def test_a_user_of_a_program_is_not_the_user_with_a_token(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """A `user_id` that the operator or a project's key names is another person, though the name be the same."""
    async with remembering(tmp_path) as (server, id):
        _, key = await server.project("p")
        event = {"user_id": "ana", "type": "event", "subject": "boiler", "text": "The boiler broke."}
        for shown in (TOKEN, key):
            made = await server.good("POST", "/memory", event, key=shown)
            (item,) = (await server.good("GET", "/memory?user_id=ana", key=shown))["items"]
            assert item["id"] == made["item"]["id"] != id
            assert await server.code("GET", f"/memory/{id}?user_id=ana", key=shown) == "not_found"
            forget = {"user_id": "ana", "decision": "forget"}
            assert await server.code("POST", f"/memory/{id}", forget, key=shown) == "not_found"
            target = f"/memory/{made['item']['id']}"
            assert await server.code("GET", target, None, bearer(ANAS), key=None) == "not_found"
        (item,) = (await server.good("GET", "/memory", None, bearer(ANAS), key=None))["items"]
        assert item["id"] == id


async def test_one_idempotency_key_of_two_users_is_two(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Nobody gets the answer to another's request, nor learns that there was one."""
    async with remembering(tmp_path) as (server, id):
        request: tuple[Any, ...] = ("POST", f"/memory/{id}", {"decision": "forget"}, "Idempotency-Key: k")
        status, _, first = await server.ask(*request, bearer(ANAS), key=None)
        for _ in range(2):
            assert await server.code(*request, bearer(BOS), key=None) == "not_found"
        again, told, value = await server.ask(*request, bearer(ANAS), key=None)
        assert (again, value) == (status, first)
        assert told["idempotent-replayed"] == "true"


@pytest.mark.parametrize(
    "route", sample((each for each in ROUTES if each not in OWNERS), 3), ids=lambda each: each.name
)
async def test_a_user_s_token_opens_no_other_route(route: Route, tmp_path: Path) -> None:
    """As before: it is a wrong key there, and an open route ignores it."""
    ask = asker(house(), token=TOKEN, users=users_file(tmp_path))
    target, body, headers = asked(route, "theirs")
    status, _, _ = await ask.ask(route.method, target, body, *headers, bearer(ANAS))
    assert status == (401 if route.access != "open" else 200)
    assert ask.house.done == []


@pytest.mark.parametrize("route", OWNERS, ids=lambda each: each.name)
async def test_a_user_is_known_by_one_bearer_alone(route: Route, tmp_path: Path) -> None:
    """Neither by the header of keys, nor beside another key, nor by a token that is over, nor without one."""
    ask = asker(house(), token=TOKEN, users=users_file(tmp_path), sign_key=SIGN_KEY, guests=True)
    target, body, headers = asked(route, HOUSE)
    path, _, query = target.partition("?")
    kept = "&".join(each for each in query.split("&") if not each.startswith(("project_id=", "user_id=")))
    target = f"{path}?{kept}" if kept else path
    body = {key: each for key, each in (body or {}).items() if key not in ("project_id", "user_id")}
    body = body or ({} if route.body is not None and not route.body_optional else None)
    over = sign_user(SIGN_KEY, "ana", 1)
    shown = [
        (f"X-AGENT-KEY: {ANAS}",),
        (bearer(ANAS), f"X-AGENT-KEY: {TOKEN}"),
        (bearer(ANAS), bearer(BOS)),
        (bearer(over),),
        (bearer(f"ak_{'x' * 43}"),),
        (),
    ]
    for each in shown:
        assert await ask.code(route.method, target, body, *headers, *each) == "unauthorized"
    status, _, value = await ask.ask(route.method, target, body, *headers, bearer(ANAS))
    assert (status, value["code"]) == (404, "not_found")  # this house has no memory
    assert ask.house.done == []


async def test_whoever_is_no_user_names_one() -> None:
    """The operator is told of the field that is missing, or that is none, as for every other field."""
    ask = asker(house(), token=TOKEN)
    for target in ("/memory", "/memory/i1", "/memory?project_id=nobodys"):
        _, _, value = await ask.ask("GET", target, key=TOKEN)
        assert (value["code"], value["detail"]) == ("bad_request", "The query's user_id: Add this field.")
    _, _, value = await ask.ask("POST", "/memory/i1", {"decision": "accept"}, key=TOKEN)
    assert value["errors"] == [{"pointer": "/user_id", "detail": "Add this field."}]
    _, _, value = await ask.ask("POST", "/memory/i1", {"decision": "accept", "user_id": None}, key=TOKEN)
    assert value["errors"] == [{"pointer": "/user_id", "detail": "Expected `str`, got `null`."}]
    assert await ask.code("GET", "/memory?user_id=", key=TOKEN) == "bad_request"


async def test_a_user_s_requests_count_for_that_user(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Wherever they come from; another user's are not refused for them."""
    ask = asker(house(), token=TOKEN, users=users_file(tmp_path), api_rate=2.0)
    codes = []
    for at in range(4):
        ask.address = f"192.0.2.{at}"
        codes.append(await ask.code("GET", "/memory", None, bearer(ANAS)))
    assert codes == ["not_found", "not_found", "rate_limited", "rate_limited"]
    assert await ask.code("GET", "/memory", None, bearer(BOS)) == "not_found"


def test_the_document_says_which_routes_users_may_call() -> None:
    """By a scheme of their own, and no other route has it."""
    paths = json.loads(document())["paths"]
    for route in ROUTES:
        operation = paths[route.template][route.method.lower()]
        assert ({"user": []} in operation.get("security", [])) == (route in OWNERS)


@pytest.mark.parametrize("route", OWNERS, ids=lambda each: each.name)
def test_an_owner_s_route_is_about_a_user_alone(route: Route) -> None:
    """It has a `user_id` that may be left out, and no thread or call: those belong to a project's threads."""
    given = route.query if route.body is None or route.takes_raw_body else route.body
    assert "user_id" in given.__struct_fields__
    assert "user_id" not in {each.name for each in _required(given)}
    about = {*route.names, *given.__struct_fields__}
    assert about.isdisjoint({"thread_id", "call_id", "tool_call_id"})
    assert "project_id" not in route.names


def _required(struct: Any) -> list[Any]:
    return [each for each in msgspec.structs.fields(struct) if each.required]
