"""Assembles prompts: the one place where the knowledge of a turn becomes the messages of a model; pure.

The code stands here, and not in the room that answers, because the data that crosses the ports of drafters and deciders
has no order. It becomes text only where a language model is asked; mocks and scripts need no text.

Strategy: order the parts from those that never change to those that always do, so that a service can cache the
beginning: the server's rules and the form of a decision, the project's role and its RULES, the tools; then the memory
and the situation; then the conversation, the recalled excerpts, the evidence, the results of this turn, the user's
message, and last the reason for a second try. The first seven parts are one `system` message. It is the same in every
turn of a thread for as long as the project, the tools, the language and the remembered rules and preferences of the
user stay the same.

Roles are honest. The `system` message holds the words of the operator and of the project's owner, the latter between
fences that no text inside can close. The evidence and results of a decision are `tool` messages: they answer calls, and
a call follows the user's message, so they stand behind it there, and a further round only appends. The evidence of a
draft stands in the `user` message, between fences, before the user's words: some chat templates take no `tool` message,
and no second `user` message. The user's words stand byte for byte as they were sent.

Each part has its budget (`BUDGETS`). The conversation is cut to its budget in batches, and the best evidence that fits
is kept. All other parts are bounded where they enter the server; a part over its budget here raises `ModelFailed`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..config import CHARACTERS_PER_TOKEN, PROMPT_THREAD_BATCH, ROLE_CHARACTERS, ROUNDS_MOST, RULES_BYTES
from ..errors import ModelFailed
from ..lang import LANGUAGES, Lang
from ..ports.conversation import Exchange
from ..ports.decide import Briefing, CallResult
from ..ports.draft import Charter, Prompt, PromptSection, Reminder
from ..ports.model import ModelMessage, Tool, ToolCall
from ..ports.search import Hit
from ..ports.tools import ToolDefinition
from ..text.fences import fence_for, fence_text
from ..text.terminal import printable_json
from ..tools.results import SHOWN_BYTES

# Of a prompt's parts, in characters; an excess is left out where possible, otherwise the prompt is refused.
PROMPT_TOOLS = (
    1024 * 1024
)  # of the list of tools: the bounds of definitions, and the marks that their text adds
PROMPT_EVIDENCE = 256 * 1024  # of the best statements
PROMPT_THREAD = 96 * 1024  # of earlier exchanges; the oldest go, PROMPT_THREAD_BATCH at a time
PROMPT_MESSAGE = 64 * 1024  # of the user's words: a few messages where a wish spans several
PROMPT_REPAIR = 16 * 1024  # of the reasons for a second try

DECIDE: Final = "decide"
SEARCH: Final = "search_documents"
_PROBLEMS = 16  # that a repair note lists
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
    "results": (ROUNDS_MOST + 1) * 2 * SHOWN_BYTES,  # with their calls
    "message": PROMPT_MESSAGE,
    "repair note": PROMPT_REPAIR,
}
"""Characters of each part.

