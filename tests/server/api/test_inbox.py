"""The approvers' list and its changes, who decided first, the decisions in the audit, and Agent Inbox's shapes."""

import csv
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest
import trio
import trio.testing

from agent.ports.projects import Project, ProjectKey
from agent.server.api.inbox_watch import INBOX_READERS, LOOK_EVERY
from agent.server.api.keys import hash_key
from agent.testing.faults import PipeEnd
from tests.examples import sample

from . import TOKEN, asker, code_in, request
from .stores import House
from .whole import Whole, whole

SHIP = {
    "name": "ship",
    "description": "Ship an order",
    "parameters": {"order": {"type": "string", "required": True}, "count": {"type": "integer"}},
}
LIVE = "Accept: text/event-stream"


@dataclass
class LiveList:
    """A reader of the live list: what it was told, by the ids of calls."""

    end: PipeEnd
    calls: dict[str, Any] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)
    head: bytes = b""
    closed: bool = False

    async def run(self) -> None:
        """Read to the end."""
        left, text = b"", b""
        try:
            while data := await self.end.receive_some():
                left += data
                if not self.head:
                    head, found, rest = left.partition(b"\r\n\r\n")
                    if not found:
                        continue
                    self.head, left = head, rest
                while b"\r\n" in left:
                    size, _, rest = left.partition(b"\r\n")
                    if len(rest) < int(size, 16) + 2:
                        break
                    text += rest[: int(size, 16)]
                    left = rest[int(size, 16) + 2 :]
                text = self._take(text)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        self.closed = True

    def _take(self, text: bytes) -> bytes:
        *every, rest = text.split(b"\n\n")
        for each in every:
            if each.startswith(b"event: "):
                name, data = each.decode().split("\n")
                value = json.loads(data.removeprefix("data: "))
                self.events.append((name.removeprefix("event: "), value))
                for call in value.get("calls", ()):
                    self.calls[call["id"]] = call
                for id in value.get("ids", ()):
                    self.calls.pop(id, None)
        return rest

    @property
    def waiting(self) -> list[str]:
        """The ids of the calls that wait, in the order of their deadlines."""
        found = [call for call in self.calls.values() if call["status"] == "suggested"]
        return [call["id"] for call in sorted(found, key=lambda call: call["deadline"])]


@asynccontextmanager
async def reading(server: Whole, key: str = TOKEN, query: str = "") -> AsyncGenerator[LiveList, None]:
    """Read the live list for the time of a block."""
    end = server.net.open()
    end.feed(request("GET", f"/calls/waiting{query}", None, LIVE, key=key))
    live = LiveList(end)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.run)
        await trio.sleep(2 * LOOK_EVERY)
        yield live
        end.close()
        nursery.cancel_scope.cancel()


async def suggested(server: Whole, key: str, order: str, **fields: Any) -> Any:
    """Have a call suggested; return it."""
    return await server.act("ship", {"order": order}, key, tools=[SHIP], **fields)


