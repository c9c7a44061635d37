"""The wire of a client with voice: a connection, with a mouth and a hearing between it and its session.

The session knows nothing of voice: it reads text messages and writes frames as ever. Here the client's audio goes to
the hearing, its frames `listen` and `played` to hearing and mouth, and all other messages to the session. A `cancel`
and a `message` silence the mouth first, before the session knows of them, and so do the session's own ends of a turn.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import msgspec
import trio

from ..config import FRAMES_PER_SECOND
from ..errors import BadFrame
from ..protocol.audio import Listen, Played
from ..protocol.codec import decode
from ..protocol.inbound import Cancel, MemoryForget, Message, OpenThread, ThreadDelete
from ..protocol.kinds import VOICE
from ..protocol.outbound import StreamEnd
from ..wire.bucket import Bucket
from ..wire.meter import POLICY
from ..wire.outbox import Outbox, WrittenCallback
from .hearing import Hearing
from .mouth import Mouth, VoiceConnection
from .read_back import ReadBack

MessageHandler: TypeAlias = Callable[[str | bytes], None]
_SILENCING = (Message, OpenThread, ThreadDelete, MemoryForget)
"""Frames after which nothing of an earlier answer is said, which may be about what they leave or delete."""


class TalkingConnection(VoiceConnection, Protocol):
    """The connection of a client that may talk."""

    def take_message(self, message: str | bytes) -> None:
        """Take a message as if the client had sent it, within the limits of its address."""
        ...


class VoiceWire:
    """A connection with voice (implements `agent.ports.wire.Wire`).

    `mouth`: speaks the answers, None where the server speaks none. `hearing`: hears the client, None where the server
    hears none; then a binary frame goes to the session, which refuses it. `confirms`: whether a spoken yes may confirm.
    """

    def __init__(
        self,
        connection: VoiceConnection,
        mouth: Mouth | None = None,
        hearing: Hearing | None = None,
        confirms: bool = False,
    ) -> None:
        self._connection = connection
        self._hearing = hearing
        self._frames = Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)  # of those that the session does not see
        self.speaker = mouth
        self._read_back = None if mouth is None else ReadBack(mouth, confirms)
        if hearing is not None:
            hearing.utterance.read_back = self._read_back

    async def deliver_messages(self, take: MessageHandler) -> None:
        """Pass the messages that are the session's to `take`, until the connection ends; see `Wire`.

        When this ends, also by a cancel, mouth and hearing are closed: no audio is begun after it.
        """

        def take_message(message: str | bytes) -> None:
            if self._is_for_session(message):
                take(message)

        try:
            await self._connection.deliver_messages(take_message)
        finally:
            if self.speaker is not None:
                self.speaker.close()
            if self._hearing is not None:
                self._hearing.close()

    def _is_for_session(self, message: str | bytes) -> bool:
        """Handle a message as far as it is about voice; return whether the session gets it too.

        A frame that cannot be read goes to the session, which says why.
        """
        if isinstance(message, bytes):
            if self._hearing is None:
                return True
            self._hearing.take_audio(message)
            return False
        try:
            frame = decode(message, VOICE)
        except BadFrame:
            return True
        if isinstance(frame, Listen | Played):
            self._take_voice_frame(frame)
            return False
        if self._read_back is not None and isinstance(frame, Message):
            self._read_back.note_message(frame)
        if self.speaker is not None:
            if isinstance(frame, Cancel):
                self.speaker.cancel(frame.id)
            elif isinstance(frame, _SILENCING):
                self.speaker.cancel()
        return True

    def _take_voice_frame(self, frame: Listen | Played) -> None:
        if not self._frames.take_token(trio.current_time()):
            self.close(POLICY, "too many frames per second")
            return
        if isinstance(frame, Played):
            if self.speaker is not None:
                self.speaker.note_played(frame.seq)
        elif self._hearing is not None:
            self._hearing.set_listening(frame)

    # --- what silences the mouth, too

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on; the speech of an earlier turn ends."""
        if self.speaker is not None:
            self.speaker.open_turn()
        self._connection.open_turn(turn)

    def purge_deltas(self) -> None:
        """Remove every delta and all audio that were not begun; no more of the turn is streamed or said."""
        self._connection.purge_deltas()
        if self.speaker is not None:
            self.speaker.cancel()

    def close(self, code: int, reason: str) -> None:
        """Fall silent, then close the connection as `Wire.close` does."""
        if self.speaker is not None:
            self.speaker.close()
        self._connection.close(code, reason)

    def abort(self) -> None:
        """Drop the connection at once."""
        if self.speaker is not None:
            self.speaker.close()
        self._connection.abort()

    def note_frame(self, frame: msgspec.Struct) -> None:
        """Note the ends of turns, and the suggestions that the mouth reads aloud."""
        if isinstance(frame, StreamEnd):
            if self._hearing is not None:
                self._hearing.utterance.note_turn_end(frame.id)
        elif self._read_back is not None:
            self._read_back.note_frame(frame)

    # --- the connection's own

    @property
    def received_at(self) -> float:
        """The time of the last bytes from the client, in seconds on the loop's clock."""
        return self._connection.received_at

    @property
    def deltas(self) -> Outbox:
        """The queue for the deltas of the open turn."""
        return self._connection.outbox

    def start_task(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run `run(*args)` as a task that ends with the connection."""
        self._connection.start_task(run, *args)

    def make_frame(self, text: bytes) -> bytes:
        """Return one whole text message as the bytes that `put_frames` takes."""
        return self._connection.make_frame(text)

    def put_frames(self, frames: bytes, written: WrittenCallback | None = None) -> None:
        """Queue whole frames that nothing removes."""
        self._connection.put_frames(frames, written)

    def flush(self) -> None:
        """Write the queued frames, as `Wire.flush` does."""
        self._connection.flush()

    def ping(self) -> None:
        """Send a ping."""
        self._connection.ping()
