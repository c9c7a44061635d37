"""Speaks with piper and a voice file of the operator's, in that voice's language.

No voice comes with the package piper-tts: an operator downloads one, a file `.onnx` and its description `.onnx.json`.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ...errors import UsageError
from ...lang import LANGUAGES
from .program import SpeechProgram, name_package

_DESCRIPTION_BYTES = 1024 * 1024
_RATES = (16_000, 22_050, 24_000, 44_100, 48_000)  # that voices have


class _VoiceAudio(msgspec.Struct):
    sample_rate: int


class _VoiceLanguage(msgspec.Struct):
    voice: str


class _VoiceDescription(msgspec.Struct):
    """The fields of a description that are used here: its samples a second, and eSpeak's name of its language."""

    audio: _VoiceAudio
    espeak: _VoiceLanguage


def find_piper(model: Path) -> SpeechProgram:
    """Return piper with the voice `model`, a file `.onnx`. Blocks.

    Raises `agent.errors.UsageError`, one sentence, where piper is not installed or the file is no voice.
    """
    if find_spec("piper") is None:
        raise UsageError("mouth piper needs piper: pip install piper-tts")
    described = model.with_name(model.name + ".json")
    try:
        with described.open("rb") as file:
            voice = msgspec.json.decode(file.read(_DESCRIPTION_BYTES), type=_VoiceDescription)
    except (OSError, msgspec.DecodeError, RecursionError):
        voice = None
    lang = voice.espeak.voice.partition("-")[0] if voice is not None else ""
    if voice is None or not model.is_file() or lang not in LANGUAGES or voice.audio.sample_rate not in _RATES:
        raise UsageError(
            f"mouth piper: {model} must be a voice of piper in a language of the server's, "
            f"with its description in {described.name}: python -m piper.download_voices gets them"
        )
    program = shutil.which("piper")
    command = (program,) if program is not None else (sys.executable, "-m", "piper")
    options = ("--model", str(model.absolute()), "--output-raw")
    commands = {lang: (*command, *options)}
    origin = name_package("piper-tts")
    return SpeechProgram("piper", commands, voice.audio.sample_rate, has_head=False, origin=origin)
