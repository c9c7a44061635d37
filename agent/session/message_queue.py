"""Queues the messages of one client that arrive while an action runs, and refuses those beyond its limits; pure.

A message waits until the running action has reported. `Core` has one queue, and the session's table names its deeds.
"""

from typing import Any

from ..ports.brain import Question
from ..ports.conversation import Scope
from ..protocol.outbound import Error, StreamEnd
from ..wire.bucket import Bucket
from .consult_queue import GOING_DOWN
from .core_output import CoreOutput, React
from .settings import QUEUED_MESSAGES
from .states import SessionTrigger

_TOO_FAST = "Too many messages; wait for the answer before you ask again."
_TOO_MANY = "An action is running and the queue is full; ask again when it has ended."


class MessageQueue:
    """The messages of one client that wait for the end of an action, oldest first.

    `rate_limit`: messages per second that may pre-empt or queue, 0 for no limit.
    """

    __slots__ = ("_out", "_questions", "_rate", "_react")

    def __init__(self, out: CoreOutput, react: React, rate_limit: float) -> None:
        self._out = out
        self._react = react
        self._questions: list[Question] = []  # QUEUED_MESSAGES at most
        self._rate = Bucket(rate_limit, 2 * rate_limit)

    @property
    def is_full(self) -> bool:
        """Whether no further message can wait."""
        return len(self._questions) >= QUEUED_MESSAGES

    @property
    def is_over_rate(self) -> bool:
        """Whether the client pre-empts or queues faster than it may."""
        return not self._rate.has_token(self._out.now)

    def take_token(self) -> None:
        """Count a message against the client's rate."""
        self._rate.take_token(self._out.now)

    def add(self, question: Question) -> None:
        """Queue a message until the running action has reported."""
        self._questions.append(question)

    def begin_oldest(self) -> None:
        """Start on the oldest waiting message, if there is one."""
        if self._questions:
            self._react(SessionTrigger.MESSAGE, self._questions.pop(0))

    def withdraw(self, message: str | None) -> list[Question]:
        """Take the messages with the id `message` out of the queue, and return them; their ends are not sent yet."""
        withdrawn = [question for question in self._questions if question.id == message]
        for question in withdrawn:
            self._questions.remove(question)
        return withdrawn

    def send_cancelled(self, questions: list[Question]) -> None:
        """Send the end of messages that left the queue without an answer."""
        for question in questions:
            self._out.send_frame(StreamEnd(reason="cancelled", id=question.id))

    def cancel_all(self) -> None:
        """Cancel every waiting message."""
        questions, self._questions = self._questions, []
        self.send_cancelled(questions)

    def clear(self) -> None:
        """Forget every waiting message without a frame: the client is gone."""
        self._questions.clear()

    def enter_scope(self, scope: Scope) -> None:
        """Ask the waiting messages in `scope`, the thread that the client has open now."""
        self._questions = [question.in_scope(scope) for question in self._questions]

    def refuse_while_draining(self, question: Question) -> None:
        """Refuse a message: the server is going down."""
        self._refuse("shutting_down", GOING_DOWN, question)

    def refuse_over_rate(self, question: Question) -> None:
        """Refuse a message that comes too fast."""
        self._refuse("rate_limited", _TOO_FAST, question)

    def refuse_full(self, question: Question) -> None:
        """Refuse a message that finds the queue full."""
        self._refuse("busy", _TOO_MANY, question)

    def _refuse(self, code: Any, message: str, question: Question) -> None:
        self._out.send_frame(Error(code=code, message=message, id=question.id))
        self._out.record_fact("errors", code, question.id)
