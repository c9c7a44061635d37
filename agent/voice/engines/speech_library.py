"""Speaks with a C library, in a process of its own: words from standard input, a WAV stream to standard output.

It is run as a module: `speech_library espeak LANG LIBRARY DATA`, or `speech_library flite`. It imports next to
nothing, so that it starts in some 30 ms.
"""

import ctypes
import os
import sys
from collections.abc import Callable

from .pcm import make_wav_head

_WORDS_BYTES = 1 << 20
_OUTPUT = 1  # the descriptor of the audio

_SYNCHRONOUS, _CHARACTERS, _UTF8 = (
    2,
    1,
    1,
)  # speak_lib.h: AUDIO_OUTPUT_SYNCHRONOUS, POS_CHARACTER, espeakCHARS_UTF8
_BUFFER_MS = 40
_FLITE = ("libflite.so.1", "libflite_usenglish.so.1", "libflite_cmulex.so.1", "libflite_cmu_us_slt.so.1")


class _Wave(ctypes.Structure):
    """`cst_wave` of flite's cst_wave.h."""

    _fields_ = (
        ("type", ctypes.c_char_p),
        ("sample_rate", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    )


def speak_espeak(words: bytes, lang: str, library: str, data: str) -> None:
    """Write the audio of `words` (UTF-8), piece by piece. `data`: the folder of the library's files."""
    espeak = ctypes.CDLL(library)
    rate = espeak.espeak_Initialize(_SYNCHRONOUS, _BUFFER_MS, data.encode(), 0)
    take = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(_take_samples)
    espeak.espeak_SetSynthCallback(take)
    if rate <= 0 or espeak.espeak_SetVoiceByName(lang.encode()):
        sys.exit(1)
    _write(make_wav_head(rate))
    size = ctypes.c_size_t(len(words) + 1)
    if espeak.espeak_Synth(words, size, 0, _CHARACTERS, 0, _UTF8, None, None) or espeak.espeak_Synchronize():
        sys.exit(1)


def _take_samples(samples: int | None, count: int, events: int) -> int:
    """Write samples that the library made, and tell it to go on."""
    if samples and count:
        _write(ctypes.string_at(samples, count * 2))
    return 0


def speak_flite(words: bytes) -> None:
    """Write the audio of `words` (UTF-8)."""
    flite, _, _, slt = [ctypes.CDLL(name, ctypes.RTLD_GLOBAL) for name in _FLITE]
    flite.flite_init()
    slt.register_cmu_us_slt.restype = ctypes.c_void_p
    voice = slt.register_cmu_us_slt(None)
    flite.flite_text_to_wave.restype = ctypes.POINTER(_Wave)
    wave = flite.flite_text_to_wave(words, ctypes.c_void_p(voice)).contents
    _write(make_wav_head(wave.sample_rate))
    _write(ctypes.string_at(wave.samples, wave.num_samples * wave.num_channels * 2))


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(_OUTPUT, view) :]
        except BrokenPipeError:  # its reader has left
            os._exit(1)


def main(engine: str, *arguments: str) -> None:
    """Speak the words of standard input. `arguments`: those of the engine's function."""
    speakers: dict[str, Callable[..., None]] = {"espeak": speak_espeak, "flite": speak_flite}
    with open(0, "rb", closefd=False) as words:
        speakers[engine](words.read(_WORDS_BYTES), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
