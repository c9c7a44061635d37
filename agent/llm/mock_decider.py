"""Decides without a model which tool is called, so that all that surrounds a decision works offline.

Strategy: words that the user shares with a tool's name and description choose it (`choosing`), and its arguments are
picked from the same words (`picking`). Where two tools are named alike it asks which, and where something required is
missing it asks for the first such. What a message lacked the next one may tell: the last messages are read together as
long as what was said to them was its own question. After a result it says what came back, line by line as it stands,
or calls a further tool that the user named. Told that its last decision had problems it asks, and never tries its luck.
Everything follows from the briefing: the same one is decided alike every time, in whatever order.
"""

import re
from collections.abc import Iterable, Sequence

import trio

from ..config import WISH_MESSAGES
from ..lang import LANGUAGES, Lang
from ..numbers.read import tokens
from ..ports.decide import Act, Ask, Briefing, Decision, Noop, Result
from ..ports.tools import ToolDefinition
from ..text.words import composed
from .choosing import name_words, named
from .parameters import Parameter, said_first
from .picking import Picked, pick
from .wording import QUOTE_CHARS

_CARRIED = 1000  # characters of a message that the next one may go on from
_NAMED = 80  # characters of what a parameter is called in a question
_POINTER = re.compile(r"/([^/:\s]+)")
_WITHDRAWN = re.compile(
    rf"\W*(?:{'|'.join(each.completing.withdrawing for each in LANGUAGES.values())})\b", re.IGNORECASE
)


class MockDecider:
    """Decides by shared words (implements `agent.ports.decide.Decider`). delay: seconds before each decision."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return a decision. Raises nothing; cancelled, it leaves nothing."""
        await trio.sleep(self._delay)
        if problems:
            return Ask(_repeated(briefing, problems))
        return _after(briefing) if briefing.results else await _first(briefing)


async def _first(briefing: Briefing) -> Decision:
    """Decide where nothing has been called yet."""
    tools, lang = briefing.tools, briefing.lang
    question = composed(briefing.question)
    alone = _decided(question, lang, tools)
    left = await _left(briefing)
    if not left or not isinstance(alone, Noop) or _WITHDRAWN.match(question):
        return alone
    together = _decided(f"{left}\n{question}", lang, tools)
    if isinstance(together, Ask) and "?" in question:
        return alone  # what was asked for is not told: the user asks something else
    return together


async def _left(briefing: Briefing) -> str:
    """Return the messages before this one that ended in a question of this decider's, one a line; "" for none.

    A cancel after one takes back what was asked for.
    """
    left = ""
    for exchange in briefing.history[-WISH_MESSAGES:]:
        said = composed(exchange.question)
        left = f"{left}\n{said}" if left else said
        if (
            exchange.withdrawn
            or len(said) > _CARRIED
            or not await _asked(left, exchange.answer, briefing.tools)
        ):
            left = ""
    return left


async def _asked(text: str, answer: str, tools: Sequence[ToolDefinition]) -> bool:
    """Return whether an answer is what is asked about a text, in any language."""
    for lang, language in LANGUAGES.items():
        said = language.deciding
        asking = (said.which, said.which_any, said.missing, said.missing_any)
        if any(answer.startswith(each.partition("{")[0]) for each in asking):
            await trio.lowlevel.checkpoint()  # the text may be long, and there are several
            if _decided(text, lang, tools) == Ask(answer):
                return True
    return False


def _decided(text: str, lang: Lang, tools: Sequence[ToolDefinition]) -> Decision:
    """Decide about a text alone."""
    found = named(text, lang, tools)
    if not found.tools:
        return Noop()
    if found.tied and found.asked.isdisjoint(tool.name for tool in found.tools[:2]):
        return Noop()
    if found.tied:
        return Ask(_which(lang, *found.tools[:2]))
    tool = found.tools[0]
    picked = pick(tool.parameters, found.told)
    if tool.name not in found.asked and (picked.missing is not None or not picked.arguments):
        return Noop()  # it is spoken of, and nothing is said that it could be called with
    if picked.missing is not None:
        return Ask(_asking(lang, picked.missing))
    return _act(tool, picked)


def _after(briefing: Briefing) -> Decision:
    """Decide after a result: a further call, or what came back."""
    results = briefing.results
    if all(each.ok for each in results):
        done = {each.tool for each in results}
        called = [tool for tool in briefing.tools if tool.name in done]
        others = [tool for tool in briefing.tools if tool.name not in done]
        found = named(composed(briefing.question), briefing.lang, others, called)
        if found.tools and not found.tied:
            lines = [line for each in results for line in each.lines]
            picked = pick(found.tools[0].parameters, found.told, lines)
            if picked.missing is None:
                return _act(found.tools[0], picked)
    return Noop(_told(briefing.lang, results))


def _act(tool: ToolDefinition, picked: Picked) -> Act:
    return Act(tool.name, dict(picked.arguments))


def _told(lang: Lang, results: Sequence[Result]) -> str:
    """Return what came back, in the lines as they stand, so that every number in them stands so in a snippet."""
    said = LANGUAGES[lang].deciding
    parts: list[str] = []
    for each in results:
        lines = list(_within(each.lines, QUOTE_CHARS // len(results)))
        if lines:
            lead = said.returned if each.ok else said.failed
            parts.append("\n".join([lead, *(f"- {line}" for line in lines)]))
        else:
            parts.append(said.empty if each.ok else said.failed_empty)
    return "\n\n".join(dict.fromkeys(parts))


def _within(lines: Iterable[str], budget: int) -> Iterable[str]:
    """Yield the first lines that fit into so many characters; the first one always does."""
    spent = 0
    for line in lines:
        spent += len(line)
        if spent > budget and spent > len(line):
            return
        yield line


def _which(lang: Lang, first: ToolDefinition, second: ToolDefinition) -> str:
    one, other = (" ".join(name_words(tool.name)) for tool in (first, second))
    said = LANGUAGES[lang].deciding
    return _unless_counted(said.which.format(first=one, second=other), said.which_any)


def _repeated(briefing: Briefing, problems: Sequence[str]) -> str:
    """Return a question about what was wrong: for the parameter that a problem points at, where there is one."""
    for tool in named(composed(briefing.question), briefing.lang, briefing.tools).tools[:1]:
        properties = tool.parameters.get("properties")
        for problem in problems:
            pointed = _POINTER.match(problem)
            if pointed and isinstance(properties, dict) and isinstance(properties.get(pointed[1]), dict):
                given = properties[pointed[1]]
                return _asking(briefing.lang, Parameter((pointed[1],), given, True, "", frozenset()))
    return LANGUAGES[briefing.lang].deciding.unsure


def _asking(lang: Lang, missing: Parameter) -> str:
    """Return a question for a parameter, by what its description says first, else by its name."""
    said = LANGUAGES[lang].deciding
    description = missing.schema.get("description")
    first = said_first(description) if isinstance(description, str) else ""
    name = " ".join(missing.name)
    for field in (first if len(first) <= _NAMED else "", name[:_NAMED]):
        question = said.missing.format(field=field) if field else ""
        if question and not tokens(question):
            return question
    return said.missing_any


def _unless_counted(question: str, otherwise: str) -> str:
    """Return a question, or another where it holds a number: nothing could be cited for it."""
    return otherwise if tokens(question) else question