@pytest.mark.parametrize("pace_ms", [0.0, 25.0])
async def test_a_waiting_call_is_told_with_all_that_its_approver_needs(
    pace_ms: float, autojump_clock: trio.testing.MockClock
) -> None:
    """Within a second: its tool, user, words, sources, reasons and schema; then who decided, and the result."""
    async with whole(pace_ms=pace_ms) as server:
        _, key = await server.project("Ours")
        async with reading(server, key) as live:
            assert live.events == [("listed", {"type": "listed", "waiting": 0, "shown": 0})]
            call = await suggested(server, key, "W-77123", user_id="ada")
            await trio.sleep(1)
            told = live.calls[call["id"]]
            assert (told["tool"], told["risk"], told["user_id"]) == ("ship", "medium", "ada")
            assert told["words"].startswith("Please W-77123")
            assert (told["sources"], told["why_approval"]) == ({"/order": "user"}, ["definition"])
            assert told["parameters"]["properties"]["count"] == {"type": "integer"}
            assert (told["decision"], told["words_cut"]) == (None, False)
            assert live.events[-1] == ("listed", {"type": "listed", "waiting": 1, "shown": 1})
            yes = {"user_id": "ada", "approver": "Eva <b>", "arguments_hash": call["arguments_hash"]}
            await server.good("POST", f"/calls/{call['id']}/approve", yes, key=key)
            await trio.sleep(1)
            told = live.calls[call["id"]]
            assert (told["status"], told["decision"]["approver"]) == ("confirmed", "Eva <b>")
            await server.good("POST", f"/calls/{call['id']}/begin", {}, key=key)
            report = {"tool_call_id": call["id"], "ok": True, "data": {"shipped": 1}}
            await server.good("POST", "/tools/result", report, key=key)
            await trio.sleep(1)
            told = live.calls[call["id"]]
            assert (told["status"], told["result"]["data"]) == ("done", {"shipped": 1})
            assert live.events[-1] != ("gone", {"type": "gone", "ids": [call["id"]]})
        assert b"200 OK" in live.head
        page = await server.good("GET", "/calls/waiting", key=key)
        assert page == {"items": [], "waiting": 0}


