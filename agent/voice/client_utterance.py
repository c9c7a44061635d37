"""An utterance of a client: its words as they are heard, the pause of the mouth, and the message that it becomes.

A barge-in in three steps. At the onset the mouth pauses, within the frame that holds it. A word makes the pause a
cancel: of the speech, and of the turn where that is still under way; a later word does the same. Without a word within
`PAUSE_SECONDS` the mouth goes on, so a cough and a click cancel nothing.

A client without echo cancellation sends the server's own voice back. While the mouth speaks, its onsets do not pause;
of its words only those count that the mouth does not say: an utterance of which half are among the spoken ones is taken
for the mouth's own, cancels nothing and becomes no message. A recogniser that errs in one word of the echo does not
cancel either: a word so far needs a second beside it. Somebody who repeats the answer aloud is not heard, then.
"""

from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec
import trio

from ..config import MAX_TEXT
from ..fsm import Engine
from ..ports.voice import VoiceTranscript
from ..protocol.audio import Heard
from ..protocol.codec import encode
from ..protocol.inbound import Cancel, Message
from ..text.words import split_words
from .read_back import ReadBack
from .states import UTTERANCE, UtteranceDeed, UtteranceGuard, UtteranceTrigger

PAUSE_SECONDS = 0.4  # of the mouth after an onset, until it goes on without a word
_ECHO_SHARE = 0.5  # of the words of an utterance that the mouth says too
_OWN_WORDS = 2  # that the mouth does not say, for words so far to be a client's own


class PausableMouth(Protocol):
    """The mouth of a connection, as a hearing sees it. No method blocks."""

    @property
    def is_speaking(self) -> bool:
        """Whether audio is sent, or heard, or about to be: not while paused."""
        ...

    @property
    def message(self) -> str:
        """The id of the message whose answer is spoken, or was last; "" before the first."""
        ...

    @property
    def spoken_words(self) -> Collection[str]:
        """The words of that answer, in lower case, as they are written and as they are said."""
        ...

    def pause(self) -> bool:
        """Send no more audio until `resume`; audio that was not begun is taken back. Return whether it was speaking."""
        ...

    def resume(self) -> None:
        """Go on from the beginning of the word at which `pause` came. Idempotent."""
        ...

    def cancel(self, message: str | None = None) -> None:
        """End the speech, of `message` only where it is given."""
        ...


class UtteranceWire(Protocol):
    """The connection of a client, as its utterance sees it."""

    def start_task(self, run: Callable[..., Any], *args: Any) -> None:
        """Run `run(*args)` as a task that ends with the connection."""
        ...

    def make_frame(self, text: bytes) -> bytes:
        """Return one whole text message as the bytes that `put_frames` takes."""
        ...

    def put_frames(self, frames: bytes) -> None:
        """Queue whole frames."""
        ...

    def flush(self) -> None:
        """Write the queued frames."""
        ...


