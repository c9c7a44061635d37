"""WebSocket frames as bytes (RFC 6455, section 5.2): builds a server's, and reads a client's plainest ones.

A server's frame is not masked, so it is a header of 2, 4 or 10 bytes and the payload. Of a client's frames only whole,
final, masked text frames are read here, which are nearly all that our clients send; all others (fragments, binary,
control, faulty ones) are left to the library to read and to refuse.
"""

import struct

TEXT, BINARY, CLOSE, PING = 0x81, 0x82, 0x88, 0x89  # first byte of an unfragmented frame
_MASKED, _SIZE = 0x80, 0x7F
_TWO_BYTES, _EIGHT_BYTES = 126, 127  # markers of a longer size that follows
_MASK = 4  # bytes
_SHORT = tuple(bytes((TEXT, size)) for size in range(_TWO_BYTES))  # headers of short texts


def build_frame(first: int, payload: bytes) -> bytes:
    """Return a server's frame of `payload`. `first`: the frame's first byte."""
    size = len(payload)
    if size < _TWO_BYTES:
        return bytes((first, size)) + payload
    if size < 1 << 16:
        return struct.pack("!BBH", first, _TWO_BYTES, size) + payload
    return struct.pack("!BBQ", first, _EIGHT_BYTES, size) + payload


def build_message(text: bytes, *, binary: bool = False) -> bytes:
    """Return a server's frame of a whole message: UTF-8 `text`, or any bytes with `binary`."""
    size = len(text)
    if size < _TWO_BYTES and not binary:  # nearly all frames
        return _SHORT[size] + text
    return build_frame(BINARY if binary else TEXT, text)


def parse_plain_text(data: bytes | bytearray, at: int) -> tuple[str, int] | None:
    """Return the text of the frame that begins at offset `at`, and the offset of its end.

    Return `None` for every frame that the library must read: one that is incomplete, fragmented, not masked, of 64 KiB
    or more, with a size in more bytes than it needs, not UTF-8, or not a text frame at all.
    """
    if len(data) < at + 2 or data[at] != TEXT:
        return None
    size, begin = data[at + 1] - _MASKED, at + 2
    if size < 0 or size == _EIGHT_BYTES:
        return None
    if size == _TWO_BYTES:
        size = int.from_bytes(data[begin : begin + 2], "big")
        begin += 2
        if size < _TWO_BYTES:
            return None
    end = begin + _MASK + size
    if len(data) < end:
        return None
    mask = bytes(data[begin : begin + _MASK])
    masked = int.from_bytes(data[begin + _MASK : end], "little")
    key = int.from_bytes((mask * (size // _MASK + 1))[:size], "little")
    try:
        return (masked ^ key).to_bytes(size, "little").decode(), end
    except UnicodeDecodeError:
        return None