async def test_a_key_sees_its_project_and_the_operator_sees_all(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """In the list, its page and the history; a project that the operator names is shown alone."""
    async with whole() as server:
        (ours, our_key), (theirs, their_key) = await server.project("Ours"), await server.project("Theirs")
        mine, yours = await suggested(server, our_key, "A-1"), await suggested(server, their_key, "B-2")
        async with (
            reading(server, our_key) as own,
            reading(server) as every,
            reading(server, query=f"?project_id={theirs}") as named,
        ):
            assert (own.waiting, named.waiting) == ([mine["id"]], [yours["id"]])
            assert {*every.waiting} == {mine["id"], yours["id"]}
            assert [each.events[-1][1]["waiting"] for each in (own, named, every)] == [1, 1, 2]
        for each, key in ((mine, our_key), (yours, their_key)):
            rejected = {"user_id": "anna", "approver": "Eva", "reason": "Too late.", "waiting": True}
            call = await server.good("POST", f"/calls/{each['id']}/reject", rejected, key=key)
            assert (call["status"], call["reason"]) == ("rejected", "Too late.")
        for target, seen in (("/calls/history", "items"), ("/calls/history.jsonl", None)):
            found = await server.good("GET", target, key=our_key)
            rows = found[seen] if seen else found
            assert [(row["call_id"], row["project_id"]) for row in rows] == [(mine["id"], ours)]
        assert yours["id"] not in await server.good("GET", "/calls/history.csv", key=our_key)
        every_decision = (await server.good("GET", "/calls/history"))["items"]
        assert [row["call_id"] for row in every_decision] == [yours["id"], mine["id"]]  # newest first
        assert await server.code("GET", f"/calls/history?project_id={theirs}", key=our_key) == "not_found"
        assert await server.code("GET", f"/calls/waiting?project_id={theirs}", key=our_key) == "not_found"


async def test_the_second_of_two_approvers_is_told_the_first(autojump_clock: trio.testing.MockClock) -> None:
    """Whichever of them it is: one decision stands, is the only one in the audit, and comes with the refusal."""
    async with whole() as server:
        _, key = await server.project("Ours")
        keys = await server.good("GET", f"/projects/{_}/keys")
        for first in ("approve", "reject"):
            call = await suggested(server, key, "A-1")
            answers: dict[str, tuple[int, Any]] = {}

            async def decide(name: str, way: str, id: str, answers: dict[str, tuple[int, Any]]) -> None:
                said = {"user_id": "anna", "approver": name, **({"waiting": True} if way == "reject" else {})}
                status, _, value = await server.ask("POST", f"/calls/{id}/{way}", said, key=key)
                answers[name] = (status, value)

            await decide("Eva", first, call["id"], answers)
            for way in ("approve", "reject"):
                await decide(f"Ivo, {way}", way, call["id"], answers)
                status, problem = answers[f"Ivo, {way}"]
                assert status == 409
                assert problem["code"] == "closed"
                decision = problem["decision"]
                assert (decision["approver"], decision["key_id"]) == ("Eva", keys["items"][0]["id"])
                assert decision["event"] == ("approved" if first == "approve" else "rejected")
                assert decision["arguments_hash"] == call["arguments_hash"]
            kept = await server.good("GET", f"/calls/{call['id']}", key=key)
            assert kept["status"] == ("confirmed" if first == "approve" else "rejected")
            history = (await server.good("GET", "/calls/history", key=key))["items"]
            assert [row["approver"] for row in history if row["call_id"] == call["id"]] == ["Eva"]


async def test_every_decision_is_in_the_audit_with_its_approver(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """By name and key, with the hash of the arguments that it approved; filters select; pages go on."""
    async with whole() as server:
        project, key = await server.project("Ours")
        (kept,) = (await server.good("GET", f"/projects/{project}/keys"))["items"]
        outcomes: list[dict[str, Any]] = [
            {"outcome": "accept"},
            {"outcome": "edit", "arguments": {"order": "A-1", "count": 2}},
            {"outcome": "ignore"},
            {"outcome": "respond", "text": "Which one?"},
        ]
        calls = [await suggested(server, key, "A-1") for _ in outcomes]
        for call, outcome in zip(calls, outcomes, strict=True):
            said = {"user_id": "anna", "approver": f"Eva {outcome['outcome']}", **outcome}
            await server.good("POST", f"/calls/{call['id']}/approve", said, key=key)
        rows = (await server.good("GET", "/calls/history", key=key))["items"][::-1]
        assert [row["event"] for row in rows] == ["approved", "edited", "rejected", "answered"]
        assert [row["approver"] for row in rows] == [f"Eva {each['outcome']}" for each in outcomes]
        assert {(row["key_id"], row["user_id"], row["tool"]) for row in rows} == {
            (kept["id"], "anna", "ship")
        }
        edited = await server.good("GET", f"/calls/{calls[1]['id']}", key=key)
        assert rows[1]["arguments_hash"] == edited["arguments_hash"] != edited["proposed_hash"]
        assert rows[0]["arguments_hash"] == calls[0]["arguments_hash"]
        one = await server.good("GET", "/calls/history?event=edited&tool=ship&user_id=anna", key=key)
        assert [row["call_id"] for row in one["items"]] == [calls[1]["id"]]
        none = "/calls/history?since=2100-01-01T00:00:00%2B01:00"
        assert (await server.good("GET", none, key=key))["items"] == []
        first = await server.good("GET", "/calls/history?limit=3", key=key)
        rest = await server.good("GET", f"/calls/history?limit=3&cursor={first['next_cursor']}", key=key)
        assert [*first["items"], *rest["items"]] == rows[::-1]
        assert rest["next_cursor"] is None
        assert await server.code("GET", "/calls/history?cursor=perhaps", key=key) == "bad_cursor"
        assert await server.code("GET", "/calls/history.csv?cursor=perhaps", key=key) == "bad_cursor"


@pytest.mark.parametrize("name", sample(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1"], 3))
async def test_no_cell_of_an_export_is_a_formula(name: str, autojump_clock: trio.testing.MockClock) -> None:
    """Nor does any name of a tool, user or approver break out of its cell; JSON lines have it as it is."""
    async with whole() as server:
        _, key = await server.project("Ours")
        name = f'{name}",\n"<b>'
        call = await suggested(server, key, "A-1", user_id=name)
        said = {"user_id": name, "approver": name, "reason": name, "waiting": True}
        await server.good("POST", f"/calls/{call['id']}/reject", said, key=key)
        status, headers, body = await server.raw(request("GET", "/calls/history.csv", None, key=key))
        assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
        assert headers["content-disposition"] == 'attachment; filename="decisions.csv"'
        head, row = csv.reader(StringIO(body.decode(), newline=""))
        cells = dict(zip(head, row, strict=True))
        assert cells["approver"] == cells["user_id"] == cells["reason"] == f"'{name}"
        assert not [cell for cell in row if cell.lstrip()[:1] in tuple("=+-@")]
        (line,) = await server.good("GET", "/calls/history.jsonl", key=key)
        assert line["approver"] == name


async def test_an_edit_that_does_not_fit_names_its_field(autojump_clock: trio.testing.MockClock) -> None:
    """By its pointer, and never by its value; the call still waits."""
    async with whole() as server:
        _, key = await server.project("Ours")
        call = await suggested(server, key, "A-1")
        for arguments, pointer in (
            ({"order": "A-1", "count": "secret"}, "/arguments/count"),
            ({"order": 7}, "/arguments/order"),
            ({"secret": "secret", "order": "A-1"}, "/arguments"),
        ):
            said = {"user_id": "anna", "approver": "Eva", "outcome": "edit", "arguments": arguments}
            _, _, problem = await server.ask("POST", f"/calls/{call['id']}/approve", said, key=key)
            assert problem["code"] == "bad_edit"
            assert [each["pointer"] for each in problem["errors"]] == [pointer]
            assert "secret" not in json.dumps(problem)
        assert (await server.good("GET", f"/calls/{call['id']}", key=key))["status"] == "suggested"


async def test_a_list_ends_when_its_key_is_revoked(autojump_clock: trio.testing.MockClock) -> None:
    """Within a second, with a problem that says so; another key of the project goes on, and so does the operator's."""
    async with whole() as server:
        project, key = await server.project("Ours")
        other = (await server.good("POST", f"/projects/{project}/keys", {"name": "other"}))["key"]
        keys = (await server.good("GET", f"/projects/{project}/keys"))["items"]
        async with (
            reading(server, key) as ended,
            reading(server, other) as goes_on,
            reading(server) as theirs,
        ):
            await server.good("DELETE", f"/projects/{project}/keys/{keys[0]['id']}")
            await trio.sleep(1)
            assert ended.closed
            name, problem = ended.events[-1]
            assert (name, problem["code"], problem["status"]) == ("problem", "unauthorized", 401)
            call = await suggested(server, other, "A-1")
            await trio.sleep(1)
            assert call["id"] not in ended.calls
            assert goes_on.waiting == theirs.waiting == [call["id"]]
            await server.good("DELETE", f"/projects/{project}")
            await trio.sleep(1)
            assert goes_on.events[-1][1]["code"] in ("not_found", "unauthorized")
            assert (theirs.closed, theirs.calls) == (False, {})
            assert ("gone", {"type": "gone", "ids": [call["id"]]}) in theirs.events


async def test_a_list_ends_when_the_server_goes_down(autojump_clock: trio.testing.MockClock) -> None:
    """At once, with a problem that says so, also to a client that reads nothing else."""
    house = House()
    house.add_call("c1", status="suggested")
    ask = asker(house)

    async def go_down() -> None:
        await trio.sleep(5)
        house.going_down = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(go_down)
        started = trio.current_time()
        status, _, body = await ask.raw(request("GET", "/calls/waiting", None, LIVE))
        assert trio.current_time() - started < 5 + 2 * LOOK_EVERY
    assert status == 200
    assert body.count(b"event: calls") == 1
    assert b"event: problem" in body
    assert b'"code":"shutting_down"' in body


async def test_so_many_read_a_list_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """One more is refused with a problem; once another has left there is a place."""
    house = House()
    house.projects["p"] = Project("p", "P", "", 1)
    for number in range(INBOX_READERS + 1):
        house.keys[f"k{number}"] = hash_key(f"ak_{number:032d}"), ProjectKey(f"k{number}", "p", "", 1)
    ask = asker(house, token=TOKEN)
    answers: list[int] = []

    async def follow(number: int) -> None:
        ask.address = f"192.0.2.{number}"
        status, _, _ = await ask.raw(request("GET", "/calls/waiting", None, LIVE, key=f"ak_{number:032d}"))
        answers.append(status)

    ask.left = lambda: None  # type: ignore[method-assign]  # others are there
    async with trio.open_nursery() as nursery:
        for number in range(INBOX_READERS):
            nursery.start_soon(follow, number)
        await trio.sleep(1)
        assert answers == []
        await follow(INBOX_READERS)
        assert answers == [503]
        house.going_down = True
    assert answers == [503] + [200] * INBOX_READERS


async def test_agent_inbox_reads_its_own_shapes(autojump_clock: trio.testing.MockClock) -> None:
    """Each call that waits is an interrupted thread with one interrupt, which says what answers it takes."""
    async with whole() as server:
        _, key = await server.project("Ours")
        call = await suggested(server, key, "A-1", user_id="ada`s")
        await suggested(server, key, "B-2")
        page = await server.good("GET", "/calls?as=agent-inbox&limit=1", key=key)
        (thread,) = page["items"]
        assert (thread["thread_id"], thread["status"]) == (call["id"], "interrupted")
        ((interrupt,),) = thread["interrupts"].values()
        value = interrupt["value"]
        assert value["action_request"] == {"action": "ship", "args": {"order": "A-1"}}
        assert value["config"] == dict.fromkeys(
            ("allow_ignore", "allow_respond", "allow_edit", "allow_accept"), True
        )
        assert "User: `ada's`" in value["description"]
        assert "    Please A-1" in value["description"]
        following = f"/calls?as=agent-inbox&cursor={page['next_cursor']}"
        assert len((await server.good("GET", following, key=key))["items"]) == 1


async def test_agent_inbox_answers_in_four_ways(autojump_clock: trio.testing.MockClock) -> None:
    """With arguments of which its front end has made strings; others than the shown ones are not accepted."""
    async with whole() as server:
        _, key = await server.project("Ours")
        shown = {"order": "A-1"}
        for type, args, status in (
            ("accept", {"action": "ship", "args": shown}, "confirmed"),
            ("accept", None, "confirmed"),
            ("edit", {"action": "ship", "args": {"order": "A-1", "count": "2"}}, "confirmed"),
            ("response", "Which one?", "answered"),
            ("ignore", None, "rejected"),
        ):
            call = await suggested(server, key, "A-1")
            sent = {
                "assistant_id": "x",
                "command": {"resume": [{"type": type, "args": args}]},
                "approver": "Eva",
            }
            told = await server.good("POST", f"/calls/{call['id']}/resume", sent, key=key)
            assert told["status"] == status
            assert told["arguments"] == ({"order": "A-1", "count": 2} if type == "edit" else shown)
            again = await server.ask("POST", f"/calls/{call['id']}/resume", sent, key=key)
            assert (again[0], again[2]["decision"]["approver"]) == (409, "Eva")
        call = await suggested(server, key, "A-1")
        for type, args, code in (
            ("accept", {"action": "ship", "args": {"order": "B-2"}}, "arguments_changed"),
            ("accept", {"action": "burn", "args": shown}, "bad_request"),
            ("edit", None, "bad_request"),
            ("edit", {"action": "ship", "args": {"order": "A-1", "count": "many"}}, "bad_edit"),
            ("response", {"action": "ship", "args": {}}, "bad_request"),
            ("response", "x" * 9000, "bad_request"),
        ):
            sent = {"command": {"resume": [{"type": type, "args": args}]}}
            _, _, problem = await server.ask("POST", f"/calls/{call['id']}/resume", sent, key=key)
            assert code_in(problem) == code
        assert (await server.good("GET", f"/calls/{call['id']}", key=key))["status"] == "suggested"
