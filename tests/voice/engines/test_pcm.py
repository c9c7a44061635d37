"""PCM of other rates, in pieces of any size, and the heads of WAV streams."""

import itertools
import math
from array import array

import pytest

from agent.voice.engines.pcm import WAV_HEAD, Resampler, is_wav_head, make_wav_head

RATE = 22_050


def make_sine(hertz: float, rate: int = RATE, seconds: float = 0.5) -> bytes:
    return array(
        "h", [round(9000 * math.sin(2 * math.pi * hertz * i / rate)) for i in range(int(rate * seconds))]
    ).tobytes()


def measure_level(pcm: bytes) -> float:
    samples = array("h", pcm)[200:-200]
    return math.sqrt(sum(sample * sample for sample in samples) / len(samples))


def resample(pcm: bytes, rate: int, size: int) -> bytes:
    resampler = Resampler(rate)
    return (
        b"".join(resampler.convert(pcm[at : at + size]) for at in range(0, len(pcm), size)) + resampler.end()
    )


@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000, 48_000])
def test_a_tone_keeps_its_length_height_and_level(rate: int) -> None:
    """Half a second stays half a second, with as many waves, as loud."""
    pcm = resample(make_sine(1000, rate), rate, 4096)
    assert abs(len(pcm) - 16_000) <= 16
    samples = array("h", pcm)
    rises = sum(1 for one, other in itertools.pairwise(samples) if one < 0 <= other)
    assert abs(rises - 500) <= 1
    assert measure_level(pcm) == pytest.approx(9000 / math.sqrt(2), rel=0.02)


def test_sound_over_the_new_rate_is_taken_out() -> None:
    """Else it comes back as another tone: at least 20 dB less is left of it."""
    assert measure_level(resample(make_sine(10_000), RATE, 4096)) < 0.1 * measure_level(make_sine(10_000))


@pytest.mark.parametrize("rate", [16_000, RATE])
@pytest.mark.parametrize("size", [1, 7, 640])
def test_pieces_of_any_size_give_the_same_audio(rate: int, size: int) -> None:
    """Samples that are cut in two are put together; half a sample at the end is dropped."""
    pcm = make_sine(440, rate, 0.05)
    assert resample(pcm, rate, size) == resample(pcm, rate, len(pcm))
    assert resample(pcm + b"\x07", rate, size) == resample(pcm, rate, len(pcm))


def test_the_loudest_audio_is_not_turned_over() -> None:
    """A square wave at full level overshoots in the filter, and is cut there."""
    square = array("h", ([32_767] * 20 + [-32_768] * 20) * 50).tobytes()
    samples = array("h", resample(square, RATE, 4096))
    assert (max(samples), min(samples)) == (32_767, -32_768)
    turns = sum(1 for one, other in itertools.pairwise(samples) if (one < 0) != (other < 0))
    assert turns == pytest.approx(100, abs=2)


def test_only_the_head_of_this_audio_is_taken() -> None:
    """Another rate, two channels or a text are none; lengths do not count."""
    head = make_wav_head(RATE)
    assert len(head) == WAV_HEAD.size == 44
    assert is_wav_head(head, RATE)
    assert is_wav_head(head[:4] + bytes(4) + head[8:40] + bytes(4), RATE)
    assert not is_wav_head(head, 16_000)
    assert not is_wav_head(head[:-1], RATE)
    assert not is_wav_head(head[:22] + b"\x02" + head[23:], RATE)
    assert not is_wav_head(b"Segmentation fault".ljust(44), RATE)
