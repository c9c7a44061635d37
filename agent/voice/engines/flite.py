"""Speaks English with flite and its voice slt, which recognisers understand well.

The program flite cannot write its audio to a pipe: it opens its output again to read the head that it wrote. So a
process of ours calls the libraries that come with the program. All audio comes at once, when the words are computed.
"""

import shutil

from ...errors import UsageError
from ...ports.voice import SAMPLE_RATE
from .program import SpeechProgram, make_child_command


def find_flite() -> SpeechProgram:
    """Return the installed flite. Raises `agent.errors.UsageError` where there is none. Blocks."""
    if (program := shutil.which("flite")) is None:
        raise UsageError("mouth flite needs flite: apt-get install flite")
    command = make_child_command("agent.voice.engines.speech_library", "flite")
    return SpeechProgram("flite", {"en": command}, SAMPLE_RATE, origin=program)
