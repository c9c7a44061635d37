"""Remembers what is said in a thread: not before the end of its turn is kept, since until then it may be cancelled,
by whichever process."""

from ..ports.brain import Question
from ..ports.conversation import Scope
from ..ports.memory import Proposed
from ..ports.remember import Answered, Offer, Recorder


class ThreadRecorder:
    """Holds the exchange of each turn until that is kept (implements `Recorder`). recorder: remembers it then."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._held: dict[str, tuple[Question, Answered]] = {}  # by message; a thread has one turn at a time

    def keep(self, question: Question, answered: Answered, offer: Offer) -> None:
        """Hold an exchange; what it proposes is told with the reply, so that nothing is offered."""
        self._held[question.id] = question, answered

    def decline(self, scope: Scope, item: str) -> None:
        """Take that its user does not want an item remembered."""
        self._recorder.decline(scope, item)

    async def kept(self, question: Question, answered: Answered) -> tuple[Proposed, ...] | None:
        """Remember an exchange now."""
        return await self._recorder.kept(question, answered)

    async def ended(self, message: str) -> tuple[Proposed, ...] | None:
        """Take that the end of a message's turn is kept; return what its exchange proposes, None where it is lost."""
        held = self._held.pop(message, None)
        return await self.kept(*held) if held is not None else ()
