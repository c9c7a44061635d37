"""A client's requests to the memory: one at a time, in their order, beside the session's turn.

They neither read nor change the session's state: a turn continues beside them, and a cancel does not reach them. So
each request sees the changes of those before it, and a client with many requests keeps no other client waiting.
"""

from typing import Any

from ..ports.conversation import Scope
from ..protocol.inbound import Consult, Recall
from ..protocol.outbound import Error
from ..wire.bucket import Bucket
from .core_output import CoreOutput
from .effects import AskMemory
from .events import ConsultAnswered

CONSULTS_WAITING = 8  # of one client's questions to the memory, behind the one that is being answered
RECALLS_PER_SECOND = 10.0  # of one client, and so many at once

_GOING_DOWN = "The server is going down; connect again in a moment."
_TOO_MUCH = "Too much is asked of what is remembered at once; wait for an answer, then ask again."
_TOO_FAST = "Too many searches of what was said; wait a second, then search again."


class ConsultQueue:
    """The unanswered requests of one client. `scope`: the session's user and thread, as the last answer has left it."""

    __slots__ = ("_frames", "_out", "_recalls", "scope")

    def __init__(self, out: CoreOutput, scope: Scope) -> None:
        self._out = out
        self._frames: list[Consult] = []  # the first is being answered, CONSULTS_WAITING wait
        self._recalls = Bucket(RECALLS_PER_SECOND, RECALLS_PER_SECOND)
        self.scope = scope

    def add_frame(self, frame: Consult) -> None:
        """Ask the memory to answer `frame`, now or after the frames before it; or send the reason why not."""
        if self._out.draining:
            self._refuse("shutting_down", _GOING_DOWN, frame)
        elif len(self._frames) > CONSULTS_WAITING:
            self._refuse("busy", _TOO_MUCH, frame)
        elif isinstance(frame, Recall) and not self._recalls.take_token(self._out.now):
            self._refuse("rate_limited", _TOO_FAST, frame)
        else:
            self._frames.append(frame)
            self._out.record_fact("consults", str(frame.__struct_config__.tag))
            if len(self._frames) == 1:
                self._out.add(AskMemory(frame, self.scope))

    def finish_first(self, reply: ConsultAnswered) -> None:
        """Send the answer to the first request, and ask for the next one's."""
        self._frames.pop(0)
        self.scope = reply.scope or self.scope
        self._out.send_frame(reply.frame)
        if isinstance(reply.frame, Error):
            self._out.record_fact("errors", reply.frame.code)
        if self._frames:
            self._out.add(AskMemory(self._frames[0], self.scope))

    def _refuse(self, code: Any, message: str, frame: Consult) -> None:
        self._out.send_frame(Error(code=code, message=message, id=frame.id))
        self._out.record_fact("errors", code)
