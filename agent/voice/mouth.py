"""Says the verified texts of a connection's turns: the audio of an engine, chunk by chunk, at the pace of the ear.

A turn ends when its text is written; its speech goes on until it is said. At most `playback.AHEAD` seconds of audio are
sent before the ear can have heard them, by the clock and never by the room in the socket, so that a mouth that is told
to be silent is. Its state table is in `states.py`.

In one synchronous step a cancel removes all audio that is not begun, ends the engine, and queues `speech_end`: of an
engine that takes a moment to end no sound is heard.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Literal, Protocol

import structlog
import trio

from ..errors import describe_error
from ..fsm import Engine
from ..grounding.utterance import make_utterance
from ..ports.utterance import SpokenSentence, Utterance
from ..ports.voice import CHUNK_SECONDS, Synthesizer
from ..ports.wire import SpeechText, Wire
from ..protocol import audio
from ..protocol.codec import encode
from ..text.language import detect_language
from ..wire.outbox import Outbox
from ..wire.pulse import PULSE_TICK, Pulse
from .playback import PlayedCallback, SentenceAudio
from .speech import LiveSpeech, UtteranceMaker
from .states import MOUTH, MouthDeed, MouthGuard, MouthState, MouthTrigger

SLOW_AFTER = 1.0  # seconds in which a client takes no audio
LONGEST_PAUSE = 2.0  # seconds after which a mouth goes on by itself
_PLAYED = 64  # sentences that were sent and that the client has not played

SpeechReason = Literal["done", "cancelled", "slow", "failed"]

_log = structlog.get_logger("agent.voice")


class VoiceConnection(Wire, Protocol):
    """The connection under a wire with voice."""

    @property
    def outbox(self) -> Outbox:
        """The queue of its frames, which takes audio too."""
        ...

    def make_frame(self, text: bytes, *, binary: bool = False) -> bytes:
        """Return one whole message, a binary one with `binary`, as the bytes that `put_frames` takes."""
        ...


class Mouth:
    """Speaks on one connection (implements `agent.ports.wire.Speaker` and `agent.wire.pulse.Voice`).

    `engine`: makes the audio. `pulse`: calls the mouth when a chunk is due. `message`: the id of the message of the
    speech in progress, or of the last one; "" before the first text of a turn. `spoken_words`: the words of that speech
    so far, in lower case. No method blocks.
    """

    def __init__(self, connection: VoiceConnection, engine: Synthesizer, pulse: Pulse) -> None:
        self.state = MOUTH.initial
        self._connection = connection
        self._outbox = connection.outbox
        self._engine = engine
        self._pulse = pulse
        self._speech: LiveSpeech | None = None  # while it is said, or paused
        self.message = ""
        self.spoken_words: Collection[str] = ()
        self._spoken = 0  # the number of speeches so far
        self._seq = 0  # the number of `speech` frames so far
        self._put = 0  # audio frames that were queued and not taken back
        self._taken = 0  # of these, those that had left the queue when it last moved ...
        self._moved_at = 0.0  # ... at this time
        self._due = 0.0  # when a paused mouth goes on by itself
        self._unplayed: deque[tuple[int, SpokenSentence, PlayedCallback]] = deque(maxlen=_PLAYED)  # by seq
        self._unwound = trio.Lock()

    @property
    def is_speaking(self) -> bool:
        """Whether audio is sent, or heard, or about to be: not while paused."""
        return self.state is MouthState.SPEAKING

    def open_turn(self) -> None:
        """Be ready for the texts of a turn; the speech of an earlier one ends."""
        self._react(MouthTrigger.OPEN)
        self.message = ""

    def speak_text(self, speech: SpeechText) -> None:
        """Say a text of the open turn; see `agent.ports.wire.Speaker`."""
        self.message = speech.message
        lang = detect_language(speech.text.text) or speech.lang
        make = partial(make_utterance, speech.text, lang, speech.offset)
        self._react(MouthTrigger.TEXT, (make, speech.last, lambda sentence: speech.played(sentence.end)))

    def read_back(self, message: str, utterance: Utterance, played: Callable[[], None]) -> bool:
        """Say `utterance` after the speech about `message`; return False when nothing more is said of its turn.

        `played`: called once the client has played its last sentence.
        """

        def note(sentence: SpokenSentence) -> None:
            if sentence is utterance.sentences[-1]:
                played()

        if message != self.message:
            return False
        return self._react(MouthTrigger.READ_BACK, (lambda: utterance, True, note))

    def pause(self) -> bool:
        """Pause: no further chunk is begun. Return whether the mouth was speaking.

        Without `resume` or `cancel` it goes on after `LONGEST_PAUSE`.
        """
        return self._react(MouthTrigger.PAUSE)

    def resume(self) -> None:
        """Go on from the beginning of the word at which a pause broke off."""
        self._react(MouthTrigger.RESUME)

    def cancel(self, message: str | None = None) -> None:
        """End the speech at once and say no more of its turn. `message`: only if the speech is about it."""
        if message is None or message == self.message:
            self._react(MouthTrigger.CANCEL)

    def note_played(self, seq: int) -> None:
        """Take note of a `played` frame: the client has played the sentence numbered `seq`, and all before it.

        A sentence that is not wholly sent was not played, whatever the client says.
        """
        last = min(seq, self._last_sent)
        while self._unplayed and self._unplayed[0][0] <= last:
            _, sentence, played = self._unplayed.popleft()
            played(sentence)

    def close(self) -> None:
        """End without a frame: the connection ends. Idempotent."""
        self._react(MouthTrigger.CLOSE)

    # --- called by the pulse

    def step(self, now: float) -> float | None:
        """Send the chunks that are due; return when the next is due, None while no chunk is made."""
        speech = self._speech
        if speech is None:
            return None
        if self.state is MouthState.PAUSED:
            if now < self._due - PULSE_TICK:
                return self._due
            self.resume()
            return None
        if self._is_stalled(now):
            self._react(MouthTrigger.STALL)
            return None
        waiting = self._outbox.audio
        if waiting:
            speech.playback.note_waiting(waiting, now)
        due = self._send_chunks(speech, now)
        self._outbox.flush()
        if self._outbox.audio:
            return now + CHUNK_SECONDS if due is None else min(due, now + CHUNK_SECONDS)
        if due is not None:
            return due
        if not (speech.is_made and speech.playback.is_empty):
            return None  # the engine makes more, or the turn has more to say
        if now < speech.playback.heard_at - PULSE_TICK:
            return speech.playback.heard_at
        self._react(MouthTrigger.DONE)
        return None

    def fail(self, error: Exception) -> None:
        """End the speech: a step of it broke."""
        _log.error("speech broke", message=self.message, **describe_error(error))
        self._react(MouthTrigger.FAIL)

    def _is_stalled(self, now: float) -> bool:
        """Tell whether audio waits, and none has left for `SLOW_AFTER`."""
        waiting = self._outbox.audio
        taken = self._put - waiting
        if not waiting or taken != self._taken:
            self._taken, self._moved_at = taken, now
        return now - self._moved_at >= SLOW_AFTER

    def _send_chunks(self, speech: LiveSpeech, now: float) -> float | None:
        """Queue the chunks that are due; return when the next is due, None while no chunk is made."""
        playback = speech.playback
        while (sentence := playback.next_sentence) is not None:
            if playback.due > now + PULSE_TICK / 1000:
                return playback.due
            if sentence.seq is None and not self._tell_speech(speech, sentence):
                return now + CHUNK_SECONDS
            before = sentence.sent
            chunk = self._connection.make_frame(sentence.cut_chunk(), binary=True)
            if not self._outbox.put_audio(speech.number, chunk):
                sentence.sent = before
                return now + CHUNK_SECONDS
            self._put += 1
            playback.note_sent(sentence, before, now)
            speech.note_sent()
        return None

    def _tell_speech(self, speech: LiveSpeech, sentence: SentenceAudio) -> bool:
        """Queue the `speech` frame of a sentence; return False when the outbox takes no more audio."""
        place = sentence.sentence
        frame = audio.Speech(id=speech.message, seq=self._seq + 1, start=place.start, end=place.end)
        if not self._outbox.put_audio(speech.number, self._connection.make_frame(encode(frame))):
            return False
        self._put += 1
        self._seq += 1
        sentence.seq = self._seq
        self._unplayed.append((self._seq, place, sentence.played))
        speech.playback.note_begun(sentence)
        return True

    @property
    def _last_sent(self) -> float:
        """The number of the `speech` frame of the last sentence that is wholly sent."""
        speech = self._speech
        return self._seq if speech is None else min(self._seq, speech.playback.unfinished_seq - 1)

    def _forget_unsent(self, last: float) -> None:
        """Forget the sentences after the `speech` frame `last`: the client will not have played them."""
        while self._unplayed and self._unplayed[-1][0] > last:
            self._unplayed.pop()

    def _go_on(self) -> None:
        """Have the pulse call now: there is more to send, or no more will follow."""
        if self.state is MouthState.SPEAKING:
            self._pulse.add(self, trio.current_time())

    def _give_up(self) -> None:
        """End the speech after its engine has failed."""
        self._react(MouthTrigger.FAIL)

    def _react(self, trigger: MouthTrigger, subject: object = None) -> bool:
        return _ENGINE.react(self, self, trigger, subject)

    # --- the deeds of its table

    def begin_speech(self) -> None:
        """Begin a speech about the turn's message, and its engine's task."""
        self._spoken += 1
        self._taken, self._moved_at = self._put, trio.current_time()
        self._outbox.open_speech(self._spoken)
        self._speech = LiveSpeech(self.message, self._spoken, self._go_on, self._give_up)
        self.spoken_words = self._speech.words
        self._connection.start_task(self._speech.run, self._engine, self._unwound)

    def add_text(self, make: UtteranceMaker, last: bool, played: PlayedCallback) -> None:
        """Say a text after those before it."""
        assert self._speech is not None
        self._speech.add_text(make, last, played)

    def take_back_audio(self) -> None:
        """Remove the audio that is not begun, to send it later, and wait."""
        assert self._speech is not None
        removed = self._outbox.purge_audio()
        self._put -= removed
        self._seq -= self._speech.playback.take_back(removed)
        self._forget_unsent(self._seq)
        self._due = trio.current_time() + LONGEST_PAUSE
        self._pulse.add(self, self._due)

    def go_back_a_word(self) -> None:
        """Go on from the beginning of the word that broke off."""
        assert self._speech is not None
        self._speech.playback.go_back_a_word()
        self._moved_at = trio.current_time()
        self._go_on()

    def stop_speech(self) -> None:
        """End the speech and its engine: no audio is begun from here on."""
        assert self._speech is not None
        self._outbox.open_speech(0)
        self._outbox.purge_audio()
        self._pulse.discard(self)
        self._forget_unsent(self._last_sent)
        self._speech.stop()
        self._speech = None

    def forget_sentences(self) -> None:
        """Forget the sentences that the client may have played; their turns refer to this connection."""
        self._unplayed.clear()

    def tell_end(self, reason: SpeechReason) -> None:
        """Tell the client that no further audio of the message is sent."""
        frame = audio.SpeechEnd(id=self.message, reason=reason)
        self._connection.put_frames(self._connection.make_frame(encode(frame)))
        self._connection.flush()


_GUARDS: dict[MouthGuard, Callable[[Mouth], bool]] = {}
_DEEDS: Mapping[MouthDeed, Callable[[Mouth, Any], None]] = {
    MouthDeed.BEGIN_SPEECH: lambda mouth, _: mouth.begin_speech(),
    MouthDeed.ADD_TEXT: lambda mouth, text: mouth.add_text(*text),
    MouthDeed.TAKE_BACK_AUDIO: lambda mouth, _: mouth.take_back_audio(),
    MouthDeed.GO_BACK_A_WORD: lambda mouth, _: mouth.go_back_a_word(),
    MouthDeed.STOP_SPEECH: lambda mouth, _: mouth.stop_speech(),
    MouthDeed.FORGET_SENTENCES: lambda mouth, _: mouth.forget_sentences(),
    MouthDeed.TELL_DONE: lambda mouth, _: mouth.tell_end("done"),
    MouthDeed.TELL_CANCELLED: lambda mouth, _: mouth.tell_end("cancelled"),
    MouthDeed.TELL_SLOW: lambda mouth, _: mouth.tell_end("slow"),
    MouthDeed.TELL_FAILED: lambda mouth, _: mouth.tell_end("failed"),
}
_ENGINE = Engine(MOUTH, _GUARDS, _DEEDS)
