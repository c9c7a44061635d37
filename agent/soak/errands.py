"""A user's requests about its memory over HTTP, in all threads of its own; see `agent.soak.memories` for the socket.

Some clients leave before their answer, as with every other request: the state of the item is then seen when it is
listed.
"""

from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Any, ClassVar
from urllib.parse import quote

import trio

from .book import ANYWHERE, LIVE, Book, View
from .exchange import ClientAnswer, ClientRequest
from .memories import ASKS, EDITED, ORDERS, STATED, THINGS
from .random_acts import RandomActs
from .user_requests import UserRequests

_NOTHING = "not_found"  # the answer of a server that remembers nothing
_BUSY = "storage"
_TRIES = 5
_PAGES = 5  # of a list that are read
Say = Callable[[str, str], Awaitable[None]]


class Errands(RandomActs):
    """One user's requests about its memory. `book`: its account. `say`: sends a message and the number it tells."""

    def __init__(self, user: str, book: Book, asking: UserRequests, rng: Random, say: Say) -> None:
        self._user = user
        self._book = book
        self._asking = asking
        super().__init__(rng)
        self._say = say

    def check_updates(self, updates: Iterable[View], asked_at: float) -> None:
        """Check the items of a reply, as updates of the memory."""
        for each in updates:
            self._book.check_item(
                {"revision": 0, "sources": (), **each, "replaces": ()}, ANYWHERE, asked_at, "a reply"
            )

    # --- errands

    async def _order(self) -> None:
        await self._tell(ORDERS, approves=True)

    async def _state(self) -> None:
        await self._tell(STATED, approves=False)

    async def _ask(self) -> None:
        await self._say(self._rng.choice(ASKS).format(self._rng.choice(THINGS)), "")

    async def _list(self) -> None:
        after: str | None = None
        for _ in range(_PAGES):
            asked_at = trio.current_time()
            page = f"/memory?user_id={quote(self._user)}" + (f"&cursor={quote(after)}" if after else "")
            answer = await self._asking.ask("list items", ClientRequest(method="GET", path=page), _NOTHING)
            self._book.off = answer.word == _NOTHING
            if not answer.good:
                return
            for item in answer.content["items"]:
                self._book.check_item(item, ANYWHERE, asked_at, "a list")
            after = answer.content.get("next_cursor")
            if not after:
                return

    async def _look(self) -> None:
        if (item := self._pick_item("proposed", "rejected", "superseded", *LIVE)) is not None:
            asked_at = trio.current_time()
            path = f"/memory/{item['id']}?user_id={quote(self._user)}"
            self._check_item(
                await self._asking.ask("get item", ClientRequest(method="GET", path=path), _NOTHING), asked_at
            )

    async def _accept(self) -> None:
        if (item := self._pick_item("proposed")) is not None:
            self._book.enter_approval(item["text"])
            await self._send_decision(item, "accept")

    async def _accept_twice(self) -> None:
        if (item := self._pick_item("proposed")) is not None:
            self._book.enter_approval(item["text"])
            async with trio.open_nursery() as both:
                both.start_soon(self._send_decision, item, "accept")
                both.start_soon(self._send_decision, item, self._rng.choice(("accept", "reject")))

    async def _decide(self) -> None:
        if (item := self._pick_item("proposed", "rejected", "done", *LIVE)) is not None:
            await self._send_decision(
                item, self._rng.choice(("reject", "start", "done", "block", "unblock", "reopen"))
            )

    async def _edit(self) -> None:
        if (item := self._pick_item("proposed", *LIVE)) is not None:
            number = self._book.enter_telling(ANYWHERE, approves=True)
            await self._send_decision(item, "edit", text=EDITED.format(self._rng.choice(THINGS), number))

    async def _forget(self) -> None:
        if (item := self._pick_item("proposed", "rejected", "superseded", *LIVE)) is not None:
            self._book.enter_forgetting(item["id"])
            answer = await self._send_decision(item, "forget", _BUSY)
            for _ in range(_TRIES):  # another process reads the files: the answer says to forget it again
                if answer.word != _BUSY:
                    break
                answer = await self._send_decision(item, "forget", _BUSY)
            if answer.good:
                self._book.enter_forgotten(item["id"], trio.current_time())
            elif answer.word == _BUSY:
                self._book.report("M2", f"{item['id']} cannot be forgotten")

    async def _forget_and_ask(self) -> None:
        """Ask about an item while it is being forgotten, and again afterwards."""
        async with trio.open_nursery() as both:
            both.start_soon(self._ask)
            both.start_soon(self._forget)
        await self._ask()
        await self._list()

    # --- helpers

    async def _tell(self, forms: tuple[str, ...], approves: bool) -> None:
        if not self._book.full:
            number = self._book.enter_telling(ANYWHERE, approves)
            await self._say(self._rng.choice(forms).format(self._rng.choice(THINGS), number), number)

    async def _send_decision(self, item: View, decision: str, *expected: str, **more: Any) -> ClientAnswer:
        asked_at = trio.current_time()
        body = {"user_id": self._user, "decision": decision, **more}
        request = self._asking.make_hasty("POST", f"/memory/{item['id']}", body)
        answer = await self._asking.ask(f"{decision} item", request, _NOTHING, *expected)
        self._check_item(answer, asked_at)
        return answer

    def _check_item(self, answer: ClientAnswer, asked_at: float) -> None:
        if answer.good:
            self._book.check_item(answer.content["item"], ANYWHERE, asked_at, "an item")

    def _pick_item(self, *status: str) -> View | None:
        items = self._book.of_status(ANYWHERE, *status)
        return self._rng.choice(items) if items else None

    _ACTS: ClassVar[dict[Callable[["Errands"], Awaitable[None]], int]] = {
        _list: 5,
        _order: 6,
        _state: 6,
        _ask: 5,
        _look: 1,
        _accept: 3,
        _accept_twice: 2,
        _decide: 2,
        _edit: 3,
        _forget: 3,
        _forget_and_ask: 2,
    }
