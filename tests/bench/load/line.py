"""One session as the load client sees it: what it asked, and when what came.

Sans-IO: bytes and the time come in, frames go out through `send`. Only the headers of the server's frames are read,
and how each payload begins: a frame that begins as a delta does is counted, any other is decoded. So a client in plain
Python costs a third of a microsecond a delta, and what comes in one read is counted at one time, that of the read.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from agent.errors import AgentError

from .frames import CANCEL, CLOSE, DELTA, PING, PONG, TEXT, frame, message

REFUSED = 4401  # the close code of a connection without its token


class Failed(AgentError):
    """A load could not be put on a server, or not be measured; the message is one line that says what to do."""


@dataclass(slots=True)
class Turn:
    """One question and what came of it, in seconds of one clock; None is what has not been.

    first, last: its first and its last delta. ended: its stream_end. over: its response, or its cancelled end, or its
    error. outcome: done, cancelled, or the error's code. deltas: how many words. frames: how many frames of any kind.
    without_memory: its response says that it was made without some of the memory.
    """

    asked: float
    first: float | None = None
    last: float | None = None
    cancelled: float | None = None
    ended: float | None = None
    over: float | None = None
    outcome: str = ""
    deltas: int = 0
    frames: int = 0
    without_memory: bool = False


class Line:
    """One session. send: writes a whole frame. over: called with each turn that has come to its end.

    code: the close code, once the server has closed. One question at a time.
    """

    __slots__ = ("_asked", "_over", "_rest", "_send", "code", "turn")

    def __init__(self, send: Callable[[bytes], None], over: Callable[["Line", Turn], None]) -> None:
        self.code: int | None = None
        self.turn: Turn | None = None
        self._asked = 0
        self._rest = b""
        self._send = send
        self._over = over

    def ask(self, text: str, now: float) -> None:
        """Ask a question; the turn before must be over."""
        self._asked += 1
        self.turn = Turn(now)
        self._send(message(str(self._asked), text))

    def cancel(self, now: float) -> None:
        """Cancel the turn in progress, if there is one."""
        if self.turn is not None:
            self.turn.cancelled = now
            self._send(CANCEL)

    def received(self, data: bytes, now: float) -> None:
        """Take what was read. Raises Failed where it is not this project's wire."""
        if self._rest:
            data = self._rest + data
        at, size, deltas = 0, len(data), 0
        while size - at >= 2:
            length, start = data[at + 1], at + 2
            if length >= 126:
                start += 2 if length == 126 else 8
                if start > size:
                    break
                length = int.from_bytes(data[at + 2 : start], "big")
            end = start + length
            if end > size:
                break
            if data[at] == TEXT and data.startswith(DELTA, start):
                deltas += 1
            else:
                if deltas:
                    self._said(deltas, now)
                    deltas = 0
                self._other(data[at], data[start:end], now)
            at = end
        if deltas:
            self._said(deltas, now)
        self._rest = data[at:]

    def lost(self, now: float) -> None:
        """The connection is gone: a turn in progress is over."""
        if self.turn is not None:
            self._end(self.turn, "lost", now)

    def _said(self, deltas: int, now: float) -> None:
        turn = self.turn
        if turn is None:
            raise Failed("the server sent words that nobody asked for")
        if turn.first is None:
            turn.first = now
        turn.last = now
        turn.deltas += deltas
        turn.frames += deltas

    def _other(self, first: int, payload: bytes, now: float) -> None:
        if first == PING:
            self._send(frame(PONG, payload))
        elif first == CLOSE:
            self.code = int.from_bytes(payload[:2], "big") if payload else 1005
            if self.code == REFUSED:
                raise Failed("the server refuses: give its token with --token or AGENT_TOKEN")
            self._send(frame(CLOSE, payload[:2]))
        elif first == TEXT:
            self._told(payload, now)
        elif first != PONG:
            raise Failed(
                f"the server sent a frame that begins with {first:#x}: only whole text frames are ours"
            )

    def _told(self, payload: bytes, now: float) -> None:
        try:
            told = json.loads(payload)
            kind = told["type"]
        except (ValueError, TypeError, KeyError):
            raise Failed(
                "the server does not speak this wire: its text is no JSON object with a type"
            ) from None
        turn = self.turn
        if kind == "stream":
            self._said(1, now)
            return
        if turn is None:
            return  # such as a welcome, or a suggestion after its response
        turn.frames += 1
        if kind == "stream_end":
            turn.ended = now
            if told.get("reason") == "cancelled":
                self._end(turn, "cancelled", now)
        elif kind == "response":
            turn.without_memory = told.get("withoutMemory") is True
            self._end(turn, "done", now)
        elif kind == "error":
            self._end(turn, str(told.get("code")), now)

    def _end(self, turn: Turn, outcome: str, now: float) -> None:
        turn.outcome, turn.over = outcome, now
        self.turn = None
        self._over(self, turn)
