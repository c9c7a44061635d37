"""The hearing of one client: its audio goes through an ear, and what was said becomes its messages.

The client's frames are taken in its own task and never wait: a frame is refused, dropped or queued. One task a client,
which runs while there is audio to hear, opens an ear and feeds it. So audio and the table of `LISTENING` are in the
order of arrival, and the utterance in the order of the audio. The queue is bounded, and the audio too: real time and
`AHEAD_SECONDS` of it. The first frame that cannot be heard is answered with a sentence and costs its utterance; the
rest is dropped unread until the client asks to be listened to again. So a client with the wrong rate, or ten minutes of
audio in a second, costs no memory and keeps its session.

An ear that fails, or does not answer in time, costs its utterance; it is cancelled, closed, and opened again by the
next `listen`, also by one that came before it failed. An ear that nothing but digital silence has reached for
`IDLE_SECONDS` is closed too, and its place given to others; the next sound opens it again. Of a noise without speech
the ear keeps at most `LONGEST_SECONDS`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Protocol

import structlog
import trio

from ..config import BAD_FRAMES
from ..errors import VoiceFailed, describe_error
from ..fsm import Engine
from ..ports.observe import Observer
from ..ports.voice import SAMPLE_BYTES, SAMPLE_RATE, Ear, Recognizer
from ..protocol.audio import LONGEST_FRAME, SHORTEST_FRAME, Listen
from ..protocol.codec import encode
from ..protocol.outbound import Error
from ..wire.meter import POLICY, are_too_many
from .client_utterance import ClientUtterance, PausableMouth, UtteranceWire
from .states import (
    LISTENING,
    UTTERANCE,
    ListeningDeed,
    ListeningGuard,
    ListeningState,
    ListeningTrigger,
)

AHEAD_SECONDS = 2.0  # of audio beyond real time
SILENCE_SECONDS = 0.8  # without speech, after which an utterance has ended
LONGEST_SECONDS = 30.0  # of an utterance
IDLE_SECONDS = 60.0  # of digital silence, or of none at all, after which an ear is closed
QUEUE_SECONDS = 10.0  # of audio that waits for the ear, which may take some seconds to open
OPEN_TIMEOUT, FEED_TIMEOUT, FINISH_TIMEOUT = 20.0, 2.0, 15.0  # of an ear, beyond its own
_SECOND = SAMPLE_RATE * SAMPLE_BYTES  # bytes
_SILENCE, _LONGEST = int(SILENCE_SECONDS * _SECOND), int(LONGEST_SECONDS * _SECOND)
_SLACK = 1e-6  # seconds that rounding may add
_END = b""  # in the queue, until the words before it are made out: `listen` was ended here

_NOT_LISTENING = "Send listen with on true before audio; all audio is dropped until then."
_SIZE = (
    f"Send audio as PCM, 16-bit little-endian, mono, {SAMPLE_RATE} samples a second, in binary frames of an even "
    f"number of bytes from {SHORTEST_FRAME} to {LONGEST_FRAME}; then listen again."
)
_TOO_MUCH = (
    f"Send audio as fast as it is spoken, {SAMPLE_RATE} samples a second of one channel; then listen again."
)
_BUSY = "As many people are listened to as this server can; type instead, or try again later."
_FAILED = "That could not be heard, the recogniser failed; listen and say it again, or type."

_log = structlog.get_logger("agent.voice")


class VoicePlaces:
    """The places of the clients that a server listens to at once, or says a text without a session, `most` in all."""

    def __init__(self, most: int) -> None:
        self.free = most

    def take(self) -> None:
        """Take a place; there must be a free one."""
        self.free -= 1

    def release(self) -> None:
        """Give a place back."""
        self.free += 1


@dataclass(frozen=True, slots=True)
class HearingParts:
    """What the hearings of one server share. `new_id`: returns an unguessable id at each call."""

    recognizer: Recognizer
    places: VoicePlaces
    new_id: Callable[[], str]
    observer: Observer


class HearingWire(UtteranceWire, Protocol):
    """The connection of a client, as its hearing sees it."""

    def take_message(self, message: str | bytes) -> None:
        """Take a message as if the client had sent it."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Queue a close frame."""
        ...


