"""Speaks English and Swedish with eSpeak NG: Debian's program, or else the library of the package espeakng-loader.

The program streams while it speaks: its first audio comes after some milliseconds, however long the text.
"""

import shutil
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from ...errors import UsageError
from ...lang import Lang
from .program import SpeechProgram, make_child_command, name_package

_PROGRAM, _PACKAGE, _DISTRIBUTION = "espeak-ng", "espeakng_loader", "espeakng-loader"
_RATE = 22_050
_LANGS: tuple[Lang, ...] = ("en", "sv")


def find_espeak() -> SpeechProgram:
    """Return the installed eSpeak NG. Raises `agent.errors.UsageError` where there is none. Blocks."""
    if (program := shutil.which(_PROGRAM)) is not None:
        options = ("--stdin", "--stdout", "-b", "1", "-v")  # words in UTF-8, audio as a WAV stream
        return _make({lang: (program, *options, lang) for lang in _LANGS}, program)
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise UsageError(
            "mouth espeak needs eSpeak NG: apt-get install espeak-ng (or: pip install espeakng-loader)"
        )
    folder = Path(package.origin).parent
    libraries = [str(folder / "libespeak-ng.so"), str(folder / "espeak-ng-data")]
    commands = {
        lang: make_child_command("agent.voice.engines.speech_library", "espeak", lang, *libraries)
        for lang in _LANGS
    }
    return _make(commands, name_package(_DISTRIBUTION))


def _make(commands: Mapping[Lang, Sequence[str]], origin: str) -> SpeechProgram:
    return SpeechProgram(_PROGRAM, commands, _RATE, origin=origin)
