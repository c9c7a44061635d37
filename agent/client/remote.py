"""A client for programs, on asyncio as well as on Trio: `async with connect(url) as agent`.

Strategy: WebSocket frames (`wsproto`) over a stream of `anyio`, read by one task that hands each message of the server
to the turn or the decision that it belongs to. Messages are the types of `agent.protocol.outbound`. A connection that
is lost ends everything that waits with `ConnectionLost`; the next question connects again.
"""

import json
import ssl
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import anyio
import msgspec
from anyio.abc import ByteStream, TaskGroup
from wsproto import WSConnection
from wsproto.connection import ConnectionType
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Event,
    Message,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from ..errors import AgentError, CannotConnect, UsageError, find_cause
from ..protocol.asyncapi import CLOSE_CODES, SUBPROTOCOL
from ..protocol.outbound import (
    ActionClosed,
    ActionExecuted,
    ActionSuggestion,
    Error,
    Outbound,
    Response,
    Stream,
    StreamEnd,
    ThreadFrame,
    Welcome,
)

CONNECT_TIMEOUT = 10.0  # seconds for TCP, TLS and the handshake together
WRITE_TIMEOUT = 10.0  # seconds in which the server takes a message
CLOSE_TIMEOUT = 2.0
MESSAGE_MOST = 4 * 1024 * 1024  # characters of one message of the server
WAITING_MOST = 20_000  # events of one turn that its reader has not taken

_decoder: msgspec.json.Decoder[Outbound] = msgspec.json.Decoder(Outbound)


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

Dial: TypeAlias = Callable[[], Awaitable[ByteStream]]


class _MessageSocket:
    """A WebSocket over a stream. One task calls `receive`; any task may call `send`."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._writing = anyio.Lock()
        self._events: deque[Event] = deque()
        self._text = ""
        self.code: int | None = None  # of the connection's end

    async def open(self, host: str, path: str, token: str | None) -> None:
        """Do the handshake; raises `CannotConnect`."""
        headers = [] if token is None else [(b"Authorization", f"Bearer {token}".encode())]
        await self._write(Request(host=host, target=path, subprotocols=[SUBPROTOCOL], extra_headers=headers))
        status = None
        while True:
            event = await self._next_event()
            if isinstance(event, AcceptConnection):
                return
            if isinstance(event, RejectConnection):
                status = event.status_code
            if status is not None and (
                not isinstance(event, RejectConnection | RejectData) or _is_last(event)
            ):
                raise CannotConnect(f"{host} refused the connection with HTTP status {status}", status)
            if event is None:
                raise CannotConnect(f"{host} closed the connection before the handshake was done")

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a JSON object. A cancel takes effect once it is written."""
        await self._write(Message(json.dumps(message)))

    async def ping(self, payload: str) -> None:
        """Send a ping, whose answer `receive` returns."""
        await self._write(Ping(payload.encode()))

    async def receive(self) -> str | Pong | None:
        """Return the next message or pong; `None` at the end of the connection, whose code is then `code`."""
        while True:
            event = await self._next_event()
            if event is None:
                return None
            if isinstance(event, TextMessage):
                self._text += event.data
                if len(self._text) > MESSAGE_MOST:
                    raise ProtocolError
                if event.message_finished:
                    text, self._text = self._text, ""
                    return text
            elif isinstance(event, Ping):
                await self._write(event.response())
            elif isinstance(event, Pong):
                return event
            elif isinstance(event, CloseConnection):
                self.code = event.code
                await self._write(event.response())

    async def close(self) -> None:
        """Say goodbye and close the stream, in `CLOSE_TIMEOUT` seconds at most."""
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await self._write(CloseConnection(code=1000))
            await self._stream.aclose()

    async def _next_event(self) -> Event | None:
        """Return the next event of the protocol; `None` at the end of the stream."""
        while not self._events:
            try:
                data = await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                return None
            self._protocol.receive_data(data)
            self._events.extend(self._protocol.events())
        return self._events.popleft()

    async def _write(self, event: Event) -> None:
        """Write an event whole: half a frame would end the connection. A broken connection shows in `receive`."""
        async with self._writing:
            try:
                data = self._protocol.send(event)
            except ProtocolError:  # the connection is closing
                return
            with anyio.move_on_after(WRITE_TIMEOUT, shield=True) as late:
                try:
                    await self._stream.send(data)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                    return
            if late.cancelled_caught:
                await self._stream.aclose()