Evidence is cut to `PROMPT_EVIDENCE`; parts without an entry are the server's words, or empty.
"""


@dataclass(frozen=True, slots=True)
class AssembledPrompt:
    """A prompt as parts and as messages.

    `sections`: the parts in their order, empty ones too. `messages`: the same text as a model receives it.
    """

    sections: tuple[PromptSection, ...]
    messages: tuple[ModelMessage, ...]


def assemble_draft(prompt: Prompt, evidence: Sequence[Hit]) -> AssembledPrompt:
    """Return the prompt for a draft. Raises `ModelFailed` when a part is over its budget."""
    stable = _stable_sections(prompt.instructions, "", prompt.charter, "", prompt.lang, prompt.reminder)
    history = cut_history(prompt.history)
    evidence_text = _format_evidence(select_evidence(evidence))
    recalled_text = prompt.reminder.past_messages
    sections = (
        *stable,
        _make_section("thread", _format_history(history), _measure_history(history)),
        _make_section("recalled", recalled_text),
        _make_section("evidence", evidence_text),
        _make_section("results", ""),
        _make_section("message", prompt.question),
        _make_section("repair note", prompt.again),
    )
    texts_before = [part for part in (recalled_text, evidence_text) if part]
    user_text = "\n\n".join([*texts_before, prompt.question, *([prompt.again] if prompt.again else [])])
    return AssembledPrompt(
        sections, (_system_message(stable), *_history_messages(history), ModelMessage("user", user_text))
    )


def assemble_decision(briefing: Briefing, problems: Sequence[str] = ()) -> AssembledPrompt:
    """Return the prompt for a decision.

    `problems`: the faults of the model's last decision. Raises `ModelFailed` when a part is over its budget.
    """
    texts = LANGUAGES[briefing.lang].deciding
    tool_list = "\n".join(_format_tool(tool) for tool in briefing.tools) or texts.no_tools
    stable = _stable_sections(
        texts.rules, _FORM, briefing.charter, tool_list, briefing.lang, briefing.reminder
    )
    history = cut_history(briefing.history)
    evidence_text = _format_evidence(select_evidence(briefing.evidence)) or texts.nothing
    recalled_text = briefing.reminder.past_messages
    results = [_format_result(result) for result in briefing.results]
    repair = _format_repair(texts.again, problems) if problems else ""
    sections = (
        *stable,
        _make_section("thread", _format_history(history), _measure_history(history)),
        _make_section("message", briefing.question),
        _make_section("recalled", recalled_text),
        _make_section("evidence", evidence_text),
        _make_section("results", "\n\n".join(results), sum(map(len, results))),
        _make_section("repair note", repair),
    )
    messages = [_system_message(stable), *_history_messages(history), ModelMessage("user", briefing.question)]
    messages += _call_messages(
        "evidence", SEARCH, {}, f"{recalled_text}\n\n{evidence_text}" if recalled_text else evidence_text
    )
    for number, (result, shown) in enumerate(zip(briefing.results, results, strict=True), 1):
        decided = {"mode": "ACT", "tool": result.tool, "args": result.arguments}
        messages += _call_messages(f"result_{number}", DECIDE, decided, shown)
    if repair:
        messages += _call_messages("refused", DECIDE, {}, repair)
    return AssembledPrompt(sections, tuple(messages))


def make_decide_tool(tools: Sequence[ToolDefinition], must_call: bool = False) -> Tool:
    """Return the `decide` tool, whose arguments are a decision about `tools`; no answer where one `must_call`."""
    return _build_decide_tool([tool.name for tool in tools], bool(tools), must_call)


def cut_history(history: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return the end of a conversation that fits `PROMPT_THREAD`.

    Exchanges are dropped from the front, `PROMPT_THREAD_BATCH` at a time, so that a service can cache the rest for some
    turns.
    """
    while _measure_history(history) > PROMPT_THREAD:
        history = history[PROMPT_THREAD_BATCH:]
    return history


def select_evidence(evidence: Sequence[Hit]) -> Sequence[Hit]:
    """Return the first hits of `evidence` (best first) that fit `PROMPT_EVIDENCE`; always at least one.

    Hits that stand in the conversation are left out; it comes last in the prompt anyway.
    """
    evidence = [hit for hit in evidence if not hit.in_conversation]
    spent = 0
    for number, hit in enumerate(evidence):
        spent += len(_format_hit(hit)) + _FENCED
        if spent > PROMPT_EVIDENCE and number:
            return evidence[:number]
    return evidence


def _format_evidence(hits: Sequence[Hit]) -> str:
    """Return the snippets of `hits`, numbered from 1, each between fences with its file and headings."""
    texts = [_format_hit(hit) for hit in hits]
    fence = fence_for(texts)
    return "\n\n".join(f"[{number}]\n{fence}\n{text}\n{fence}" for number, text in enumerate(texts, 1))


def _format_hit(hit: Hit) -> str:
    """Return a snippet below its file, headings and lead."""
    snippet = hit.snippet
    above = " › ".join((snippet.file, *snippet.headings))
    return "\n".join(part for part in (above, snippet.lead, snippet.text) if part)


def _stable_sections(
    rules: str, form: str, charter: Charter, tools: str, lang: Lang, reminder: Reminder
) -> tuple[PromptSection, ...]:
    """Return the parts that stay the same in every turn of a thread until its memory changes."""
    texts = LANGUAGES[lang].prompting
    role = f"{texts.role}\n{fence_text(charter.role)}" if charter.role else ""
    rules_text = _format_rules(texts.rules, charter.rules) if charter.rules else ""
    return (
        _make_section("server rules", rules),
        _make_section("decision form", form),
        _make_section("role statement", role, len(charter.role)),
        _make_section("rules", rules_text, sum(len(text) for _, text in charter.rules)),
        _make_section("tools", tools),
        _make_section("memory", reminder.standing),
        _make_section("situation", reminder.situation),
    )


