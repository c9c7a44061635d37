"""Why an answer is what it is, in lines for the operator: the query, the sections, each draft, each of its numbers.

Strategy: functions without a state, each given what the turn knows at that moment, so that one that hangs or is
cancelled has told what came before. The lines hold what users and models said, refused numbers too: they are for the
operator's own terminal or log at debug level, and for no client.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from ..grounding.evidence import shown
from ..grounding.verify import Verdict
from ..numbers.read import Token, tokens
from ..ports.brain import VerifiedText
from ..ports.search import Hit, Query, Snippet

SHOWN = 120  # characters of a snippet
NEAREST = 5  # statements that are told of when nothing was found


Explain: TypeAlias = Callable[[Sequence[str]], None]
"""Is given lines that say why an answer is what it is, in their order; must not raise."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a draft.

    verdict: on what of it was to be said; None when nothing was. refused: numbers for which parts of it were dropped;
    dropped: those parts.
    """

    draft: str
    verdict: Verdict | None = None
    refused: Sequence[Token] = ()
    dropped: Sequence[str] = ()


def courtesy_lines(what: str) -> list[str]:
    """Return the line for what is no question."""
    return [f"no question: {what}; it has a fixed answer, and nothing is looked up"]


def found_lines(query: Query, found: Sequence[Hit], given: int) -> list[str]:
    """Return the lines for a search. given: how many of its statements a model gets."""
    lines = [f"query ({query.lang}): {query.text}"]
    if not found:
        return [*lines, "found: nothing that is sure enough"]
    sections = _by_section(found)
    of = f"{_count(len(found), 'statement')} in {_count(len(sections), 'section')}"
    return [*lines, f"found: {of}, of which the model is given {given}", *sections]


def nearest_lines(nearest: Sequence[Hit]) -> list[str]:
    """Return the lines for what a search that found nothing came nearest to."""
    return (
        ["nearest, too unsure to count:", *_by_section(nearest)] if nearest else ["nearest: nothing at all"]
    )


def draft_lines(attempt: int, judged: Judged, hits: Sequence[Hit]) -> list[str]:
    """Return the lines for a draft. attempt: 0 for the first one. hits: what the model was given."""
    lines = [
        f"draft {attempt + 1}:",
        *(f"  {line}" for line in judged.draft.strip().splitlines() if line.strip()),
    ]
    lines += [f"dropped, as it does not stand: {part}" for part in judged.dropped]
    lines += [_refused(token, hits) for token in judged.refused]
    verdict = judged.verdict
    if verdict is None:
        return lines
    refused = {(token.start, token.end): token for token in verdict.refused}
    numbers = [
        _refused(refused[check.start, check.end], hits)
        if check.supported_by is None
        else f"number {check.text!r}: held by {_place(verdict.citations[check.supported_by], check.text)}"
        for check in verdict.checks
    ]
    if not numbers and not judged.refused:
        lines.append("numbers: none")
    return [*lines, *dict.fromkeys(numbers)]  # one that is said twice is told once


def ended_lines(text: VerifiedText) -> list[str]:
    """Return the line for how a turn ended."""
    if text.blocked is not None:
        return [f"refused: {text.blocked.code} ({text.blocked.message})"]
    return [f"answered: confidence {text.confidence}, {_count(len(text.citations), 'citation')}"]


def failed_lines(error: Exception) -> list[str]:
    """Return the line for a model that gave no draft."""
    return [f"the model failed: {error}"]


def _by_section(hits: Sequence[Hit]) -> list[str]:
    """Return a line for each section, those of the best statements first."""
    sections: dict[object, list[Hit]] = {}
    for hit in hits:
        sections.setdefault(hit.passage, []).append(hit)
    return [
        f"  {max(hit.score for hit in each):.3f}  {_lines([hit.snippet for hit in each])}"
        f"  {' › '.join(each[0].passage.headings)}  ({_count(len(each), 'statement')})"
        for each in sections.values()
    ]


def _lines(snippets: Sequence[Snippet]) -> str:
    first, last = min(each.first for each in snippets), max(each.last for each in snippets)
    return f"{snippets[0].file}:{first}" + (f"-{last}" if last > first else "")


def _refused(token: Token, hits: Sequence[Hit]) -> str:
    near = _nearest(token, hits)
    said = "no snippet has a number" if near is None else f"nearest {near[1]!r} in {_place(*near)}"
    return f"number {token.text!r}: REFUSED, no cited snippet holds it; {said}"


def _nearest(token: Token, hits: Sequence[Hit]) -> tuple[Snippet, str] | None:
    """Return the number of the evidence that is most like a refused one: the same value, the same kind, near it."""
    near = [
        (_distance(token, other), place, hit.snippet, other.text)
        for place, hit in enumerate(hits)
        for other in tokens(shown(hit.snippet), source=True)
    ]
    if not near:
        return None
    _, _, snippet, text = min(near, key=lambda each: each[:2])
    return snippet, text


def _distance(token: Token, other: Token) -> tuple[bool, bool, Fraction]:
    same = not set(token.amounts).isdisjoint(other.amounts)
    return not same, token.kind != other.kind, min(_gaps(token, other), default=Fraction(10**9))


def _gaps(token: Token, other: Token) -> Iterator[Fraction]:
    """Yield how far the values of two numbers are from each other, as shares of the larger."""
    for one in map(_value, token.amounts):
        for two in map(_value, other.amounts):
            if one is not None and two is not None:
                most = max(abs(one), abs(two))
                yield abs(one - two) / most if most else Fraction(0)


def _value(amount: str) -> Fraction | None:
    try:
        return Fraction(amount)
    except (ValueError, ZeroDivisionError):
        return None


def _place(snippet: Snippet, number: str) -> str:
    """Return where a snippet stands, and as much of it as is shown around a number."""
    text = " ".join(shown(snippet).split())
    at = max(0, text.find(number) - SHOWN // 2) if len(text) > SHOWN else 0
    cut = f"{'…' if at else ''}{text[at : at + SHOWN]}{'…' if len(text) > at + SHOWN else ''}"
    return f"{_lines([snippet])}: {cut}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
