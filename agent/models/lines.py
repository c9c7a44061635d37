"""Cuts bytes that come in any pieces into lines, for event streams and JSON lines.

Each byte is read once, however small the pieces are. A line ends with LF, CR LF or CR, and the size of an unfinished
line is bounded.
"""

import re

from ..errors import ModelFailed

_END = re.compile(rb"\r\n|\n|\r")


class LineSplitter:
    """Collects pieces and returns whole lines. `most`: bytes of one line; a longer line raises `ModelFailed`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = bytearray()
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that `piece` completes, without their line ends."""
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
            lines.append(self._take_line())
        self._rest += rest
        self._check_size()
        return lines

    def _take_line(self) -> bytes:
        self._check_size()
        line = bytes(self._rest)
        self._rest.clear()
        return line

    def _check_size(self) -> None:
        if len(self._rest) > self._most:
            raise ModelFailed(f"the model's answer holds a line over {self._most} bytes", "protocol")
