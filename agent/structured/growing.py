"""Documents while they are written; pure.

Strategy: the whole text is read again as it grows, but seldom: at most once per `PARTIAL_BYTES` new characters (per
64th of a long text, so that what is read in all does not grow with its square) or `PARTIAL_SECONDS`.
"""

import math
from collections.abc import Iterator
from typing import Any

import jiter

from ..config import PARTIAL_BYTES, PARTIAL_SECONDS
from ..ports.model import CallDelta, Piece, TextDelta
from .outcome import Partial
from .plan import Plan
from .pointer import Json, is_json


class Growing:
    """One JSON text that grows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._read_to = 0
        self._read_at = -math.inf
        self._last: dict[str, Any] | None = None

    def grow(self, piece: str, now: float) -> dict[str, Any] | None:
        """Take the next piece; return the object so far if it was read again and is another. now: seconds."""
        self._pieces.append(piece)
        self._length += len(piece)
        fresh = self._length - self._read_to
        enough = fresh >= max(PARTIAL_BYTES, self._length // 64)
        if not fresh or not (enough or now - self._read_at >= PARTIAL_SECONDS):
            return None
        self._read_at = now
        return self.rest()

    def rest(self) -> dict[str, Any] | None:
        """Return the object if something of it was not read yet and it is another."""
        if self._read_to == self._length:
            return None
        self._read_to = self._length
        text = "".join(self._pieces)
        self._pieces = [text]
        value = _partial(text)
        if not isinstance(value, dict) or value == self._last or not is_json(value):
            return None
        self._last = value
        return value


class Watch:
    """The calls of one answer while it grows. ids: what its calls will be known by, in the order of their beginnings.

    Of an answer in text one object is shown, not an array.
    """

    def __init__(self, plan: Plan, ids: Iterator[str]) -> None:
        self._plan = plan
        self._ids = ids
        self._calls: dict[int, tuple[str, str, Growing]] = {}
        self._text: Growing | None = None

    def take(self, piece: Piece, now: float) -> Partial | None:
        """Return what a piece adds, if it is time to look. now: seconds."""
        if isinstance(piece, TextDelta) and not self._calls:
            text = piece.text
            if self._text is None:
                start = text.find("{")
                if start < 0:
                    return None
                self._text, text = Growing(), text[start:]
            return self._in_text(self._text.grow(text, now))
        if not isinstance(piece, CallDelta):
            return None
        if piece.index not in self._calls:
            self._calls[piece.index] = (next(self._ids), piece.name, Growing())
        id, name, growing = self._calls[piece.index]
        value = growing.grow(piece.arguments, now)
        return None if value is None else Partial(id, name, value)

    def rest(self) -> list[Partial]:
        """Return what was not looked at yet."""
        found = ((id, name, growing.rest()) for id, name, growing in self._calls.values())
        return [Partial(id, name, value) for id, name, value in found if value is not None]

    def _in_text(self, value: dict[str, Any] | None) -> Partial | None:
        if value is None:
            return None
        name, arguments = value.get("name"), value.get("arguments")
        if isinstance(arguments, dict) and name in self._plan.allowed:
            return Partial("c1", str(name), arguments)
        return Partial("c1", self._plan.bare, value) if self._plan.bare is not None else None


def _partial(text: str) -> Json:
    try:
        return jiter.from_json(text.encode(), partial_mode="trailing-strings", allow_inf_nan=False)
    except ValueError:  # not JSON, or half a UTF-16 pair
        return None
