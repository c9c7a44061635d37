"""The way of a speech's audio: chunks, what is taken back, and the beginning of a word."""

import math
from array import array

import pytest

from agent.ports.utterance import SpokenSentence
from agent.ports.voice import CHUNK_BYTES, CHUNK_SECONDS
from agent.voice.playback import AHEAD, MADE_AHEAD, REWOUND, Playback, SentenceAudio

SECOND = 32_000  # bytes


def tone(seconds: float) -> bytes:
    """A sine."""
    return array("h", [round(9000 * math.sin(at / 5)) for at in range(int(seconds * 16_000))]).tobytes()


def silence(seconds: float) -> bytes:
    return bytes(int(seconds * 16_000) * 2)


def sentence(*pcm: bytes, whole: bool = True) -> SentenceAudio:
    made = SentenceAudio(SpokenSentence(start=0, end=1, words="w", withheld=False), lambda _: None)
    for piece in pcm:
        made.add(piece)
    made.is_whole = whole
    return made


def send(playback: Playback, count: int, now: float = 0.0) -> list[bytes]:
    """Send so many chunks as a mouth does, with the frame that tells of each sentence."""
    chunks = []
    for _ in range(count):
        following = playback.next_sentence
        assert following is not None
        if following.seq is None:
            following.seq = 1
            playback.note_begun(following)
        before = following.sent
        chunks.append(following.cut_chunk())
        playback.note_sent(following, before, now)
    return chunks


def test_chunks_are_whole_and_the_last_is_filled_with_silence() -> None:
    """A piece of an engine may have any size; no chunk is cut from audio that is not made."""
    playback = Playback()
    pcm = tone(0.1)
    made = sentence(pcm[:1000], whole=False)
    playback.add_sentence(made)
    assert playback.next_sentence is None
    made.add(pcm[1000:])
    made.is_whole = True
    chunks = send(playback, 3)
    assert [len(chunk) for chunk in chunks] == [CHUNK_BYTES] * 3
    assert b"".join(chunks).rstrip(b"\0") == pcm.rstrip(b"\0")
    assert playback.is_empty


def test_the_ear_sets_the_pace() -> None:
    """A chunk is due once the ear has heard all but 300 ms with it; after a gap the ear begins anew."""
    playback = Playback()
    playback.add_sentence(sentence(tone(3)))
    assert playback.due <= 5
    for _ in range(7):
        send(playback, 1, 5.0)
    assert playback.heard_at == pytest.approx(5 + 7 * CHUNK_SECONDS)
    assert playback.due == pytest.approx(5 + 8 * CHUNK_SECONDS - AHEAD)
    send(playback, 1, 9.0)
    assert playback.heard_at == pytest.approx(9 + CHUNK_SECONDS)


def test_what_is_taken_back_is_sent_again_across_sentences() -> None:
    """Also the `speech` frame of a sentence, and the end of the sentence before it."""
    playback = Playback()
    first, second = sentence(tone(0.08)), sentence(silence(0.02), tone(0.1))
    playback.add_sentence(first)
    playback.add_sentence(second)
    chunks = send(playback, 4)
    assert playback.take_back(4) == 1  # two chunks of the second, its frame, one chunk of the first
    assert (first.seq, second.seq, second.sent) == (1, None, 0)
    assert playback.unfinished_seq == 1
    assert playback.heard_at == pytest.approx(CHUNK_SECONDS)
    assert send(playback, 3) == chunks[1:]


@pytest.mark.parametrize(
    ("pcm", "sent", "back"),
    [
        ((tone(0.2), silence(0.06), tone(0.4)), 0.4, 0.26),  # in the second word
        ((tone(0.2), silence(0.2), tone(0.4)), 0.32, 0.32),  # between two words
        ((tone(0.4),), 0.24, 0.0),  # in the first word
        ((tone(4.0),), 2.0, 1.6),  # no word begins in the last 1.5 s
        ((silence(0.4), tone(0.2)), 0.2, 0.2),  # before the first
        ((tone(0.2), silence(0.02), tone(0.4)), 0.4, 0.0),  # a gap within a word
    ],
)
def test_a_speech_goes_on_from_the_beginning_of_a_word(
    pcm: tuple[bytes, ...], sent: float, back: float
) -> None:
    """To a hundredth of a second."""
    playback = Playback()
    made = sentence(*pcm)
    playback.add_sentence(made)
    send(playback, round(sent / CHUNK_SECONDS))
    playback.go_back_a_word()
    assert made.sent / SECOND == pytest.approx(back, abs=0.011)
    assert made.sent % 2 == 0


def test_after_a_whole_sentence_the_next_begins() -> None:
    """Nothing is said twice."""
    playback = Playback()
    first, second = sentence(tone(0.08)), sentence(tone(0.1))
    playback.add_sentence(first)
    playback.add_sentence(second)
    send(playback, 2)
    playback.go_back_a_word()
    assert (first.waiting, second.sent, playback.next_sentence) == (0, 0, second)


def test_a_long_sentence_keeps_no_more_audio_than_may_be_said_again() -> None:
    """Of a minute, while it is sent, some seconds."""
    playback = Playback()
    made = sentence(whole=False)
    playback.add_sentence(made)
    half = silence(0.5)
    for _ in range(10):
        while not playback.is_full:
            made.add(half)
        send(playback, 200)
        assert len(made._pcm) <= MADE_AHEAD + 3 * REWOUND + SECOND
    assert made.sent == 10 * 200 * CHUNK_BYTES
