"""The tools of the lab's server, and a model that decides on them by a script and can be broken like any other.

Two of an operator's tools: one that its definition lets run inside a turn, and one that always waits for its user.
Their arguments are checked by hand, so that what is struck is the server's own code and nothing else's.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from agent.answering.brain import GroundedBrain
from agent.answering.deciding_brain import DecidingBrain, TurnTools
from agent.config import ROUNDS_MOST
from agent.ports.brain import Brain
from agent.ports.decide import Act, Briefing, Decision
from agent.ports.observe import Observer
from agent.ports.tools import ArgumentProblem, ToolDefinition
from agent.session.context import refuse_tools
from agent.testing.breakable import BreakableModel
from agent.testing.fakes import ScriptedDecider

THINK = 0.05  # seconds for a decision
_ORDERS = ("A-1", "A-2")
_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"order": {"type": "string"}},
    "required": ["order"],
}
TOOLS = (
    ToolDefinition(
        name="look_up",
        description="Looks an order up.",
        parameters=_PARAMETERS,
        requires_approval=False,
        risk="low",
        origin="operator",
    ),
    ToolDefinition(
        name="refund",
        description="Pays an order back.",
        parameters=_PARAMETERS,
        risk="high",
        origin="operator",
    ),
)


def free(decisions: Sequence[Decision]) -> frozenset[str]:
    """Return the tools that may run unconfirmed: their definition says so, and the script never asks for more."""
    asked = {
        each.tool for each in decisions if isinstance(each, Act) and (each.requires_approval or each.risk)
    }
    return frozenset(tool.name for tool in TOOLS if not tool.requires_approval) - asked


class Orders:
    """Arguments of one order that exists (an `Arguments`, and the `Checker` that it makes)."""

    def make_checker(self, parameters: Mapping[str, Any]) -> "Orders":
        """Return itself: both tools take the same."""
        return self

    def find_problems(self, arguments: object) -> tuple[ArgumentProblem, ...]:
        """Return what is wrong with the arguments."""
        right = any(arguments == {"order": each} for each in _ORDERS)
        return () if right else (ArgumentProblem("/order", "?", "name an order that exists"),)


class BreakableDecider:
    """Decides what it is told, in its order, after a thought that breaks when its model does (a `Decider`).

    note: is told of each decision when it is made, synchronously.
    """

    def __init__(
        self, decisions: Sequence[Decision], model: BreakableModel, note: Callable[[Decision], None]
    ) -> None:
        self._script = ScriptedDecider(*decisions)
        self._model = model
        self._note = note

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the next decision."""
        await self._model.pause(THINK)
        decision = await self._script.decide(briefing, problems)
        self._note(decision)
        return decision


def deciding(grounded: GroundedBrain, decider: BreakableDecider, observer: Observer) -> Brain:
    """Return a Brain with the lab's tools."""
    tools = TurnTools(
        operator=TOOLS,
        read_message_tools=refuse_tools,
        arguments=Orders(),
        rounds=ROUNDS_MOST,
        approve_from="high",
        timeout=30.0,
        today=lambda: date(2023, 11, 14),
    )
    return DecidingBrain(grounded, grounded, decider, tools, observer)
