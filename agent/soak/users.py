"""Random users: they ask, change their minds, confirm, decline, guess, vanish in every way and come back.

One user is one task with a generator of its own, seeded by the run's seed and the user's number, so that a seed
draws the same intentions every time (what comes of them depends on the clock). Every wait has a deadline, and one
that passes is a broken invariant: a server that owes an end and says nothing hangs its client.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import trio

from ..errors import WireClosed
from ..testing.demo import CALL, PREMIUM, PRICE, RETURNS
from .account import Account, Tally
from .wire import LEAVINGS, Leaving, Line, open_line

PATIENCE = 20.0  # seconds in which whatever was asked for must have ended
HANG_UP = 8.0  # seconds in which a server that was left must hang up too
POLITE = 0.3  # the share of connections that end with everything settled and checked
SUBJECTS = (
    PRICE,
    PREMIUM,
    RETURNS,
    CALL,
    "What does a return cost? Please open a ticket and call me on 070-174 06 05.",
    "Vad kostar en retur? Skicka ett sms till 070-174 06 05.",
    "When do you answer the phone?",
    "what is the capital of Mongolia",
)
# A model that draws by the words it is asked makes a number up for some of these.
QUESTIONS = tuple(subject + "!" * loud for loud in range(4) for subject in SUBJECTS)


@dataclass(frozen=True, slots=True)
class Target:
    """Where the server is, its token if it has one, and the mean seconds a user thinks before it does something."""

    host: str
    port: int
    token: str | None = None
    think: float = 1.0


class User:
    """One user, who connects again and again until `stop` is set."""

    def __init__(self, number: int, seed: int, target: Target, tally: Tally, stop: trio.Event) -> None:
        self._name = f"user {number}"
        self._rng = Random(f"{seed}/{number}")
        self._target = target
        self._tally = tally
        self._stop = stop
        self._visits = 0

    async def run(self) -> None:
        """Use the server until told to stop, and then settle and leave."""
        await self._pause(self._target.think)
        while not self._stop.is_set():
            try:
                line = await open_line(
                    self._target.host, self._target.port, self._target.token, self._rng.random() < 0.5
                )
            except WireClosed:
                self._tally.violation("I7", f"{self._name} was not let in")
                await self._pause(self._target.think)
                continue
            self._visits += 1
            self._tally.count("connections")
            visit = Visit(f"{self._name}.{self._visits}", line, self._tally, self._rng)
            try:
                await self._visit(visit)
            finally:
                line.drop()
            await self._pause(self._target.think / 5)

    async def _visit(self, visit: "Visit") -> None:
        polite = self._rng.random() < POLITE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(visit.read)
            try:
                with trio.CancelScope() as staying:
                    nursery.start_soon(_cut_short, self._stop, staying)
                    for _ in range(self._rng.randint(1, 12)):
                        await visit.do_something()
                        await trio.sleep(self._rng.expovariate(1 / self._target.think))
                if polite or self._stop.is_set():
                    await visit.settle()
                    await visit.leave("close")
                else:
                    await visit.leave(self._rng.choice(LEAVINGS))
            except WireClosed:
                pass  # the reader says so
            nursery.cancel_scope.cancel()

    async def _pause(self, mean: float) -> None:
        with trio.move_on_after(self._rng.expovariate(1 / mean)):
            await self._stop.wait()


async def _cut_short(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


class Visit:
    """One connection of a user: what it does there, and its account of what came."""

    def __init__(self, name: str, line: Line, tally: Tally, rng: Random) -> None:
        self.account = Account(name, tally)
        self._name = name
        self._line = line
        self._tally = tally
        self._rng = rng
        self._asked = 0
        self._news = trio.Event()

    async def read(self) -> None:
        """Read until the connection ends; a server that ends it first has broken a promise."""
        while (frame := await self._line.next_frame()) is not None:
            self.account.came(frame, trio.current_time())
            self._tell()
        if self._line.left is None:
            self._tally.violation("I7", f"{self._name}: the server hung up with {self._line.code}")
        self._tell()

    async def do_something(self) -> None:
        """Do one thing that a user does; raises WireClosed. Cancelled, a frame may have been sent."""
        acts, weights = zip(*self._ACTS.items(), strict=True)
        await self._rng.choices(acts, weights)[0](self)

    async def hear(self, question: str) -> None:
        """Ask a question and wait for the end of the answer; raises WireClosed."""
        await self._ended(await self._ask(question))

    async def do_everything(self) -> None:
        """Do each thing once; raises WireClosed."""
        for act in self._ACTS:
            await act(self)

    async def settle(self) -> None:
        """Cancel and wait until nothing is in progress or live, then check that nothing is owed."""
        with trio.move_on_after(PATIENCE):
            await self._line.ping()  # what was on its way comes before its answer
            while self.account.waiting or self.account.live():
                if not self.account.waiting:
                    await self._cancel()  # what can still be confirmed is closed by it
                await self._change(0.5)
                await self._line.ping()
        self.account.settled()

    async def leave(self, how: Leaving) -> None:
        """Leave, and see that the server hangs up where it can be seen."""
        self._tally.count(f"left by {how}")
        await self._line.leave(how)
        with trio.move_on_after(HANG_UP) as waiting:
            await self._line.over.wait()
        if waiting.cancelled_caught:
            self._tally.violation("I6", f"{self._name}: the server did not hang up after {how}")

    # --- what a user does

    async def _ask_and_listen(self) -> None:
        await self._ended(await self._ask())

    async def _ask_and_cancel(self) -> None:
        id = await self._ask()
        await trio.sleep(self._rng.choice((0.0, self._rng.uniform(0, 0.05), self._rng.uniform(0, 0.8))))
        await self._cancel(self._rng.choice((None, id)))
        await self._ended(id)

    async def _ask_twice(self) -> None:
        first = await self._ask()
        await trio.sleep(self._rng.uniform(0, 0.5))
        second = await self._ask()
        await self._ended(first)
        await self._ended(second)

    async def _ask_and_go_on(self) -> None:
        await self._ask()

    async def _confirm(self) -> None:
        await self._decide(1)

    async def _confirm_twice(self) -> None:
        await self._decide(2)

    async def _confirm_and_cancel(self) -> None:
        if await self._decide(1):
            await trio.sleep(self._rng.uniform(0, 0.3))
            await self._cancel()

    async def _confirm_and_reject(self) -> None:
        if chosen := await self._decide(1):
            await trio.sleep(self._rng.uniform(0, 0.3))
            await self._reject(chosen)

    async def _decline(self) -> None:
        if live := self.account.live():
            await self._reject(self._rng.choice(live))

    async def _guess(self) -> None:
        id = f"{self._rng.getrandbits(128):032x}"
        self.account.confirmed(id)
        await self._line.send("confirm_action", suggestionId=id)

    async def _stop_everything(self) -> None:
        await self._cancel()

    # --- frames

    async def _ask(self, question: str | None = None) -> str:
        self._asked += 1
        id = str(self._asked)
        self.account.asked(id, trio.current_time())
        await self._line.send("message", id=id, text=question or self._rng.choice(QUESTIONS))
        return id

    async def _cancel(self, id: str | None = None) -> None:
        self.account.cancelled(trio.current_time(), id)
        await self._line.send("cancel", **({} if id is None else {"id": id}))

    async def _decide(self, times: int) -> str | None:
        """Confirm one of the suggestions that are live, if any is."""
        live = self.account.live()
        if not live:
            return None
        chosen = self._rng.choice(live)
        for _ in range(times):
            self.account.confirmed(chosen)
            await self._line.send("confirm_action", suggestionId=chosen)
        return chosen

    async def _reject(self, id: str) -> None:
        self.account.rejected(id)
        await self._line.send("reject_action", suggestionId=id)

    async def _ended(self, id: str) -> None:
        """Wait until a message has ended, its response and suggestions with it."""
        with trio.move_on_after(PATIENCE):
            while self.account.messages[id].ended is None and not self._line.over.is_set():
                await self._change(PATIENCE)
            return
        self._tally.violation("I1", f"{self._name}: {id} has not ended in {PATIENCE:g} s")

    async def _change(self, timeout: float) -> None:
        self._news = trio.Event()
        with trio.move_on_after(timeout):
            await self._news.wait()

    def _tell(self) -> None:
        self._news.set()

    _ACTS: ClassVar[dict[Callable[["Visit"], Awaitable[None]], int]] = {
        _ask_and_listen: 8,
        _ask_and_cancel: 8,
        _ask_twice: 3,
        _ask_and_go_on: 2,
        _confirm: 4,
        _confirm_twice: 3,
        _confirm_and_cancel: 2,
        _confirm_and_reject: 1,
        _decline: 2,
        _guess: 1,
        _stop_everything: 1,
    }
