"""Fences a foreign text, so that a model reads it as data and nothing in it can close the fence."""

import re
from collections.abc import Iterable
from typing import Final

_LEAST: Final = 3  # marks of a fence
_FENCES: Final = re.compile(r"`+")


def fence_for(texts: Iterable[str]) -> str:
    """Return a fence of backticks that is longer than any run of backticks in `texts`."""
    runs = (len(run) for text in texts for run in _FENCES.findall(text))
    return "`" * max(_LEAST, 1 + max(runs, default=0))


def fence_text(text: str) -> str:
    """Return `text` between two fences."""
    fence = fence_for([text])
    return f"{fence}\n{text}\n{fence}"
