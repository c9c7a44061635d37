"""The ear of tests: the words that a file gives for audio."""

import hashlib
import json
from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.ports.voice import EarUpdate, VoiceTranscript
from agent.voice.engines.script import SCRIPT_BYTES, Script, read_script

SOUND = b"\x01\x00" * 320
OTHER = b"\x02\x00" * 320
SILENCE = bytes(640)
SURE = VoiceTranscript("seven newton metres", is_sure=True)


def digest(pcm: bytes) -> str:
    return hashlib.sha256(pcm).hexdigest()


async def hear(script: Script, *frames: bytes) -> tuple[list[EarUpdate], VoiceTranscript]:
    async with script.open_ear() as ear:
        return [await ear.feed(frame) for frame in frames], await ear.finish()


async def test_an_utterance_is_looked_up_without_the_silence_around_it() -> None:
    """Trailing zero samples are not hashed, frames of zeros before the first sound neither; those within are."""
    script = Script({digest(SOUND + SILENCE + OTHER): SURE.text})
    for frames in (
        (SOUND, SILENCE, OTHER),
        (SOUND, SILENCE, OTHER + SILENCE),
        (SOUND, SILENCE, OTHER, SILENCE, SILENCE),
        (SILENCE, SILENCE, SOUND, SILENCE, OTHER, SILENCE),
    ):
        updates, final = await hear(script, *frames)
        assert final == SURE, frames
        assert [update.is_speech for update in updates] == [any(frame) for frame in frames]
    assert (await hear(script, SOUND, OTHER))[1] == VoiceTranscript("")


async def test_silence_before_the_first_sound_may_be_part_of_the_hash() -> None:
    """A client that hashed all that it sent is heard too, also where the silence begins a frame with sound."""
    script = Script({digest(SILENCE + SOUND): SURE.text})
    assert (await hear(script, SILENCE, SOUND, SILENCE))[1] == SURE
    assert (await hear(script, SILENCE + SOUND))[1] == SURE
    assert (await hear(script, SOUND))[1] == VoiceTranscript("")


async def test_samples_are_cut_whole() -> None:
    """A last sample whose upper byte is zero is not cut in two."""
    pcm = b"\x05\x00"
    assert (await hear(Script({digest(pcm): SURE.text}), pcm + bytes(638)))[1] == SURE
    high = b"\x00\x05"
    assert (await hear(Script({digest(high): SURE.text}), high))[1] == SURE


async def test_a_known_beginning_is_a_partial() -> None:
    """Partial words stay until longer ones are known, and end with the utterance."""
    script = Script({digest(SOUND): "seven", digest(SOUND + SOUND + OTHER): SURE.text})
    updates, final = await hear(script, SILENCE, SOUND, SOUND, SILENCE)
    assert [update.partial for update in updates] == ["", "seven", "seven", "seven"]
    assert final == VoiceTranscript("")
    updates, final = await hear(script, SOUND, SOUND, OTHER)
    assert [update.partial for update in updates] == ["seven", "seven", SURE.text]
    assert final == SURE


async def test_the_next_utterance_begins_after_a_final_or_a_discard() -> None:
    """Nothing of an utterance is left in the next."""
    async with Script({digest(SOUND): SURE.text}).open_ear() as ear:
        for _ in range(2):
            await ear.feed(SOUND)
            assert await ear.finish() == SURE
        await ear.feed(OTHER)
        await ear.discard()
        await ear.feed(SILENCE)
        assert await ear.feed(SOUND) == EarUpdate(is_speech=True, partial=SURE.text)
        assert await ear.finish() == SURE
        assert await ear.finish() == VoiceTranscript("")


def test_a_script_file_is_read(tmp_path: Path) -> None:
    """A JSON object of words by hash."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({digest(SOUND): "hej då"}))
    assert read_script(path)._words == {digest(SOUND): "hej då"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"ab": "words"}',
        json.dumps({digest(SOUND).upper(): "words"}),
        json.dumps({digest(SOUND): 7}),
        json.dumps({digest(SOUND): ""}),
        json.dumps({digest(SOUND): "a" * 8001}),
        "[" * 100_000,
        "{" + " " * SCRIPT_BYTES + "}",
    ],
    ids=range(9),
)
def test_any_other_file_is_told_in_one_sentence(tmp_path: Path, content: str) -> None:
    """What is no JSON object of hashes and words is refused with an example."""
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(
        UsageError, match=r"^ear script: .* must be a JSON object of at most 1024 KiB, such as"
    ):
        read_script(path)


def test_a_missing_file_is_told_in_one_sentence(tmp_path: Path) -> None:
    """A path without a file is refused with the reason."""
    with pytest.raises(UsageError, match=r"^ear script: .* cannot be read \(No such file or directory\)$"):
        read_script(tmp_path / "none.json")
