"""Faults that more than one proof has to find."""

import pytest

from agent.ports.remember import Answered
from agent.session.effects import Keep
from agent.session.turns import Turns


def kept_when_cancelled(patch: pytest.MonkeyPatch) -> None:
    """A turn that is cancelled is remembered, too."""
    real = Turns.cancel

    def cancel(self: Turns) -> None:
        turn = self._turn
        real(self)
        if turn is not None:
            self._out.add(Keep(turn.question, Answered("So it is.")))

    patch.setattr(Turns, "cancel", cancel)
