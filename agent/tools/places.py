"""Where in a tool's definition something is, as it can stand in an error's one line; pure."""

import re
from collections.abc import Iterable

from ..structured.pointer import pointer

_PLAIN = re.compile(r"[A-Za-z0-9_.:$-]{1,128}")
_CHARACTERS = 300


def place(path: Iterable[str | int]) -> str:
    """Return the JSON Pointer of some keys and indices. A key that is no name becomes `*`; a long pointer is cut."""
    text = pointer(step if isinstance(step, int) or _PLAIN.fullmatch(step) else "*" for step in path)
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"
