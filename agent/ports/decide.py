"""Decides the next step of a turn with tools: call one, ask the user, or answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec

from .conversation import Exchange
from .draft import NO_CHARTER, NO_REMINDER, Charter, Reminder
from .search import Hit, Lang
from .tools import Risk, ToolDefinition


class Act(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mode", tag="ACT"):
    """Call a tool. `message` is sent beside the call. `risk` and `requires_approval` can only make the call
    stricter.
    """

    tool: str
    args: dict[str, Any]
    message: str = ""
    risk: Risk | None = None
    requires_approval: bool | None = None


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mode", tag="ASK"):
    """Ask the user for the missing information."""

    message: str


class Noop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mode", tag="NOOP"):
    """Call nothing. `message` is the draft of an answer, or "" where the answer is to be drafted as without tools."""

    message: str = ""


Decision: TypeAlias = Act | Ask | Noop


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The outcome of a call of this turn, as data: never the user's or the system's words.

    `lines` is the result as `path: value` lines, shortened to the part that may be shown; `cut` says that it was
    shortened.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    ok: bool
    lines: tuple[str, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The information for one decision.

    `question` holds the user's own words. `tools` may be called; () when no call is left. `must_call` says that one of
    them is to be called, or the user asked for its arguments. `form` names the tool whose arguments are the answer, ""
    for an answer in text. `evidence` comes from a search. `results` are of this turn's calls, oldest first. `history`
    holds the earlier exchanges, oldest first. `charter` comes from the project, `reminder` from memory.
    """

    question: str
    lang: Lang
    tools: tuple[ToolDefinition, ...]
    must_call: bool = False
    form: str = ""
    evidence: tuple[Hit, ...] = ()
    results: tuple[CallResult, ...] = ()
    history: tuple[Exchange, ...] = ()
    charter: Charter = NO_CHARTER
    reminder: Reminder = NO_REMINDER


class Decider(Protocol):
    """Decides the next step of a turn."""

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return a decision. On the second try, `problems` holds the faults of the first decision, one a line.

        Raises `agent.errors.ModelFailed`; `agent.errors.BadDecision`, with its problems, when the model's text is no
        decision. Cancelled, its connection is closed before it returns.
        """
        ...
