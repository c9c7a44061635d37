"""Whichever way something came to be remembered, and wherever it was said again: forgotten, it is gone from there.

A server over HTTP and over sockets, on real files. What is looked through are the files, what the API tells, what is
recalled, and what a model is asked afterwards.
"""

import json
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing

from agent.lang import DEFAULT
from agent.memory.recall.recall import LOOK, IndexRecaller
from agent.ports.conversation import Scope
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.recall import RecallQuery
from agent.server.api.context import record_audit
from agent.storage.sqlite.trust import FILE
from agent.testing.network import inline
from tests.server.api import TOKEN
from tests.server.api.whole import Whole, whole

from ..examples import sample
from .plain import plain

WORD = "Zanzibarium"
SAYS = f"My locker code is {WORD}"
TELLS = f"Remember that my locker code is {WORD}."
ANNA = Scope(HOUSE, "", "anna")
TICKET = {
    "name": "open_ticket",
    "description": "Opens a ticket.",
    "parameters": {"text": {"type": "string", "required": True}},
}
Way: TypeAlias = Callable[[Whole], Awaitable[list[str]]]


@pytest.fixture(autouse=True)
def _finds_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has a word of the question is told: nothing is left out for not being sure enough."""
    monkeypatch.setattr("agent.compose.memory.IndexRecaller", partial(IndexRecaller, floor=0.0))


def holding(folder: Path) -> list[str]:
    """The files below a folder that hold the word, in whatever case."""
    files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
    return [each.name for each in files if WORD.lower().encode() in each.read_bytes().lower()]


@asynccontextmanager
async def remembering(folder: Path) -> AsyncGenerator[Whole, None]:
    async with whole(memory="on", data=str(folder)) as server:
        server.model.says = "Noted."
        yield server


async def told(server: Whole, message: str = TELLS, **fields: Any) -> str:
    """Say something that proposes one thing; return its id."""
    answer = await server.chat(message, **fields)
    (item,) = answer["response_json"]["memory_updates"]
    return str(item["id"])


async def decided(server: Whole, id: str, decision: str, **more: Any) -> str:
    """Decide about an item; return the id of the one that then stands."""
    said = {"user_id": "anna", "decision": decision, **more}
    return str((await server.good("POST", f"/memory/{id}", said))["item"]["id"])


async def ordered(server: Whole) -> list[str]:
    """By "remember that ...", with a key, so that the answer is kept."""
    body = {"user_id": "anna", "message": TELLS}
    answer = await server.good("POST", "/chat", body, "Idempotency-Key: one")
    (item,) = answer["response_json"]["memory_updates"]
    return [item["id"]]


async def ordered_twice(server: Whole) -> list[str]:
    """In two threads."""
    first = await told(server)
    assert await told(server) == first
    return [first]


async def repeated(server: Whole) -> list[str]:
    """By its user in a later message, elsewhere, in another case, with other words around, and alone."""
    id = await told(server)
    await server.chat(f"As I wrote: my LOCKER code is {WORD.upper()}, isn't it?")
    await server.chat(SAYS)
    return [id]


async def answered(server: Whole) -> list[str]:
    """By an answer."""
    id = await told(server)
    server.model.says = f"Your locker code is {WORD}."
    answer = await server.chat("What is my locker code?")
    assert WORD in answer["response_json"]["message"]
    server.model.says = "Noted."
    return [id]


async def edited(server: Whole) -> list[str]:
    """What it says after it was corrected, and what it said before."""
    id = await told(server, "Remember that my locker code is Quetzal.")
    new = await decided(server, id, "edit", text=SAYS)
    return [new]


async def edited_away(server: Whole) -> list[str]:
    id = await told(server)
    await decided(server, id, "edit", text="My locker code is Quetzal")
    return [id]


async def superseding(server: Whole) -> list[str]:
    """What took another's place; that stays as it was."""
    await told(server, "Remember that my budget is 50 000 kr.")
    new = await told(server, f"Remember that my budget is 60 000 kr for {WORD}.")
    return [await decided(server, new, "accept")]


async def superseded(server: Whole) -> list[str]:
    """What was replaced."""
    old = await told(server, f"Remember that my budget is 50 000 kr for {WORD}.")
    new = await told(server, "Remember that my budget is 60 000 kr.")
    await decided(server, new, "accept")
    return [old]


async def proposed_by_a_model(server: Whole, decision: str = "accept") -> list[str]:
    """With the message that it quotes, and decided about by its user."""
    act = {"type": "fact", "subject": "locker code", "text": f"The code of her locker is {WORD}."}
    decides = json.dumps({"mode": "ACT", "tool": "memory.propose_add", "args": act})
    id = await told(server, f"I can open it with {WORD} now DECIDE {decides}", tools=[TICKET])
    shown = await server.good("GET", f"/memory/{id}?user_id=anna")
    assert shown["item"]["decisions"] == ["accept", "reject"]
    return [await decided(server, id, decision)]