class Hearing:
    """Hears one client. No method blocks.

    `mouth`: speaks to the client; None where the server does not. `take`: takes the messages that its words become, in
    place of `wire`.
    """

    def __init__(
        self,
        parts: HearingParts,
        wire: HearingWire,
        mouth: PausableMouth | None = None,
        take: Callable[[str | bytes], None] | None = None,
    ) -> None:
        self.state = LISTENING.initial
        self.utterance = ClientUtterance(wire, parts.new_id, take or wire.take_message, mouth)
        self._parts = parts
        self._wire = wire
        self._queue: deque[bytes] = deque()
        self._queued = 0  # bytes
        self._more = trio.Event()
        self._wants_ear = False
        self._has_place = False
        self._ear_scope = trio.CancelScope()
        self._paid_until = 0.0  # the time at which the audio so far ends, were it spoken in real time
        self._sound_at = 0.0  # when the last frame with a sound came
        self._bad: tuple[float, ...] = ()  # when the last refused audio came

    # --- frames of the client

    def take_audio(self, pcm: bytes) -> None:
        """Take a binary frame of the client, of `SHORTEST_FRAME` to `LONGEST_FRAME` bytes."""
        now = trio.current_time()
        fault = self._find_fault(pcm, now)
        if fault:
            self._react(ListeningTrigger.BAD_AUDIO, fault)
            return
        if pcm.count(0) < len(pcm):
            self._sound_at = now
        self._react(ListeningTrigger.AUDIO, pcm)

    def set_listening(self, frame: Listen) -> None:
        """Begin to listen, or end, as the frame `listen` says."""
        if frame.on:
            self.utterance.echo_cancelled = frame.echo_cancelled
            self._sound_at = trio.current_time()
        self._react(ListeningTrigger.LISTEN if frame.on else ListeningTrigger.STOP)

    def close(self) -> None:
        """Forget everything: the client has left. Idempotent."""
        self._react(ListeningTrigger.LEAVE)

    def _find_fault(self, pcm: bytes, now: float) -> str:
        """Return the fault of a frame as a sentence, "" for none."""
        if not SHORTEST_FRAME <= len(pcm) <= LONGEST_FRAME or len(pcm) % SAMPLE_BYTES:
            return _SIZE
        paid_until = max(self._paid_until, now) + len(pcm) / _SECOND
        if paid_until > now + AHEAD_SECONDS + _SLACK:
            return _TOO_MUCH
        self._paid_until = paid_until
        return ""

    # --- guards and deeds of its table

    @property
    def all_taken(self) -> bool:
        """Whether all places are taken, and by others."""
        return not self._has_place and self._parts.places.free <= 0

    @property
    def in_utterance(self) -> bool:
        """Whether an utterance is heard or being made out."""
        return self.utterance.state is not UTTERANCE.initial

    @property
    def has_listened_since(self) -> bool:
        """Whether `listen` was ended and begun again after the audio that the ear is at, and not too much has come."""
        is_kept = self._queued <= QUEUE_SECONDS * _SECOND
        return is_kept and self._queue.count(_END) > (self.state is not ListeningState.ON)

    def open_ear(self) -> None:
        """Open an ear, or go on with the one that is open."""
        self._wants_ear = True
        if not self._has_place:
            self._has_place = True
            self._parts.places.take()
            self._wire.start_task(self._hear)

    def queue_audio(self, pcm: bytes) -> None:
        """Queue a frame for `Ear.feed`. Silence opens no ear."""
        if not self._wants_ear and pcm.count(0) == len(pcm):
            return
        self._queue.append(pcm)
        self._queued += len(pcm)
        self.open_ear()
        self._more.set()
        if self._queued > QUEUE_SECONDS * _SECOND:
            _log.warning("audio waits too long for its ear")
            self._react(ListeningTrigger.FAILED)

    def queue_end(self) -> None:
        """Have the utterance end with the audio that waits."""
        if self._wants_ear:
            self._queue.append(_END)
            self._more.set()

    def drop_utterance(self) -> None:
        """Forget all audio, and close the `Ear`."""
        self._queue.clear()
        self._queued = 0
        self._wants_ear = False
        self._drop_ear()

    def drop_earlier(self) -> None:
        """Forget the audio before the first end of `listen`; another `Ear` hears the rest."""
        while pcm := self._queue.popleft():
            self._queued -= len(pcm)
        self._drop_ear()

    def _drop_ear(self) -> None:
        self._ear_scope.deadline = inf
        self._ear_scope.cancel()
        self.utterance.drop()

    def refuse_audio(self, fault: str) -> None:
        """Refuse a frame with a sentence; too many of them close the connection, as other bad frames do."""
        self._send_error("bad_message", fault)
        self._bad = (*self._bad, trio.current_time())[-BAD_FRAMES:]
        if are_too_many(self._bad):
            self._wire.close(POLICY, "too many bad frames")

    def tell_busy(self) -> None:
        """Send the error `busy`: all `VoicePlaces` are taken."""
        self._send_error("busy", _BUSY)

    def tell_failure(self) -> None:
        """Send the error `voice_failed`: the utterance was not made out."""
        self._send_error("voice_failed", _FAILED)

    def _send_error(self, code: Literal["bad_message", "busy", "voice_failed"], sentence: str) -> None:
        self._parts.observer.count("errors", code)
        self._wire.put_frames(self._wire.make_frame(encode(Error(code=code, message=sentence))))
        self._wire.flush()

    def _react(self, trigger: ListeningTrigger, subject: object = None) -> None:
        _ENGINE.react(self, self, trigger, subject)

    # --- the ear's task

    async def _hear(self) -> None:
        """Hear the client while there is audio to hear, with one ear after the other; then give the place back."""
        try:
            while self._wants_ear:
                with trio.CancelScope() as self._ear_scope:
                    await self._use_ear()
        finally:
            self._has_place = False
            self._parts.places.release()

    async def _use_ear(self) -> None:
        """Open an ear, and hear with it until none is wanted; a fault of the ear until then is told to the client."""
        scope = self._ear_scope
        scope.deadline = trio.current_time() + OPEN_TIMEOUT
        try:
            async with self._parts.recognizer.open_ear() as ear:
                scope.deadline = inf
                await self._hear_with(ear)
                scope.cancel()  # nothing is lost any more
        except* (VoiceFailed, trio.TooSlowError) as failures:
            self._report_failure(failures)
        except* Exception as faults:  # noqa: BLE001 - the edge of one ear
            self._report_failure(faults)
        finally:
            if trio.current_time() >= scope.deadline:
                self._react(ListeningTrigger.FAILED)

    def _report_failure(self, failures: BaseExceptionGroup[Exception]) -> None:
        _log.warning("the ear failed", **describe_error(failures.exceptions[0]))
        if not self._ear_scope.cancel_called:
            self._react(ListeningTrigger.FAILED)

    async def _hear_with(self, ear: Ear) -> None:
        """Feed the queued audio to `ear`, until no more of it is wanted."""
        unheard = 0  # bytes since the last speech
        length = 0  # bytes of the utterance, 0 without one
        while self._wants_ear:
            pcm = await self._next_audio(SILENCE_SECONDS if length else IDLE_SECONDS)
            if pcm:
                with trio.fail_after(FEED_TIMEOUT):
                    update = await ear.feed(pcm)
                unheard = 0 if update.is_speech else unheard + len(pcm)
                if update.is_speech and not length:
                    self.utterance.begin()
                    length = len(pcm)
                elif length:
                    length += len(pcm)
                if length:
                    self.utterance.note_words(update.partial)
            if length and (not pcm or unheard >= _SILENCE or length >= _LONGEST):
                self.utterance.end()
                with trio.fail_after(FINISH_TIMEOUT):
                    transcript = await ear.finish()
                self.utterance.conclude(transcript)
                unheard = length = 0
            elif unheard >= _LONGEST:
                with trio.fail_after(FEED_TIMEOUT):
                    await ear.discard()
                unheard = 0
            if pcm == _END:
                await trio.lowlevel.checkpoint_if_cancelled()  # then the queue was emptied
                self._queue.popleft()
            has_ended = pcm == _END and self.state is not ListeningState.ON and not self._queue
            if has_ended or trio.current_time() - self._sound_at >= IDLE_SECONDS:
                self._wants_ear = False
                self._queue.clear()
                self._queued = 0

    async def _next_audio(self, seconds: float) -> bytes | None:
        """Return the next frame, or None when nothing comes for `seconds`. `_END` is returned and not removed."""
        await trio.lowlevel.checkpoint()
        if not self._queue:
            self._more = trio.Event()
            with trio.move_on_after(seconds):
                await self._more.wait()
        if not self._queue:
            return None
        if not self._queue[0]:
            return _END
        pcm = self._queue.popleft()
        self._queued -= len(pcm)
        return pcm


