"""A brain that is made anew for each turn, so that a turn keeps what it began with."""

from collections.abc import Callable

from ..ports.brain import Brain, Question, TurnEvent


class PresentBrain:
    """Answers each question with the brain of that moment (implements `agent.ports.brain.Brain`).

    make: returns a brain over the snapshot of the knowledge base that is present; called once a turn, and cheap.
    """

    def __init__(self, make: Callable[[], Brain]) -> None:
        self._make = make

    async def answer(self, question: Question, emit: Callable[[TurnEvent], None]) -> None:
        """Answer one question as `Brain.answer` says; on cancel it does nothing of its own."""
        await self._make().answer(question, emit)
