"""Connects a session with one client."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from ..lang import Lang
from .brain import VerifiedText


class DeltaQueue(Protocol):
    """The queue of a wire, as seen by the turn that fills it with deltas."""

    @property
    def room(self) -> int:
        """The number of further deltas that may wait."""
        ...

    @property
    def has_listener(self) -> bool:
        """Whether a client receives the deltas; without one, a text may be queued as a single delta."""
        ...

    def put_delta(self, turn: int, data: bytes, written: Callable[[], None] | None = None) -> bool:
        """Queue a delta of `turn`, a whole frame; return False, with nothing queued, when that is not the open turn."""
        ...

    def send_delta(self, turn: int, data: bytes) -> bool:
        """Put a delta and flush; return what `put_delta` returns."""
        ...

    def call_when_room(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when deltas have left; never after the turn was purged."""
        ...

    def flush(self) -> None:
        """Flush as `Wire.flush` does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechText:
    """A verified text of a turn, to be said aloud.

    `message`: the id of the turn's message. `offset`: the number of characters before `text` in the response. `last`:
    no text of this turn follows. `lang`: the language of a text that shows none. `played`: called with the number of
    the response's characters that the client has played, each time that it has played a sentence.
    """

    message: str
    text: VerifiedText
    offset: int
    last: bool
    lang: Lang
    played: Callable[[int], None]


class Speaker(Protocol):
    """Says the texts of a wire's turns aloud."""

    def speak_text(self, speech: SpeechText) -> None:
        """Say a text after the earlier texts of the open turn, unless its speech has ended. Never blocks."""
        ...

    def cancel(self) -> None:
        """Fall silent at once, in the middle of a word where it is, and say no more of the open turn, if any."""
        ...


class Wire(Protocol):
    """A framed connection that reads, queues and writes for one session.

    `put_frames` queues whole frames, in order, and never blocks; nothing leaves before `flush`. Only deltas are ever
    taken back, and only those whose frame was not begun.
    """

    @property
    def received_at(self) -> float:
        """The time of the last bytes from the client, in seconds on the loop's clock."""
        ...

    async def deliver_messages(self, take: Callable[[str | bytes], None]) -> None:
        """Pass each whole message (text or binary) to `take`, in order, until the connection ends.

        Raises `agent.errors.WireClosed` when the client has left, when `close` was called, or after an abort.
        Cancelled, the message under way is lost.
        """
        ...

    def start_task(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run `run(*args)` as a task that ends with the connection; only while messages are delivered."""
        ...

    def make_frame(self, text: bytes) -> bytes:
        """Return one whole text message (UTF-8 `text`) as the bytes that `put_frames` takes."""
        ...

    def put_frames(self, frames: bytes, written: Callable[[], None] | None = None) -> None:
        """Queue whole frames that nothing removes. `written` is called once the stream has taken the last byte."""
        ...

    @property
    def deltas(self) -> DeltaQueue:
        """The queue for the deltas of the open turn."""
        ...

    @property
    def speaker(self) -> Speaker | None:
        """The mouth that says the texts of the turns, None for a client that only reads."""
        ...

    @property
    def note_frame(self) -> Callable[[msgspec.Struct], None] | None:
        """Called by the session with each frame of `agent.protocol` before it is queued, deltas apart.

        None for a wire that only passes the bytes on.
        """
        ...

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        ...

    def purge_deltas(self) -> None:
        """Remove every delta that was not begun, and accept no more until a turn is opened."""
        ...

    def flush(self) -> None:
        """Write the queued frames, as far as the stream takes them at once, and the rest as soon as it does.

        Never blocks and never raises. The `written` callbacks of wholly taken frames are called in here.
        """
        ...

    def close(self, code: int, reason: str) -> None:
        """Queue a close frame, after which nothing is taken. A second one changes nothing. Never blocks."""
        ...

    def ping(self) -> None:
        """Send a ping; its answer shows in `received_at`."""
        ...

    def abort(self) -> None:
        """Drop the connection at once, without a close frame. Idempotent, never blocks."""
        ...
