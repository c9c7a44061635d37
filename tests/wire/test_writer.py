"""The writer: whole frames, in order, with a deadline for each."""

import pytest
import trio
import trio.testing

from agent.config import WRITE_TIMEOUT
from agent.errors import WireClosed
from agent.testing.wires import MemoryWire
from agent.wire.writer import write_all


async def test_written_is_told_after_the_stream_has_taken_the_frame(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Handing over is what counts, not queueing."""
    wire = MemoryWire()
    told: list[float] = []
    wire.block()
    wire.outbox.put(b"{}", lambda: told.append(trio.current_time()))
    wire.outbox.close()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_all, wire.outbox, wire)
        await trio.sleep(3)
        assert told == []
        wire.unblock()
    assert told == [3.0]


async def test_a_write_that_stalls_aborts(autojump_clock: trio.testing.MockClock) -> None:
    """Ten seconds without progress end the connection; nothing is retried."""
    wire = MemoryWire()
    wire.block()
    wire.outbox.put(b"{}")
    with pytest.raises(WireClosed):
        await write_all(wire.outbox, wire)
    assert wire.aborted
    assert trio.current_time() == WRITE_TIMEOUT
