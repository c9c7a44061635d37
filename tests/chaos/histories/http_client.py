"""One client of a user over HTTP: it sends requests, and records each answer."""

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import trio

from .history import Event
from .records import Records, View
from .requester import PATIENCE, Answer, Requester

_HASTY: Final = 0.08  # the share of requests whose client hangs up soon
_KEYED: Final = 0.3  # the share of requests with an Idempotency-Key, of those that may have one
_THREADS: Final = 6  # threads that a user goes on in
_NEWEST: Final = 6  # calls and items that a user decides on


@dataclass
class Person:
    """One user, as all of its clients know it. calls, items: as they were shown last."""

    name: str
    threads: deque[str] = field(default_factory=lambda: deque(maxlen=_THREADS))
    calls: dict[str, View] = field(default_factory=dict)
    items: dict[str, View] = field(default_factory=dict)


class HttpClient:
    """One client of a user. name: of its records. rng: the generator of all that it draws."""

    def __init__(
        self, person: Person, number: int, requester: Requester, records: Records, seed: int
    ) -> None:
        self.person = person
        self.records = records
        self.name = f"{person.name}.{number}"
        self.rng = Random(f"{seed}/http/{self.name}")
        self._requester = requester
        self._keys = 0

    async def ask(
        self, operation: str, method: str, target: str, body: Any = None, may_repeat: bool = False
    ) -> list[Answer]:
        """Send a request, sometimes in haste or under a key; return the outcome of each try that was sent."""
        patience = self.rng.uniform(0.005, 0.3) if self.rng.random() < _HASTY else PATIENCE
        if may_repeat and self.rng.random() < _KEYED:
            self._keys += 1
            tries = await self._requester.ask_with_key(
                method, target, body, f"{self.name}-{self._keys}", patience
            )
        else:
            tries = [await self._requester.ask(method, target, body, patience=patience)]
        for each in tries:
            if each.sent:
                self.records.count_operation(operation, each.outcome)
        if not any(each.sent for each in tries):
            await trio.sleep(0.2)  # the server is down
        return [each for each in tries if each.sent]

    def make_event(self, operation: str, answer: Answer, value: str = "", detail: str = "") -> Event:
        """Return an answer as an operation; the value of a refusal is its code."""
        said = answer.code if answer.outcome == "refused" else value
        about = {"value": said, "detail": detail, "client": self.name}
        return Event(operation, answer.begin, answer.end, answer.outcome, **about)

    def see_call(self, view: View, answer: Answer) -> None:
        """Record a call that an answer shows."""
        self.records.see_call(view, self.make_event("read", answer))
        self.person.calls[view["id"]] = view

    def see_item(self, view: View, answer: Answer) -> None:
        """Record an item that an answer shows."""
        self.records.see_item(view, self.person.name, self.make_event("read", answer))
        self.person.items[view["id"]] = view

    def see_reply(self, reply: Any, answer: Answer) -> None:
        """Record the reply to a message, with the calls that it shows."""
        if not reply:
            return
        text = " ".join(
            [reply["response_json"]["message"], *(each["snippet"] for each in reply["citations"])]
        )
        self.records.see_text(text, self.person.name, self.make_event("answer", answer))
        for view in reply["calls"]:
            self.see_call(view, answer)
        if reply["thread_id"] not in self.person.threads:
            self.person.threads.append(reply["thread_id"])

    def pick_call(self, *status: str) -> View | None:
        """Return one of the newest calls, most often of one of these statuses."""
        calls = list(self.person.calls.values())[-_NEWEST:]
        wanted = [view for view in calls if view["status"] in status]
        if wanted and self.rng.random() < 0.8:
            return self.rng.choice(wanted)
        return self.rng.choice(calls) if calls else None

    def pick_item(self, *status: str) -> View | None:
        """Return one of the newest items of these statuses."""
        items = [view for view in self.person.items.values() if view["status"] in status]
        return self.rng.choice(items[-_NEWEST:]) if items else None

    async def say(
        self, operation: str, text: str, thread: str | None = None, **more: Any
    ) -> list[tuple[Answer, str]]:
        """Send a message; return the outcome of each try, and the message's thread where that is known."""
        body = {"user_id": self.person.name, "message": text} | more
        if thread is not None:
            body["thread_id"] = thread
        answers = await self.ask(operation, "POST", "/chat", body, may_repeat=True)
        return [
            (each, each.value["thread_id"] if each.outcome == "ok" and each.value else thread or "")
            for each in answers
        ]
