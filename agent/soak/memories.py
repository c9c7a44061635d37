"""A user's requests about its memory over a socket: tell, decide, correct, look for and forget items.

Items are told in the connection's thread, which may continue one of an earlier connection, and stay in that thread: no
user here has a name.
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import ClassVar

import trio

from .book import LIVE, MARK, View
from .random_acts import RandomActs
from .user_connection import UserConnection
from .wire import Frame

THINGS = ("locker", "bike", "garden", "studio", "cellar", "boat")
"""So few that one is told of again, with another number."""
ORDERS = ("Remember that my {} number is {}.", "Kom ihåg att min {} har nummer {}.")
STATED = ("My {} budget is {} kr.", "I prefer the {} report {}.", "From now on always use the {} account {}.")
ASKS = ("What is my {} number?", "How much is my {} budget?", "Which {} report do I prefer?")
EDITED = "My {} number is {}."
SOON = 0.8  # seconds at most until a turn is cancelled


class MemoryActs(RandomActs):
    """The memory requests of one connection."""

    def __init__(self, connection: UserConnection, rng: Random) -> None:
        self._connection = connection
        self._book = connection.book
        super().__init__(rng)
        self._place = ""

    async def open(self) -> bool:
        """Open a new thread, or one of the last three; return whether the server remembers anything here."""
        before = self._rng.choice([*self._book.places[-3:], None])
        answer = await self._ask_memory("open_thread", **({} if before is None else {"thread": before}))
        if answer is not None and answer["type"] == "error" and answer["code"] == "unknown_thread":
            answer = await self._ask_memory("open_thread")  # no message of that thread was kept
        if answer is None or answer["type"] != "thread":
            return False
        self._place = answer["thread"]
        return True

    # --- requests

    async def _order(self) -> None:
        await self._connection.wait_for_end(await self._tell(ORDERS, approves=True))

    async def _order_and_go_on(self) -> None:
        await self._tell(ORDERS, approves=True)

    async def _order_and_cancel(self) -> None:
        id = await self._tell(ORDERS, approves=True)
        await trio.sleep(self._rng.choice((0.0, self._rng.uniform(0, SOON))))
        await self._connection.send_cancel(self._rng.choice((None, id)))
        await self._connection.wait_for_end(id)

    async def _state(self) -> None:
        await self._connection.wait_for_end(await self._tell(STATED, approves=False))

    async def _state_and_wait(self) -> None:
        """State something to remember, and let its suggestion expire."""
        await self._state()
        await self._connection.wait(self._connection.account.confirm_seconds + SOON)

    async def _state_and_take_back(self) -> None:
        """State something to remember, and cancel its suggestion once the message is answered."""
        id = await self._tell(STATED, approves=False)
        await self._connection.wait_for_end(id)
        await self._connection.send_cancel(id)
        if await self._ask_memory("memory_list") is not None:  # its answer shows that the cancel was taken
            self._connection.account.withdraw_message(id)

    async def _ask(self) -> None:
        await self._connection.wait_for_end(await self._connection.send_message(self._about(ASKS)))

    async def _recall(self) -> None:
        await self._ask_memory("recall", query=self._about(ASKS))

    async def _list(self) -> None:
        await self._ask_memory("memory_list")

    async def _look(self) -> None:
        if (item := self._one("proposed", "rejected", "superseded", *LIVE)) is not None:
            await self._ask_memory("memory_list", item=item["id"])

    async def _accept(self) -> None:
        if (item := self._one("proposed")) is not None:
            self._book.enter_approval(item["text"])
            replaces = [each["item"] for each in item.get("replaces", ())]
            await self._ask_memory("memory_decide", item=item["id"], decision="accept", replaces=replaces)

    async def _decide(self) -> None:
        item = self._one("proposed", "rejected", "done", *LIVE)
        if item is not None:
            decision = self._rng.choice(("reject", "start", "done", "block", "unblock", "reopen"))
            await self._ask_memory(
                "memory_decide", item=item["id"], decision=decision, revision=item["revision"]
            )

    async def _edit(self) -> None:
        if not self._book.full and (item := self._one("proposed", *LIVE)) is not None:
            number = self._book.enter_telling(self._place, approves=True)
            text = EDITED.format(self._rng.choice(THINGS), number)
            await self._ask_memory("memory_edit", item=item["id"], text=text)

    async def _forget(self) -> None:
        if (item := self._one("proposed", "rejected", "superseded", *LIVE)) is not None:
            await self._ask_memory("memory_forget", item=item["id"])

    async def _forget_and_look(self) -> None:
        """Ask about an item while it is being forgotten, and again afterwards."""
        item = self._one(*LIVE)
        if item is None:
            return
        first = await self._connection.send_message(self._about(ASKS))
        labels = [
            await self._connection.send_memory_request("memory_forget", item=item["id"]),
            await self._connection.send_memory_request("memory_forget", item=item["id"]),
            await self._connection.send_memory_request("recall", query=item["text"]),
        ]
        for label in labels:
            await self._connection.wait_for_answer(label)
        await self._connection.wait_for_end(first)
        about = MARK.sub("", item["text"])  # a user that repeats the number has it kept again
        await self._connection.wait_for_end(await self._connection.send_message(f"{about}?"))
        await self._ask_memory("recall", query=item["text"])
        await self._ask_memory("memory_list")

    # --- helpers

    async def _tell(self, forms: tuple[str, ...], approves: bool) -> str:
        if self._book.full:
            return await self._connection.send_message(self._about(ASKS))
        number = self._book.enter_telling(self._place, approves)
        return await self._connection.send_message(
            self._rng.choice(forms).format(self._rng.choice(THINGS), number), number
        )

    def _about(self, forms: tuple[str, ...]) -> str:
        return self._rng.choice(forms).format(self._rng.choice(THINGS))

    def _one(self, *status: str) -> View | None:
        items = self._book.of_status(self._place, *status)
        return self._rng.choice(items) if items else None

    async def _ask_memory(self, kind: str, **fields: object) -> Frame | None:
        return await self._connection.wait_for_answer(
            await self._connection.send_memory_request(kind, **fields)
        )

    _ACTS: ClassVar[dict[Callable[["MemoryActs"], Awaitable[None]], int]] = {
        _order: 6,
        _order_and_cancel: 4,
        _order_and_go_on: 2,
        _state: 6,
        _state_and_take_back: 2,
        _ask: 6,
        _list: 4,
        _look: 1,
        _recall: 3,
        _accept: 3,
        _decide: 2,
        _edit: 2,
        _forget: 3,
        _forget_and_look: 2,
    }
    _LONG: ClassVar[dict[Callable[["MemoryActs"], Awaitable[None]], int]] = {_state_and_wait: 2}
