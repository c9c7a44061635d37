"""One request on a connection: its body, its answer, and whether another request may follow.

A connection carries one request at a time. Another may follow only if the last one was read to its end, its answer has
a status below 400 and a known length, and no byte had arrived behind the request before the answer was written. So
bytes inside or behind a body that two readers may delimit differently never become a request. A client that sends its
next request before it has its answer gets that answer, with `Connection: close`, and no further answer.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import trio

from ..config import WRITE_TIMEOUT
from ..errors import WireClosed
from ..ports.observe import Observer
from ..wire.outbox import find_eager_write
from .body import USUAL, Bounds, Ending, feed_body
from .request_head import Head, Refusal
from .responses import Answer

_READ = 4096


class HttpExchange:
    """One request and its answer.

    `may_persist` returns whether the server lets another request follow at that moment.
    """

    def __init__(
        self, stream: trio.abc.Stream, head: Head, observer: Observer, may_persist: Callable[[], bool]
    ) -> None:
        self.head = head
        self._stream = stream
        self._observer = observer
        self._may_persist = may_persist
        self._alone = not head.rest and not head.announces  # no byte of the connection is unread
        self._answered = False  # with `Connection: keep-alive`
        self._watching = trio.CancelScope()

    @property
    def may_continue(self) -> bool:
        """Whether another request may follow on the connection now."""
        return self._answered and self._alone

    @property
    def is_client_done(self) -> bool:
        """Whether the client has asked for `Connection: close`, and no byte of it has come behind its request."""
        return self._alone and self.head.asks_close

    async def read(self, take: Callable[[bytes], None], bounds: Bounds = USUAL) -> Refusal | Ending | None:
        """Hand the body to `take`; see `agent.server.body.feed_body`."""
        outcome = await feed_body(self._stream, self.head, take, bounds)
        self._alone = outcome == "end"
        return outcome

    async def watch(self, work: trio.CancelScope) -> None:
        """Read the connection until `answer` is called: drop what comes, and cancel `work` when the client has left."""
        with self._watching:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while await self._stream.receive_some(_READ):
                    self._alone = False
            self._alone = False
            work.cancel()

    async def answer(self, answer: Answer) -> None:
        """Write a whole answer. Raises `WireClosed` as `write` does.

        `watch` is cancelled before the first byte is written: bytes behind the answer may be the next request.
        """
        self._watching.cancel()
        keep = answer.status < 400 and self._alone and self.head.persists and self._may_persist()
        await self.write(answer.render(self.head.method != b"HEAD", keep))
        self._answered = keep

    async def write(self, data: bytes) -> None:
        """Write some bytes of an answer.

        Raises `WireClosed` if that takes over `WRITE_TIMEOUT` seconds, or the client has closed the connection.
        """
        try:
            write_now = find_eager_write(self._stream)
            if write_now is not None:  # nearly every answer fits, and a deadline costs more than to write it
                data = data[write_now(self._stream, data) :]
                if not data:
                    await trio.lowlevel.checkpoint()
                    return
            with trio.move_on_after(WRITE_TIMEOUT):
                await self._stream.send_all(data)
                return
            self._observer.count("aborts")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        raise WireClosed


PlacedHandler: TypeAlias = Callable[[HttpExchange, trio.CancelScope, Callable[[], None]], Awaitable[None]]
"""Reads the body of a request and answers it, in a place.

Arguments: the `HttpExchange`; a scope that is cancelled when the place goes to a newcomer while the body is still on
its way; a function to call once the body is read. Raises `WireClosed` if the client does not take its answer within
`WRITE_TIMEOUT`. No task of it is left when it returns, also if it was cancelled or the client has left.
"""
