"""Makes a decider of a language model: it is offered one tool, `decide`, whose arguments are the decision.

Strategy: whatever the model writes, as a call of `decide` or as a text, is the text of a decision and is read strictly
(`decision`). The tools to be called are not offered to the service themselves: their names and schemas are anybody's,
and services refuse names with marks and schemas with words that they do not know. One flat schema is taken by all, with
or without a grammar; a service that knows no tools is told to write the same as a text. For the same reason there is no
`form`: services that enforce one take no arguments of any form in it.

What stays the same comes first: the rules, the tools as they were given, what was said before, and then the user's
message, byte for byte what the user sent. What was found and what came back stands behind it in the role of tools, as
answers to calls: never the user's words or ours, between fences that nothing in it can close. A turn's next round only
adds to that, so that a service can keep its work on all before. Last is why there is a second try.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from ..config import ANSWER_TOKENS, DECISION_MAX
from ..errors import BadDecision, ModelFailed
from ..lang import LANGUAGES
from ..ports.decide import Briefing, Decision, Result
from ..ports.model import (
    CallDelta,
    Finished,
    LanguageModel,
    Message,
    Named,
    Request,
    TextDelta,
    Tool,
    ToolCall,
)
from ..ports.tools import ToolDefinition
from ..text.terminal import printable_json
from . import fences
from .decision import decode

DECIDE: Final = "decide"
SEARCH: Final = "search_documents"
_PROBLEMS = 16  # that are told
_PROBLEM = 300  # characters of each

_SEARCHED: Final = Tool(
    SEARCH,
    "Searches the documents for the user's message. It has been called; do not call it again.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)


class ModelDecider:
    """Decides with a language model (implements `agent.ports.decide.Decider`). max_tokens: of a decision."""

    def __init__(self, model: LanguageModel, max_tokens: int = ANSWER_TOKENS) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the model's decision.

        Raises `ModelFailed` as the model does, and when it declines; `BadDecision` when what it wrote is none, is more
        than one, or was cut. Cancelled, the model's stream is closed before it returns.
        """
        written = _Written()
        async with aclosing(self._model.stream(request(briefing, problems, self._max_tokens))) as pieces:
            async for piece in pieces:
                written.take(piece)
        return decode(written.decision())


class _Written:
    """What a model has written."""

    def __init__(self) -> None:
        self._text = ""
        self._calls: dict[int, tuple[str, str]] = {}
        self._size = 0
        self._reason = ""

    def take(self, piece: TextDelta | CallDelta | Finished) -> None:
        """Take its next piece. Raises `BadDecision` as soon as it is too long; `ModelFailed` when it declined."""
        if isinstance(piece, Finished):
            if piece.reason in ("refusal", "filtered"):
                raise ModelFailed("the model declined to decide", "request")
            self._reason = piece.reason
            return
        if isinstance(piece, TextDelta):
            self._text += piece.text
            self._size += len(piece.text)
        else:
            name, arguments = self._calls.get(piece.index, ("", ""))
            self._calls[piece.index] = (name or piece.name, arguments + piece.arguments)
            self._size += len(piece.arguments) + len(piece.name)
        if self._size > DECISION_MAX:
            raise BadDecision((f"a decision has at most {DECISION_MAX} characters",))

    def decision(self) -> str:
        """Return the text of the decision: what `decide` was called with, else all that was said."""
        if self._reason == "length":
            raise BadDecision(("it was cut, since its tokens were spent: write less",))
        if not self._calls:
            return self._text
        if len(self._calls) > 1:
            raise BadDecision((f"{DECIDE} is called once: one decision at a time",))
        name, arguments = next(iter(self._calls.values()))
        if name != DECIDE:
            raise BadDecision((f"only {DECIDE} can be called; a tool of the list is named in its arguments",))
        return arguments


def request(briefing: Briefing, problems: Sequence[str], max_tokens: int) -> Request:
    """Return what a language model is asked for a decision."""
    said = LANGUAGES[briefing.lang].deciding
    decide = _decide(briefing.tools)
    listed = "\n".join(_listed(tool) for tool in briefing.tools) or said.no_tools
    messages = [Message("system", f"{said.rules}\n\n{DECIDE}: {_json(decide.schema)}\n\n{listed}")]
    for exchange in briefing.history:
        messages += [Message("user", exchange.question), Message("assistant", exchange.answer)]
    messages.append(Message("user", briefing.question))
    found = fences.evidence(briefing.evidence) if briefing.evidence else said.nothing
    messages += _answered("evidence", SEARCH, {}, found)
    for number, result in enumerate(briefing.results, 1):
        decided = {"mode": "ACT", "tool": result.tool, "args": result.arguments}
        messages += _answered(f"result_{number}", DECIDE, decided, _shown(result))
    if problems:
        told = "\n".join(f"- {' '.join(each.split())[:_PROBLEM]}" for each in problems[:_PROBLEMS])
        messages += _answered("refused", DECIDE, {}, f"{said.again}\n{fences.fenced(told)}")
    tools = (decide, _SEARCHED)
    return Request(tuple(messages), tools, Named(DECIDE), max_tokens=max_tokens, stable=1)


def _answered(id: str, name: str, arguments: Mapping[str, Any], text: str) -> list[Message]:
    """Return a call that was made, and what came of it."""
    call = ToolCall(id, name, _json(arguments))
    return [Message("assistant", "", (call,)), Message("tool", text, call_id=id)]


def _shown(result: Result) -> str:
    """Return a result as data: whether it went well, its lines, and that it was cut."""
    state = {"ok": result.ok, "cut": True} if result.cut else {"ok": result.ok}
    return f"{_json(state)}\n{fences.fenced(chr(10).join(result.lines))}"


def _listed(tool: ToolDefinition) -> str:
    """Return a tool on one line: nothing in it can end that line and pose as an instruction of ours."""
    return _json(
        {"tool": tool.name, "description": tool.description, "args": tool.parameters, "risk": tool.risk}
    )


def _decide(tools: Sequence[ToolDefinition]) -> Tool:
    """Return the tool whose arguments are a decision."""
    modes = ["ACT", "ASK", "NOOP"] if tools else ["ASK", "NOOP"]
    properties: dict[str, Any] = {
        "mode": {"type": "string", "enum": modes},
        "message": {
            "type": "string",
            "description": "ASK: the question. NOOP: the answer. ACT: what is said beside the call, without numbers.",
        },
    }
    if tools:
        properties |= {
            "tool": {"type": "string", "enum": [tool.name for tool in tools], "description": "ACT only."},
            "args": {"type": "object", "description": "ACT only: by the schema of the tool, {} for none."},
            "risk": {
                "type": "string",
                "enum": ["low", "medium", "high"],
                "description": "ACT only, where it is more than the tool's.",
            },
            "requires_approval": {
                "type": "boolean",
                "description": "ACT only: true where the user should be asked.",
            },
        }
    schema = {"type": "object", "properties": properties, "required": ["mode"], "additionalProperties": False}
    return Tool(DECIDE, "Says what is to be done next. Leave out the fields of other modes.", schema)


def _json(value: Any) -> str:
    """Return a value as JSON on one line, however lines are told apart; equal values alike."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)
    return printable_json(text.encode("utf-8", "replace")).decode()
