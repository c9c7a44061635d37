"""The requests of a user about calls over HTTP: ask for them, decide on them, begin, report and cancel them."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from .history import Outcome
from .http_client import HttpClient
from .records import CALLERS, Attempt, View, label_arguments

_CALLS: Final = {
    "book_courier": 'Book a courier for the order "{}"',
    "pack_box": 'Pack a box for the order "{}"',
    "find_parcel": 'Find the parcel of the order "{}"',
    "count_stock": 'Count the stock of the order "{}"',
}
_COURSES: Final = {
    "book_courier": ("approve reject", "reject approve", "approve approve", "approve cancel"),
    "pack_box": (
        "approve begin begin report report",
        "approve reject begin",
        "reject approve begin",
        "approve cancel begin",
        "begin approve begin report",
    ),
}
"""Courses of a call, one step after the other."""
NOTES: Final = ("Ring the bell.", "Mind the dog.")
_REPORTS: Final = ((True, "1 kg"), (True, "2 kg"), (False, "it broke"))


class CallRequests:
    """The requests of one client about calls."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._person, self._records, self._rng = client.person, client.records, client.rng

    def weigh_requests(self) -> dict[Callable[[], Awaitable[object]], int]:
        """Return the requests with their weights."""
        return {
            self._request_call: 5,
            self._see_through: 8,
            self._approve: 4,
            self._answer: 1,
            self._reject: 4,
            self._begin: 5,
            self._report: 5,
            self._decide_at_once: 10,
            self._look: 4,
            self._list_calls: 3,
            self._list_messages: 1,
            self._cancel: 1,
            self._cancel_turn: 1,
            self._delete: 1,
        }

    async def _request_call(self, tool: str = "") -> View | None:
        """Ask for a call; return it where the answer shows it."""
        order = self._records.draw_order()
        tool = tool or self._rng.choice(("book_courier", "pack_box", "find_parcel", "count_stock"))
        threads = self._person.threads
        thread = self._rng.choice(threads) if threads and self._rng.random() < 0.5 else None
        calls: list[View] = []
        for answer, in_ in await self._client.say(f"ask for {tool}", _CALLS[tool].format(order), thread):
            reply = answer.value if answer.outcome == "ok" else None
            calls = [view for view in reply["calls"] if order in str(view["arguments"])] if reply else []
            made = frozenset(view["id"] for view in calls)
            # A turn whose thread is deleted meanwhile may have run its call.
            outcome: Outcome = "unknown" if answer.code == "not_found" else answer.outcome
            self._records.asked[order].append(
                Attempt(self._client.name, tool, answer.begin, answer.end, outcome, thread=in_, made=made)
            )
            self._client.see_reply(reply, answer)
            for view in calls:
                if view["status"] == "claimed":  # the answer hands it over as begun
                    self._records.add_to_call(view["id"], self._client.make_event("begin", answer))
        return calls[-1] if calls else None

    async def _see_through(self) -> None:
        """Ask for a call, take it through a course, and look at it now and then."""
        tool = self._rng.choice(("book_courier", "pack_box", "pack_box"))
        if (view := await self._request_call(tool)) is None:
            return
        steps: dict[str, Callable[[View], Awaitable[None]]] = {
            "approve": self._approve,
            "reject": self._reject,
            "begin": self._begin,
            "report": self._report,
            "cancel": self._cancel_of,
        }
        for step in self._rng.choice(_COURSES[tool]).split():
            await steps[step](view)
            if self._rng.random() < 0.4:
                await self._look(view)

    # --- decisions

    async def _approve(self, view: View | None = None) -> None:
        if (view := view or self._client.pick_call("suggested")) is None:
            return
        body: dict[str, Any] = {"user_id": self._person.name}
        detail = ""
        if "note" in str(view["parameters"]) and self._rng.random() < 0.4:
            detail = self._rng.choice(NOTES)
            body |= {"outcome": "edit", "arguments": {"order": view["arguments"]["order"], "note": detail}}
        elif view["tool"] not in CALLERS and self._rng.random() < 0.2:
            body["continue"] = True
        for answer in await self._client.ask(
            "approve", "POST", f"/calls/{view['id']}/approve", body, may_repeat=True
        ):
            self._records.add_to_call(
                view["id"], self._client.make_event("approve", answer, "", detail and label_arguments(detail))
            )
            if answer.outcome == "ok" and answer.value:
                self._client.see_call(answer.value, answer)
                self._client.see_reply(answer.value["reply"], answer)

    async def _answer(self, view: View | None = None) -> None:
        if (view := view or self._client.pick_call("suggested")) is None:
            return
        body = {"user_id": self._person.name, "outcome": "respond", "text": "No, what does a plan cost?"}
        for answer in await self._client.ask("answer", "POST", f"/calls/{view['id']}/approve", body):
            self._records.add_to_call(view["id"], self._client.make_event("answer", answer))
            if answer.outcome == "ok":
                self._client.see_call(answer.value, answer)
                self._client.see_reply(answer.value["reply"], answer)

    async def _reject(self, view: View | None = None) -> None:
        if (view := view or self._client.pick_call("suggested", "confirmed")) is None:
            return
        target, body = f"/calls/{view['id']}/reject", {"user_id": self._person.name}
        if self._rng.random() < 0.3:
            target, body = f"/calls/{view['id']}/approve", {**body, "outcome": "ignore"}
        for answer in await self._client.ask("reject", "POST", target, body):
            became = answer.value["status"] if answer.outcome == "ok" else ""
            self._records.add_to_call(view["id"], self._client.make_event("reject", answer, became))
            if answer.outcome == "ok":
                self._client.see_call(answer.value, answer)

    async def _begin(self, view: View | None = None) -> None:
        if (view := view or self._client.pick_call("confirmed")) is None or view["tool"] not in CALLERS:
            return
        for answer in await self._client.ask(
            "begin", "POST", f"/calls/{view['id']}/begin", {}, may_repeat=True
        ):
            self._records.add_to_call(view["id"], self._client.make_event("begin", answer))
            if answer.outcome == "ok":
                self._client.see_call(answer.value, answer)

    async def _report(self, view: View | None = None) -> None:
        if (view := view or self._client.pick_call("claimed")) is None or view["tool"] not in CALLERS:
            return
        ok, said = self._rng.choice(_REPORTS)
        body: dict[str, Any] = {"tool_call_id": view["id"], "ok": ok, "data" if ok else "error": said}
        if self._rng.random() < 0.2:
            body["continue"] = True
        for answer in await self._client.ask("report", "POST", "/tools/result", body, may_repeat=True):
            self._records.add_to_call(
                view["id"],
                self._client.make_event("report", answer, "done" if ok else "failed", f"{ok} {said}"),
            )
            if answer.outcome == "ok":
                self._client.see_call(answer.value["call"], answer)
                self._client.see_reply(answer.value["reply"], answer)

    async def _decide_at_once(self) -> None:
        """Make several requests about one call at once."""
        if (view := self._client.pick_call("suggested", "confirmed", "claimed")) is None:
            return
        requests: list[Callable[[View], Awaitable[None]]] = [self._reject, self._cancel_of]
        if view["status"] == "suggested":
            requests += [self._approve, self._approve, self._answer]
        if view["tool"] in CALLERS and view["status"] != "suggested":
            requests += [self._reject, self._begin, self._begin]
        if view["status"] == "claimed":
            requests += [self._report, self._report]
        async with trio.open_nursery() as nursery:
            for request in self._rng.sample(requests, min(len(requests), self._rng.randint(2, 3))):
                nursery.start_soon(request, view)
        await self._look(view)

    async def _look(self, view: View | None = None) -> None:
        if (view := view or self._client.pick_call("suggested", "confirmed", "claimed")) is None:
            return
        for answer in await self._client.ask("look", "GET", f"/calls/{view['id']}"):
            if answer.outcome == "ok":
                self._client.see_call(answer.value, answer)
            elif answer.outcome == "refused":
                self._records.add_to_call(view["id"], self._client.make_event("look", answer))

    # --- threads

    async def _list_calls(self) -> None:
        if not self._person.threads:
            return
        thread = self._rng.choice(self._person.threads)
        for answer in await self._client.ask("list calls", "GET", f"/threads/{thread}/calls?limit=200"):
            if answer.outcome == "ok":
                self._records.see_calls(
                    answer.value["items"], thread, self._client.make_event("read", answer)
                )
                self._person.calls.update({view["id"]: view for view in answer.value["items"]})
            elif answer.outcome == "refused":
                self._records.see_calls((), thread, self._client.make_event("read", answer))

    async def _list_messages(self) -> None:
        if not self._person.threads:
            return
        thread = self._rng.choice(self._person.threads)
        for answer in await self._client.ask("list messages", "GET", f"/threads/{thread}/messages?limit=200"):
            if answer.outcome == "ok":
                text = " ".join(each["content"] for each in answer.value["items"])
                self._records.see_text(text, self._person.name, self._client.make_event("recall", answer))

    async def _cancel_of(self, view: View) -> None:
        await self._cancel(view["thread_id"])

    async def _cancel(self, thread: str = "") -> None:
        await self._of_thread("cancel", "POST", thread, "/cancel")

    async def _cancel_turn(self) -> None:
        await self._of_thread("cancel turn", "DELETE", "", "/turn")

    async def _delete(self) -> None:
        await self._of_thread("delete", "DELETE", "", "")

    async def _of_thread(self, operation: str, method: str, thread: str, path: str) -> None:
        if not thread and not self._person.threads:
            return
        thread = thread or self._rng.choice(self._person.threads)
        for answer in await self._client.ask(
            operation, method, f"/threads/{thread}{path}", {} if method == "POST" else None
        ):
            self._records.add_to_thread(thread, self._client.make_event(operation, answer))
            if operation == "delete" and answer.outcome == "ok" and thread in self._person.threads:
                self._person.threads.remove(thread)
