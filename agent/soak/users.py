"""Random users: they ask, change their minds, confirm, decline, guess, vanish in every way and come back.

One user is one task with a generator of its own, seeded by the run's seed and the user's number, so that a seed draws
the same intentions every time (their results depend on the clock).
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import ClassVar, TypeAlias

import trio

from ..errors import WireClosed
from ..protocol.audio import VOICE_SUBPROTOCOL
from ..protocol.kinds import SUBPROTOCOL
from ..testing.demo import CALL, PREMIUM, PRICE, RETURNS
from .book import Book
from .memories import MemoryActs
from .random_acts import RandomActs
from .scene import Scene
from .tools import COURIER
from .user_connection import UserConnection
from .wire import LEAVINGS, HandshakeAbandoned

REMEMBERED = 0.4  # the share of visits that use the memory, and ...
OF_THAT = 0.6  # ... of the acts there that are about it
ALOUD = 0.7  # the share of the acts of a user with a voice that need it
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


MakeActs: TypeAlias = Callable[[UserConnection, Random], RandomActs]


class User:
    """One user, which connects again and again until the scene's `stop` or `drain` is set.

    `make_voice`: makes the acts of a user that talks and listens.
    """

    def __init__(self, number: int, seed: int, scene: Scene, make_voice: MakeActs | None = None) -> None:
        self._name = f"user {number}"
        self._make_voice = make_voice
        self._book = Book(self._name, number, scene.run, scene.tally, scene.note)
        self._rng = Random(f"{seed}/{number}")
        self._scene = scene
        self._visits = 0

    async def run(self) -> None:
        """Use the server until `stop` is set, and then settle and leave, or until the server goes down."""
        scene, think = self._scene, self._scene.target.think
        await scene.pause(self._rng, think)
        while not scene.stop.is_set() and not scene.drain.is_set():
            try:
                offers = SUBPROTOCOL if self._rng.random() < 0.5 else ""
                socket = await scene.line(offers if self._make_voice is None else VOICE_SUBPROTOCOL)
            except HandshakeAbandoned:
                scene.tally.count("handshakes given up")
                await scene.pause(self._rng, think)
                continue
            except WireClosed as error:
                if not scene.drain.is_set():
                    scene.tally.violation("S7", f"{self._name} was not let in ({error.code})")
                await scene.pause(self._rng, think)
                continue
            self._visits += 1
            scene.tally.count("connections")
            try:
                await self._visit(UserConnection(f"{self._name}.{self._visits}", socket, scene, self._book))
            finally:
                socket.drop()
            await scene.pause(self._rng, think / 5)

    async def _visit(self, connection: UserConnection) -> None:
        """Do random acts over a new connection, then leave it."""
        polite = self._rng.random() < POLITE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.read)
            try:
                with trio.CancelScope() as staying:
                    nursery.start_soon(self._scene.cut_short, staying)
                    await self._do_acts(connection)
                if polite or self._scene.stop.is_set():
                    await connection.settle()
                    await connection.leave("close")
                else:
                    await connection.leave(self._rng.choice(LEAVINGS))
            except WireClosed:
                pass  # the reader says so
            nursery.cancel_scope.cancel()

    async def _do_acts(self, connection: UserConnection) -> None:
        acts, memory_acts = UserActs(connection, self._rng), None
        voice_acts = self._make_voice and self._make_voice(connection, self._rng)
        if not self._book.full and self._rng.random() < REMEMBERED:
            memory_acts = await acts.open_memory()
        for _ in range(self._rng.randint(1, 12)):
            if voice_acts is not None and self._rng.random() < ALOUD:
                await voice_acts.do_something()
            elif memory_acts is not None and self._rng.random() < OF_THAT:
                await memory_acts.do_something()
            else:
                await acts.do_something()
            await trio.sleep(self._rng.expovariate(1 / self._scene.target.think))


class UserActs(RandomActs):
    """What a user does over one connection: questions, cancels, and decisions about suggestions."""

    def __init__(self, connection: UserConnection, rng: Random) -> None:
        self._connection = connection
        self._suggestions = connection.account.suggestions
        super().__init__(rng)

    async def do_everything(self) -> None:
        """Do each act once, also those about the memory; raises `WireClosed`."""
        await super().do_everything()
        memory_acts = await self.open_memory()
        if memory_acts is not None:
            await memory_acts.do_everything()

    async def open_memory(self) -> MemoryActs | None:
        """Go on in a thread of this user's; return its memory requests, or `None` where the server has no memory."""
        memory_acts = MemoryActs(self._connection, self._rng)
        return memory_acts if await memory_acts.open() else None

    async def _ask(self) -> str:
        return await self._connection.send_message(self._rng.choice(QUESTIONS))

    async def _ask_and_listen(self) -> None:
        await self._connection.wait_for_end(await self._ask())

    async def _ask_and_cancel(self) -> None:
        id = await self._ask()
        await trio.sleep(self._rng.choice((0.0, self._rng.uniform(0, 0.05), self._rng.uniform(0, 0.8))))
        await self._connection.send_cancel(self._rng.choice((None, id)))
        await self._connection.wait_for_end(id)

    async def _ask_twice(self) -> None:
        first = await self._ask()
        await trio.sleep(self._rng.uniform(0, 0.5))
        second = await self._ask()
        await self._connection.wait_for_end(first)
        await self._connection.wait_for_end(second)

    async def _ask_and_go_on(self) -> None:
        await self._ask()

    async def _confirm(self, times: int = 1) -> str | None:
        """Confirm a random live suggestion; return its id, or `None` when no suggestion is live."""
        live = self._suggestions.list_live()
        if not live:
            return None
        chosen = self._rng.choice(live)
        for _ in range(times):
            filled = {name: FILLED[name] for name in self._suggestions.missing_of(chosen)}
            await self._connection.send_confirm(chosen, filled)
        return chosen

    async def _confirm_once(self) -> None:
        await self._confirm()

    async def _confirm_twice(self) -> None:
        await self._confirm(2)

    async def _confirm_and_cancel(self) -> None:
        if await self._confirm():
            await trio.sleep(self._rng.uniform(0, 0.3))
            await self._connection.send_cancel()

    async def _confirm_and_reject(self) -> None:
        if chosen := await self._confirm():
            await trio.sleep(self._rng.uniform(0, 0.3))
            await self._connection.send_reject(chosen)

    async def _decline(self) -> None:
        if live := self._suggestions.list_live():
            await self._connection.send_reject(self._rng.choice(live))

    async def _guess(self) -> None:
        """Confirm a suggestion that never was."""
        await self._connection.send_confirm(f"{self._rng.getrandbits(128):032x}")

    async def _stop_everything(self) -> None:
        await self._connection.send_cancel()

    _ACTS: ClassVar[dict[Callable[["UserActs"], Awaitable[None]], int]] = {
        _ask_and_listen: 8,
        _ask_and_cancel: 8,
        _ask_twice: 3,
        _ask_and_go_on: 2,
        _confirm_once: 4,
        _confirm_twice: 3,
        _confirm_and_cancel: 2,
        _confirm_and_reject: 1,
        _decline: 2,
        _guess: 1,
        _stop_everything: 1,
    }


async def is_up_to_date(connection: UserConnection) -> bool:
    """Return whether answers about two files cite their present texts; raises `WireClosed`."""
    cites_present_texts = []
    for question in (PRICE, RETURNS):
        id = await connection.send_message(question)
        await connection.wait_for_end(id)
        await connection.catch_up()  # the response comes before the answer to a ping
        cites_present_texts.append(connection.account.messages[id].staleness == 0.0)
    return all(cites_present_texts)
