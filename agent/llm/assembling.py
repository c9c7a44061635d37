"""Puts prompts together: the one place where what a turn knows becomes the messages that a model is sent; pure.

It stands here, and not with what answers, since what crosses the ports of drafters and deciders is data without an
order: only where a language model is asked does it become text, and mocks and scripts need none.

Strategy: from what always stays the same to what always differs, so that a service can keep its work on the beginning:
the rules of the server and the form of a decision, the project's role and its RULES, the tools; then what is remembered
and how things are just now; then the conversation, what was said earlier that fits, the evidence, the results of this
turn, the user's message, and last why there is a second try. The first seven are one system message, the same in every
turn of a thread for as long as its project, its tools, its language and what its user wants remembered are.

Roles are honest. The system's words are the operator's and the project owner's, the latter between fences that nothing
in them can close. A decision's evidence and results are a tool's: they answer calls, and a call follows the user's
message, so that they stand behind it there, and a further round only adds. A draft's evidence stands in the message of
the user's side, between fences, before the user's words: not every chat template takes a tool's message, or two of a
user. The user's words stand byte for byte as they were sent.

Each part has its budget. What was said before is cut to it, in batches, and of the evidence the best stays that fits;
all else is bounded where it comes in, and a part that is over its budget all the same makes no prompt.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..config import (
    CHARACTERS_PER_TOKEN,
    PROMPT_EVIDENCE,
    PROMPT_MESSAGE,
    PROMPT_REPAIR,
    PROMPT_THREAD,
    PROMPT_THREAD_BATCH,
    PROMPT_TOOLS,
    ROLE_CHARACTERS,
    ROUNDS_MOST,
    RULES_BYTES,
)
from ..errors import ModelFailed
from ..lang import LANGUAGES, Lang
from ..ports.conversation import Exchange
from ..ports.decide import Briefing, Result
from ..ports.draft import Charter, Prompt, Reminder, Section
from ..ports.model import Message, Tool, ToolCall
from ..ports.search import Hit
from ..ports.tools import ToolDefinition
from ..text.terminal import printable_json
from ..tools.results import SHOWN_BYTES
from . import fences

DECIDE: Final = "decide"
SEARCH: Final = "search_documents"
_PROBLEMS = 16  # that are told
_PROBLEM = 300  # characters of each
_FENCED = 20  # characters around a snippet, about

SEARCHED: Final = Tool(
    SEARCH,
    "Searches the documents for the user's message. It has been called; do not call it again.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)

Part: TypeAlias = Literal[
    "server rules",
    "decision form",
    "role statement",
    "rules",
    "tools",
    "memory",
    "situation",
    "thread",
    "recalled",
    "evidence",
    "results",
    "message",
    "repair note",
]

BUDGETS: Mapping[Part, int] = {
    "role statement": ROLE_CHARACTERS,
    "rules": RULES_BYTES,
    "tools": PROMPT_TOOLS,
    "thread": PROMPT_THREAD,
    "results": (ROUNDS_MOST + 1) * 2 * SHOWN_BYTES,  # with what was called
    "message": PROMPT_MESSAGE,
    "repair note": PROMPT_REPAIR,
}
"""Characters of each part; evidence is cut to its own, and the others are the server's words, or empty."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt. sections: its parts in their order, empty ones too. messages: the same as a model is sent it."""

    sections: tuple[Section, ...]
    messages: tuple[Message, ...]


def draft(prompt: Prompt, evidence: Sequence[Hit]) -> Assembled:
    """Return what a model is sent for a draft. Raises `ModelFailed` where a part is over its budget."""
    stable = _stable(prompt.instructions, "", prompt.charter, "", prompt.lang, prompt.reminder)
    history = window(prompt.history)
    found = fences.evidence(best(evidence))
    recalled = prompt.reminder.said
    sections = (
        *stable,
        _section("thread", _told(history), _size(history)),
        _section("recalled", recalled),
        _section("evidence", found),
        _section("results", ""),
        _section("message", prompt.question),
        _section("repair note", prompt.again),
    )
    before = [part for part in (recalled, found) if part]
    own = "\n\n".join([*before, prompt.question, *([prompt.again] if prompt.again else [])])
    return Assembled(sections, (_system(stable), *_said(history), Message("user", own)))


def decision(briefing: Briefing, problems: Sequence[str] = ()) -> Assembled:
    """Return what a model is sent for a decision.

    problems: what was wrong with its last one. Raises `ModelFailed` where a part is over its budget.
    """
    said = LANGUAGES[briefing.lang].deciding
    listed = "\n".join(_listed(tool) for tool in briefing.tools) or said.no_tools
    stable = _stable(said.rules, _FORM, briefing.charter, listed, briefing.lang, briefing.reminder)
    history = window(briefing.history)
    found = fences.evidence(best(briefing.evidence)) or said.nothing
    recalled = briefing.reminder.said
    results = [_result(result) for result in briefing.results]
    repair = _repair(said.again, problems) if problems else ""
    sections = (
        *stable,
        _section("thread", _told(history), _size(history)),
        _section("message", briefing.question),
        _section("recalled", recalled),
        _section("evidence", found),
        _section("results", "\n\n".join(results), sum(map(len, results))),
        _section("repair note", repair),
    )
    messages = [_system(stable), *_said(history), Message("user", briefing.question)]
    messages += _answered("evidence", SEARCH, {}, f"{recalled}\n\n{found}" if recalled else found)
    for number, (result, shown) in enumerate(zip(briefing.results, results, strict=True), 1):
        decided = {"mode": "ACT", "tool": result.tool, "args": result.arguments}
        messages += _answered(f"result_{number}", DECIDE, decided, shown)
    if repair:
        messages += _answered("refused", DECIDE, {}, repair)
    return Assembled(sections, tuple(messages))


