"""One request on its connection: its body is read, its answer written, and it is known whether another may follow.

A connection carries one request after the other, never two at a time. Another one may follow only where the last was
read to its end, its answer was good and of a length that its head says, and nothing had come behind it until then: so
what stands in or behind a body that two readers would cut otherwise is never a request. A client that sends its next
request before it has its answer gets that answer, and the end of the connection.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import trio

from ..config import WRITE_TIMEOUT
from ..errors import WireClosed
from ..ports.observe import Observer
from .answers import Answer
from .body import USUAL, Bounds, Ending, feed_body
from .sniff import Head, Refusal

_READ = 4096


class Exchange:
    """One request and its answer.

    may_persist: whether the server lets another request follow, at the moment that it is asked.
    """

    def __init__(
        self, stream: trio.abc.Stream, head: Head, observer: Observer, may_persist: Callable[[], bool]
    ) -> None:
        self.head = head
        self._stream = stream
        self._observer = observer
        self._may_persist = may_persist
        self._alone = not head.rest and not head.announces  # nothing has come that was not read
        self._answered = False  # in a way that another request may follow
        self._watching = trio.CancelScope()

    @property
    def goes_on(self) -> bool:
        """Whether another request may follow on the connection now."""
        return self._answered and self._alone

    async def read(self, take: Callable[[bytes], None], bounds: Bounds = USUAL) -> Refusal | Ending | None:
        """Hand the body to `take`; see `agent.server.body.feed_body`."""
        ended = await feed_body(self._stream, self.head, take, bounds)
        self._alone = ended == "end"
        return ended

    async def watch(self, work: trio.CancelScope) -> None:
        """Cancel the work on an answer when its client has left. What it sends until there is one is dropped."""
        with self._watching:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while await self._stream.receive_some(_READ):
                    self._alone = False
            self._alone = False
            work.cancel()

    async def answer(self, answer: Answer) -> None:
        """Write a whole answer; behind one that says no, nothing follows. Raises as `write` does.

        Nobody reads any more then: what comes once the answer is out may be the next request.
        """
        self._watching.cancel()
        keep = answer.status < 400 and self._alone and self.head.persists and self._may_persist()
        await self.write(answer.render(self.head.method != b"HEAD", keep))
        self._answered = keep

    async def write(self, data: bytes) -> None:
        """Write some bytes of an answer. Raises WireClosed when that takes over WRITE_TIMEOUT seconds, or cannot be."""
        try:
            with trio.move_on_after(WRITE_TIMEOUT):
                await self._stream.send_all(data)
                return
            self._observer.count("aborts")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        raise WireClosed


Seated: TypeAlias = Callable[[Exchange, trio.CancelScope, Callable[[], None]], Awaitable[None]]
"""Reads the body of a request and answers it, in a place.

Given the request; a scope that is cancelled when the client gives its place away, as long as it has not said all; and
what is called when it has. Raises WireClosed when the client does not take its answer within WRITE_TIMEOUT. Cancelled,
or left by the client, nothing of it is left when it returns.
"""
