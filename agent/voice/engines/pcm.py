"""Reads the audio of engines: the head of a WAV stream, and PCM of another rate.

Strategy of the resampler: each output sample is the product of 16 input samples with a windowed sinc (a polyphase
filter), in integers, so that the same input gives the same bytes on every machine. It takes some 2 % of a core for
audio in real time; numpy would take less, but 60 ms of CPU and 20 MB for its import.
"""

import math
from array import array
from functools import cache
from operator import mul
from struct import Struct

from ...ports.voice import SAMPLE_BYTES, SAMPLE_RATE

WAV_HEAD = Struct("<4sI4s4sIHHIIHH4sI")
"""The head of a WAV stream with nothing but its format (`fmt`) before its samples (`data`)."""

_PCM = 1  # the code of the format
_HALF = 8  # input samples before and after an output sample
_PASS = 0.92  # of half the lower of both rates: the filter's cutoff
_SCALE = 15  # bits of a filter's fraction
_MOST, _LEAST = 32_767, -32_768


def make_wav_head(rate: int) -> bytes:
    """Make the head of a WAV stream of unknown length: mono, 16 bits, `rate` samples a second."""
    unknown = 0x7FFFFFFF
    fields = (16, _PCM, 1, rate, rate * SAMPLE_BYTES, SAMPLE_BYTES, 8 * SAMPLE_BYTES)
    return WAV_HEAD.pack(b"RIFF", unknown, b"WAVE", b"fmt ", *fields, b"data", unknown)


def is_wav_head(head: bytes, rate: int) -> bool:
    """Tell whether `head` begins a WAV stream: mono, 16 bits, `rate` samples a second, of any length."""
    expected = make_wav_head(rate)
    return len(head) == WAV_HEAD.size and (head[:4], head[8:40]) == (expected[:4], expected[8:40])


class Resampler:
    """Converts PCM of `rate` samples a second, 16-bit mono, to that of `agent.ports.voice`, in pieces of any size."""

    def __init__(self, rate: int) -> None:
        self._is_same = rate == SAMPLE_RATE
        self._up, self._down, self._filters = (1, 1, ()) if self._is_same else make_filters(rate)
        self._cut = b""  # the first byte of a sample whose second has not come yet
        self._samples = [0] * (_HALF - 1)
        self._phase = 0

    def convert(self, pcm: bytes) -> bytes:
        """Return the audio that is complete with `pcm`."""
        pcm = self._cut + pcm
        whole = len(pcm) - len(pcm) % SAMPLE_BYTES
        self._cut = pcm[whole:]
        if self._is_same:
            return pcm[:whole]
        samples = self._samples
        samples += array("h", pcm[:whole])
        out = array("h")
        first, phase, last = 0, self._phase, len(samples) - 2 * _HALF
        while first <= last:
            value = sum(map(mul, self._filters[phase], samples[first : first + 2 * _HALF])) >> _SCALE
            out.append(min(_MOST, max(_LEAST, value)))
            phase += self._down
            first += phase // self._up
            phase %= self._up
        self._samples, self._phase = samples[first:], phase
        return out.tobytes()

    def end(self) -> bytes:
        """Return the rest of the audio; half a sample is dropped."""
        self._cut = b""
        return b"" if self._is_same else self.convert(bytes(_HALF * SAMPLE_BYTES))


@cache
def make_filters(rate: int) -> tuple[int, int, tuple[tuple[int, ...], ...]]:
    """Return the output and input samples of a period, and the filter of each output sample in it.

    Takes some 20 ms of CPU for 22,050 a second. Source: J. O. Smith, "Digital Audio Resampling", on windowed sinc
    interpolation.
    """
    common = math.gcd(rate, SAMPLE_RATE)
    up, down = SAMPLE_RATE // common, rate // common
    cutoff = min(1.0, up / down) * _PASS
    filters = []
    for phase in range(up):
        weights = [_weigh(offset - phase / up, cutoff) for offset in range(1 - _HALF, 1 + _HALF)]
        scale = (1 << _SCALE) / sum(weights)
        filters.append(tuple(round(weight * scale) for weight in weights))
    return up, down, tuple(filters)


def _weigh(distance: float, cutoff: float) -> float:
    """Return a sinc in a Hann window, at `distance` input samples from its middle."""
    if abs(distance) >= _HALF:
        return 0.0
    sinc = cutoff if distance == 0 else math.sin(math.pi * cutoff * distance) / (math.pi * distance)
    return sinc * (0.5 + 0.5 * math.cos(math.pi * distance / _HALF))
