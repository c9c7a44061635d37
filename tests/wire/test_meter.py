"""The meter follows frames through any cutting of their bytes, and stops what never becomes a message."""

import struct

import pytest

from agent.config import FRAMES_PER_SECOND
from agent.wire.meter import MAX_FRAGMENTS, FrameMeter

PING, PONG, CLOSE, TEXT, PIECE, MORE, LAST = 0x89, 0x8A, 0x88, 0x81, 0x01, 0x00, 0x80


def frame(first: int, size: int = 0, masked: bool = True) -> bytes:
    """Build a frame of zeros."""
    mask = 0x80 if masked else 0
    if size < 126:
        header = bytes((first, mask | size))
    elif size < 65536:
        header = struct.pack("!BBH", first, mask | 126, size)
    else:
        header = struct.pack("!BBQ", first, mask | 127, size)
    return header + bytes(4 * masked + size)


def feed(data: bytes, step: int | None = None, meter: FrameMeter | None = None) -> int | None:
    """Feed bytes in steps; return the verdict."""
    meter = meter or FrameMeter()
    step = step or len(data)
    for at in range(0, len(data), step):
        code = meter.find_excess(data[at : at + step], 0.0)
        if code is not None:
            return code
    return None


@pytest.mark.parametrize("step", [1, 3, 7, 4096, None])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 700, 65535, 65536])
def test_frames_are_told_apart_however_they_are_cut(size: int, step: int | None) -> None:
    """Whole messages of any size are no excess; behind them one PING too many is still seen."""
    if size > 700 and step is not None and step < 100:
        pytest.skip("a long walk that shows no more")
    before = frame(TEXT, size) * 3 + frame(TEXT, size, masked=False)
    pings = frame(PING, 5) * FRAMES_PER_SECOND
    assert feed(before + pings, step) is None
    assert feed(before + pings + frame(PONG), step) == 1008


def test_control_frames_have_a_rate() -> None:
    """A second later there is room again; close frames and messages do not count."""
    meter = FrameMeter()
    burst = frame(PING) * (FRAMES_PER_SECOND // 2) + frame(PONG) * (FRAMES_PER_SECOND // 2)
    assert meter.find_excess(burst, 0.0) is None
    assert meter.find_excess(frame(CLOSE, 2) * 10 + frame(TEXT) * 1000, 0.0) is None
    assert meter.find_excess(burst, 1.0) is None
    assert meter.find_excess(frame(PING), 1.0) == 1008


def test_a_message_has_so_many_pieces() -> None:
    """The next one has as many again; control frames between the pieces are none of them."""
    whole = frame(PIECE) + frame(MORE, 3) * (MAX_FRAGMENTS - 1) + frame(LAST)
    meter = FrameMeter()
    assert feed(whole, meter=meter) is None
    assert feed(whole, meter=meter) is None
    assert feed(frame(PIECE) + (frame(MORE) + frame(PING)) * 50, meter=meter) is None
    assert feed(frame(MORE) * (MAX_FRAGMENTS - 51), meter=meter) is None
    assert feed(frame(MORE), meter=meter) == 1009
