"""The port behind which it is decided what a turn with tools does: call one, ask the user, or answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import msgspec

from .conversation import Exchange
from .draft import NO_CHARTER, NO_REMINDER, Charter, Reminder
from .search import Hit, Lang
from .tools import Risk, ToolDefinition


class Act(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mode", tag="ACT"):
    """Call a tool. message: what is said beside it. risk, requires_approval: can only make it stricter."""

    tool: str
    args: dict[str, Any]
    message: str = ""
    risk: Risk | None = None
    requires_approval: bool | None = None


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mode", tag="ASK"):
    """Ask the user for what is missing."""

    message: str


class Noop(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="mode", tag="NOOP"):
    """Call nothing. message: the draft of an answer; "" where the answer is to be drafted as without tools."""

    message: str = ""


Decision: TypeAlias = Act | Ask | Noop


@dataclass(frozen=True, slots=True)
class Result:
    """What a call of this turn came to, as data: never a user's or the system's words.

    call_id: its id. lines: its result as `path: value` lines, cut to what may be shown; `cut` says that it was.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    ok: bool
    lines: tuple[str, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Briefing:
    """What a decision is made from.

    question: the user's own words. tools: what may be called, () when no call is left. evidence: what a search found.
    results: of this turn's calls, oldest first. history: what was said before, oldest first. charter: what the project
    says. reminder: what is remembered.
    """

    question: str
    lang: Lang
    tools: tuple[ToolDefinition, ...]
    evidence: tuple[Hit, ...] = ()
    results: tuple[Result, ...] = ()
    history: tuple[Exchange, ...] = ()
    charter: Charter = NO_CHARTER
    reminder: Reminder = NO_REMINDER


class Decider(Protocol):
    """Decides what a turn does next."""

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return a decision. problems: what was wrong with its last one, a line each, when this is its second try.

        Raises `agent.errors.ModelFailed`; `agent.errors.BadDecision`, with its problems, when what the model wrote
        is no decision. Cancelled, its connection is closed before it returns.
        """
        ...
