"""Runs all users of one soak: they arrive little by little, stay until the scene stops, and must leave in time.

A crowd runs beside another operator's server, or in a process of its own beside one of ours (`remote`), where it also
keeps rewriting the knowledge base. Its users of a socket are in `users`. Its users over HTTP are here: each is one task
with a generator of its own, calls tools, and begins one talk after another until the scene ends.
"""

from random import Random

import trio

from ..protocol.audio import VOICE_SUBPROTOCOL
from .book import OF_HTTP, Book
from .http_talk import Talk
from .pages import NAMES, Pages
from .scene import Scene
from .user_connection import HANG_UP, PATIENCE, UserConnection
from .users import POLITE, QUESTIONS, SUBJECTS, User, UserActs, is_up_to_date
from .voices import VoiceActs

ARRIVALS = 50.0  # users a second, so that not all of them shake hands at once
REWRITE_EVERY = 3.0  # seconds
TAKEN_OVER = 15.0  # seconds in which an answer must come from the last version
DRAINED = 45.0  # seconds in which a server that goes down must have ended every connection
KEPT = 0.5  # the share of threads that stay undeleted in the soak's own server


class HttpUser:
    """One user over HTTP, which begins talks until the scene's `stop` or `drain` is set."""

    def __init__(self, number: int, seed: int, scene: Scene) -> None:
        self._name = f"caller {number}"
        self._rng = Random(f"{seed}/http/{number}")
        self._scene = scene
        self._talks = 0
        self._book = Book(self._name, OF_HTTP + number, scene.run, scene.tally, scene.note)

    async def run(self) -> None:
        """Use the server until `stop` is set, and then settle, or until the server goes down."""
        scene, think = self._scene, self._scene.target.think
        await scene.pause(self._rng, think)
        while not scene.over:
            self._talks += 1
            talk = Talk(self._name, f"{self._name}.{self._talks}", scene, self._rng, book=self._book)
            async with trio.open_nursery() as nursery:
                with trio.CancelScope() as staying:
                    nursery.start_soon(scene.cut_short, staying)
                    for _ in range(self._rng.randint(3, 15)):
                        if scene.drain.is_set():
                            break
                        await talk.do_something()
                        await trio.sleep(self._rng.expovariate(2 / think))
                with trio.move_on_after(2 * PATIENCE * scene.target.slower):
                    if scene.stop.is_set() or self._rng.random() < POLITE:
                        await talk.settle()
                    # On another operator's server no thread stays.
                    if scene.note is None or self._rng.random() >= KEPT:
                        await talk.delete()
                nursery.cancel_scope.cancel()


async def run_users(scene: Scene, seed: int, number_of: int, callers: int = 0, voices: int = 0) -> None:
    """Let users come, use the server and leave, until `scene.stop` is set or a server that drains is gone.

    `number_of`, `callers`: the number of users over sockets and over HTTP. `voices`: how many of the former talk and
    listen. If they cannot leave in time, a violation of S6 is reported. Cancelled, all users end at once.
    """
    with trio.CancelScope() as overall:
        async with trio.open_nursery() as around:
            around.start_soon(_bound_leaving, scene, overall)
            async with trio.open_nursery() as users:
                sockets = [
                    User(number, seed, scene, VoiceActs if number > number_of - voices else None).run
                    for number in range(1, number_of + 1)
                ]
                over_http = [HttpUser(number, seed, scene).run for number in range(1, callers + 1)]
                for each in (*sockets, *over_http):
                    users.start_soon(each)
                    with trio.move_on_after(1 / ARRIVALS):
                        await scene.stop.wait()
            around.cancel_scope.cancel()
    if overall.cancelled_caught:
        scene.tally.violation("S6", "users could not leave")


async def _bound_leaving(scene: Scene, overall: trio.CancelScope) -> None:
    """Set the deadline for leaving once `stop` or `drain` is set."""
    async with trio.open_nursery() as either:
        either.start_soon(_until, scene.stop, either.cancel_scope)
        either.start_soon(_until, scene.drain, either.cancel_scope)
    leaving = DRAINED if scene.drain.is_set() else 2 * PATIENCE + HANG_UP
    overall.deadline = trio.current_time() + leaving * scene.target.slower


async def _until(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def warm_up(scene: Scene, over_http: bool = False, aloud: bool = False) -> None:
    """Ask each question and do each act once, so that objects that are made once exist before the first census."""

    async def visit(number: int, question: str) -> None:
        socket = await scene.line(VOICE_SUBPROTOCOL if aloud else "")
        try:
            async with trio.open_nursery() as nursery:
                name = f"first {number}"
                book = Book(name, OF_HTTP + OF_HTTP - 1 - number, scene.run, scene.tally, scene.note)
                connection = UserConnection(name, socket, scene, book)
                nursery.start_soon(connection.read)
                await connection.wait_for_end(await connection.send_message(question))
                if number < len(SUBJECTS):
                    await UserActs(connection, Random(number)).do_everything()
                if aloud and number < len(SUBJECTS):
                    await VoiceActs(connection, Random(number)).do_everything()
                await connection.settle()
                await connection.leave("close")
        finally:
            socket.drop()

    async with trio.open_nursery() as nursery:
        if over_http:
            nursery.start_soon(Talk("the first", "the first", scene, Random(0), hasty=False).do_everything)
        for number, question in enumerate(QUESTIONS):
            nursery.start_soon(visit, number, question)


async def keep_rewriting(pages: Pages) -> None:
    """Rewrite the knowledge base every `REWRITE_EVERY` seconds, until cancelled."""
    while True:
        pages.rewrite()
        await trio.sleep(REWRITE_EVERY)


async def check_takeover(scene: Scene, pages: Pages) -> None:
    """Rewrite each file of the knowledge base once, and ask until an answer cites the last version."""
    for _ in NAMES:
        pages.rewrite()
    socket = await scene.line()
    try:
        async with trio.open_nursery() as nursery:
            connection = UserConnection("the reader", socket, scene)
            nursery.start_soon(connection.read)
            with trio.move_on_after(TAKEN_OVER * scene.target.slower) as waiting:
                while not await is_up_to_date(connection):  # noqa: ASYNC110  it is asked over the wire
                    await trio.sleep(0.1)
            if waiting.cancelled_caught:
                scene.tally.violation("S8", "no answer cites the last version of the knowledge base")
            await connection.settle()
            await connection.leave("close")
    finally:
        socket.drop()
