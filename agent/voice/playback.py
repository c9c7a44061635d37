"""Cuts the audio of a speech into chunks, paces them, takes them back, and begins again at a word.

Pure: its caller brings the time. Audio leaves in the order in which it was made, so that what is taken back is always
the last that was sent.
"""

from array import array
from collections import deque
from collections.abc import Callable
from math import inf

from ..ports.utterance import SpokenSentence
from ..ports.voice import CHUNK_BYTES, CHUNK_SECONDS, SAMPLE_BYTES, SAMPLE_RATE
from ..wire.outbox import OUTBOX_AUDIO

AHEAD = 0.3  # seconds of audio that are sent before the ear can have heard them
_SECOND = SAMPLE_RATE * SAMPLE_BYTES  # bytes
MADE_AHEAD = 10 * _SECOND  # bytes that may wait to be sent; a piece of an engine comes on top
REWOUND = 3 * _SECOND // 2  # bytes that were sent last, among which the last word begins

_WINDOW = int(0.01 * SAMPLE_RATE)  # samples; a word is parted from the next by so many quiet windows:
_QUIET_WINDOWS = 3
_QUIET = 16  # the part of the loudest sample that is quiet
_REPEATED = (
    int(0.4 * SAMPLE_RATE) * SAMPLE_BYTES
)  # bytes that are said again where no word's beginning is found


PlayedCallback = Callable[[SpokenSentence], None]


class SentenceAudio:
    """The audio of one sentence, as far as it is made.

    `played`: called when the client has played all of it. `seq`: the number of its `speech` frame, None before that is
    sent. `sent`: the number of bytes that were sent. `is_whole`: all of it is made.
    """

    __slots__ = ("_dropped", "_pcm", "is_whole", "played", "sent", "sentence", "seq")

    def __init__(self, sentence: SpokenSentence, played: PlayedCallback) -> None:
        self.sentence = sentence
        self.played = played
        self.seq: int | None = None
        self.sent = 0
        self.is_whole = False
        self._pcm = bytearray()
        self._dropped = 0  # bytes of its beginning, which nothing needs any more

    @property
    def waiting(self) -> int:
        """The number of bytes that are made and not sent."""
        return self._dropped + len(self._pcm) - self.sent

    @property
    def has_chunk(self) -> bool:
        """Whether a chunk can be sent: a full one, or the rest of the sentence."""
        return self.waiting >= CHUNK_BYTES or (self.is_whole and self.waiting > 0)

    def add(self, pcm: bytes) -> None:
        """Add audio to the end."""
        self._pcm += pcm

    def cut_chunk(self) -> bytes:
        """Return the next chunk, filled up with silence where the sentence ends, and count it as sent."""
        at = self.sent - self._dropped
        chunk = bytes(self._pcm[at : at + CHUNK_BYTES])
        self.sent += len(chunk)
        if at > 2 * REWOUND:
            del self._pcm[: at - REWOUND]
            self._dropped += at - REWOUND
        return chunk.ljust(CHUNK_BYTES, b"\0")

    def go_back_a_word(self) -> None:
        """Go back to the beginning of the word at which the audio broke off."""
        begin = max(self._dropped, self.sent - REWOUND)
        heard = array("h", bytes(self._pcm[begin - self._dropped : self.sent - self._dropped]))
        back = _find_word(heard)
        if back is None:
            self.sent = 0 if begin == 0 else max(begin, self.sent - _REPEATED)
        else:
            self.sent = begin + back * SAMPLE_BYTES


def _find_word(samples: "array[int]") -> int | None:
    """Return the place of the last word's beginning in `samples`, None where no quiet stretch is found.

    That is the end of the last stretch of quiet; of the whole, where it ends in quiet.
    """
    if not samples:
        return 0
    quiet = max(max(samples), -min(samples)) // _QUIET
    run = 0
    for start in range(len(samples) - _WINDOW, -1, -_WINDOW):
        window = samples[start : start + _WINDOW]
        run = run + 1 if max(window) <= quiet and -min(window) <= quiet else 0
        if run == _QUIET_WINDOWS:
            return start + _QUIET_WINDOWS * _WINDOW
    return None


class Playback:
    """The sentences of one speech, from the engine's audio to the chunks that are due.

    `heard_at`: the time at which the ear has heard all that was sent, in seconds on the caller's clock.
    """

    __slots__ = ("_line", "_sent", "heard_at")

    def __init__(self) -> None:
        self.heard_at = -inf
        self._line: deque[SentenceAudio] = deque()  # not wholly sent; the last may be being made
        # The last frames that were sent, each with the place from which its sentence goes on without it; None for a
        # `speech` frame.
        self._sent: deque[tuple[SentenceAudio, int | None]] = deque(maxlen=OUTBOX_AUDIO)

    @property
    def is_full(self) -> bool:
        """Whether as much audio waits as may."""
        return sum(each.waiting for each in self._line) >= MADE_AHEAD

    @property
    def next_sentence(self) -> SentenceAudio | None:
        """The sentence that has the next chunk, None while no chunk is made."""
        self._drop_sent()
        return self._line[0] if self._line and self._line[0].has_chunk else None

    @property
    def is_empty(self) -> bool:
        """Whether everything that was begun is sent."""
        self._drop_sent()
        return not self._line

    @property
    def unfinished_seq(self) -> float:
        """The number of the `speech` frame of the sentence that is partly sent; infinite where there is none."""
        self._drop_sent()
        return inf if not self._line or self._line[0].seq is None else self._line[0].seq

    @property
    def due(self) -> float:
        """When the next chunk may be sent."""
        return self.heard_at + CHUNK_SECONDS - AHEAD

    def add_sentence(self, sentence: SentenceAudio) -> None:
        """Add a sentence; its audio is added to it as it is made."""
        self._line.append(sentence)

    def note_begun(self, sentence: SentenceAudio) -> None:
        """Note that the `speech` frame of `sentence` was sent."""
        self._sent.append((sentence, None))

    def note_sent(self, sentence: SentenceAudio, before: int, now: float) -> None:
        """Note that a chunk of `sentence` was sent. `before`: the bytes that were sent before it."""
        self._sent.append((sentence, before))
        self.heard_at = max(self.heard_at, now) + CHUNK_SECONDS

    def note_waiting(self, count: int, now: float) -> None:
        """Note that the client has not taken the last `count` frames, and may not until it is looked at again.

        Its ear cannot have heard them. The next look is at most `CHUNK_SECONDS` later.
        """
        self.heard_at = max(self.heard_at, now + (count + 1) * CHUNK_SECONDS)

    def take_back(self, count: int) -> int:
        """Take back the last `count` frames, which will be sent again; return the number of `speech` frames of them."""
        begun = 0
        for _ in range(count):
            sentence, before = self._sent.pop()
            if before is None:
                sentence.seq = None
                begun += 1
                continue
            sentence.sent = before
            self.heard_at -= CHUNK_SECONDS
            if not self._line or self._line[0] is not sentence:
                self._line.appendleft(sentence)
        return begun

    def go_back_a_word(self) -> None:
        """Go on from the beginning of the word at which the speech broke off."""
        self._drop_sent()
        if self._line:
            self._line[0].go_back_a_word()
        self._sent.clear()

    def _drop_sent(self) -> None:
        """Drop the sentences that are wholly sent."""
        line = self._line
        while line and line[0].is_whole and not line[0].waiting:
            line.popleft()