def _is_last(event: Event) -> bool:
    return (isinstance(event, RejectData) and event.body_finished) or not getattr(event, "has_body", True)


class Turn:
    """The answer to one question: iterate over its events. As a context manager, it is cancelled when it is left."""

    def __init__(self, agent: "Agent", text: str, lang: str | None) -> None:
        self._agent = agent
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
                await self._agent.send({"type": "cancel", "id": self.id})

    def __aiter__(self) -> "Turn":
        """Iterate over the events of the turn."""
        return self

    async def __anext__(self) -> TurnItem:
        """Return the next event.

        Raises `ConnectionLost`, `RequestRefused`, and `CannotConnect` for a question that cannot be sent.
        """
        if not self._is_sent:
            self._is_sent = True
            await self._agent.begin(self)
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


class _Decision:
    """A decision on a suggestion that waits for its outcome."""

    def __init__(self) -> None:
        self.outcome: ActionExecuted | ActionClosed | AgentError | None = None
        self.known = anyio.Event()

    def end(self, outcome: ActionExecuted | ActionClosed | AgentError) -> None:
        """Set the outcome."""
        self.outcome = outcome
        self.known.set()


class Agent:
    """One conversation with a server. Made by `connect` and `connect_over`."""

    def __init__(self, dial: Dial, tasks: TaskGroup, host: str, path: str, token: str | None) -> None:
        self._dial = dial
        self._tasks = tasks
        self._place = (host, path, token)
        self._socket: _MessageSocket | None = None
        self._dialling = anyio.Lock()
        self._asked = 0
        self._turns: WeakValueDictionary[str, Turn] = WeakValueDictionary()
        self._decisions: dict[str, _Decision] = {}
        self._suggested: dict[str, None] = {}
        self._lost: tuple[str, ...] = ()
        self.thread = ""  # of the conversation, where the server has memory

    def ask(self, text: str, lang: str | None = None) -> Turn:
        """Return the turn that asks `text`; iterate over it. A question cancels the one in progress.

        `lang`: the language to answer in, such as "en"; by default that of the question.
        """
        return Turn(self, text, lang)

    async def confirm(
        self, suggestion_id: str, payload: Mapping[str, Any] | None = None
    ) -> ActionExecuted | ActionClosed:
        """Confirm a suggested action; return its outcome. `payload`: fills in what is missing.

        Raises `RequestRefused`, and `ConnectionLost`: then the action may have been carried out or not.
        """
        filled = {} if payload is None else {"payload": dict(payload)}
        return await self._decide(suggestion_id, {"type": "confirm_action", **filled})

    async def reject(self, suggestion_id: str) -> ActionExecuted | ActionClosed:
        """Decline a suggested action; return how it was closed. Raises as `confirm` does."""
        return await self._decide(suggestion_id, {"type": "reject_action"})

    async def cancel(self) -> None:
        """Cancel the question or action in progress, and everything that waits for a confirm."""
        await self.send({"type": "cancel"})

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send any message of the protocol, if there is a connection."""
        if self._socket is not None:
            await self._socket.send(message)

    async def begin(self, turn: Turn) -> None:
        """Send the question of `turn`; connect again first, if need be."""
        had_thread = self.thread
        again = self._socket is None
        await self.open()
        self._asked += 1
        turn.id = str(self._asked)
        self._turns[turn.id] = turn
        if again:
            lost, self._lost = self._lost, ()
            turn.add_event(Reconnected(lost, bool(had_thread) and self.thread == had_thread))
        await self.send(turn.frame)

    async def open(self) -> None:
        """Connect, unless there is a connection. Raises `CannotConnect`."""
        async with self._dialling:
            if self._socket is not None:
                return
            host, path, token = self._place
            socket: _MessageSocket | None = None
            try:
                with anyio.fail_after(CONNECT_TIMEOUT):
                    socket = _MessageSocket(await self._dial())
                    await socket.open(host, path, token)
                    await self._greet(socket)
            except TimeoutError:
                error: AgentError = CannotConnect(
                    f"cannot connect to {host}: no answer in {CONNECT_TIMEOUT:g} s"
                )
            except (OSError, ProtocolError) as problem:
                error = CannotConnect(f"cannot connect to {host}: {problem or 'it does not speak WebSocket'}")
            else:
                self._socket = socket
                self._tasks.start_soon(self._read, socket)
                return
            if socket is not None:
                await socket.close()
            raise error from None

    async def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            await self._socket.close()

    async def _greet(self, socket: _MessageSocket) -> None:
        """Take the server's welcome, and open the conversation's thread where the server has memory."""
        while (received := await socket.receive()) is not None:
            frame = _decode(received)
            if isinstance(frame, Welcome):
                if not frame.memory:
                    return
                await socket.send({"type": "open_thread"} | ({"thread": self.thread} if self.thread else {}))
            elif isinstance(frame, ThreadFrame):
                self.thread = frame.thread
                return
            elif isinstance(frame, Error):
                if frame.code != "unknown_thread":
                    raise CannotConnect(frame.message)
                self.thread = ""
                await socket.send({"type": "open_thread"})
        code = socket.code or 1006
        raise CannotConnect(f"the server closed the connection: {CLOSE_CODES.get(code, f'code {code}')}")

    async def _read(self, socket: _MessageSocket) -> None:
        """Hand out what the server sends, until the connection ends."""
        code = 1006
        try:
            while (received := await socket.receive()) is not None:
                if isinstance(received, Pong):
                    self._end_turn(bytes(received.payload).decode())
                elif (frame := _decode(received)) is not None:
                    await self._take(socket, frame)
            code = socket.code or 1006
        except (ProtocolError, msgspec.DecodeError):
            code = 1002
        finally:
            self._socket = None
            self._lose(code)
        await socket.close()

    async def _take(self, socket: _MessageSocket, frame: Outbound) -> None:
        """Hand a message of the server to the turn or the decision that waits for it."""
        if isinstance(frame, ActionClosed):
            self._end_decision(frame.suggestion_id, frame)
        elif isinstance(frame, ActionExecuted):
            if not self._end_decision(frame.suggestion_id, frame):
                self._add_event(frame)
        elif isinstance(frame, Error):
            refused = RequestRefused(frame.code, frame.message)
            if frame.suggestion_id is not None:
                self._end_decision(frame.suggestion_id, refused)
            elif frame.id is not None and frame.code != "internal":  # after that one comes a refusal
                self._end_turn(frame.id, refused)
        elif isinstance(frame, Stream | StreamEnd | Response | ActionSuggestion):
            if isinstance(frame, ActionSuggestion):
                self._suggested[frame.suggestion_id] = None
            self._add_event(frame)
            if isinstance(frame, StreamEnd) and frame.reason == "cancelled" and frame.id is not None:
                self._end_turn(frame.id)
            elif isinstance(frame, Response) and frame.id is not None:
                await socket.ping(frame.id)  # suggestions of the turn come before the answer to it

    def _add_event(self, event: Stream | StreamEnd | Response | ActionSuggestion | ActionExecuted) -> None:
        turn = None if event.id is None else self._turns.get(event.id)
        if turn is not None:
            turn.add_event(event)

    def _end_turn(self, message: str, error: AgentError | None = None) -> None:
        turn = self._turns.pop(message, None)
        if turn is not None:
            turn.end(error)

    def _end_decision(self, suggestion_id: str, outcome: ActionExecuted | ActionClosed | AgentError) -> bool:
        """End the decision that waits for `outcome`; return whether one did."""
        if not isinstance(outcome, AgentError):
            self._suggested.pop(suggestion_id, None)
        decision = self._decisions.pop(suggestion_id, None)
        if decision is not None:
            decision.end(outcome)
        return decision is not None

    async def _decide(self, suggestion_id: str, message: Mapping[str, Any]) -> ActionExecuted | ActionClosed:
        if self._socket is None:
            raise ConnectionLost("the suggestion went with the connection: ask again to get a new one")
        decision = self._decisions.setdefault(suggestion_id, _Decision())
        await self._socket.send({**message, "suggestionId": suggestion_id})
        await decision.known.wait()
        assert decision.outcome is not None
        if isinstance(decision.outcome, AgentError):
            raise decision.outcome
        return decision.outcome

    def _lose(self, code: int) -> None:
        """End all that waits for the connection, which ended with `code`."""
        self._lost, self._suggested = (*self._lost, *self._suggested), {}
        for turn in list(self._turns.values()):
            self._end_turn(
                turn.id,
                ConnectionLost(f"the connection ended (code {code}) before the answer: ask again", code),
            )
        for id in list(self._decisions):
            message = f"the connection ended (code {code}): the action may have been carried out, or not"
            self._end_decision(id, ConnectionLost(message, code))


def _decode(received: str | Pong | None) -> Outbound | None:
    """Return a message of the server; `None` for one of a kind that this client does not know, and at the end.

    Raises `msgspec.DecodeError` for a text that is no JSON.
    """
    if not isinstance(received, str):
        return None
    try:
        return _decoder.decode(received)
    except msgspec.ValidationError:
        return None


@asynccontextmanager
async def connect(
    url: str = "http://127.0.0.1:8787", token: str | None = None
) -> AsyncGenerator[Agent, None]:
    """Open a conversation with the server at `url` (http, https, ws or wss), and close it at the end of the block.

    At its end, also by a cancel, the server cancels the question in progress. `token`: the server's, or a user's.
    Raises `CannotConnect`, and `agent.errors.UsageError` for a URL that cannot be used.
    """
    host, port, secure, path = _parse_url(url)

    async def dial() -> ByteStream:
        if secure:
            return await anyio.connect_tcp(host, port, tls=True, tls_hostname=host)
        return await anyio.connect_tcp(host, port)

    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    async with connect_over(dial, name, path, token) as agent:
        yield agent


@asynccontextmanager
async def connect_over(
    dial: Dial, host: str = "127.0.0.1:8787", path: str = "/ws", token: str | None = None
) -> AsyncGenerator[Agent, None]:
    """Open a conversation over the streams that `dial` returns, one for each connection. `host`: the Host header."""
    try:
        async with anyio.create_task_group() as tasks:
            agent = Agent(dial, tasks, host, path, token)
            await agent.open()
            try:
                yield agent
            finally:
                await agent.close()
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise find_cause(group) from None


def _parse_url(url: str) -> tuple[str, int, bool, str]:
    """Return host, port, whether TLS is used, and path."""
    wrong = UsageError("the URL must look like http://127.0.0.1:8787")
    try:
        split = urlsplit(url if "://" in url else f"http://{url}")
        port = split.port or (443 if split.scheme in ("wss", "https") else 80)
    except ValueError:  # odd brackets, or an invalid port
        raise wrong from None
    if not split.hostname or split.scheme not in ("ws", "wss", "http", "https"):
        raise wrong
    path = split.path if split.path not in ("", "/") else "/ws"
    return split.hostname, port, split.scheme in ("wss", "https"), path
