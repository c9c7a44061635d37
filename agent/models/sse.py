"""Reads server-sent events, the form in which services stream their answers (WHATWG HTML, section 9.2).

Pieces may be cut anywhere, also inside a character and between CR and LF, so lines are cut from bytes and only whole
lines are decoded. An event that has not ended when the stream ends is dropped, as the standard says: each
`AnswerReader` insists on the last event of its service. `id` and `retry` are skipped, since this client never
reconnects.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import ModelFailed
from .lines import LineSplitter

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its `name` (`message` by default) and its `data`, lines joined by LF."""

    name: str
    data: str


class EventReader:
    """Turns bytes into events. `most`: bytes of one event, its names and data together.

    Raises `agent.errors.ModelFailed` (`protocol`) for an event that is larger, and for one that is not UTF-8.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines = LineSplitter(most)
        self._first = True
        self._size = 0
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that `piece` completes."""
        for line in self._lines.feed(piece):
            if self._first:
                line = line.removeprefix(_BOM)
                self._first = False
            if line:
                self._read_field(line)
            else:
                yield from self._end_event()

    def _read_field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field not in (b"data", b"event"):
            return  # a comment (no field), or a field that says nothing about the answer
        self._size += len(line)
        if self._size > self._most:
            raise ModelFailed(f"the model's answer holds an event over {self._most} bytes", "protocol")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        else:
            self._name = value

    def _end_event(self) -> Iterator[ServerEvent]:
        name, data = self._name, self._data
        self._name, self._data, self._size = b"", [], 0
        if not data:
            return
        try:
            event = ServerEvent(name.decode() or "message", b"\n".join(data).decode())
        except UnicodeDecodeError:
            raise ModelFailed("the model's answer is not UTF-8", "protocol") from None
        yield event
