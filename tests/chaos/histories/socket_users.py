"""A user over sockets: it connects with a token, asks for calls and confirms them, tells numbers and looks for them.

No list shows a call of a socket: its history are the frames of its one connection, its effect, and its row in the
ledger. Memory items are the user's, in every connection.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from math import inf
from random import Random
from typing import Any, Final

import trio
import wsproto.utilities

from tests.e2e.plain import Frame, Plain, plain

from .history import Event, Outcome
from .http_calls import NOTES
from .http_client import Person
from .http_memory import THINGS
from .records import NUMBER, Attempt, Records, View, label_arguments
from .requester import PATIENCE
from .server import PEOPLE

_LOOK: Final = 0.01  # seconds between two looks at what has come
_REFUSALS: Final = {
    "unknown_item": "not_found",
    "changed": "changed",
    "refused": "refused",
    "bad_item": "bad_item",
}
_BROKEN: Final = (
    trio.BrokenResourceError,
    trio.ClosedResourceError,
    wsproto.utilities.LocalProtocolError,
)


class ConnectionLost(Exception):
    """Raised where the connection has ended, or answers no more."""


class SocketUser:
    """One client of a user, which connects again and again. person: its name is `socket`, and the name of a token."""

    def __init__(self, person: Person, number: int, port: int, records: Records, seed: int) -> None:
        self._person = person
        self._port = port
        self._records = records
        self._rng = Random(f"{seed}/socket/{person.name}/{number}")
        self._name = f"{person.name}.{number}"

    async def run(self, stop: trio.Event) -> None:
        """Connect, make some requests and hang up, until told to stop."""
        while not stop.is_set():
            await trio.sleep(self._rng.uniform(0.05, 0.3))
            await self._visit(partial(self._make_requests, stop))

    async def look(self) -> bool:
        """Read all items of the user; return whether they were shown."""
        shown = False

        async def read(visit: Visit) -> None:
            nonlocal shown
            shown = await visit.list_items()

        await self._visit(read)
        return shown

    async def _make_requests(self, stop: trio.Event, visit: "Visit") -> None:
        for _ in range(self._rng.randint(3, 12)):
            if not stop.is_set():
                await visit.make_request()
                await trio.sleep(self._rng.uniform(0, 0.2))

    async def _visit(self, do: "Callable[[Visit], Awaitable[None]]") -> None:
        """Do something in a connection, for a while, and as long as it lasts."""
        token = PEOPLE[self._person.name.removeprefix("socket ")]
        host = f"127.0.0.1:{self._port}"
        with trio.move_on_after(2 * PATIENCE), suppress(OSError, *_BROKEN):
            stream = await trio.open_tcp_stream("127.0.0.1", self._port)
            async with plain(stream, ("agent.v1", f"bearer.{token}"), host) as wire:
                visit = Visit(self._name, self._person, wire, self._records, self._rng)
                with suppress(ConnectionLost, *_BROKEN):
                    await do(visit)
                visit.read_frames()


class Visit:
    """The requests in one connection. Each raises ConnectionLost, and what a broken stream raises."""

    def __init__(self, name: str, person: Person, wire: Plain, records: Records, rng: Random) -> None:
        self._name = name
        self._person = person
        self._wire = wire
        self._records = records
        self._rng = rng
        self._count = 0
        self._seen = 0
        self._came: list[tuple[float, Frame]] = []
        self._live: dict[str, str] = {}  # the orders of the suggestions that can be confirmed
        self._decided: dict[str, float] = {}  # the time of the first decision on each suggestion
        self._orders: dict[str, Attempt] = {}
        self._told: set[str] = set()  # the numbers of the messages that were answered and not cancelled
        self._requests: dict[Callable[[], Awaitable[object]], int] = {
            self._request_call: 5,
            self._confirm: 6,
            self._reject: 2,
            self._cancel: 1,
            self._remember: 4,
            self._ask_for_number: 2,
            self.list_items: 3,
            self._recall: 3,
            self._decide: 3,
            self._edit: 1,
            self._forget: 2,
        }

    async def make_request(self) -> None:
        """Make one request."""
        requests, weights = zip(*self._requests.items(), strict=True)
        await self._rng.choices(requests, weights)[0]()
        self.read_frames()

    def read_frames(self) -> None:
        """Record the frames about calls that have come since the last time."""
        for at, frame in self._wire.frames[self._seen :]:
            self._came.append((at, frame))
            kind = frame["type"]
            if kind == "action_suggestion" and frame["action"] != "remember":
                self._suggested(at, frame)
            elif kind == "action_executed":
                self._closed(frame["suggestionId"], at, _status_of(frame["result"]))
            elif kind == "action_closed":
                self._closed(frame["suggestionId"], at, frame["reason"])
        self._seen = len(self._wire.frames)

    def _suggested(self, at: float, frame: Frame) -> None:
        id, order = frame["suggestionId"], frame["payload"]["order"]
        self._records.see_suggestion(id, frame["action"], order)
        attempt = self._orders.get(order)
        if attempt is None:
            self._records.wrong.append(f"{self._name} is suggested {order}, which it has not asked for")
            return
        attempt.outcome, attempt.end, attempt.made = "ok", at, attempt.made | {id}
        self._live[id] = order

    def _closed(self, id: str, at: float, status: str) -> None:
        self._live.pop(id, None)
        if status and status != "expired":
            begin = min(self._decided.get(id, at), at)
            self._records.add_to_call(id, Event("read", begin, at, value=status, client=self._name))

    # --- frames

    async def _until(self, found: Callable[[Frame], bool], patience: float = PATIENCE) -> tuple[float, Frame]:
        """Return the first new frame of a kind. Raises ConnectionLost where none comes in time."""
        begun = len(self._came)
        with trio.move_on_after(patience):
            while True:
                self.read_frames()
                for each in self._came[begun:]:
                    if found(each[1]):
                        return each
                if self._wire.closed is not None:
                    raise ConnectionLost
                await trio.sleep(_LOOK)
        raise ConnectionLost

    async def _say(self, operation: str, text: str) -> tuple[float, Frame]:
        """Send a message; return its response, and when that came."""
        self._count += 1
        id = f"m{self._count}"
        try:
            await self._wire.ask(text, id)
            came = await self._until(lambda each: each["type"] == "response" and each.get("id") == id)
        except BaseException:
            self._records.count_operation(operation, "unknown")
            raise
        self._records.count_operation(operation, "ok")
        return came

    async def _consult(self, operation: str, kind: str, **fields: Any) -> tuple[Event, Frame | None]:
        """Ask about memory items; return that as an operation, and its frame where it was done."""
        self._count += 1
        label_, begin = f"c{self._count}", trio.current_time()
        unknown = Event(operation, begin, inf, "unknown", client=self._name)
        try:
            await self._wire.send(type=kind, id=label_, **fields)
            at, frame = await self._until(lambda each: each.get("id") == label_)
        except BaseException:
            self._records.count_operation(operation, "unknown")
            self._on_item(fields, unknown)
            raise
        outcome: Outcome = "ok"
        code = ""
        if frame["type"] == "error":
            if frame["code"] == "internal":
                self._records.wrong.append(f"{kind} {fields} was answered with {frame}")
            code = _REFUSALS.get(frame["code"], "")
            outcome = "refused" if code else "unknown"
        self._records.count_operation(operation, outcome)
        end = inf if outcome == "unknown" else at
        event = Event(operation, begin, end, outcome, value=code, client=self._name)
        self._on_item(fields, event)
        return event, frame if outcome == "ok" else None

    def _on_item(self, fields: dict[str, Any], event: Event) -> None:
        if "item" in fields:
            self._records.add_to_item(fields["item"], event)

    # --- calls

    async def _request_call(self) -> None:
        order = self._records.draw_order()
        attempt = Attempt(self._name, "book_courier", trio.current_time(), inf, "unknown")
        self._records.asked[order].append(attempt)
        self._orders[order] = attempt
        await self._say("socket ask for call", f'Book a courier for the order "{order}"')

    async def _confirm(self) -> None:
        if not self._live:
            return
        id = self._rng.choice(sorted(self._live))
        more: dict[str, Any] = {}
        note = ""
        if self._rng.random() < 0.3:
            note = self._rng.choice(NOTES)
            more["payload"] = {"order": self._live[id], "note": note}
        self._decide_on(id, "approve", note and label_arguments(note))
        await self._wire.send(type="confirm_action", suggestionId=id, **more)
        then = self._rng.random()
        if then < 0.15:
            await trio.sleep(self._rng.uniform(0, 0.1))
            await self._reject(id)
        elif then < 0.85:
            await self._until(
                lambda each: each.get("suggestionId") == id and each["type"] != "action_suggestion", 12
            )

    async def _reject(self, id: str = "") -> None:
        if not (id := id or self._one_live()):
            return
        self._decide_on(id, "reject")
        await self._wire.send(type="reject_action", suggestionId=id)

    async def _cancel(self) -> None:
        for id in self._live:
            self._decide_on(id, "cancel")
        self._told.clear()  # a cancel may take back the last message
        await self._wire.send(type="cancel")

    def _one_live(self) -> str:
        return self._rng.choice(sorted(self._live)) if self._live else ""

    def _decide_on(self, id: str, operation: str, detail: str = "") -> None:
        now = trio.current_time()
        self._decided.setdefault(id, now)
        self._records.count_operation(f"socket {operation}", "unknown")
        self._records.add_to_call(id, Event(operation, now, inf, "unknown", detail=detail, client=self._name))

    # --- memory items

    async def _remember(self) -> None:
        thing = f"{self._rng.choice(THINGS)} number"
        number = self._records.draw_number(self._person.name, thing)
        self._records.told[number].append(Attempt(self._name, "order", trio.current_time(), inf, "unknown"))
        _, response = await self._say("socket order", f"Remember that my {thing} is {number}.")
        if not response.get("withoutMemory"):
            self._told.add(number)

    async def _ask_for_number(self) -> None:
        begin = trio.current_time()
        at, response = await self._say("socket ask", f"What is my {self._rng.choice(THINGS)} number?")
        text = " ".join([response["text"], *(each["snippet"] for each in response["citations"])])
        shown = Event("answer", begin, at, client=self._name)
        self._records.see_text(text, self._person.name, shown)

    async def list_items(self) -> bool:
        """Read all items of the user; return whether they were shown."""
        told, begin = set(self._told), trio.current_time()
        views: list[View] = []
        more: dict[str, Any] = {}
        while True:
            event, frame = await self._consult("socket list items", "memory_list", **more)
            if frame is None:
                return False
            views += frame["items"]
            if "after" not in frame:
                break
            more = {"after": frame["after"]}
        self._records.see_items(
            views, self._person.name, Event("read", begin, event.end, client=self._name), not more
        )
        self._person.items.update({view["id"]: view for view in views})
        known = {number for view in views for number in NUMBER.findall(view["text"])}
        known |= {item.number for item in self._records.items.values()}
        if told - known and not frame.get("incomplete"):
            said = self._records.format(event)
            self._records.wrong.append(
                f"{told - known} was told, and the next list hides that it lacks it: {said}"
            )
        return True

    async def _recall(self) -> None:
        event, frame = await self._consult(
            "socket recall", "recall", query=f"{self._rng.choice(THINGS)} number"
        )
        for each in () if frame is None else frame["excerpts"]:
            for operation in ("recall", "live") if each["kind"] == "item" else ("recall",):
                shown = Event(operation, event.begin, event.end, client=self._name)
                self._records.see_text(each["text"], self._person.name, shown)

    def _item(self, *status: str) -> View | None:
        items = [view for view in self._person.items.values() if view["status"] in status]
        return self._rng.choice(items[-6:]) if items else None

    async def _decide(self) -> None:
        if (view := self._item("proposed", "rejected", "accepted")) is None:
            return
        decision = self._rng.choice(("accept", "accept", "reject", "reopen"))
        self._see_changed(await self._consult(decision, "memory_decide", item=view["id"], decision=decision))

    async def _forget(self) -> None:
        if (view := self._item("proposed", "rejected", "accepted", "superseded")) is not None:
            self._see_changed(await self._consult("forget", "memory_forget", item=view["id"]))

    async def _edit(self) -> None:
        if (view := self._item("proposed", "accepted")) is None or view["id"] not in self._records.items:
            return
        thing = self._records.items[view["id"]].thing
        number = self._records.draw_number(self._person.name, thing)
        attempt = Attempt(self._name, "edit", trio.current_time(), inf, "unknown")
        self._records.told[number].append(attempt)
        event, frame = await self._consult(
            "edit", "memory_edit", item=view["id"], text=f"My {thing} is {number}."
        )
        attempt.outcome = event.outcome
        if frame is not None:
            attempt.end, attempt.made = event.end, frozenset([frame["item"]["id"]])
        self._see_changed((event, frame))

    def _see_changed(self, came: tuple[Event, Frame | None]) -> None:
        event, frame = came
        for view in () if frame is None else (frame["item"], *frame.get("replaced", ())):
            read = Event("read", event.begin, event.end, client=self._name)
            self._records.see_item(view, self._person.name, read)
            self._person.items[view["id"]] = view


def _status_of(result: dict[str, Any]) -> str:
    """Return the status of a call that a result tells; "" where it tells none."""
    if result.get("ignored"):
        return ""
    if result.get("cancelled") or result.get("expired"):
        return "cancelled" if result.get("cancelled") else "expired"
    if result.get("success"):
        return "done"
    return "unknown" if result.get("unknown") else "failed"
