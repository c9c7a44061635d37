"""Parses documents while they are written; pure.

Strategy: the whole text is parsed again as it grows, but seldom: at most once per `PARTIAL_BYTES` new characters (per
64th of a long text, so that the total work does not grow with its square) or per `PARTIAL_SECONDS`.
"""

import math
from collections.abc import Iterator
from typing import Any

import jiter

from ..ports.model import CallDelta, Piece, TextDelta
from .outcome import PartialCall
from .plan import Plan
from .pointer import Json, is_json

PARTIAL_BYTES = 16  # new ones, or ...
PARTIAL_SECONDS = 0.02  # ... this time, before a growing document is read again


class GrowingObject:
    """One JSON text that grows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._read_to = 0
        self._read_at = -math.inf
        self._last: dict[str, Any] | None = None

    def add_piece(self, piece: str, now: float) -> dict[str, Any] | None:
        """Add the next piece; return the object so far when it was parsed again and has changed. `now`: seconds."""
        self._pieces.append(piece)
        self._length += len(piece)
        fresh = self._length - self._read_to
        enough = fresh >= max(PARTIAL_BYTES, self._length // 64)
        if not fresh or not (enough or now - self._read_at >= PARTIAL_SECONDS):
            return None
        self._read_at = now
        return self.read_rest()

    def read_rest(self) -> dict[str, Any] | None:
        """Return the object when it has unparsed text and has changed."""
        if self._read_to == self._length:
            return None
        self._read_to = self._length
        text = "".join(self._pieces)
        self._pieces = [text]
        value = _parse_partial(text)
        if not isinstance(value, dict) or value == self._last or not is_json(value):
            return None
        self._last = value
        return value


class PartialReader:
    """Reads the calls of one answer while it grows.

    `ids`: of its calls, in the order of their beginnings. Of an answer in text one object is shown, not an array.
    """

    def __init__(self, plan: Plan, ids: Iterator[str]) -> None:
        self._plan = plan
        self._ids = ids
        self._calls: dict[int, tuple[str, str, GrowingObject]] = {}
        self._text: GrowingObject | None = None

    def add_piece(self, piece: Piece, now: float) -> PartialCall | None:
        """Add a piece; return the changed call when it is time to parse it. `now`: seconds."""
        if isinstance(piece, TextDelta) and not self._calls:
            text = piece.text
            if self._text is None:
                start = text.find("{")
                if start < 0:
                    return None
                self._text, text = GrowingObject(), text[start:]
            return self._make_partial(self._text.add_piece(text, now))
        if not isinstance(piece, CallDelta):
            return None
        if piece.index not in self._calls:
            self._calls[piece.index] = (next(self._ids), piece.name, GrowingObject())
        id, name, growing = self._calls[piece.index]
        value = growing.add_piece(piece.arguments, now)
        return None if value is None else PartialCall(id, name, value)

    def read_rest(self) -> list[PartialCall]:
        """Return the calls with unparsed text."""
        found = ((id, name, growing.read_rest()) for id, name, growing in self._calls.values())
        return [PartialCall(id, name, value) for id, name, value in found if value is not None]

    def _make_partial(self, value: dict[str, Any] | None) -> PartialCall | None:
        if value is None:
            return None
        name, arguments = value.get("name"), value.get("arguments")
        if isinstance(arguments, dict) and name in self._plan.allowed:
            return PartialCall("c1", str(name), arguments)
        return PartialCall("c1", self._plan.bare, value) if self._plan.bare is not None else None


def _parse_partial(text: str) -> Json:
    try:
        return jiter.from_json(text.encode(), partial_mode="trailing-strings", allow_inf_nan=False)
    except ValueError:  # not JSON, or half a UTF-16 pair
        return None
