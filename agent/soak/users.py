"""Random users: they ask, change their minds, confirm, decline, guess, vanish in every way and come back.

One user is one task with a generator of its own, seeded by the run's seed and the user's number, so that a seed draws
the same intentions every time (their results depend on the clock). Every wait has a deadline, and a deadline that
passes is a broken invariant: a server that owes an end and says nothing hangs its client.
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, ClassVar

import trio

from ..config import HEAD_TIMEOUT
from ..errors import WireClosed
from ..testing.demo import CALL, PREMIUM, PRICE, RETURNS
from .account import Account
from .book import Book
from .memories import MemoryActs
from .scene import Scene
from .tools import COURIER
from .wire import LEAVINGS, ClientSocket, Frame, HandshakeAbandoned, Leaving

# Seconds in which every request must have ended: a message may wait for two actions at their deadlines.
PATIENCE = 40.0
HANG_UP = 8.0  # seconds in which a server that was left must hang up too
# A frame sent within these seconds before a server hung up may have crossed its close; or within twice the longest
# that a cancel has taken, since on a crowded machine each way takes its time.
CROSSING = 1.0
GOING_DOWN = 1012  # the close code of a server that drains
REMEMBERED = 0.4  # the share of visits that use the memory, and ...
OF_THAT = 0.6  # ... of the acts there that are about it
FIRST = 0  # the number of a user that has none
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
    COURIER.format(117),
)
FILLED = {"phone": "070-174 06 05", "text": "Hej!", "subject": "Hjälp"}  # for missing fields of a suggestion
# A model that draws by the words it is asked makes a number up for some of these.
QUESTIONS = tuple(subject + "!" * loud for loud in range(4) for subject in SUBJECTS)


class User:
    """One user, which connects again and again until the scene's `stop` or `drain` is set."""

    def __init__(self, number: int, seed: int, scene: Scene) -> None:
        self._name = f"user {number}"
        self._book = Book(self._name, number, scene.run, scene.tally, scene.note)
        self._rng = Random(f"{seed}/{number}")
        self._scene = scene
        self._visits = 0

    async def run(self) -> None:
        """Use the server until `stop` is set, and then settle and leave, or until the server goes down."""
        scene, think = self._scene, self._scene.target.think
        await self._pause(think)
        while not scene.stop.is_set() and not scene.drain.is_set():
            try:
                line = await scene.line(self._rng.random() < 0.5)
            except HandshakeAbandoned:
                scene.tally.count("handshakes given up")
                await self._pause(think)
                continue
            except WireClosed as error:
                if not scene.drain.is_set():
                    scene.tally.violation("S7", f"{self._name} was not let in ({error.code})")
                await self._pause(think)
                continue
            self._visits += 1
            scene.tally.count("connections")
            visit = UserVisit(f"{self._name}.{self._visits}", line, scene, self._rng, self._book)
            try:
                await self._visit(visit)
            finally:
                line.drop()
            await self._pause(think / 5)

    async def _visit(self, visit: "UserVisit") -> None:
        polite = self._rng.random() < POLITE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(visit.read)
            try:
                with trio.CancelScope() as staying:
                    nursery.start_soon(_cut_short, self._scene.stop, staying)
                    remembered = None
                    if not self._book.full and self._rng.random() < REMEMBERED:
                        remembered = await visit.remembering()
                    for _ in range(self._rng.randint(1, 12)):
                        if remembered is not None and self._rng.random() < OF_THAT:
                            await remembered.do_something()
                        else:
                            await visit.do_something()
                        await trio.sleep(self._rng.expovariate(1 / self._scene.target.think))
                if polite or self._scene.stop.is_set():
                    await visit.settle()
                    await visit.leave("close")
                else:
                    await visit.leave(self._rng.choice(LEAVINGS))
            except WireClosed:
                pass  # the reader says so
            nursery.cancel_scope.cancel()

    async def _pause(self, mean: float) -> None:
        with trio.move_on_after(self._rng.expovariate(1 / mean)):
            await self._scene.stop.wait()


