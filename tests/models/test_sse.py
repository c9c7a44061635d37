"""Server-sent events: any cut, any end of line, and bounds."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelFailed
from agent.models.lines import LineSplitter
from agent.models.sse import EventReader, ServerEvent

STREAM = "\ufeff: hello\nevent: a\ndata: å😀\ndata:  two\nid: 1\nretry: 5\n\n\n\ndata\n\n".encode()
STREAM += b"data: [DONE]\n\ndata: lost"
EVENTS = [ServerEvent("a", "å😀\n two"), ServerEvent("message", ""), ServerEvent("message", "[DONE]")]


def read(*pieces: bytes, most: int = 1000) -> list[ServerEvent]:
    reader = EventReader(most)
    return [event for piece in pieces for event in reader.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_each_end_of_line_and_each_cut_reads_the_same(end: bytes) -> None:
    """In one piece, byte by byte, and cut in two anywhere: in a character, in a CR LF, in a mark of the start."""
    stream = STREAM.replace(b"\n", end)
    assert read(stream) == EVENTS
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == EVENTS
    for at in range(len(stream)):
        assert read(stream[:at], b"", stream[at:]) == EVENTS


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_any_bytes_read_the_same_however_they_are_cut(stream: bytes, cuts: list[int]) -> None:
    """And fail as ours or not at all."""
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    told = []
    for parts in ([stream], pieces):
        try:
            told.append(read(*parts))
        except ModelFailed as failure:
            told.append([ServerEvent(failure.kind, "")])
    assert told[0] == told[1]


@given(st.lists(st.text().filter(lambda text: "\r" not in text), max_size=5))
def test_what_is_written_is_read(texts: list[str]) -> None:
    """Any text is an event's data, a line each."""
    lines = ("".join(f"data: {line}\n" for line in text.split("\n")) + "\n" for text in texts)
    stream = "".join(lines).encode("utf-8", "replace")
    expected = [ServerEvent("message", text.encode("utf-8", "replace").decode()) for text in texts]
    assert read(stream, most=10_000) == expected


@pytest.mark.parametrize(
    "stream",
    [b"data: " + b"x" * 1000, b"data: x\n" * 200, b": " + b"x" * 1000, b"event: " + b"x" * 1000 + b"\n"],
)
def test_an_event_without_end_is_bounded(stream: bytes) -> None:
    """One long line, many short ones, a comment: a failure, not memory."""
    with pytest.raises(ModelFailed, match="over 500 bytes") as failed:
        read(stream, most=500)
    assert failed.value.kind == "protocol"


def test_what_is_not_utf_8_is_a_failure() -> None:
    """Of the protocol."""
    with pytest.raises(ModelFailed, match="UTF-8"):
        read(b"data: \xff\n\n")


def test_small_pieces_cost_what_large_ones_do() -> None:
    """A line of 50,000 bytes that comes byte by byte is not read again with each."""
    lines, began = LineSplitter(1_000_000), time.thread_time()
    for _ in range(50_000):
        lines.feed(b"x")
    assert [len(line) for line in lines.feed(b"\n")] == [50_000]
    assert time.thread_time() - began < 2.0
