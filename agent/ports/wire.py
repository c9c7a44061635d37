"""One client's connection, as the session sees it."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol


class Deltas(Protocol):
    """The queue of a wire, as the turn sees it whose deltas it takes."""

    @property
    def room(self) -> int:
        """How many further deltas may wait."""
        ...

    @property
    def heard(self) -> bool:
        """Whether anybody is told the deltas; where nobody is, a text may be put as one."""
        ...

    def put_delta(self, turn: int, data: bytes, written: Callable[[], None] | None = None) -> bool:
        """Queue a delta of a turn, a whole frame; False, and nothing queued, when that is not the open one."""
        ...

    def when_room(self, told: Callable[[], None]) -> None:
        """Call `told` once, when deltas have left; never after the turn was purged."""
        ...

    def flush(self) -> None:
        """Do as `Wire.flush`."""
        ...


class Wire(Protocol):
    """A framed connection that reads, queues and writes for one session.

    Putting queues whole frames, in order, and never blocks; nothing leaves before `flush`. Only deltas are ever taken
    back, and only those whose frame was not begun.
    """

    @property
    def heard_at(self) -> float:
        """When bytes last came from the client, in seconds on the loop's clock."""
        ...

    async def deliver(self, take: Callable[[str | bytes], None]) -> None:
        """Hand each whole message (text or binary) to `take`, in order, until there is none any more.

        Raises `agent.errors.WireClosed` when the client has left, when `close` was called, or after an abort.
        Cancelled, the message under way is lost.
        """
        ...

    def start(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run `run(*args)` as a task that ends with the connection; only while messages are delivered."""
        ...

    def frame(self, text: bytes) -> bytes:
        """Return one whole text message (UTF-8 `text`) as the bytes that `put` takes."""
        ...

    def put(self, frames: bytes, written: Callable[[], None] | None = None) -> None:
        """Queue whole frames that nothing removes. written: called once the stream has taken the last byte."""
        ...

    @property
    def deltas(self) -> Deltas:
        """What takes the deltas of the open turn."""
        ...

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        ...

    def purge(self) -> None:
        """Remove every delta that was not begun, and accept no more until a turn is opened."""
        ...

    def flush(self) -> None:
        """Write what waits, as far as the stream takes it at once, and the rest as soon as it takes that.

        Never blocks and never raises. `written` of what was taken whole is called in here.
        """
        ...

    def close(self, code: int, reason: str) -> None:
        """Queue a close frame, after which nothing is taken. A second one changes nothing. Never blocks."""
        ...

    def ping(self) -> None:
        """Send a ping; its answer shows in `heard_at`."""
        ...

    def abort(self) -> None:
        """Drop the connection at once, without a close frame. Idempotent, never blocks."""
        ...
