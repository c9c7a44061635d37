"""One question of a program and the events of its answer, as the client for programs returns them."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio

from ..errors import AgentError
from ..protocol.outbound import ActionExecuted, ActionSuggestion, Response, Stream, StreamEnd
from .message_socket import CLOSE_TIMEOUT

WAITING_MOST = 20_000  # events of one turn that its reader has not taken


class ConnectionLost(AgentError):
    """The connection ended while something waited. `code`: the close code; 1006 where the server sent none."""

    def __init__(self, message: str, code: int = 1006) -> None:
        super().__init__(message)
        self.code = code


class RequestRefused(AgentError):
    """The server did not do what was asked. `code`: of the server's error; the message says what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The first event of a turn for which the client had to connect again.

    `lost`: ids of the suggestions that can no longer be confirmed. `continues`: whether the server goes on with the
    same conversation; otherwise the question is the first one of a new conversation.
    """

    lost: tuple[str, ...]
    continues: bool


TurnItem: TypeAlias = Stream | StreamEnd | Response | ActionSuggestion | ActionExecuted | Reconnected
"""An event of a turn, in the order in which the server sent them."""

Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]


class Turn:
    """The answer to one question: iterate over its events. As a context manager, it is cancelled when it is left.

    `begin`: sends the question of a turn, on a new connection if need be. `send`: sends any message.
    """

    def __init__(self, begin: "Begin", send: Send, text: str, lang: str | None) -> None:
        self._begin = begin
        self._send = send
        self._frame = {"type": "message", "text": text} | ({"lang": lang} if lang else {})
        self._events: deque[TurnItem] = deque()
        self._news = anyio.Event()
        self._error: AgentError | None = None
        self._is_sent = self._is_over = False
        self._is_answered = False  # from then on a cancel would end the suggestions of the turn
        self.id = ""

    async def __aenter__(self) -> "Turn":
        """Return the turn; the question is sent with the first event that is asked for."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the turn, unless its response has come."""
        if self._is_sent and not self._is_over and not self._is_answered:
            self._is_over = True
            with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
                await self._send({"type": "cancel", "id": self.id})

    def __aiter__(self) -> "Turn":
        """Iterate over the events of the turn."""
        return self

    async def __anext__(self) -> TurnItem:
        """Return the next event.

        Raises `ConnectionLost`, `RequestRefused`, and `CannotConnect` for a question that cannot be sent.
        """
        if not self._is_sent:
            self._is_sent = True
            await self._begin(self)
        while not self._events:
            if self._error is not None:
                error, self._error = self._error, None
                self._is_over = True
                raise error
            if self._is_over:
                raise StopAsyncIteration
            self._news = anyio.Event()
            await self._news.wait()
        return self._events.popleft()

    @property
    def frame(self) -> dict[str, Any]:
        """The message that asks the question."""
        return self._frame | {"id": self.id}

    def add_event(self, event: TurnItem) -> None:
        """Add an event for the reader of the turn; a reader that takes none ends the turn."""
        if self._error is not None or self._is_over:
            return
        self._events.append(event)
        self._is_answered = self._is_answered or isinstance(event, Response)
        if len(self._events) > WAITING_MOST:
            self._events.clear()
            self.end(ConnectionLost("the events of the turn were not read"))
        self._news.set()

    def end(self, error: AgentError | None = None) -> None:
        """End the turn after the events so far; the first `error` is raised after them."""
        self._error = self._error or error
        self._is_over = self._is_over or self._error is None
        self._news.set()


Begin: TypeAlias = Callable[[Turn], Awaitable[None]]
