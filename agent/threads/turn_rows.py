"""The turn of a thread that is in progress, and the rows that are stored of it: its calls, its answer, its results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import trio

from ..errors import AgentError, Conflict
from ..ports.calls import StoredCall
from ..ports.thread_service import Reply
from ..ports.threads import StoredMessage
from ..ports.tools import ToolDefinition
from ..protocol.outbound import ActionExecuted, Response
from .hashes import digest


@dataclass(slots=True)
class TurnWaiter:
    """The wait for the end of a turn. Once `over` is set, exactly one of `reply` and `error` is there."""

    over: trio.Event = field(default_factory=trio.Event)
    reply: Reply | None = None
    error: AgentError | None = None

    async def wait(self) -> Reply:
        """Return the reply. Raises `Conflict` with the reason why there is none, or `StorageFailed`."""
        await self.over.wait()
        if self.reply is None:
            raise self.error or Conflict("internal")
        return self.reply

    def answer(self, reply: Reply) -> None:
        """End the wait with a reply; a first end stands."""
        if not self.over.is_set():
            self.reply = reply
            self.over.set()

    def fail(self, error: AgentError) -> None:
        """End the wait with an error; a first end stands."""
        if not self.over.is_set():
            self.error = error
            self.over.set()


@dataclass(slots=True, kw_only=True)
class CurrentTurn:
    """The turn to which the frames of a session belong."""

    message: str  # its id
    number: int
    tools: Mapping[str, ToolDefinition]
    waiter: TurnWaiter = field(default_factory=TurnWaiter)
    calls: list[str] = field(default_factory=list)  # the ids of those that are stored
    position: int = 0  # of the last call that was made
    suggested: bool = False
    ended: bool = False  # and its end is stored


class TurnRows:
    """Makes the rows of the turns of one thread.

    `approval_time`: the seconds in which a suggested call can be approved, or a call handed over be claimed.
    """

    def __init__(self, project: str, thread: str, new_id: Callable[[], str], approval_time: float) -> None:
        self.project = project
        self.thread = thread
        self._new_id = new_id
        self._approval_time = approval_time

    def make_call(
        self, turn: CurrentTurn, id: str, tool: str, arguments: Mapping[str, Any], at: int
    ) -> StoredCall:
        """Return the next call of `turn`, suggested `at` (Unix milliseconds), with the risk that its tool defines."""
        known = turn.tools.get(tool)
        hashed = digest(arguments)
        turn.position += 1
        return StoredCall(
            id=id,
            project=self.project,
            thread=self.thread,
            message=turn.message,
            turn=turn.number,
            position=turn.position,
            tool=tool,
            arguments=arguments,
            arguments_hash=hashed,
            proposed_hash=hashed,
            runs_at=known.runs_at if known else "record",
            needs_approval=True,
            status="suggested",
            created_at=at,
            deadline=at + round(self._approval_time * 1000),
            risk=known.risk if known else "medium",
            parameters=known.parameters if known else None,
        )

    def make_answer(self, turn: CurrentTurn, response: Response, at: int) -> StoredMessage:
        """Return the agent's message of `turn`."""
        return StoredMessage(
            id=self._new_id(),
            thread=self.thread,
            turn=turn.number,
            role="assistant",
            content=response.text,
            status="refused" if response.blocked else "done",
            created_at=at,
            citations=tuple(msgspec.to_builtins(each) for each in response.citations),
            confidence=response.confidence,
            blocked=response.blocked.code if response.blocked else None,
        )

    def make_result(self, turn: int, executed: ActionExecuted, at: int) -> StoredMessage:
        """Return the message with the result of a call, in the turn with the number `turn`."""
        return StoredMessage(
            id=self._new_id(),
            thread=self.thread,
            turn=turn,
            role="tool",
            content=msgspec.json.encode(executed.result).decode(),
            status="done",
            created_at=at,
            call=executed.suggestion_id,
        )
