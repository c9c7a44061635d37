"""Decides without a model which tool is called, so that all code around a decision works offline.

Strategy: the words that the user shares with a tool's name and description choose the tool (`named_tools`), and its
arguments are picked from the same words (`argument_picker`). The decider asks which tool is meant when two are named
alike, and asks for the first required argument that is missing. The next message may give it: the last messages are
read together as long as each was answered by this decider's own question. After a result it quotes the lines of the
result as they stand, or calls a further tool that the user named. When its last decision had problems it asks, and
never tries again by chance. The decision follows from the briefing alone: the same briefing gives the same decision, in
any order.
"""

import re
from collections.abc import Iterable, Sequence

import trio

from ..config import WISH_MESSAGES
from ..lang import LANGUAGES, Lang
from ..numbers.number_tokens import tokens
from ..ports.decide import Act, Ask, Briefing, CallResult, Decision, Noop
from ..ports.tools import ToolDefinition
from ..text.words import normalize_text
from .argument_picker import PickedArguments, pick_arguments
from .named_tools import find_named_tools, name_words
from .parameters import Parameter, first_phrase
from .wording import QUOTE_CHARS

_CARRIED = 1000  # characters of a message that the next message may continue
_NAMED = 80  # characters of a parameter's name in a question
_POINTER = re.compile(r"/([^/:\s]+)")
_WITHDRAWN = re.compile(
    rf"\W*(?:{'|'.join(each.completing.withdrawing for each in LANGUAGES.values())})\b", re.IGNORECASE
)


class MockDecider:
    """Decides by shared words (implements `agent.ports.decide.Decider`). `delay`: seconds before each decision."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return a decision. Raises nothing; when it is cancelled, it leaves nothing behind."""
        await trio.sleep(self._delay)
        if problems:
            return Ask(_ask_about_problems(briefing, problems))
        decision = _decide_after_results(briefing) if briefing.results else await _decide_first(briefing)
        form = [each for each in briefing.tools if each.name == briefing.form]
        wanted = form or briefing.tools
        if briefing.must_call and isinstance(decision, Noop) and len(wanted) == 1:
            return _call_wanted_tool(briefing, wanted[0])
        return decision


async def _decide_first(briefing: Briefing) -> Decision:
    """Decide when no tool has been called yet."""
    tools, lang = briefing.tools, briefing.lang
    question = normalize_text(briefing.question)
    alone = _decide_text(question, lang, tools)
    open_text = await _join_open_messages(briefing)
    if not open_text or not isinstance(alone, Noop) or _WITHDRAWN.match(question):
        return alone
    together = _decide_text(f"{open_text}\n{question}", lang, tools)
    if isinstance(together, Ask) and "?" in question:
        return alone  # the missing argument is not given: the user asks something else
    return together


async def _join_open_messages(briefing: Briefing) -> str:
    """Return the messages that the decider answered with a question, one a line; "" when there are none.

    Only messages directly before this one count. A cancel after a message drops it.
    """
    open_text = ""
    for exchange in briefing.history[-WISH_MESSAGES:]:
        message = normalize_text(exchange.question)
        open_text = f"{open_text}\n{message}" if open_text else message
        if (
            exchange.withdrawn
            or len(message) > _CARRIED
            or not await _is_own_question(open_text, exchange.answer, briefing.tools)
        ):
            open_text = ""
    return open_text


async def _is_own_question(text: str, answer: str, tools: Sequence[ToolDefinition]) -> bool:
    """Return whether `answer` is this decider's own question about `text`, in any language."""
    for lang, language in LANGUAGES.items():
        texts = language.deciding
        questions = (texts.which, texts.which_any, texts.missing, texts.missing_any)
        if any(answer.startswith(each.partition("{")[0]) for each in questions):
            await trio.lowlevel.checkpoint()  # the text may be long, and there are several languages
            if _decide_text(text, lang, tools) == Ask(answer):
                return True
    return False


def _decide_text(text: str, lang: Lang, tools: Sequence[ToolDefinition]) -> Decision:
    """Return the decision about `text` alone."""
    matching = find_named_tools(text, lang, tools)
    if not matching.tools:
        return Noop()
    if matching.tied and matching.requested.isdisjoint(tool.name for tool in matching.tools[:2]):
        return Noop()
    if matching.tied:
        return Ask(_ask_which_tool(lang, *matching.tools[:2]))
    tool = matching.tools[0]
    picked = pick_arguments(tool.parameters, matching.allowed_text)
    if tool.name not in matching.requested and (picked.missing is not None or not picked.arguments):
        return Noop()  # the tool is mentioned only: no argument for it is given
    if picked.missing is not None:
        return Ask(_ask_for_parameter(lang, picked.missing))
    return _make_act(tool, picked)