def decide_tool(tools: Sequence[ToolDefinition]) -> Tool:
    """Return the tool whose arguments are a decision about these tools."""
    return _decide([tool.name for tool in tools], bool(tools))


def window(history: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return what is told of a conversation: all, or without its first PROMPT_THREAD_BATCH as often as it takes."""
    while _size(history) > PROMPT_THREAD:
        history = history[PROMPT_THREAD_BATCH:]
    return history


def best(evidence: Sequence[Hit]) -> Sequence[Hit]:
    """Return the first of the evidence, which is given best first, up to PROMPT_EVIDENCE; the first one always.

    Without what stands in the conversation, which comes last.
    """
    evidence = [hit for hit in evidence if not hit.shown]
    spent = 0
    for number, hit in enumerate(evidence):
        spent += len(fences.shown(hit)) + _FENCED
        if spent > PROMPT_EVIDENCE and number:
            return evidence[:number]
    return evidence


def _stable(
    rules: str, form: str, charter: Charter, tools: str, lang: Lang, reminder: Reminder
) -> tuple[Section, ...]:
    """Return the parts that are the same in every turn of a thread, for as long as nothing else is remembered."""
    said = LANGUAGES[lang].prompting
    role = f"{said.role}\n{fences.fenced(charter.role)}" if charter.role else ""
    whole = _rules(said.rules, charter.rules) if charter.rules else ""
    return (
        _section("server rules", rules),
        _section("decision form", form),
        _section("role statement", role, len(charter.role)),
        _section("rules", whole, sum(len(text) for _, text in charter.rules)),
        _section("tools", tools),
        _section("memory", reminder.standing),
        _section("situation", reminder.situation),
    )


def _section(name: Part, text: str, size: int | None = None) -> Section:
    """Return a part. size: of what its budget is for, in characters; all of its text where none is given.

    Raises `ModelFailed` over the budget: a rule that was cut, or left out, would be worse than no answer.
    """
    if (len(text) if size is None else size) > BUDGETS.get(name, len(text)):
        raise ModelFailed(f"the prompt's part for the {name} is over its budget", "request")
    return Section(name, -(-len(text) // CHARACTERS_PER_TOKEN), text)


def _system(stable: Iterable[Section]) -> Message:
    return Message("system", "\n\n".join(section.text for section in stable if section.text))


def _rules(lead: str, rules: Iterable[tuple[str, str]]) -> str:
    """Return the RULES of a project, each whole, between fences that none of them can close."""
    fence = fences.fence_for(text for _, text in rules)
    return "\n".join([lead, *(f"{_json(name)}\n{fence}\n{text}\n{fence}" for name, text in rules)])


def _size(history: Iterable[Exchange]) -> int:
    return sum(len(exchange.question) + len(exchange.answer) for exchange in history)


def _said(history: Iterable[Exchange]) -> list[Message]:
    messages: list[Message] = []
    for exchange in history:
        messages += [Message("user", exchange.question), Message("assistant", exchange.answer)]
    return messages


def _told(history: Iterable[Exchange]) -> str:
    """Return a conversation as it is shown to people."""
    return "\n".join(f"user: {each.question}\nassistant: {each.answer}" for each in history)


def _answered(id: str, name: str, arguments: Mapping[str, Any], text: str) -> list[Message]:
    """Return a call that was made, and what came of it."""
    call = ToolCall(id, name, _json(arguments))
    return [Message("assistant", "", (call,)), Message("tool", text, call_id=id)]


def _result(result: Result) -> str:
    """Return a result as data: whether it went well, its lines, and that it was cut."""
    state = {"ok": result.ok, "cut": True} if result.cut else {"ok": result.ok}
    return f"{_json(state)}\n{fences.fenced(chr(10).join(result.lines))}"


def _repair(again: str, problems: Sequence[str]) -> str:
    told = "\n".join(f"- {' '.join(each.split())[:_PROBLEM]}" for each in problems[:_PROBLEMS])
    return f"{again}\n{fences.fenced(told)}"


def _listed(tool: ToolDefinition) -> str:
    """Return a tool on one line: nothing in it can end that line and pose as an instruction of ours."""
    return _json(
        {"tool": tool.name, "description": tool.description, "args": tool.parameters, "risk": tool.risk}
    )


def _decide(names: Sequence[str], acts: bool) -> Tool:
    """Return the tool whose arguments are a decision. names: of the tools, () to leave them open."""
    modes = ["ACT", "ASK", "NOOP"] if acts else ["ASK", "NOOP"]
    properties: dict[str, Any] = {
        "mode": {"type": "string", "enum": modes},
        "message": {
            "type": "string",
            "description": "ASK: the question. NOOP: the answer. ACT: what is said beside the call, without numbers.",
        },
    }
    if acts:
        named = {"enum": list(names)} if names else {}
        properties |= {
            "tool": {"type": "string", **named, "description": "ACT only."},
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


_FORM: Final = f"{DECIDE}: {_json(_decide((), True).schema)}"
"""How a decision is written, for a service that knows no tools; their names stand in the list that follows."""
