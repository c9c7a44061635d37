"""A client for programs, on asyncio as well as on Trio: `async with connect(url) as agent`.

Strategy: a WebSocket (`message_socket.py`), read by one task that hands each message of the server to the turn
(`turn.py`) or the decision that it belongs to. Messages are the types of `agent.protocol.outbound`. A connection that
is lost ends everything that waits with `ConnectionLost`; the next question connects again.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import anyio
import msgspec
from anyio.abc import ByteStream, TaskGroup
from wsproto.events import Pong
from wsproto.utilities import ProtocolError

from ..errors import AgentError, CannotConnect, find_cause
from ..ports.feedback import Verdict
from ..protocol.asyncapi import CLOSE_CODES
from ..protocol.consult_frames import FeedbackStored, ThreadFrame
from ..protocol.outbound import (
    ActionClosed,
    ActionExecuted,
    ActionSuggestion,
    Error,
    Outbound,
    Response,
    Stream,
    StreamEnd,
    Welcome,
)
from ..protocol.url import parse_server_url
from .message_socket import MessageSocket
from .turn import ConnectionLost, Reconnected, RequestRefused, Turn

DEFAULT_URL = "http://127.0.0.1:8787"
CONNECT_TIMEOUT = 10.0  # seconds for TCP, TLS and the handshake together

_decoder: msgspec.json.Decoder[Outbound] = msgspec.json.Decoder(Outbound)

T = TypeVar("T")
Dial: TypeAlias = Callable[[], Awaitable[ByteStream]]


class _Decision(Generic[T]):
    """A decision on a suggestion or an answer that waits for its outcome, a `T`."""

    def __init__(self) -> None:
        self._outcome: T | AgentError | None = None
        self._known = anyio.Event()

    def end(self, outcome: T | AgentError) -> None:
        """Set the outcome."""
        self._outcome = outcome
        self._known.set()

    async def wait(self) -> T:
        """Return the outcome; raises the error that is one."""
        await self._known.wait()
        assert self._outcome is not None
        if isinstance(self._outcome, AgentError):
            raise self._outcome
        return self._outcome


class Agent:
    """One conversation with a server. Made by `connect` and `connect_over`."""

    def __init__(
        self,
        dial: Dial,
        tasks: TaskGroup,
        host: str,
        path: str,
        token: str | None,
        visitor: str | None = None,
    ) -> None:
        self._dial = dial
        self._tasks = tasks
        self._place = (host, path, token, visitor)
        self._socket: MessageSocket | None = None
        self._dialling = anyio.Lock()
        self._asked = self._rated = 0
        self._turns: WeakValueDictionary[str, Turn] = WeakValueDictionary()
        self._decisions: dict[str, _Decision[ActionExecuted | ActionClosed]] = {}
        self._ratings: dict[str, _Decision[FeedbackStored]] = {}
        self._suggested: dict[str, None] = {}
        self._lost: tuple[str, ...] = ()
        self.thread = ""  # of the conversation, where the server has memory

    def ask(self, text: str, lang: str | None = None) -> Turn:
        """Return the turn that asks `text`; iterate over it. A question cancels the one in progress.

        `lang`: the language to answer in, such as "en"; by default that of the question.
        """
        return Turn(self.begin, self.send, text, lang)

    async def confirm(
        self, suggestion_id: str, payload: Mapping[str, Any] | None = None
    ) -> ActionExecuted | ActionClosed:
        """Confirm a suggested action; return its outcome. `payload`: fills in missing arguments.

        Raises `RequestRefused`, and `ConnectionLost`: then the action may have been carried out or not.
        """
        filled = {} if payload is None else {"payload": dict(payload)}
        return await self._decide(suggestion_id, {"type": "confirm_action", **filled})

    async def reject(self, suggestion_id: str) -> ActionExecuted | ActionClosed:
        """Decline a suggested action; return how it was closed. Raises as `confirm` does."""
        return await self._decide(suggestion_id, {"type": "reject_action"})

    async def feedback(self, message: str, verdict: Verdict, text: str = "") -> FeedbackStored:
        """Rate an answer of this connection; return the stored rating once it is on the server's disk.

        `message`: the id of its turn or response. `verdict`: "up" or "down"; a later one replaces the first. `text`:
        words about it. Raises `RequestRefused`, and `ConnectionLost`: then it may have been stored or not.
        """
        if self._socket is None:
            raise ConnectionLost("the answer went with the connection: ask again, then rate the new answer")
        self._rated += 1
        label = f"feedback-{self._rated}"
        rating = self._ratings[label] = _Decision()
        await self._socket.send(
            {"type": "feedback", "message": message, "verdict": verdict, "text": text, "id": label}
        )
        try:
            return await rating.wait()
        finally:
            self._ratings.pop(label, None)

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
            host, path, token, visitor = self._place
            socket: MessageSocket | None = None
            try:
                with anyio.fail_after(CONNECT_TIMEOUT):
                    socket = MessageSocket(await self._dial())
                    await socket.open(host, path, token, visitor)
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

    async def _greet(self, socket: MessageSocket) -> None:
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

    async def _read(self, socket: MessageSocket) -> None:
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

    async def _take(self, socket: MessageSocket, frame: Outbound) -> None:
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
            elif frame.id in self._ratings:
                self._ratings.pop(frame.id).end(refused)
            elif frame.id is not None and frame.code != "internal":  # after that one comes a refusal
                self._end_turn(frame.id, refused)
        elif isinstance(frame, FeedbackStored):
            if frame.id in self._ratings:
                self._ratings.pop(frame.id).end(frame)
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
        return await decision.wait()

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
        for rating in self._ratings.values():
            rating.end(ConnectionLost(f"the connection ended (code {code}): send the feedback again", code))


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
    url: str = DEFAULT_URL, token: str | None = None, visitor: str | None = None
) -> AsyncGenerator[Agent, None]:
    """Open a conversation with the server at `url` (http, https, ws or wss), and close it at the end of the block.

    At its end, also by a cancel, the server cancels the question in progress. `token`: the server's, or a user's.
    `visitor`: a secret of a client without a user's token, 22 to 64 characters such as `secrets.token_urlsafe()`
    returns; the server's memory of the client belongs to it. Raises `CannotConnect`, and `agent.errors.UsageError` for
    a URL that cannot be used.
    """
    host, port, secure, path = parse_server_url(url, DEFAULT_URL)

    async def dial() -> ByteStream:
        if secure:
            return await anyio.connect_tcp(host, port, tls=True, tls_hostname=host)
        return await anyio.connect_tcp(host, port)

    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    async with connect_over(dial, name, path, token, visitor) as agent:
        yield agent


@asynccontextmanager
async def connect_over(
    dial: Dial,
    host: str = "127.0.0.1:8787",
    path: str = "/ws",
    token: str | None = None,
    visitor: str | None = None,
) -> AsyncGenerator[Agent, None]:
    """Open a conversation over the streams that `dial` returns, one for each connection. `host`: the Host header."""
    try:
        async with anyio.create_task_group() as tasks:
            agent = Agent(dial, tasks, host, path, token, visitor)
            await agent.open()
            try:
                yield agent
            finally:
                await agent.close()
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise find_cause(group) from None
