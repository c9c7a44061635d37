"""Opens the engines that the settings `mouth` and `ear` name; an engine's module is imported only when it is named.

A missing program, package or model is found here, at the start of the server, without being run.
"""

from pathlib import Path
from typing import Protocol

from ...errors import UsageError
from ...ports.voice import Recognizer, Synthesizer

MOUTHS = "espeak, flite, piper:FILE or tone"
EARS = "whisper:DIR, moonshine:DIR, pocketsphinx or script:FILE"


class InstalledSynthesizer(Synthesizer, Protocol):
    """An engine that speaks. `origin`: its program, or its package with the version, for an operator."""

    origin: str


class InstalledRecognizer(Recognizer, Protocol):
    """An engine that hears. `origin`: as of `InstalledSynthesizer`."""

    origin: str


def open_synthesizer(setting: str) -> InstalledSynthesizer:
    """Return the engine that the setting `mouth` (one of `MOUTHS`) names. Blocks.

    Raises `agent.errors.UsageError`, one sentence, when the setting is invalid or the engine is not installed.
    """
    if setting == "tone":
        from .tone import Tone

        return Tone()
    if setting == "espeak":
        from .espeak import find_espeak

        return find_espeak()
    if setting == "flite":
        from .flite import find_flite

        return find_flite()
    kind, _, place = setting.partition(":")
    if kind == "piper" and place:
        from .piper import find_piper

        return find_piper(Path(place).expanduser())
    raise UsageError(f"mouth must be {MOUTHS}")


def open_recognizer(setting: str, streams: int) -> InstalledRecognizer:
    """Return the engine that the setting `ear` (one of `EARS`) names. Blocks.

    `streams`: most ears that are open at once. Raises `agent.errors.UsageError`, one sentence, when the setting is
    invalid, the engine is not installed, or its file or folder cannot be used.
    """
    kind, _, place = setting.partition(":")
    if kind == "script" and place:
        from .script import read_script

        return read_script(Path(place).expanduser())
    if (kind in ("whisper", "moonshine") and place) or setting == "pocketsphinx":
        from .recognizers import find_moonshine, find_pocketsphinx, find_whisper

        if kind == "pocketsphinx":
            return find_pocketsphinx(streams)
        return (find_whisper if kind == "whisper" else find_moonshine)(Path(place).expanduser(), streams)
    raise UsageError(f"ear must be {EARS}")
