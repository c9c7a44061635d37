"""Text of others as a model is shown it: data between fences that nothing in it can close."""

import re
from collections.abc import Iterable
from typing import Final

_LEAST: Final = 3  # marks of a fence
_FENCES: Final = re.compile(r"`+")


def fence_for(texts: Iterable[str]) -> str:
    """Return a fence that is longer than any in some texts."""
    runs = (len(run) for text in texts for run in _FENCES.findall(text))
    return "`" * max(_LEAST, 1 + max(runs, default=0))


def fenced(text: str) -> str:
    """Return a text between fences."""
    fence = fence_for([text])
    return f"{fence}\n{text}\n{fence}"
