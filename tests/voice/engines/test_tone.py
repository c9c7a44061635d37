"""The mouth of tests: a beep for each word."""

from array import array

import pytest
import trio

from agent.errors import VoiceFailed
from agent.lang import LANGUAGES
from agent.ports.voice import SAMPLE_RATE, Synthesizer
from agent.voice.engines.tone import BEEP_SECONDS, GAP_SECONDS, Tone

WORD_BYTES = round(SAMPLE_RATE * (BEEP_SECONDS + GAP_SECONDS)) * 2


async def test_each_word_is_a_beep_and_a_gap_of_the_same_bytes() -> None:
    """The audio of three words is three equal pieces: a sine that is heard, then silence."""
    engine: Synthesizer = Tone()
    async with engine.synthesize("tighten to  seven", "en") as pieces:
        said = [piece async for piece in pieces]
    assert [len(piece) for piece in said] == [WORD_BYTES] * 3
    assert len(set(said)) == 1
    samples = array("h", said[0])
    beep = round(SAMPLE_RATE * BEEP_SECONDS)
    assert max(samples[:beep]) > 10_000
    assert min(samples[:beep]) < -10_000
    assert not any(samples[beep:])
    assert all(samples[:beep])
    async with Tone().synthesize("ord", "sv") as pieces:
        assert [piece async for piece in pieces] == said[:1]
    assert engine.langs == tuple(LANGUAGES)


async def test_nothing_to_speak_fails() -> None:
    """Words without a word make no audio, and iterating says so."""
    async with Tone().synthesize(" ", "en") as pieces:
        with pytest.raises(VoiceFailed, match="no words"):
            await anext(pieces)


async def test_a_cancel_ends_the_audio_between_two_words() -> None:
    """Each piece is a checkpoint."""
    said = 0
    with trio.move_on_after(60) as scope:
        async with Tone().synthesize("one two three", "en") as pieces:
            async for _ in pieces:
                said += 1
                scope.cancel()
    assert said == 1