async def updated_by_a_model(server: Whole) -> list[str]:
    old = await told(server, "Remember that my locker code is Quetzal.")
    act = {"item": old, "text": f"The code of her locker is {WORD}."}
    decides = json.dumps({"mode": "ACT", "tool": "memory.propose_update", "args": act})
    id = await told(server, f"It is {WORD} now, see {old} DECIDE {decides}", tools=[TICKET])
    return [await decided(server, id, "accept")]


async def beside_another(server: Whole) -> list[str]:
    """With a message that another item comes from too, which stays without its quote."""
    act = {"type": "preference", "subject": "office", "text": "Her office is the red one."}
    decides = json.dumps({"mode": "ACT", "tool": "memory.propose_add", "args": act})
    message = f"{TELLS} My office is the red one. DECIDE {decides}"
    answer = await server.chat(message, tools=[TICKET])
    first, *others = answer["response_json"]["memory_updates"]
    assert len(others) == 1
    await decided(server, others[0]["id"], "accept")
    return [first["id"]]


async def cancelled_before(server: Whole) -> list[str]:
    """In a message whose turn was cancelled, which nothing remembers but its thread."""
    answer = await server.chat("When does the house open?")
    thread = answer["thread_id"]
    async with trio.open_nursery() as nursery:
        server.model.wait = 5.0
        body = {"user_id": "anna", "message": SAYS, "thread_id": thread}
        nursery.start_soon(server.ask, "POST", "/chat", body)
        await trio.sleep(1)
        await server.good("POST", f"/threads/{thread}/cancel", {})
    server.model.wait = 0.0
    return [await told(server)]


async def ticket(server: Whole) -> str:
    """Suggest a ticket that says it."""
    call = await server.act("open_ticket", {"text": SAYS}, tools=[TICKET])
    return str(call["id"])


async def suggested(server: Whole) -> list[str]:
    """In a call that waits for its approval: it is cancelled."""
    id = await told(server)
    call = await ticket(server)
    assert (await server.good("GET", f"/calls/{call}"))["status"] == "suggested"
    return [id]


async def rejected(server: Whole) -> list[str]:
    id = await told(server)
    await server.good("POST", f"/calls/{await ticket(server)}/reject", {})
    return [id]


async def carried_out(server: Whole) -> list[str]:
    """In the arguments and in the result of a call that its caller has run, and in what was said after it."""
    id = await told(server)
    call = await ticket(server)
    key = "Idempotency-Key: two"
    await server.good("POST", f"/calls/{call}/approve", {"user_id": "anna", "outcome": "accept"}, key)
    await server.good("POST", f"/calls/{call}/begin", {})
    result = {"tool_call_id": call, "ok": True, "data": {"said": [SAYS]}, "continue": True}
    await server.good("POST", "/tools/result", result)
    return [id]


PATHS: list[Way] = [
    ordered,
    ordered_twice,
    repeated,
    answered,
    edited,
    edited_away,
    superseding,
    superseded,
    proposed_by_a_model,
    partial(proposed_by_a_model, decision="reject"),
    updated_by_a_model,
    beside_another,
    cancelled_before,
    suggested,
    rejected,
    carried_out,
]


