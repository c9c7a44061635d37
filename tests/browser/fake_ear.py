"""`agent` with an ear that hears one question in every sound: no two of a browser's recordings are alike."""

from agent import cli
from agent.voice.engines import open as engines
from agent.voice.engines.open import InstalledRecognizer
from tests.voice.ears import BreakableRecognizer

PARTIAL, QUESTION = "what does", "What does a return cost?"


def open_fake(setting: str, streams: int) -> InstalledRecognizer:
    """Return the fake, whatever engine is named."""
    return BreakableRecognizer(partial=PARTIAL, words=QUESTION)


if __name__ == "__main__":
    engines.open_recognizer = open_fake
    cli.main()
