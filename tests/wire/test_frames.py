"""Frames that are built here, and the plain ones that are read here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, Ping, TextMessage

from agent.wire.frames import PING, build_frame, build_message, parse_plain_text

SIZES = [0, 1, 125, 126, 127, 65535, 65536]


@pytest.mark.parametrize("size", SIZES)
def test_the_library_reads_what_is_built_here(size: int) -> None:
    """Headers of 2, 4 and 10 bytes; text, binary and ping."""
    client = Connection(ConnectionType.CLIENT)
    client.receive_data(
        build_message(b"x" * size) + build_message(b"y" * size, binary=True) + build_frame(PING, b"")
    )
    events = list(client.events())
    assert events == [TextMessage("x" * size), BytesMessage(bytearray(b"y" * size)), Ping(b"")]


@given(st.lists(st.text(max_size=300), min_size=1, max_size=4), st.binary(max_size=3))
def test_plain_text_is_what_the_library_sent(texts: list[str], before: bytes) -> None:
    """Frame by frame, whatever the mask, from any place in the data."""
    client = Connection(ConnectionType.CLIENT)
    data, at = before + b"".join(client.send(TextMessage(text)) for text in texts), len(before)
    read = []
    while at < len(data):
        found = parse_plain_text(data, at)
        assert found is not None
        text, at = found
        read.append(text)
    assert (read, at) == (texts, len(data))


def masked(first: int, payload: bytes, mask: bytes = b"\1\2\3\4") -> bytes:
    hidden = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
    return bytes((first, 0x80 | len(payload))) + mask + hidden


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x81",
        masked(0x81, b"whole")[:-1],
        masked(0x81, b"whole")[:5],
        masked(0x01, b"a fragment"),
        masked(0x80, b"its end"),
        masked(0x82, b"binary"),
        masked(0x89, b"ping"),
        masked(0x88, b"\x03\xe8"),
        masked(0xC1, b"reserved"),
        b"\x81\x03abc",
        masked(0x81, b"\xff"),
        masked(0x81, "\ud800".encode(errors="surrogatepass")),
        b"\x81\xfe\x00\x05\1\2\3\4abcde",
        b"\x81\xfe\x00",
        b"\x81\xff" + (70_000).to_bytes(8, "big") + bytes(70_004),
    ],
)
def test_everything_else_is_left_to_the_library(data: bytes) -> None:
    """What is not whole, not text, not masked, not UTF-8, or of a size that is told in too many bytes or too large."""
    assert parse_plain_text(data, 0) is None
