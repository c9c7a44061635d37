"""Names the place of a fault in a tool's definition, as it can stand in an error's one line; pure."""

import re
from collections.abc import Iterable

from ..structured.pointer import make_pointer

_PLAIN = re.compile(r"[A-Za-z0-9_.:$-]{1,128}")
_CHARACTERS = 300


def place_of(path: Iterable[str | int]) -> str:
    """Return the JSON Pointer of `path`, some keys and indices.

    A key that does not match `_PLAIN` becomes `*`, and a pointer over `_CHARACTERS` is cut.
    """
    text = make_pointer(step if isinstance(step, int) or _PLAIN.fullmatch(step) else "*" for step in path)
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"