_GUARDS: dict[ListeningGuard, Callable[[Hearing], bool]] = {
    ListeningGuard.ALL_TAKEN: lambda hearing: hearing.all_taken,
    ListeningGuard.IN_UTTERANCE: lambda hearing: hearing.in_utterance,
    ListeningGuard.LISTENED_SINCE: lambda hearing: hearing.has_listened_since,
}
_DEEDS: dict[ListeningDeed, Callable[[Hearing, Any], None]] = {
    ListeningDeed.OPEN_EAR: lambda hearing, _: hearing.open_ear(),
    ListeningDeed.QUEUE_AUDIO: lambda hearing, pcm: hearing.queue_audio(pcm),
    ListeningDeed.QUEUE_END: lambda hearing, _: hearing.queue_end(),
    ListeningDeed.DROP_UTTERANCE: lambda hearing, _: hearing.drop_utterance(),
    ListeningDeed.DROP_EARLIER: lambda hearing, _: hearing.drop_earlier(),
    ListeningDeed.REFUSE_AUDIO: lambda hearing, fault: hearing.refuse_audio(fault),
    ListeningDeed.REFUSE_EARLY: lambda hearing, _: hearing.refuse_audio(_NOT_LISTENING),
    ListeningDeed.TELL_BUSY: lambda hearing, _: hearing.tell_busy(),
    ListeningDeed.TELL_FAILURE: lambda hearing, _: hearing.tell_failure(),
}
_ENGINE = Engine(LISTENING, _GUARDS, _DEEDS)
