"""Bytes that come in any pieces, cut into lines: the ground that event streams and JSON lines share.

Each byte is looked at once, however small the pieces are; a line ends with LF, CR LF or CR, and what has no end yet is
bounded.
"""

import re

from ..errors import ModelFailed

_END = re.compile(rb"\r\n|\n|\r")


class Lines:
    """Collects pieces and gives whole lines. most: bytes of one line; a longer one is `ModelFailed`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that `piece` completes, without their ends."""
        if not piece:
            return []
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]  # the second half of a CR LF that was cut in two
            self._after_cr = False
            if not piece:
                return []
        self._after_cr = piece.endswith(b"\r")
        *ended, rest = _END.split(piece)
        lines = []
        for line in ended:
            self._rest += line
            lines.append(self._taken())
        self._rest += rest
        self._bounded()
        return lines

    def _taken(self) -> bytes:
        self._bounded()
        line = bytes(self._rest)
        self._rest.clear()
        return line

    def _bounded(self) -> None:
        if len(self._rest) > self._most:
            raise ModelFailed(f"the model's answer holds a line over {self._most} bytes", "protocol")
