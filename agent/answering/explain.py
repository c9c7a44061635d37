"""Explains an answer in lines for the operator: the query, the sections, each draft, each of its numbers.

Strategy: functions without state, each called as soon as the turn knows its arguments, so that a turn that hangs or is
cancelled has reported its earlier steps. The lines hold the words of users and models, refused numbers too: they are
for the operator's own terminal or log at debug level, and for no client.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ..grounding.evidence import citation_text
from ..grounding.verify import Verdict
from ..numbers.number_tokens import NumberToken, tokens
from ..ports.brain import VerifiedText
from ..ports.search import Hit, Query, Snippet

SHOWN = 120  # characters of a snippet
NEAREST = 5  # statements that are shown when nothing was found


Explain: TypeAlias = Callable[[Sequence[str]], None]
"""Receives lines that explain an answer, in their order; must not raise."""


@dataclass(frozen=True, slots=True)
class JudgedDraft:
    """A draft with its verdict.

    `verdict`: the verdict on the text to be sent; `None` without such a text. `dropped`: the parts of the draft that
    were left out before. `refused`: the numbers for which these parts were left out.
    """

    draft: str
    verdict: Verdict | None = None
    refused: Sequence[NumberToken] = ()
    dropped: Sequence[str] = ()


def describe_courtesy(kind: str) -> list[str]:
    """Return the line for a courtesy."""
    return [f"no question: {kind}; it has a fixed answer, and nothing is looked up"]


def describe_search(query: Query, hits: Sequence[Hit], used: int) -> list[str]:
    """Return the lines for a search. `used`: the number of statements in `hits` that the model gets."""
    lines = [f"query ({query.lang}): {query.text}"]
    if not hits:
        return [*lines, "found: nothing that is sure enough"]
    sections = _list_sections(hits)
    of = f"{_count_of(len(hits), 'statement')} in {_count_of(len(sections), 'section')}"
    return [*lines, f"found: {of}, of which the model is given {used}", *sections]


def describe_nearest(nearest: Sequence[Hit]) -> list[str]:
    """Return the lines for the statements nearest to a query that found nothing."""
    return (
        ["nearest, too unsure to count:", *_list_sections(nearest)]
        if nearest
        else ["nearest: nothing at all"]
    )


def describe_draft(attempt: int, judged: JudgedDraft, hits: Sequence[Hit]) -> list[str]:
    """Return the lines for a draft. `attempt`: 0 for the first draft. `hits`: the evidence of the model."""
    lines = [
        f"draft {attempt + 1}:",
        *(f"  {line}" for line in judged.draft.strip().splitlines() if line.strip()),
    ]
    lines += [f"dropped, as it does not stand: {part}" for part in judged.dropped]
    lines += [_describe_refused(token, hits) for token in judged.refused]
    verdict = judged.verdict
    if verdict is None:
        return lines
    refused = {(token.start, token.end): token for token in verdict.refused}
    numbers = [
        _describe_refused(refused[check.start, check.end], hits)
        if check.supported_by is None
        else f"number {check.text!r}: held by {_quote_place(verdict.citations[check.supported_by], check.text)}"
        for check in verdict.checks
    ]
    if not numbers and not judged.refused:
        lines.append("numbers: none")
    return [*lines, *dict.fromkeys(numbers)]  # a repeated number has one line


def describe_end(text: VerifiedText) -> list[str]:
    """Return the line for the end of a turn."""
    if text.blocked is not None:
        return [f"refused: {text.blocked.code} ({text.blocked.message})"]
    return [f"answered: confidence {text.confidence or 'none'}, {_count_of(len(text.citations), 'citation')}"]


def describe_failure(error: Exception) -> list[str]:
    """Return the line for a model that gave no draft."""
    return [f"the model failed: {error}"]


def _list_sections(hits: Sequence[Hit]) -> list[str]:
    """Return a line for each section, in the order of their best statements."""
    sections: dict[object, list[Hit]] = {}
    for hit in hits:
        sections.setdefault(hit.passage, []).append(hit)
    return [
        f"  {max(hit.score for hit in each):.3f}  {_lines_of([hit.snippet for hit in each])}"
        f"  {' › '.join(each[0].passage.headings)}  ({_count_of(len(each), 'statement')})"
        for each in sections.values()
    ]


def _lines_of(snippets: Sequence[Snippet]) -> str:
    first, last = min(each.first for each in snippets), max(each.last for each in snippets)
    return f"{snippets[0].file}:{first}" + (f"-{last}" if last > first else "")


def _describe_refused(token: NumberToken, hits: Sequence[Hit]) -> str:
    near = _find_nearest(token, hits)
    nearest_text = (
        "no snippet has a number" if near is None else f"nearest {near[1]!r} in {_quote_place(*near)}"
    )
    return f"number {token.text!r}: REFUSED, no cited snippet holds it; {nearest_text}"


def _find_nearest(token: NumberToken, hits: Sequence[Hit]) -> tuple[Snippet, str] | None:
    """Return the number of the evidence nearest to a refused one, with its snippet: by value, kind and distance."""
    near = [
        (_distance_of(token, other), place, hit.snippet, other.text)
        for place, hit in enumerate(hits)
        for other in tokens(citation_text(hit.snippet), source=True)
    ]
    if not near:
        return None
    _, _, snippet, text = min(near, key=lambda each: each[:2])
    return snippet, text


def _distance_of(token: NumberToken, other: NumberToken) -> tuple[bool, bool, Fraction]:
    same = not set(token.amounts).isdisjoint(other.amounts)
    return not same, token.kind != other.kind, min(_find_gaps(token, other), default=Fraction(10**9))


def _find_gaps(token: NumberToken, other: NumberToken) -> Iterator[Fraction]:
    """Yield the distances between the values of two numbers, as shares of the larger (0..2)."""
    for value in map(_value, token.amounts):
        for other_value in map(_value, other.amounts):
            if value is not None and other_value is not None:
                most = max(abs(value), abs(other_value))
                yield abs(value - other_value) / most if most else Fraction(0)


def _value(amount: str) -> Fraction | None:
    try:
        return Fraction(amount)
    except (ValueError, ZeroDivisionError):
        return None


def _quote_place(snippet: Snippet, number: str) -> str:
    """Return the file and lines of a snippet, and at most `SHOWN` characters of it around `number`."""
    text = " ".join(citation_text(snippet).split())
    at = max(0, text.find(number) - SHOWN // 2) if len(text) > SHOWN else 0
    cut = f"{'…' if at else ''}{text[at : at + SHOWN]}{'…' if len(text) > at + SHOWN else ''}"
    return f"{_lines_of([snippet])}: {cut}"


def _count_of(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
