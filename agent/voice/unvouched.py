"""Makes the texts that are said without a session: the one module that constructs an `UnvouchedText`."""

from ..ports.brain import UnvouchedText


def make_unvouched(text: str) -> UnvouchedText:
    """Return a text of a program of the operator's. It cites nothing, and nothing vouches for it."""
    return UnvouchedText(text=text, citations=(), confidence=None)
