"""Checks a decided call: the tool is known, its arguments are valid, and each of them has a source.

Pure. The problems of a decision are reported all at once, for a model's second try; the problems of a user's edit are
reported to that user, without any value of theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec

from ..ports.brain import Proposal
from ..ports.decide import Act
from ..ports.tools import CheckerFactory, Risk, ToolDefinition
from ..protocol.payload import is_valid_payload
from ..tools.catalogue import Catalogue
from ..tools.edits import make_edit_check, parameter_of
from ..tools.policy import decide_approval
from ..tools.sources import SourceTexts, TooManySources, trace_sources

UNKNOWN = "no tool of that name is offered; call one that is, or answer"
TOO_MUCH = "the arguments are too many, too large or too deep; give fewer"


@dataclass(frozen=True, slots=True)
class InvalidCall:
    """A decision that is no valid call. `problems`: one line each, for a model's second try."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnsourcedCall:
    """A call with arguments that have no source. `names`: the parameters to ask the user for."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that may be made, or suggested. `key`: the same for equal calls."""

    tool: ToolDefinition
    proposal: Proposal
    key: bytes


@dataclass(frozen=True, slots=True)
class CallGate:
    """The checks that every call of a turn passes. `approve_from`: the risk from which approval is always needed."""

    catalogue: Catalogue
    arguments: CheckerFactory
    approve_from: Risk

    def check_call(
        self, act: Act, sources: SourceTexts, today: date
    ) -> CheckedCall | UnsourcedCall | InvalidCall:
        """Return the checked call of `act`, or its problems. `today`: the date for words such as "tomorrow"."""
        tool = self.catalogue.get(act.tool)
        if tool is None:
            return InvalidCall((UNKNOWN,))
        if not is_valid_payload(act.args):
            return InvalidCall((TOO_MUCH,))
        checker = self.arguments.make_checker(tool.parameters)
        problems = checker.find_problems(act.args)
        if problems:
            return InvalidCall(tuple(str(problem) for problem in problems))
        try:
            traced = trace_sources(act.args, tool.parameters, sources, today)
        except TooManySources:
            return InvalidCall((TOO_MUCH,))
        if traced.missing:
            return UnsourcedCall(tuple(dict.fromkeys(parameter_of(pointer) for pointer in traced.missing)))
        approval = decide_approval(
            tool, act.risk, act.requires_approval, self.approve_from, traced.elsewhere or sources.heard
        )
        proposal = Proposal(
            action=tool.name,
            payload=act.args,
            needs_approval=approval.needed,
            risk=approval.risk,
            sources=traced.sources,
            why=approval.why,
            runs_at=tool.runs_at,
            accepts=make_edit_check(checker, tool.parameters),
        )
        return CheckedCall(tool, proposal, _key_of(tool, act.args))


def _key_of(tool: ToolDefinition, arguments: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode((tool.name, arguments), order="sorted")
