"""What a client asks of what is remembered: one after the other, in its order, beside whatever else the session does.

No state of the session's is asked for and none is changed: a turn goes on, and a cancel does not reach it. So what was
changed is seen by what is asked after it, and a client that asks much keeps no other waiting.
"""

from typing import Any

from ..config import CONSULTS_WAITING, RECALLS_PER_SECOND
from ..ports.conversation import Scope
from ..protocol.inbound import Consult, Recall
from ..protocol.outbound import Error
from ..wire.bucket import Bucket
from .effects import Ask
from .events import Replied
from .out import Out

_GOING_DOWN = "The server is going down; connect again in a moment."
_TOO_MUCH = "Too much is asked of what is remembered at once; wait for an answer, then ask again."
_TOO_FAST = "Too many searches of what was said; wait a second, then search again."


class Consults:
    """What one client has asked and not been answered. scope: whose the answers are, as the last one has left it."""

    __slots__ = ("_asked", "_out", "_recalls", "scope")

    def __init__(self, out: Out, scope: Scope) -> None:
        self._out = out
        self._asked: list[Consult] = []  # the first is being answered, CONSULTS_WAITING wait
        self._recalls = Bucket(RECALLS_PER_SECOND, RECALLS_PER_SECOND)
        self.scope = scope

    def take(self, frame: Consult) -> None:
        """Have it answered, now or after those before it; or say why not."""
        if self._out.draining:
            self._refuse("shutting_down", _GOING_DOWN, frame)
        elif len(self._asked) > CONSULTS_WAITING:
            self._refuse("busy", _TOO_MUCH, frame)
        elif isinstance(frame, Recall) and not self._recalls.take(self._out.now):
            self._refuse("rate_limited", _TOO_FAST, frame)
        else:
            self._asked.append(frame)
            self._out.note("consults", str(frame.__struct_config__.tag))
            if len(self._asked) == 1:
                self._out.add(Ask(frame, self.scope))

    def replied(self, reply: Replied) -> None:
        """Tell the answer, and have the next one answered."""
        self._asked.pop(0)
        self.scope = reply.scope or self.scope
        self._out.send(reply.frame)
        if isinstance(reply.frame, Error):
            self._out.note("errors", reply.frame.code)
        if self._asked:
            self._out.add(Ask(self._asked[0], self.scope))

    def _refuse(self, code: Any, message: str, frame: Consult) -> None:
        self._out.send(Error(code=code, message=message, id=frame.id))
        self._out.note("errors", code)
