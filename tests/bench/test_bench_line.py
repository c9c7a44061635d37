"""The load client's end of a session: what it counts of what comes, however that is cut, and what it refuses."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.load.frames import CANCEL, CLOSE, PING, PONG, TEXT, frame, message, upgrade
from tests.bench.load.line import Failed, Line, Turn
from tests.strikes.raw import decode_frames


def served(first: int, payload: bytes) -> bytes:
    """A server's frame, which is not masked."""
    size = len(payload)
    if size < 126:
        return bytes((first, size)) + payload
    if size < 1 << 16:
        return bytes((first, 126)) + size.to_bytes(2, "big") + payload
    return bytes((first, 127)) + size.to_bytes(8, "big") + payload


def told(kind: str, **fields: Any) -> bytes:
    """A server's JSON, written as ours writes it."""
    return served(TEXT, json.dumps({"type": kind, **fields}, separators=(",", ":")).encode())


class Asked:
    """A line that has asked at 1.0, what it sent, and its turns that are over."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.over: list[Turn] = []
        self.line = Line(self.sent.append, lambda line, turn: self.over.append(turn))
        self.line.ask("price?", 1.0)


ANSWER = b"".join(
    [
        *(told("stream", delta="w" * size, id="1") for size in (1, 90, 300, 70_000)),
        told("stream_end", reason="done", id="1"),
        told("response", text="w " * 200, citations=[], id="1"),
    ]
)


@given(st.lists(st.integers(0, len(ANSWER)), max_size=12))
def test_an_answer_counts_the_same_however_it_is_cut(cuts: list[int]) -> None:
    """Deltas of each length of header, the end and the response, over any reads."""
    asked, places = Asked(), [0, *sorted(cuts), len(ANSWER)]
    for number, (start, end) in enumerate(pairwise(places)):
        asked.line.received(ANSWER[start:end], 2.0 + number)
    (turn,) = asked.over
    assert (turn.outcome, turn.deltas, turn.frames) == ("done", 4, 6)
    assert turn.first is not None
    assert turn.last is not None
    assert 1.0 < turn.first <= turn.last <= (turn.ended or 0) <= (turn.over or 0)


def test_the_times_of_a_turn_are_those_of_the_reads() -> None:
    """First and last delta, the end and the response, each as it came."""
    asked = Asked()
    asked.line.received(told("stream", delta="a"), 2.0)
    asked.line.received(told("stream", delta="b"), 3.0)
    asked.line.received(told("stream_end", reason="done"), 4.0)
    assert asked.over == []
    asked.line.received(told("response", text="ab", citations=[]), 5.0)
    assert asked.over == [
        Turn(1.0, first=2.0, last=3.0, ended=4.0, over=5.0, outcome="done", deltas=2, frames=4)
    ]
    assert asked.line.turn is None


def test_a_delta_whose_type_stands_elsewhere_is_counted_too() -> None:
    """A server may write its fields in any order, with spaces."""
    asked = Asked()
    asked.line.received(served(TEXT, b'{ "id": "1", "delta": "a", "type": "stream" }'), 2.0)
    assert asked.line.turn is not None
    assert (asked.line.turn.deltas, asked.line.turn.first) == (1, 2.0)


def test_a_cancelled_turn_ends_with_its_stream_end() -> None:
    """No response follows; the cancel's moment is kept, and a cancel of nothing sends nothing."""
    asked = Asked()
    asked.line.cancel(2.0)
    asked.line.received(told("stream_end", reason="cancelled"), 3.0)
    asked.line.cancel(4.0)
    assert [(turn.outcome, turn.cancelled, turn.over) for turn in asked.over] == [("cancelled", 2.0, 3.0)]
    assert asked.sent == [message("1", "price?"), CANCEL]


def test_an_error_and_a_lost_connection_end_a_turn() -> None:
    """The outcome is the error's code, or that it was lost; what comes of no turn is let by."""
    asked = Asked()
    asked.line.received(told("welcome", session="s") + told("error", code="busy", message="Wait."), 2.0)
    asked.line.received(told("error", code="late", message="-") + told("action_suggestion"), 2.0)
    asked.line.ask("again?", 3.0)
    asked.line.lost(4.0)
    asked.line.lost(5.0)
    assert [(turn.outcome, turn.over) for turn in asked.over] == [("busy", 2.0), ("lost", 4.0)]


def test_pings_and_closes_are_answered() -> None:
    """A pong with the ping's payload; a close with its code, which is kept."""
    asked = Asked()
    asked.line.received(served(PING, b"abc") + served(PONG, b"") + served(CLOSE, b"\x03\xf4bye"), 2.0)
    assert asked.sent[1:] == [frame(PONG, b"abc"), frame(CLOSE, b"\x03\xf4")]
    assert asked.line.code == 1012
    asked.line.received(served(CLOSE, b""), 3.0)
    assert asked.line.code == 1005


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (served(TEXT, b"hello"), "does not speak this wire"),
        (served(TEXT, b"[1]"), "does not speak this wire"),
        (served(TEXT, b'{"kind":"stream"}'), "does not speak this wire"),
        (served(TEXT, b'{"type":"stream","delta":"a"}') * 2, "nobody asked for"),
        (served(0x82, b"\x00"), "0x82"),
        (served(0x01, b"half"), "0x1"),
        (served(CLOSE, b"\x11\x31"), "--token"),
    ],
)
def test_what_is_not_this_wire_is_refused_in_a_line(data: bytes, said: str) -> None:
    """Texts that are no frames of ours, words that nobody asked for, binary and fragments, a token that is missing."""
    line = Line(lambda data: None, lambda line, turn: None)
    with pytest.raises(Failed, match=said) as failed:
        line.received(data, 1.0)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("text", ["", "price?", "ö" * 20, 'say "\n"' * 30, "ö" * 40_000])
def test_a_question_is_one_masked_frame(text: str) -> None:
    """Of each length of header; a server that unmasks with zeros reads the JSON that was meant."""
    data = message("7", text)
    assert data[1] & 0x80
    size = len(json.dumps({"type": "message", "id": "7", "text": text}).encode())
    head = 2 if size < 126 else 4 if size < 1 << 16 else 10
    assert data[head : head + 4] == bytes(4)
    unmasked = bytes((data[0], data[1] & 0x7F)) + data[2:head] + data[head + 4 :]
    if size < 1 << 16:
        assert decode_frames(unmasked) == [{"type": "message", "id": "7", "text": text}]
    assert len(data) == head + 4 + size


def test_a_handshake_names_the_host_and_brings_the_token() -> None:
    """An IPv6 address stands in brackets; without a token there is no header for it."""
    assert b"Host: [::1]:8787\r\n" in upgrade("::1", 8787, "/ws", None)
    assert b"Authorization" not in upgrade("::1", 8787, "/ws", None)
    request = upgrade("127.0.0.1", 80, "/x", "secret")
    assert request.startswith(b"GET /x HTTP/1.1\r\nHost: 127.0.0.1:80\r\n")
    assert b"Authorization: Bearer secret\r\n" in request
    assert request.endswith(b"\r\n\r\n")
