"""Answers a client's requests beside the turn, each in a task of the wire: those to the consultant, and feedback.

`ConsultQueue` hands over one request at a time, so there is at most one such task. It posts its answer to the session
as an event, unless the session has ended.
"""

from typing import Protocol

import trio

from ..ports.consult import Consultant, ThreadListener
from ..ports.conversation import Scope
from ..ports.feedback import FeedbackAccess
from ..ports.wire import Wire
from ..protocol.outbound import Error
from .context import SessionContext
from .effects import AskConsultant, StoreFeedback
from .events import ConsultAnswered, Event
from .feedback_answerer import FeedbackAnswerer, refuse_feedback

_MEMORY_OFF = "This server has no memory, and nothing was done; ask its operator to start it with a memory."


class ConsultingSession(ThreadListener, Protocol):
    """The session whose client sent a request."""

    def post(self, event: Event) -> None:
        """Handle an event."""
        ...


class ConsultTasks:
    """The tasks of one session. It holds no session, so that it keeps none alive."""

    __slots__ = ("_context", "_has_ended", "_running", "_wire")

    def __init__(self, context: SessionContext, wire: Wire) -> None:
        self._context = context
        self._wire = wire
        self._running: trio.CancelScope | None = None  # of the latest task
        self._has_ended = False

    def ask_consultant(self, session: ConsultingSession, effect: AskConsultant) -> None:
        """Have the consultant answer a request."""
        consultant = self._context.consultant
        if consultant is None:
            session.post(
                ConsultAnswered(Error("memory_off", _MEMORY_OFF, effect.frame.id), trio.current_time())
            )
            return
        self._running = trio.CancelScope()
        self._wire.start_task(self._consult, session, consultant, effect, self._running)

    def store_feedback(self, session: ConsultingSession, effect: StoreFeedback) -> None:
        """Have a rating stored."""
        feedback = self._context.feedback
        if feedback is None:
            session.post(refuse_feedback(effect.frame))
            return
        self._running = trio.CancelScope()
        self._wire.start_task(self._rate, session, feedback, effect, self._running)

    def end(self, session: ConsultingSession, scope: Scope) -> None:
        """Cancel the task, and have the consultant tell `session` of no further changes. `scope`: the session's."""
        self._has_ended = True
        if self._running is not None:
            self._running.cancel()
            if self._context.consultant is not None:
                self._context.consultant.leave(session, scope)

    async def _consult(
        self, session: ConsultingSession, consultant: Consultant, ask: AskConsultant, scope: trio.CancelScope
    ) -> None:
        with scope:
            try:
                reply = await consultant.answer(ask.frame, ask.scope, session)
            finally:
                if self._has_ended:  # perhaps before the consultant began to tell it of changes
                    consultant.leave(session, ask.scope)
            session.post(ConsultAnswered(reply.frame, trio.current_time(), reply.scope, reply.history))

    async def _rate(
        self,
        session: ConsultingSession,
        feedback: FeedbackAccess,
        effect: StoreFeedback,
        scope: trio.CancelScope,
    ) -> None:
        context = self._context
        with scope:
            answerer = FeedbackAnswerer(feedback, context.memory, context.clock, context.new_id)
            session.post(await answerer.answer(effect.frame, effect.answer, effect.scope))
