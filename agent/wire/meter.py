"""Counts a client's frames while their bytes pass, and reports when they are too many.

The session's own limit counts whole messages. Other frames never reach it: the library answers every PING, and keeps
every fragment of an unfinished message, also empty ones, which no limit on a message's size can stop. So the headers
are read here (RFC 6455, section 5.2), and no payload is kept.
"""

from ..config import BAD_FRAMES, BAD_FRAMES_WINDOW, FRAMES_PER_SECOND
from .bucket import Bucket

MAX_FRAGMENTS = 1024  # pieces of one message

POLICY, TOO_BIG = 1008, 1009
_FINAL, _CONTROL, _CLOSE = 0x80, 0x08, 0x08
_OPCODE = 0x0F
_MASKED, _SIZE = 0x80, 0x7F
_LONGER = {126: 2, 127: 8}  # bytes of a size that does not fit


class FrameMeter:
    """Follows one client's frames. Bytes that are no frames are left to the library to refuse.

    `messages`: the number of data messages whose last frame has begun.
    """

    __slots__ = ("_controls", "_fragments", "_header", "_skip", "messages")

    def __init__(self) -> None:
        self._controls = Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        self._fragments = 0  # of the message that has not ended
        self._header = bytearray()  # as far as it has come
        self._skip = 0  # bytes of the payload that are still to come
        self.messages = 0

    @property
    def at_rest(self) -> bool:
        """Whether no frame and no message is unfinished."""
        return not (self._skip or self._header or self._fragments)

    def find_excess(self, data: bytes | bytearray, now: float) -> int | None:
        """Count the frames of `data`, which arrived at `now` (seconds); return a close code when they are too many.

        1008 for more than `FRAMES_PER_SECOND` PINGs and PONGs a second, 1009 for a message in more than `MAX_FRAGMENTS`
        pieces, else `None`.
        """
        at = 0
        header = self._header
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                continue
            missing = _header_size(header) - len(header)
            header += data[at : at + missing]
            at += missing
            if len(header) < _header_size(header):
                continue
            first, short = header[0], header[1] & _SIZE
            self._skip = int.from_bytes(header[2 : 2 + _LONGER[short]], "big") if short in _LONGER else short
            header.clear()
            code = self._count_frame(first, now)
            if code is not None:
                return code
        return None

    def _count_frame(self, first: int, now: float) -> int | None:
        opcode = first & _OPCODE
        if opcode & _CONTROL:
            return POLICY if opcode != _CLOSE and not self._controls.take_token(now) else None
        self.messages += bool(first & _FINAL)
        self._fragments = 0 if first & _FINAL else self._fragments + 1
        return TOO_BIG if self._fragments > MAX_FRAGMENTS else None


def are_too_many(bad: tuple[float, ...]) -> bool:
    """Return whether a client has sent too many bad frames. `bad`: when its last ones came, at most `BAD_FRAMES`."""
    return len(bad) == BAD_FRAMES and bad[-1] - bad[0] < BAD_FRAMES_WINDOW


def _header_size(header: bytearray) -> int:
    """Return the length of a header in bytes, as far as its first bytes determine it."""
    if len(header) < 2:
        return 2
    return 2 + _LONGER.get(header[1] & _SIZE, 0) + (4 if header[1] & _MASKED else 0)