def _make_section(name: Part, text: str, size: int | None = None) -> PromptSection:
    """Return a part of a prompt, or raise `ModelFailed` when it is over its budget.

    `size`: characters that count against the budget; None for all of `text`. A rule that was cut or left out would be
    worse than no answer, so nothing is cut here.
    """
    if (len(text) if size is None else size) > BUDGETS.get(name, len(text)):
        raise ModelFailed(f"the prompt's part for the {name} is over its budget", "request")
    return PromptSection(name, -(-len(text) // CHARACTERS_PER_TOKEN), text)


def _system_message(stable: Iterable[PromptSection]) -> ModelMessage:
    return ModelMessage("system", "\n\n".join(section.text for section in stable if section.text))


def _format_rules(lead: str, rules: Iterable[tuple[str, str]]) -> str:
    """Return the RULES of a project, each whole, between fences that no rule can close."""
    fence = fence_for(text for _, text in rules)
    return "\n".join([lead, *(f"{_encode_json(name)}\n{fence}\n{text}\n{fence}" for name, text in rules)])


def _measure_history(history: Iterable[Exchange]) -> int:
    return sum(len(exchange.question) + len(exchange.answer) for exchange in history)


def _history_messages(history: Iterable[Exchange]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    for exchange in history:
        messages += [ModelMessage("user", exchange.question), ModelMessage("assistant", exchange.answer)]
    return messages


def _format_history(history: Iterable[Exchange]) -> str:
    """Return a conversation as people read it."""
    return "\n".join(f"user: {each.question}\nassistant: {each.answer}" for each in history)


def _call_messages(id: str, name: str, arguments: Mapping[str, Any], text: str) -> list[ModelMessage]:
    """Return the messages of one tool call: the call of the assistant, and `text` as its answer."""
    call = ToolCall(id, name, _encode_json(arguments))
    return [ModelMessage("assistant", "", (call,)), ModelMessage("tool", text, call_id=id)]


def _format_result(result: CallResult) -> str:
    """Return a result as data: whether the call succeeded, whether its lines were cut, and the lines."""
    state = {"ok": result.ok, "cut": True} if result.cut else {"ok": result.ok}
    return f"{_encode_json(state)}\n{fence_text(chr(10).join(result.lines))}"


def _format_repair(lead: str, problems: Sequence[str]) -> str:
    problem_lines = "\n".join(f"- {' '.join(each.split())[:_PROBLEM]}" for each in problems[:_PROBLEMS])
    return f"{lead}\n{fence_text(problem_lines)}"


def _format_tool(tool: ToolDefinition) -> str:
    """Return a tool on one line of JSON, so that no text in it can end the line and pose as an instruction of ours."""
    return _encode_json(
        {"tool": tool.name, "description": tool.description, "args": tool.parameters, "risk": tool.risk}
    )


def _build_decide_tool(names: Sequence[str], acts: bool, must_call: bool = False) -> Tool:
    """Return the `decide` tool. `names`: the tools that can be named; () leaves the name open."""
    modes = [*(["ACT"] if acts else []), "ASK", *([] if must_call else ["NOOP"])]
    properties: dict[str, Any] = {
        "mode": {"type": "string", "enum": modes},
        "message": {
            "type": "string",
            "description": "ASK: the question. NOOP: the answer. ACT: what is said beside the call, without numbers.",
        },
    }
    if acts:
        name_schema = {"enum": list(names)} if names else {}
        properties |= {
            "tool": {"type": "string", **name_schema, "description": "ACT only."},
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


def _encode_json(value: Any) -> str:
    """Return `value` as JSON on one line, for every definition of a line break. Equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)
    return printable_json(text.encode("utf-8", "replace")).decode()


_FORM: Final = f"{DECIDE}: {_encode_json(_build_decide_tool((), True).schema)}"
"""The schema of a decision, for a service that knows no tools; the tools' names stand in the list that follows."""