@pytest.mark.parametrize("path", sample(PATHS, 8), ids=lambda path: getattr(path, "__name__", "declined"))
async def test_it_is_gone(path: Way, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """From the files, from what is listed and told, from what is recalled, and from what a model is asked."""
    data = tmp_path / "data"
    async with remembering(data) as server:
        ids = await path(server)
        assert holding(data)
        for id in ids:
            await decided(server, id, "forget")
        assert holding(data) == []
        assert named_in_audit(data, ids) == ["memory forget"] * len(ids)
        await nowhere(server)
    assert holding(data) == []


def named_in_audit(folder: Path, ids: Collection[str]) -> list[str]:
    """The events of the lines of the audit that say what was decided about items; none names one of these."""
    with closing(sqlite3.connect(folder / FILE)) as opened:
        lines = opened.execute(
            "SELECT event, subject, user_id FROM audit WHERE event LIKE 'memory %'"
        ).fetchall()
    assert not [line for line in lines if line[1] in ids]
    assert {user for _, _, user in lines} == {"anna"}
    return [event for event, subject, _ in lines if not subject]


async def test_a_decision_that_is_noted_late_names_nothing_that_was_forgotten(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgotten between the decision and its line in the audit; whoever decided is told that it is forgotten."""
    data = tmp_path / "data"
    async with remembering(data) as server:
        await told(server, "Remember that my budget is 50 000 kr.")
        id = await told(server, f"Remember that my budget is 60 000 kr for {WORD}.")

        async def late(rooms: Any, project: str, user: str, event: str, subject: str) -> None:
            if event == "memory accept":
                await decided(server, id, "forget")
            await record_audit(rooms, project, user, event, subject)

        monkeypatch.setattr("agent.server.api.memory.record_audit", late)
        said = {"user_id": "anna", "decision": "accept"}
        assert (await server.good("POST", f"/memory/{id}", said))["item"]["status"] == "forgotten"
        assert named_in_audit(data, [id]) == ["memory forget"]
        assert holding(data) == []


async def nowhere(server: Whole) -> None:
    """Ask for all that there is."""
    server.told.clear()
    asked = len(server.model.asked)
    threads = [each["id"] for each in (await server.good("GET", "/threads"))["items"]]
    for thread in threads:
        await server.good("GET", f"/threads/{thread}/messages")
        await server.chat("What is my locker code?", thread_id=thread)
    await server.chat("What is my locker code?")
    for target in ("/memory?user_id=anna", "/memory?user_id=anna&status=forgotten", "/calls"):
        await server.good("GET", target)
    _, store = server.memory
    for each in (await store.items(ANNA, Window(100, 0))).entries:
        await server.good("GET", f"/memory/{each.id}?user_id=anna")
    found = await IndexRecaller(store, inline, floor=0.0).recall(
        RecallQuery(text=f"locker code {WORD}", lang=DEFAULT, scope=ANNA, at=1 << 60, limit=50)
    )
    assert found.excerpts
    told = [each for answers in server.told.values() for each in answers]
    assert not [each for each in told if WORD.lower().encode() in each.lower()]
    assert WORD.lower() not in "".join(server.model.asked[asked:]).lower()
    assert WORD.lower() not in str(found).lower()


@pytest.mark.parametrize("answer", sample(["confirm_action", "reject_action", ""], 3))
async def test_what_was_asked_over_a_socket_is_gone(
    answer: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Confirmed, declined or expired: what was suggested is in no row either."""
    data = tmp_path / "data"
    async with remembering(data) as server, plain(server.net.open(), [f"bearer.{TOKEN}"]) as client:
        await client.ask(f"I prefer {WORD} rooms.", id="a")
        suggestion = (await client.until("action_suggestion"))[-1]
        assert WORD in suggestion["payload"]["text"]
        if answer:
            await client.send(type=answer, suggestionId=suggestion["suggestionId"])
            await client.until("action_executed" if answer == "confirm_action" else "action_closed")
        await trio.sleep(40)
        assert holding(data)
        await client.send(type="memory_forget", item=suggestion["payload"]["item"], id="f")
        changed = (await client.until("memory_changed"))[-1]
        assert (changed["item"]["status"], changed["item"]["text"]) == ("forgotten", "")
        assert holding(data) == []
        for asks in ("Which rooms do I prefer?", "When does the house open?"):
            await client.ask(asks, id=asks)
            assert WORD not in json.dumps((await client.until("response"))[-1])
        assert WORD not in server.model.asked[-1]
    assert holding(data) == []


async def test_what_an_action_has_recorded_is_gone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Of a ticket that was confirmed over a socket, and whose text the ledger has."""
    data = tmp_path / "data"
    async with remembering(data) as server, plain(server.net.open(), [f"bearer.{TOKEN}"]) as client:
        server.carried.answers = lambda call: {"recorded": True, "payload": dict(call.payload)}
        await client.ask(TELLS, id="a")
        await client.until("response")
        await client.ask(f"Open a ticket: my locker code is {WORD}", id="b")
        suggestion = (await client.until("action_suggestion"))[-1]
        assert WORD in json.dumps(suggestion["payload"])
        await client.send(type="confirm_action", suggestionId=suggestion["suggestionId"])
        assert WORD in json.dumps((await client.until("action_executed"))[-1])
        await trio.sleep(1)
        await client.send(type="memory_list", id="l")
        (item,) = (await client.until("memory"))[-1]["items"]
        await client.send(type="memory_forget", item=item["id"], id="f")
        await client.until("memory_changed")
        assert holding(data) == []
    assert holding(data) == []


async def test_what_another_process_forgets_is_told_no_more(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A conversation that goes on here is told of it within the time in which what others have kept is looked for."""
    data = tmp_path / "data"
    async with remembering(data) as here, remembering(data) as there:
        id = await told(here)
        thread = (await here.good("GET", "/threads"))["items"][0]["id"]
        await here.chat("When does the house open?", thread_id=thread)
        assert WORD in here.model.asked[-1]
        await decided(there, id, "forget")
        await trio.sleep(LOOK + 1)
        await here.chat("When does the house open?", thread_id=thread)
        assert WORD not in here.model.asked[-1]
