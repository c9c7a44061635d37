"""From a decision to a call that may be made: the tool is known, its arguments are valid, and each has a source.

Pure. What is wrong with a decision is said for a model's second try, all at once; what is wrong with an edit is said
for whoever made it, without a value of theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from ..ports.brain import Proposal
from ..ports.decide import Act
from ..ports.tools import Arguments, Risk, ToolDefinition
from ..protocol.payload import fits
from ..tools.catalogue import Catalogue
from ..tools.edits import accepts, parameter_of
from ..tools.policy import strictest
from ..tools.sources import Sources, TooMuch, trace

UNKNOWN = "no tool of that name is offered; call one that is, or answer"
TOO_MUCH = "the arguments are too many, too large or too deep; give fewer"


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why a decision is no call. problems: a line each, for a model's second try."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsourced:
    """A call whose arguments stand nowhere. names: of the parameters that the user is to be asked for."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sound:
    """A call that may be made, or suggested. key: equal calls have the same."""

    tool: ToolDefinition
    proposal: Proposal
    key: bytes


@dataclass(frozen=True, slots=True)
class Gate:
    """What every call of a turn goes through. approve_from: the risk from which approval is always asked for."""

    catalogue: Catalogue
    arguments: Arguments
    approve_from: Risk

    def check(self, act: Act, sources: Sources, today: date) -> Sound | Unsourced | Wrong:
        """Return the call that was decided on, or why it is none. today: by the clock, for dates that words mean."""
        tool = self.catalogue.get(act.tool)
        if tool is None:
            return Wrong((UNKNOWN,))
        if not fits(act.args):
            return Wrong((TOO_MUCH,))
        checker = self.arguments.checker(tool.parameters)
        problems = checker.problems(act.args)
        if problems:
            return Wrong(tuple(str(problem) for problem in problems))
        try:
            traced = trace(act.args, tool.parameters, sources, today)
        except TooMuch:
            return Wrong((TOO_MUCH,))
        if traced.missing:
            return Unsourced(tuple(dict.fromkeys(parameter_of(pointer) for pointer in traced.missing)))
        approval = strictest(tool, act.risk, act.requires_approval, self.approve_from, traced.elsewhere)
        proposal = Proposal(
            tool.name,
            act.args,
            needs_approval=approval.needed,
            risk=approval.risk,
            sources=traced.sources,
            why=approval.why,
            runs_at=tool.runs_at,
            accepts=accepts(checker, tool.parameters),
        )
        return Sound(tool, proposal, _key(tool, act.args))


def _key(tool: ToolDefinition, arguments: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode((tool.name, arguments), order="sorted")
