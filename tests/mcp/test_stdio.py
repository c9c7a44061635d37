"""A server's pipes: lines that are bounded, and writes that are whole."""

import pytest
import trio
from trio.testing import MockClock, memory_stream_one_way_pair, wait_all_tasks_blocked

from agent.errors import McpFailed
from agent.mcp.stdio import MCP_LINE_MAX, Pipes


class Ends:
    """Pipes, and the other ends of both: `told` is what the server reads, `says` what it writes with."""

    def __init__(self) -> None:
        send, self.told = memory_stream_one_way_pair()
        self.says, receive = memory_stream_one_way_pair()
        self.pipes = Pipes(send, receive)


class Full(trio.abc.SendStream):
    """The input of a server that does not read."""

    def __init__(self) -> None:
        self.begun = 0

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.begun += 1
        await trio.sleep_forever()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.sleep_forever()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_lines_come_whole_in_whatever_pieces(size: int) -> None:
    """Also empty ones; what has no end at the end is no line."""
    ends = Ends()
    data = b'{"a": 1}\n\n{"b": 2}\r\nrest'
    for start in range(0, len(data), size):
        await ends.says.send_all(data[start : start + size])
    await ends.says.aclose()
    lines = [await ends.pipes.read_line() for _ in range(4)]
    assert lines == [b'{"a": 1}', b"", b'{"b": 2}\r', None]
    assert ends.pipes.ended.is_set()


class Long(trio.abc.ReceiveStream):
    """A server that prints a line of so many bytes, and then a short one; notes how much of it is held."""

    def __init__(self, size: int) -> None:
        self.held = 0
        self.pipes = Pipes(Full(), self)
        self._left = size

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        self.held = max(self.held, len(self.pipes._buffer))
        piece = min(max_bytes or 0, self._left)
        self._left -= piece
        return b"x" * piece or b"\n{}\n"

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def test_a_line_without_an_end_is_thrown_away_as_it_comes() -> None:
    """Never more than its bound and one read are held, and the line after it is read."""
    long = Long(3 * MCP_LINE_MAX)
    pieces = 0
    while (line := await long.pipes.read_line()) == b"":
        pieces += 1
    assert (line, pieces > 1) == (b"{}", True)
    assert long.held <= MCP_LINE_MAX + 64 * 1024


async def test_a_line_of_the_bound_is_read() -> None:
    """And one that is longer by a byte is not."""
    ends = Ends()
    for size in (MCP_LINE_MAX, MCP_LINE_MAX + 1):
        await ends.says.send_all(b"x" * size + b"\n")
    await ends.says.send_all(b"after\n")
    assert len(await ends.pipes.read_line() or b"") == MCP_LINE_MAX
    rest = [await ends.pipes.read_line() for _ in range(2)]
    while rest[-1] == b"":
        rest.append(await ends.pipes.read_line())
    assert set(rest[:-1]) == {b""}
    assert rest[-1] == b"after"


async def test_what_is_to_be_known_before_a_write_is_told_in_its_turn(nursery: trio.Nursery) -> None:
    """A line that waits for another has not begun; cancelled there, nothing of it was written."""
    send = Full()
    pipes = Pipes(send, memory_stream_one_way_pair()[1])
    begun: list[str] = []
    nursery.start_soon(pipes.write_line, b"one", lambda: begun.append("one"))
    await wait_all_tasks_blocked()
    with trio.CancelScope() as scope:
        scope.cancel()
        await pipes.write_line(b"two", lambda: begun.append("two"))
    assert (begun, send.begun, pipes.ended.is_set()) == (["one"], 1, False)
    nursery.cancel_scope.cancel()


async def test_nothing_is_written_when_begin_is_refused() -> None:
    """What it raises comes out, and the next line is written."""
    ends = Ends()

    def refuse() -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        await ends.pipes.write_line(b"one\n", refuse)
    await ends.pipes.write_line(b"two\n")
    assert await ends.told.receive_some() == b"two\n"


async def test_a_line_that_was_cut_is_the_end_of_the_server(autojump_clock: MockClock) -> None:
    """Else the next one would be read as its rest."""
    pipes = Pipes(Full(), memory_stream_one_way_pair()[1])
    with trio.move_on_after(1.0):
        await pipes.write_line(b"one\n")
    assert pipes.ended.is_set()
    with pytest.raises(McpFailed):
        await pipes.write_line(b"two\n", lambda: pytest.fail("begun"))


async def test_a_server_that_has_closed_its_input_is_gone() -> None:
    """The first write tells, whatever was begun; the second is not begun."""
    ends = Ends()
    await ends.told.aclose()
    with pytest.raises(McpFailed) as failed:
        await ends.pipes.write_line(b"one\n")
    assert failed.value.kind == "gone"
    with pytest.raises(McpFailed):
        await ends.pipes.write_line(b"two\n", lambda: pytest.fail("begun"))
