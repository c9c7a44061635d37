"""Faults that more than one proof has to find."""

import pytest

from agent.ports.remember import FinishedAnswer
from agent.session.effects import RecordExchange
from agent.session.turns import SessionTurns


def kept_when_cancelled(patch: pytest.MonkeyPatch) -> None:
    """A turn that is cancelled is remembered, too."""
    real = SessionTurns.cancel_turn

    def cancel(self: SessionTurns) -> None:
        turn = self._turn
        real(self)
        if turn is not None:
            self._out.add(RecordExchange(turn.question, FinishedAnswer("So it is.")))

    patch.setattr(SessionTurns, "cancel_turn", cancel)