class ClientUtterance:
    """The utterance of one client that is being heard, if there is one; it serves one after the other.

    `take`: takes a frame as if the client had sent it. `echo_cancelled`: the client's audio is without the mouth's own
    voice. `read_back`: the suggestions that a spoken yes may confirm; None where there is no mouth.
    """

    __slots__ = (
        "_ended_turn",
        "_id",
        "_mouth",
        "_new_id",
        "_overlaps",
        "_paused",
        "_pausing",
        "_take",
        "_wire",
        "_words",
        "echo_cancelled",
        "read_back",
        "state",
    )

    def __init__(
        self,
        wire: UtteranceWire,
        new_id: Callable[[], str],
        take: Callable[[str | bytes], None],
        mouth: PausableMouth | None,
    ) -> None:
        self.state = UTTERANCE.initial
        self.echo_cancelled = False
        self.read_back: ReadBack | None = None
        self._ended_turn: str | None = None  # the message whose turn has ended last
        self._wire = wire
        self._new_id = new_id
        self._take = take
        self._mouth = mouth
        self._id = ""  # of the message that it becomes
        self._words = VoiceTranscript("")  # so far
        self._paused = False  # the mouth, by this utterance
        self._overlaps = False  # the mouth spoke at its onset, or was broken off by it
        self._pausing = trio.CancelScope()  # ends the wait for the first word

    # --- what the ear tells

    def begin(self) -> None:
        """Begin an utterance: `PAUSE_MOUTH`."""
        self._id = self._new_id()
        self._words = VoiceTranscript("")
        self._overlaps = self._mouth is not None and self._mouth.is_speaking
        self._react(UtteranceTrigger.SPEECH)

    def note_words(self, partial: str) -> None:
        """Note the words so far; nothing is decided by them but to silence the mouth."""
        text = clean_words(partial)
        if text and text != self._words.text:
            self._words = VoiceTranscript(text)
            self._react(UtteranceTrigger.WORD)

    def end(self) -> None:
        """End the utterance: no more audio of it follows before `conclude`."""
        self._react(UtteranceTrigger.END)

    def conclude(self, transcript: VoiceTranscript) -> None:
        """Make the words of the whole utterance a message."""
        self._words = VoiceTranscript(clean_words(transcript.text), transcript.is_sure)
        self._react(UtteranceTrigger.FINAL)

    def drop(self) -> None:
        """Forget the utterance, if there is one, as `UtteranceTrigger.DROP`."""
        self._react(UtteranceTrigger.DROP)

    def note_turn_end(self, message: str | None) -> None:
        """Note that the turn of `message` has ended; its answer may still be spoken."""
        self._ended_turn = message

    # --- guards

    @property
    def may_be_echo(self) -> bool:
        """Whether the sound may be the mouth's own voice."""
        return self._mouth is not None and self._mouth.is_speaking and not self.echo_cancelled

    @property
    def has_no_own_word(self) -> bool:
        """Whether the words so far may be the mouth's own."""
        own, words = self._count_own_words()
        return own <= words * (1 - _ECHO_SHARE) or (self._has_echo and own < _OWN_WORDS)

    @property
    def says_nothing(self) -> bool:
        """Whether the whole utterance has no words, or the mouth's own."""
        own, words = self._count_own_words()
        return own <= words * (1 - _ECHO_SHARE)

    @property
    def _has_echo(self) -> bool:
        return self._mouth is not None and not self.echo_cancelled and len(self._mouth.spoken_words) > 0

    def _count_own_words(self) -> tuple[int, int]:
        """Return the number of words that the mouth has not said, and of all words."""
        words = split_words(self._words.text.lower())
        if not self._has_echo or self._mouth is None:
            return len(words), len(words)
        spoken = self._mouth.spoken_words
        return sum(word not in spoken for word in words), len(words)

    # --- deeds

    def pause_mouth(self) -> None:
        """Pause the mouth for `PAUSE_SECONDS`, unless a word comes."""
        self._paused = self._mouth is not None and self._mouth.pause()
        if self._paused:
            self._pausing = trio.CancelScope()
            self._wire.start_task(self._wait_for_word, self._pausing)

    def resume_mouth(self) -> None:
        """Let `PausableMouth` go on, after `pause_mouth`."""
        self._pausing.cancel()
        if self._paused and self._mouth is not None:
            self._mouth.resume()
        self._paused = False

    def cancel_speech(self) -> None:
        """End the speech that a word has interrupted, and its turn where that is under way."""
        self._pausing.cancel()
        mouth = self._mouth
        if mouth is None or not (self._paused or mouth.is_speaking):
            return
        self._paused = False
        self._overlaps = True
        if mouth.message != self._ended_turn:
            self._take(_encoder.encode(Cancel(mouth.message)).decode())
        else:
            mouth.cancel(mouth.message)

    def show_words(self) -> None:
        """Send the words so far as `Heard`."""
        self._send(Heard(id=self._id, text=self._words.text))

    def clear_words(self) -> None:
        """Tell the client that no message follows from what it was shown."""
        self._pausing.cancel()
        self._send(Heard(id=self._id, text="", final=True))

    def say_message(self) -> None:
        """Tell the client the words, and take them as its message, or as a confirm where the mouth was silent."""
        self._pausing.cancel()
        text = self._words.text
        self._send(Heard(id=self._id, text=text, final=True))
        reader = None if self._overlaps else self.read_back
        confirm = None if reader is None else reader.find_confirm(self._words)
        frame = Message(self._id, text, heard=True) if confirm is None else confirm
        self._take(_encoder.encode(frame).decode())

    async def _wait_for_word(self, pausing: trio.CancelScope) -> None:
        with pausing:
            await trio.sleep(PAUSE_SECONDS)
        if not pausing.cancelled_caught:
            self._react(UtteranceTrigger.NO_WORD)

    def _send(self, heard: Heard) -> None:
        self._wire.put_frames(self._wire.make_frame(encode(heard)))
        self._wire.flush()

    def _react(self, trigger: UtteranceTrigger) -> None:
        _ENGINE.react(self, self, trigger)


def clean_words(text: str) -> str:
    """Return `text` of an engine as one line that a message may hold: at most `MAX_TEXT` whole characters."""
    whole = text.encode("utf-8", "replace").decode()
    return " ".join(whole.replace("\0", " ").split())[:MAX_TEXT]


_encoder = msgspec.json.Encoder()
_GUARDS: dict[UtteranceGuard, Callable[[ClientUtterance], bool]] = {
    UtteranceGuard.MAY_BE_ECHO: lambda utterance: utterance.may_be_echo,
    UtteranceGuard.NO_OWN_WORD: lambda utterance: utterance.has_no_own_word,
    UtteranceGuard.NOTHING_SAID: lambda utterance: utterance.says_nothing,
}
_DEEDS: dict[UtteranceDeed, Callable[[ClientUtterance, Any], None]] = {
    UtteranceDeed.PAUSE_MOUTH: lambda utterance, _: utterance.pause_mouth(),
    UtteranceDeed.RESUME_MOUTH: lambda utterance, _: utterance.resume_mouth(),
    UtteranceDeed.CANCEL_SPEECH: lambda utterance, _: utterance.cancel_speech(),
    UtteranceDeed.SHOW_WORDS: lambda utterance, _: utterance.show_words(),
    UtteranceDeed.CLEAR_WORDS: lambda utterance, _: utterance.clear_words(),
    UtteranceDeed.SAY_MESSAGE: lambda utterance, _: utterance.say_message(),
}
_ENGINE = Engine(UTTERANCE, _GUARDS, _DEEDS)
