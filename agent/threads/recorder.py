"""The recorder of a thread: it remembers an exchange only once the end of its turn is stored.

Until then another process may cancel the turn.
"""

from dataclasses import replace

from ..ports.brain import Question
from ..ports.conversation import Scope
from ..ports.memory import ProposalOutcome
from ..ports.remember import FinishedAnswer, Recorder, ReturnPath


class ThreadRecorder:
    """Holds the exchange of each turn until its end is stored (implements `Recorder`). `recorder` remembers it then."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._unrecorded: dict[
            str, tuple[Question, FinishedAnswer]
        ] = {}  # by message; a thread has one turn at a time

    def record_exchange(self, question: Question, answered: FinishedAnswer, return_path: ReturnPath) -> None:
        """Hold an exchange; its proposals come with the reply, so `return_path` is not used.

        The thread's own messages have the details shown with the answer.
        """
        self._unrecorded[question.id] = question, replace(answered, describe=None)

    def decline_item(self, scope: Scope, item: str) -> None:
        """Pass on that a user does not want an item remembered."""
        self._recorder.decline_item(scope, item)

    async def record_and_propose(
        self, question: Question, answered: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...] | None:
        """Remember an exchange now; return its proposals."""
        return await self._recorder.record_and_propose(question, answered)

    async def record_end(self, message: str) -> tuple[ProposalOutcome, ...] | None:
        """Remember the exchange of a turn that has a stored end; return its proposals, or `None` if it is lost."""
        exchange = self._unrecorded.pop(message, None)
        return await self.record_and_propose(*exchange) if exchange is not None else ()
