"""All users of one soak: they arrive little by little, stay until the scene stops, and must leave in time.

A crowd runs beside another operator's server, or in a process of its own beside one of ours (`remote`), where it also
keeps rewriting the knowledge base.
"""

from random import Random

import trio

from .book import OF_HTTP, Book
from .callers import HttpUser
from .http_talk import Talk
from .pages import NAMES, Pages
from .scene import Scene
from .users import HANG_UP, PATIENCE, QUESTIONS, SUBJECTS, User, UserVisit

ARRIVALS = 50.0  # users a second, so that not all of them shake hands at once
REWRITE_EVERY = 3.0  # seconds
TAKEN_OVER = 15.0  # seconds in which an answer must come from the last version
DRAINED = 45.0  # seconds in which a server that goes down must have ended every connection


async def stay(scene: Scene, seed: int, number_of: int, callers: int = 0) -> None:
    """Let users come, use the server and leave, until `scene.stop` is set or a server that drains is gone.

    `number_of`, `callers`: the number of users over sockets and over HTTP. Users who cannot leave in time are a broken
    promise. Cancelled, everything ends at once.
    """
    with trio.CancelScope() as overall:
        async with trio.open_nursery() as around:
            around.start_soon(_see_out, scene, overall)
            async with trio.open_nursery() as users:
                sockets = [User(number, seed, scene).run for number in range(1, number_of + 1)]
                over_http = [HttpUser(number, seed, scene).run for number in range(1, callers + 1)]
                for each in (*sockets, *over_http):
                    users.start_soon(each)
                    with trio.move_on_after(1 / ARRIVALS):
                        await scene.stop.wait()
            around.cancel_scope.cancel()
    if overall.cancelled_caught:
        scene.tally.violation("S6", "users could not leave")


async def _see_out(scene: Scene, overall: trio.CancelScope) -> None:
    """Set the deadline for leaving once `stop` or `drain` is set."""
    async with trio.open_nursery() as either:
        either.start_soon(_until, scene.stop, either.cancel_scope)
        either.start_soon(_until, scene.drain, either.cancel_scope)
    leaving = DRAINED if scene.drain.is_set() else 2 * PATIENCE + HANG_UP
    overall.deadline = trio.current_time() + leaving * scene.target.slower


async def _until(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def first_of_all(scene: Scene, over_http: bool = False) -> None:
    """Ask each question and do a bit of everything, so that things made once exist before the first census."""

    async def visit(number: int, question: str) -> None:
        line = await scene.line()
        try:
            async with trio.open_nursery() as nursery:
                name = f"first {number}"
                book = Book(name, OF_HTTP + OF_HTTP - 1 - number, scene.run, scene.tally, scene.note)
                first = UserVisit(name, line, scene, Random(number), book)
                nursery.start_soon(first.read)
                await first.hear(question)
                if number < len(SUBJECTS):
                    await first.do_everything()
                await first.settle()
                await first.leave("close")
        finally:
            line.drop()

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


async def see_taken_over(scene: Scene, pages: Pages) -> None:
    """Rewrite each file of the knowledge base once, and ask until an answer cites the last version."""
    for _ in NAMES:
        pages.rewrite()
    line = await scene.line()
    try:
        async with trio.open_nursery() as nursery:
            asking = UserVisit("the reader", line, scene, Random(0))
            nursery.start_soon(asking.read)
            with trio.move_on_after(TAKEN_OVER * scene.target.slower) as waiting:
                while not await asking.is_up_to_date():  # noqa: ASYNC110  it is asked over the wire
                    await trio.sleep(0.1)
            if waiting.cancelled_caught:
                scene.tally.violation("S8", "what was written last is not answered")
            await asking.settle()
            await asking.leave("close")
    finally:
        line.drop()
