"""Makes the texts that a connection of stories is sent: the one module that constructs a `FictionText`."""

from ..ports.brain import Blocked, FictionText


def make_fiction(text: str) -> FictionText:
    """Return a part of a scene, or of an aside. It cites nothing, and nothing vouches for it."""
    return FictionText(text=text, citations=(), confidence=None)


def make_refusal(code: str, message: str, text: str = "") -> FictionText:
    """Return the end of a turn that tells no scene. `message` has the reason and the remedy; `text` follows the parts
    that were told so far.
    """
    return FictionText(text=text, citations=(), confidence=None, blocked=Blocked(code, message))