def _decide_after_results(briefing: Briefing) -> Decision:
    """Return the decision after a result: a further call, or the lines of the results."""
    results = briefing.results
    if all(each.ok for each in results):
        done_names = {each.tool for each in results}
        called = [tool for tool in briefing.tools if tool.name in done_names]
        others = [tool for tool in briefing.tools if tool.name not in done_names]
        matching = find_named_tools(normalize_text(briefing.question), briefing.lang, others, called)
        if matching.tools and not matching.tied:
            lines = [line for each in results for line in each.lines]
            picked = pick_arguments(matching.tools[0].parameters, matching.allowed_text, lines)
            if picked.missing is None:
                return _make_act(matching.tools[0], picked)
    return Noop(_quote_results(briefing.lang, results))


def _call_wanted_tool(briefing: Briefing, tool: ToolDefinition) -> Decision:
    """Return a call of `tool`, or the question for its first missing argument."""
    lines = [line for each in briefing.results for line in each.lines]
    picked = pick_arguments(tool.parameters, normalize_text(briefing.question), lines)
    if picked.missing is not None:
        return Ask(_ask_for_parameter(briefing.lang, picked.missing))
    return _make_act(tool, picked)


def _make_act(tool: ToolDefinition, picked: PickedArguments) -> Act:
    return Act(tool.name, dict(picked.arguments))


def _quote_results(lang: Lang, results: Sequence[CallResult]) -> str:
    """Return the results in their lines as they stand, so that every number in the answer stands in a snippet."""
    texts = LANGUAGES[lang].deciding
    parts: list[str] = []
    for each in results:
        lines = list(_take_fitting(each.lines, QUOTE_CHARS // len(results)))
        if lines:
            lead = texts.returned if each.ok else texts.failed
            parts.append("\n".join([lead, *(f"- {line}" for line in lines)]))
        else:
            parts.append(texts.empty if each.ok else texts.failed_empty)
    return "\n\n".join(dict.fromkeys(parts))


def _take_fitting(lines: Iterable[str], budget: int) -> Iterable[str]:
    """Yield the first lines that fit into `budget` characters; always at least one."""
    spent = 0
    for line in lines:
        spent += len(line)
        if spent > budget and spent > len(line):
            return
        yield line


def _ask_which_tool(lang: Lang, first: ToolDefinition, second: ToolDefinition) -> str:
    first_name, second_name = (" ".join(name_words(tool.name)) for tool in (first, second))
    texts = LANGUAGES[lang].deciding
    return _replace_if_numbered(texts.which.format(first=first_name, second=second_name), texts.which_any)


def _ask_about_problems(briefing: Briefing, problems: Sequence[str]) -> str:
    """Return a question about `problems`: for the parameter that a problem points at, if any."""
    for tool in find_named_tools(normalize_text(briefing.question), briefing.lang, briefing.tools).tools[:1]:
        properties = tool.parameters.get("properties")
        for problem in problems:
            match = _POINTER.match(problem)
            if match and isinstance(properties, dict) and isinstance(properties.get(match[1]), dict):
                schema = properties[match[1]]
                return _ask_for_parameter(
                    briefing.lang, Parameter((match[1],), schema, True, "", frozenset())
                )
    return LANGUAGES[briefing.lang].deciding.unsure


def _ask_for_parameter(lang: Lang, missing: Parameter) -> str:
    """Return a question for the parameter `missing`, by the first phrase of its description, else by its name."""
    texts = LANGUAGES[lang].deciding
    description = missing.schema.get("description")
    phrase = first_phrase(description) if isinstance(description, str) else ""
    name = " ".join(missing.name)
    for field in (phrase if len(phrase) <= _NAMED else "", name[:_NAMED]):
        question = texts.missing.format(field=field) if field else ""
        if question and not tokens(question):
            return question
    return texts.missing_any


def _replace_if_numbered(question: str, otherwise: str) -> str:
    """Return `question`, or `otherwise` when it holds a number, for which nothing could be cited."""
    return otherwise if tokens(question) else question
