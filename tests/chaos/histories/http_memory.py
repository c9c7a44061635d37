"""The requests of a user about memory items over HTTP: tell, accept, reject, edit, forget and ask about them."""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote_plus

import trio

from .history import Event, Outcome
from .http_client import HttpClient, Person
from .records import Attempt, Records, View
from .requester import Requester

THINGS: Final = ("locker", "bike", "garden", "boat")
"""The things that users tell numbers of: so few that a thing gets another number soon."""


class MemoryRequests:
    """The requests of one client about memory items."""

    def __init__(self, client: HttpClient, requester: Requester) -> None:
        self._client, self._requester = client, requester
        self._person, self._records, self._rng = client.person, client.records, client.rng

    def weigh_requests(self) -> dict[Callable[[], Awaitable[object]], int]:
        """Return the requests with their weights."""
        return {
            self._remember: 5,
            self._state: 4,
            self._ask_for_number: 3,
            self._list_items: 3,
            self._accept: 4,
            self._decide_something: 2,
            self._forget: 3,
            self._edit: 2,
            self._look_at_item: 2,
            self._see_prompt: 2,
        }

    async def _list_items(self) -> None:
        await list_items(self._requester, self._records, self._person, self._client.name)

    async def _remember(self) -> None:
        thing = f"{self._rng.choice(THINGS)} number"
        await self._tell("order", thing, f"Remember that my {thing} is {{}}.")

    async def _state(self) -> None:
        thing = f"{self._rng.choice(THINGS)} budget"
        await self._tell("state", thing, f"My {thing} is {{}} kr.")

    async def _tell(self, kind: str, thing: str, form: str) -> None:
        number = self._records.draw_number(self._person.name, thing)
        for answer, thread in await self._client.say(kind, form.format(number)):
            reply = answer.value if answer.outcome == "ok" else None
            told = [] if reply is None else reply["response_json"]["memory_updates"]
            views = [view for view in told if number in view["text"]]
            kept = reply is not None and not reply["without_memory"]
            outcome: Outcome = "unknown" if answer.outcome == "ok" and not kept else answer.outcome
            if kept and not views:
                said = self._records.format(self._client.make_event(kind, answer))
                self._records.wrong.append(
                    f"{number} was told and is not kept, and the answer hides that: {said}"
                )
            made = frozenset(view["id"] for view in views)
            attempt = Attempt(
                self._client.name, kind, answer.begin, answer.end, outcome, thread=thread, made=made
            )
            self._records.told[number].append(attempt)
            for view in views:
                self._client.see_item(view, answer)
            self._client.see_reply(reply, answer)

    async def _ask_for_number(self) -> None:
        question = f"What is my {self._rng.choice(THINGS)} {self._rng.choice(('number', 'budget'))}?"
        for answer, _ in await self._client.say("ask", question):
            self._client.see_reply(answer.value if answer.outcome == "ok" else None, answer)

    async def _accept(self) -> None:
        if (view := self._client.pick_item("proposed")) is not None:
            await self._decide(view, "accept")

    async def _decide_something(self) -> None:
        if (view := self._client.pick_item("proposed", "rejected", "accepted")) is not None:
            await self._decide(view, self._rng.choice(("reject", "reopen", "reject", "accept")))

    async def _forget(self) -> None:
        if (view := self._client.pick_item("proposed", "rejected", "accepted", "superseded")) is not None:
            await self._decide(view, "forget")

    async def _decide(self, view: View, decision: str) -> None:
        body = {"user_id": self._person.name, "decision": decision}
        for answer in await self._client.ask(
            decision, "POST", f"/memory/{view['id']}", body, may_repeat=True
        ):
            self._records.add_to_item(view["id"], self._client.make_event(decision, answer))
            if answer.outcome == "ok" and answer.value:
                self._client.see_item(answer.value["item"], answer)

    async def _edit(self) -> None:
        if (view := self._client.pick_item("proposed", "accepted")) is None or view[
            "id"
        ] not in self._records.items:
            return
        thing = self._records.items[view["id"]].thing
        number = self._records.draw_number(self._person.name, thing)
        text = f"My {thing} is {number}{' kr' if 'budget' in thing else ''}."
        body = {"user_id": self._person.name, "decision": "edit", "text": text}
        for answer in await self._client.ask("edit", "POST", f"/memory/{view['id']}", body, may_repeat=True):
            made = frozenset([answer.value["item"]["id"]] if answer.outcome == "ok" and answer.value else ())
            self._records.told[number].append(
                Attempt(self._client.name, "edit", answer.begin, answer.end, answer.outcome, made=made)
            )
            self._records.add_to_item(view["id"], self._client.make_event("edit", answer))
            if made:
                self._client.see_item(answer.value["item"], answer)

    async def _look_at_item(self) -> None:
        if (
            view := self._client.pick_item("proposed", "rejected", "accepted", "superseded", "forgotten")
        ) is None:
            return
        target = f"/memory/{view['id']}?user_id={self._person.name}"
        for answer in await self._client.ask("look at item", "GET", target):
            if answer.outcome == "ok":
                self._client.see_item(answer.value["item"], answer)
            elif answer.outcome == "refused":
                self._records.add_to_item(view["id"], self._client.make_event("look", answer))

    async def _see_prompt(self) -> None:
        question = quote_plus(f"What is my {self._rng.choice(THINGS)} number?")
        target = f"/projects/default/prompt-debug?message={question}&user_id={self._person.name}"
        for answer in await self._client.ask("see prompt", "GET", target):
            if answer.outcome == "ok":
                text = " ".join(each["text"] for each in answer.value["sections"])
                self._records.see_text(text, self._person.name, self._client.make_event("prompt", answer))


async def list_items(requester: Requester, records: Records, person: Person, client: str) -> bool:
    """Read all items of a user; return whether they were shown."""
    views: list[View] = []
    cursor, begin = "", trio.current_time()
    while True:
        answer = await requester.ask("GET", f"/memory?user_id={person.name}&limit=200{cursor}")
        records.count_operation("list items", answer.outcome)
        if answer.outcome != "ok":
            return False
        views += answer.value["items"]
        if answer.value["next_cursor"] is None:
            break
        cursor = f"&cursor={answer.value['next_cursor']}"
    read = Event("read", begin, answer.end, client=client)
    records.see_items(views, person.name, read, not cursor)
    person.items.update({view["id"]: view for view in views})
    return True
