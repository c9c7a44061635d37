"""The halves of voice: a connection that is only heard, and one that only speaks; neither has a session.

They are for programs of the operator that hold a conversation of their own. Hearing and mouth are those of a session
with voice, and so are the words in which numbers are said; but no answer stands behind a text, and no turn behind words
that were heard. The first frame of each says that nothing vouches for them.
"""

from typing import Any, Protocol, cast

import trio

from ..config import BAD_FRAMES, FRAMES_PER_SECOND
from ..errors import BadFrame
from ..lang import DEFAULT
from ..ports.observe import Observer
from ..ports.voice import Synthesizer
from ..ports.wire import SpeechText
from ..protocol.audio import Listen, Played
from ..protocol.codec import decode, encode
from ..protocol.halves import HalfOutbound, HearingWelcome, Say, SpeakingWelcome
from ..protocol.inbound import Cancel
from ..protocol.kinds import ConnectionKind
from ..protocol.outbound import Error
from ..wire.bucket import Bucket
from ..wire.meter import POLICY, are_too_many
from ..wire.pulse import Pulse
from .hearing import Hearing, HearingParts, VoicePlaces
from .mouth import Mouth, VoiceConnection
from .unvouched import make_unvouched
from .voice_wire import TalkingConnection

_HEARS = "A recogniser makes these words of your audio; nothing vouches for them, and numbers may be wrong."
_SPEAKS = "This says your texts as they are; nothing vouches for them, and no number in them was checked."
_BUSY = "As many people are listened to, or spoken to, as this server can; say it again later."


class HalfRole(Protocol):
    """What one connection of a half does with the frames of its client. No method blocks."""

    @property
    def welcome(self) -> HalfOutbound:
        """The first frame."""
        ...

    def take_frame(self, frame: Any) -> Error | None:
        """Do what a frame asks for, or a binary one holds; return the error where that cannot be."""
        ...

    def end(self) -> None:
        """Hear and say nothing more. Idempotent."""
        ...


class VoiceHalf:
    """One connection of a `half` of voice. No method but `run` blocks."""

    def __init__(
        self, connection: TalkingConnection, kind: ConnectionKind, half: HalfRole, observer: Observer
    ) -> None:
        self.connection = connection
        self._kind = kind
        self._half = half
        self._observer = observer
        self._frames = Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        self._bad: tuple[float, ...] = ()  # when the last frames came that could not be read

    async def run(self) -> None:
        """Serve the client. Raises `agent.errors.WireClosed` when it has left, or `close` was called.

        When this ends, also by a cancel, nothing is heard and no audio is begun.
        """
        self._send(self._half.welcome)
        try:
            await self.connection.deliver_messages(self._take_message)
        finally:
            self._half.end()

    def close(self, code: int, reason: str) -> None:
        """Fall silent, then close the connection as `Wire.close` does."""
        self._half.end()
        self.connection.close(code, reason)

    def _take_message(self, message: str | bytes) -> None:
        if isinstance(message, bytes) and self._kind.takes_audio:
            self._half.take_frame(message)
            return
        now = trio.current_time()
        if not self._frames.take_token(now):
            self.close(POLICY, "too many frames per second")
            return
        try:
            error = self._half.take_frame(decode(message, self._kind))
        except BadFrame as fault:
            self._bad = (*self._bad, now)[-BAD_FRAMES:]
            error = Error(code=cast(Any, fault.code), message=fault.message, id=fault.ref)
        if error is not None:
            self._observer.count("errors", error.code)
            self._send(error)
        if are_too_many(self._bad):
            self.close(POLICY, "too many bad frames")

    def _send(self, frame: HalfOutbound) -> None:
        self.connection.put_frames(self.connection.make_frame(encode(frame)))
        self.connection.flush()


class HearingHalf:
    """Hears one client, and tells it the words (implements `HalfRole`)."""

    def __init__(self, connection: TalkingConnection, parts: HearingParts) -> None:
        self.welcome = HearingWelcome(vouched=False, message=_HEARS, hears=tuple(parts.recognizer.langs))
        self._hearing = Hearing(parts, connection, take=_ignore)

    def take_frame(self, frame: Listen | bytes) -> None:
        """Hear a frame of audio, or begin or end to listen."""
        if isinstance(frame, bytes):
            self._hearing.take_audio(frame)
        else:
            self._hearing.set_listening(frame)

    def end(self) -> None:
        """Hear nothing more."""
        self._hearing.close()


class PlacedMouth(Mouth):
    """A mouth that takes one of `places` while it says something; there must be a free one."""

    def __init__(
        self, connection: VoiceConnection, engine: Synthesizer, pulse: Pulse, places: VoicePlaces
    ) -> None:
        super().__init__(connection, engine, pulse)
        self._places = places

    def begin_speech(self) -> None:
        """Take a place, and begin."""
        self._places.take()
        super().begin_speech()

    def stop_speech(self) -> None:
        """End, and give the place back."""
        super().stop_speech()
        self._places.release()


class SpeakingHalf:
    """Says the texts of one client, of which a newer one ends the one before it (implements `HalfRole`)."""

    def __init__(
        self, connection: TalkingConnection, engine: Synthesizer, pulse: Pulse, places: VoicePlaces
    ) -> None:
        self.welcome = SpeakingWelcome(vouched=False, message=_SPEAKS, speaks=tuple(engine.langs))
        self._places = places
        self._mouth = PlacedMouth(connection, engine, pulse, places)

    def take_frame(self, frame: Say | Cancel | Played) -> Error | None:
        """Say a text, or no more of one; return the error `busy` where all places are taken."""
        if isinstance(frame, Played):
            self._mouth.note_played(frame.seq)
        elif isinstance(frame, Cancel):
            self._mouth.cancel(frame.id)
        else:
            self._mouth.open_turn()
            if self._places.free <= 0:
                return Error(code="busy", message=_BUSY, id=frame.id)
            text = make_unvouched(frame.text)
            self._mouth.speak_text(
                SpeechText(
                    message=frame.id,
                    text=text,
                    offset=0,
                    last=True,
                    lang=frame.lang or DEFAULT,
                    played=_ignore,
                )
            )
        return None

    def end(self) -> None:
        """Say nothing more."""
        self._mouth.close()


def _ignore(_: object) -> None:
    """Do nothing: there is no session that wants to know."""