async def _cut_short(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


class UserVisit:
    """One connection of a user: its acts there, and its account of the frames."""

    def __init__(
        self, name: str, line: ClientSocket, scene: Scene, rng: Random, book: Book | None = None
    ) -> None:
        self.book = book or Book(name, FIRST, scene.run, scene.tally, scene.note)
        self.account = Account(name, scene.tally, scene.note, scene.pages, self.book)
        self._name = name
        self._line = line
        self._scene = scene
        self._tally = scene.tally
        self._patience = PATIENCE * scene.target.slower
        self._rng = rng
        self._asked = 0
        self._news = trio.Event()

    async def read(self) -> None:
        """Read until the connection ends; a server that ends it first has broken a promise."""
        while (frame := await self._line.next_frame()) is not None:
            self.account.check_frame(frame, trio.current_time())
            self._tell()
        if self._line.left is None:
            self._hung_up()
        self._tell()

    def _hung_up(self) -> None:
        """Judge a server that has ended the connection first: only one that goes down may, and only cleanly.

        A server that is too busy for a handshake within its own time limit gives it up, which is counted apart.
        """
        slowest = 2 * self._tally.cancels.longest
        if self._scene.drain.is_set() and self._line.code == GOING_DOWN:
            self._tally.count("hung up on by a draining server")
            self.account.check_cut_off(
                trio.current_time() - max(CROSSING * self._scene.target.slower, slowest)
            )
        elif self._line.code is None and not self.account.has_heard and slowest > HEAD_TIMEOUT:
            self._tally.count("handshakes given up by a slow server")
        else:
            self._tally.violation("S7", f"{self._name}: the server hung up with {self._line.code}")

    async def do_something(self) -> None:
        """Do one random act; raises `WireClosed`. Cancelled, a frame may have been sent."""
        acts, weights = zip(*self._ACTS.items(), strict=True)
        await self._rng.choices(acts, weights)[0](self)

    async def hear(self, question: str) -> None:
        """Ask a question and wait for the end of the answer; raises `WireClosed`."""
        await self._wait_ended(await self._ask(question))

    async def is_up_to_date(self) -> bool:
        """Return whether answers about two files cite their present texts; raises `WireClosed`."""
        seen = []
        for question in (PRICE, RETURNS):
            id = await self._ask(question)
            await self._wait_ended(id)
            await self._line.ping()  # the response comes before its answer
            seen.append(self.account.messages[id].staleness == 0.0)
        return all(seen)

    async def do_everything(self) -> None:
        """Do each act once; raises `WireClosed`."""
        for act in self._ACTS:
            await act(self)
        remembered = await self.remembering()
        if remembered is not None:
            await remembered.do_everything()

    async def remembering(self) -> MemoryActs | None:
        """Go on in a thread of this user's; return its memory requests, or `None` where the server has no memory."""
        memories = MemoryActs(self, self.book, self._rng)
        return memories if await memories.open() else None

    async def settle(self) -> None:
        """Cancel and wait until nothing is in progress or live, then check that no frame is owed."""
        with trio.move_on_after(self._patience):
            await self._line.ping()  # frames that were on their way come before its answer
            while self.account.is_waiting or self.account.list_live():
                if not self.account.is_waiting:
                    await self._cancel()  # it closes the suggestions that can still be confirmed
                await self._change(0.5)
                await self._line.ping()
        self.account.check_settled()

    async def leave(self, how: Leaving) -> None:
        """Leave, and check that the server hangs up where this end can see it."""
        self._tally.count(f"left by {how}")
        await self._line.leave(how)
        with trio.move_on_after(HANG_UP * self._scene.target.slower) as waiting:
            await self._line.over.wait()
        if waiting.cancelled_caught:
            self._tally.violation("S6", f"{self._name}: the server did not hang up after {how}")

    # --- acts

    async def _ask_and_listen(self) -> None:
        await self._wait_ended(await self._ask())

    async def _ask_and_cancel(self) -> None:
        id = await self._ask()
        await trio.sleep(self._rng.choice((0.0, self._rng.uniform(0, 0.05), self._rng.uniform(0, 0.8))))
        await self._cancel(self._rng.choice((None, id)))
        await self._wait_ended(id)

    async def _ask_twice(self) -> None:
        first = await self._ask()
        await trio.sleep(self._rng.uniform(0, 0.5))
        second = await self._ask()
        await self._wait_ended(first)
        await self._wait_ended(second)

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
        if live := self.account.list_live():
            await self._reject(self._rng.choice(live))

    async def _guess(self) -> None:
        id = f"{self._rng.getrandbits(128):032x}"
        self.account.enter_confirm(id, trio.current_time())
        await self._line.send("confirm_action", suggestionId=id)

    async def _stop_everything(self) -> None:
        await self._cancel()

    # --- frames

    async def say(self, text: str, number: str = "") -> str:
        """Send a message and return its id; raises `WireClosed`. `number`: as in `Account`."""
        self._asked += 1
        id = str(self._asked)
        self.account.enter_message(id, trio.current_time(), number)
        await self._line.send("message", id=id, text=text)
        return id

    async def cancel(self, id: str | None = None) -> None:
        """Cancel everything, or the consequences of one message; raises `WireClosed`."""
        await self._cancel(id)

    async def wait(self, seconds: float) -> None:
        """Do nothing for a while, or until the connection ends."""
        with trio.move_on_after(seconds):
            await self._line.over.wait()

    async def hear_out(self, id: str) -> None:
        """Wait until a message has ended."""
        await self._wait_ended(id)

    async def begin_to_ask(self, kind: str, **fields: Any) -> str:
        """Ask a question about the memory; return its label. Raises `WireClosed`."""
        label = self.account.consults.ask(kind, trio.current_time(), **fields)
        await self._line.send(kind, id=label, **fields)
        return label

    async def answer_to(self, label: str) -> Frame | None:
        """Return the answer to a question about the memory, or `None` where the connection ends before."""
        with trio.move_on_after(self._patience):
            while not self._line.over.is_set():
                frame = self.account.consults.take(label)
                if frame is not None:
                    return frame
                await self._change(self._patience)
            return None
        self._tally.violation("M7", f"{self._name}: {label} was not answered in {self._patience:g} s")
        return None

    async def _ask(self, question: str | None = None) -> str:
        return await self.say(question or self._rng.choice(QUESTIONS))

    async def _cancel(self, id: str | None = None) -> None:
        self.account.enter_cancel(trio.current_time(), id)
        await self._line.send("cancel", **({} if id is None else {"id": id}))

    async def _decide(self, times: int) -> str | None:
        """Confirm a random live suggestion; return its id, or `None` when no suggestion is live."""
        live = self.account.list_live()
        if not live:
            return None
        chosen = self._rng.choice(live)
        for _ in range(times):
            filled = {name: FILLED[name] for name in self.account.suggestions[chosen].missing}
            self.account.enter_confirm(chosen, trio.current_time(), filled)
            payload = {"payload": filled} if filled else {}
            await self._line.send("confirm_action", suggestionId=chosen, **payload)
        return chosen

    async def _reject(self, id: str) -> None:
        self.account.enter_reject(id)
        await self._line.send("reject_action", suggestionId=id)

    async def _wait_ended(self, id: str) -> None:
        """Wait until a message has ended, with its response and suggestions."""
        with trio.move_on_after(self._patience):
            while self.account.messages[id].end is None and not self._line.over.is_set():
                await self._change(self._patience)
            return
        self._tally.violation("S1", f"{self._name}: {id} has not ended in {self._patience:g} s")

    async def _change(self, timeout: float) -> None:
        self._news = trio.Event()
        with trio.move_on_after(timeout):
            await self._news.wait()

    def _tell(self) -> None:
        self._news.set()

    _ACTS: ClassVar[dict[Callable[["UserVisit"], Awaitable[None]], int]] = {
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
