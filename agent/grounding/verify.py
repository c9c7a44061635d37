"""The number rule: a draft may be sent only when each of its numbers stands in a snippet that it cites.

`verify` is the server's form: it renders list markers as bullets, chooses citations among the hits, checks every
number against those citations alone, and makes the `VerifiedText` that may be sent. `check_numbers` is the same rule
for an answer and snippets of any origin. Both are pure and linear in the draft; snippets' tokens are cached.

Reading the numbers of a snippet is most of the work, and most hits are used by no draft. So `verify` reads the snippets
that the draft quotes, and of those that may have said a sentence the likeliest first, up to one that supports all of
its numbers. All others are read only when a number of the draft stands in none of these: citations are chosen among
the former first, and so the verdict is the same.

The rule cannot catch a number that stands in a cited snippet but belongs to another thing there. `binding` "strict"
also asks that the number's row in the snippet shares a word with the answer's sentence; that catches some of them.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from agent.numbers.layout import remove_source_marks, render_bullets
from agent.numbers.number_tokens import TOO_MANY, NumberToken
from agent.ports.brain import Confidence, VerifiedText
from agent.ports.remember import MEMORY_FILES
from agent.ports.search import Hit, Snippet

from .answer_numbers import AnswerNumbers
from .binding import Binding, find_bound, names_of, rows_of
from .citations import (
    FILL,
    NO_USES,
    Result,
    Span,
    Steps,
    choose_citations,
    choose_places,
    find_uses,
    source_of,
)
from .evidence import citation_text, evidence_for
from .false_ones import find_false_ones

HIGH_SCORE: Final = 0.865
LOW_SCORE: Final = 0.35
HIGH_COVERAGE: Final = 0.7
LOW_COVERAGE: Final = 0.4
"""Thresholds of `confidence_of`: the best hit's score, and the share of the answer's content words in its citations.

Measured on the labelled answers that pass the rule, where a labelled wrong number is wrong and anything else right:
of 275 with a coverage of 0.7 or more 99.3 % are right, of all 393 98.5 %; 6 are below 0.4. Their passages have no
scores, so these figures are of coverage alone, as for a best hit that scores 1. Of answers that quote (`python -m
tests.bench.documents`, static vectors) 15 % are high, of which 38 of 43 are right.
"""
RECALLED_SCORE: Final = 0.8
"""The score at most of an answer that cites memory alone: it tells how surely something was recalled, and not whether
that answers the question."""


class NumberCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One number of an answer. `supported_by`: index of the citation that holds it, or `None`.

    `text`, `kind`, `value`: as in `Token`. `start`, `end`: offsets in the verdict's `said`.
    """

    text: str
    kind: str
    value: str
    supported_by: int | None
    start: int
    end: int


class Verdict(msgspec.Struct, frozen=True):
    """The decision of the number rule on an answer.

    `said`: the text to send: the answer with list markers as bullets and without marks that count sources.
    `citations`: the snippets that the text cites, best first. `checks`: the numbers of the text in order.
    `refused`: the tokens that no citation supports. `text`: the verified text, or `None` when the answer is blocked.
    """

    said: str
    citations: tuple[Snippet, ...]
    checks: tuple[NumberCheck, ...]
    refused: tuple[NumberToken, ...] = ()
    text: VerifiedText | None = None

    @property
    def is_supported(self) -> bool:
        """Whether every number is supported."""
        return not self.refused

    @property
    def unsupported_checks(self) -> tuple[NumberCheck, ...]:
        """The numbers that no citation supports; their offsets show the sentences that fail."""
        return tuple([check for check in self.checks if check.supported_by is None])


def verify(
    draft: str,
    hits: Sequence[Hit],
    *,
    confidence: Confidence | None = None,
    binding: Binding = "off",
) -> Verdict:
    """Return the verdict on a draft whose evidence was `hits`, best first.

    `confidence`: of the resulting text; `None` computes it (`confidence_of`). `binding`: "strict" asks that each number
    belongs to the same thing as in its snippet or the headings above it (`binding.py`). The verdict's `text` is `None`
    when a number stands in no cited snippet, or is not bound in one.
    """
    return _take_steps(verify_in_steps(draft, hits, confidence=confidence, binding=binding))


def verify_in_steps(
    draft: str,
    hits: Sequence[Hit],
    *,
    confidence: Confidence | None = None,
    binding: Binding = "off",
) -> Steps[Verdict]:
    """Return the verdict as `verify` does, and yield the number of characters of each snippet after reading it."""
    distinct = _leave_out_repeated(hits)
    headings = [hit.passage.headings for hit in distinct] if binding == "strict" else ()
    snippets = [hit.snippet for hit in distinct]
    verdict, places = yield from _check_answer(draft, snippets, fill=None, binding=binding, headings=headings)
    if verdict.refused:
        return verdict
    sure = confidence
    if sure is None:
        texts, cited = {each.text for each in verdict.citations}, verdict.citations
        above = [hit.passage.headings for hit in hits if hit.snippet.text in texts and hit.snippet in cited]
        named = frozenset[str]().union(*above)
        best = max([hit.score for hit in hits], default=0.0)
        if cited and all(each.file.startswith(MEMORY_FILES) for each in cited):
            best = min(best, RECALLED_SCORE)
        sure = confidence_of(verdict.said, verdict.citations, max(best, 0.0), named)
    text = VerifiedText(text=verdict.said, citations=verdict.citations, confidence=sure, places=places)
    return Verdict(verdict.said, verdict.citations, verdict.checks, (), text)


def _leave_out_repeated(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the first hit of each snippet. Only snippets whose text another has are compared."""
    distinct: list[Hit] = []
    first: dict[str, Snippet] = {}
    others: set[Snippet] = set()
    for hit in hits:
        snippet = hit.snippet
        text = snippet.text
        if text not in first:
            first[text] = snippet
        elif snippet == first[text] or snippet in others:
            continue
        else:
            others.add(snippet)
        distinct.append(hit)
    return distinct


def check_numbers(
    answer: str,
    snippets: Sequence[Snippet],
    *,
    fill: int | None = FILL,
    binding: Binding = "off",
    headings: Sequence[Sequence[str]] = (),
) -> Verdict:
    """Return the verdict on an answer against snippets, best first, without making a `VerifiedText`.

    `fill`: the least number of citations, filled up with the best snippets; `None` cites the snippets that the answer
    uses instead, for each sentence the snippet that says most of it. `binding`: as in `verify`. `headings`: those
    above each snippet, in the order of `snippets`; empty when they are unknown.
    """
    return _take_steps(_check_answer(answer, snippets, fill=fill, binding=binding, headings=headings))[0]


def _take_steps(steps: Steps[Result]) -> Result:
    """Return the result of `steps`, all taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def _check_answer(
    answer: str,
    snippets: Sequence[Snippet],
    *,
    fill: int | None,
    binding: Binding,
    headings: Sequence[Sequence[str]],
) -> Steps[tuple[Verdict, tuple[tuple[Span, ...], ...]]]:
    """Return the verdict on an answer (`check_numbers`), and the parts of it that each citation was cited for."""
    texts = (text for each in snippets for text in (each.text, each.plain_text))
    said = render_bullets(remove_source_marks(answer, len(snippets), texts))
    reading = AnswerNumbers(said, snippets)
    if len(reading.found) > TOO_MANY:
        return _make_verdict(said, (), reading.found[-1:], ()), ()
    if fill is not None or binding == "strict":
        yield from reading.read_masks(range(len(snippets)))
    if binding == "strict":
        above = headings or [()] * len(snippets)
        for index, its in zip(range(len(snippets)), above, strict=True):
            mask = reading.masks.get(index, 0)
            reading.masks[index] = find_bound(said, reading.found, snippets[index], mask, its)
    uses = find_uses(said, snippets) if fill is None else NO_USES
    places = yield from choose_places(uses, [token.start for token in reading.found], reading.read_mask)
    yield from reading.read_masks(places)
    if not reading.are_held([reading.masks.get(index, 0) for index in places]):
        yield from reading.read_masks(range(len(snippets)))
    masks = [reading.masks.get(index, 0) for index in range(len(snippets))]
    once: dict[object, int] = {}
    for index in choose_citations(masks, 1 if fill is None else fill, places):
        first = once.setdefault(source_of(snippets[index]), index)
        if first != index and index in places:
            places[first] = (*places.get(first, ()), *places[index])
    cited = once.values()
    citations = tuple([snippets[i] for i in cited])
    verdict = _make_verdict(said, citations, reading.found, tuple([masks[i] for i in cited]))
    if false := find_false_ones(said, reading.found, citations):
        verdict = _refuse_too(verdict, false)
    return verdict, tuple([places.get(i, ()) for i in cited])


def _make_verdict(
    said: str, citations: tuple[Snippet, ...], found: Sequence[NumberToken], masks: Sequence[int]
) -> Verdict:
    checks: list[NumberCheck] = []
    refused: list[NumberToken] = []
    bit = 1
    for token in found:
        by = None
        for index, mask in enumerate(masks):
            if mask & bit:
                by = index
                break
        else:
            refused.append(token)
        check = NumberCheck(
            text=token.text,
            kind=token.kind,
            value=token.value,
            supported_by=by,
            start=token.start,
            end=token.end,
        )
        checks.append(check)
        bit <<= 1
    return Verdict(said, citations, tuple(checks), tuple(refused))


def _refuse_too(verdict: Verdict, tokens: Sequence[NumberToken]) -> Verdict:
    """Return a verdict that refuses `tokens` too."""
    more = _make_verdict("", (), tokens, ())
    checks = tuple(sorted([*verdict.checks, *more.checks], key=lambda check: check.start))
    refused = tuple(sorted([*verdict.refused, *tokens], key=lambda token: token.start))
    return Verdict(verdict.said, verdict.citations, checks, refused)


def read_ahead(snippet: Snippet, *, binding: Binding = "off") -> int:
    """Read a snippet into the cache of `evidence_of`; return the number of characters of its citation.

    A snippet of 3,000 characters takes up to some 15 ms of CPU, a usual one 0.1 ms, and a cached one nothing.
    `binding`: of the verdicts to come.
    """
    text = citation_text(snippet)
    evidence_for(snippet)
    names_of(snippet.text)
    if binding == "strict":
        rows_of(snippet)
    return len(text)


_BLANK: Final = re.compile(r"\n(?:[^\S\n]*+\n)++")


def snippets_of(passages: str, file: str = "passages") -> tuple[Snippet, ...]:
    """Return each block between blank lines of `passages` as a snippet of `file`, with its line numbers."""
    found: list[Snippet] = []
    text = passages.replace("\r\n", "\n")
    at = line = 0
    for gap in (*_BLANK.finditer(text), None):
        block = text[at : gap.start() if gap is not None else len(text)]
        lines = block.count("\n")
        if block.strip():
            lead = len(block) - len(block.lstrip("\n"))
            found.append(
                Snippet(
                    file=file,
                    text=block.strip("\n"),
                    first=line + lead + 1,
                    last=line + lead + block.strip("\n").count("\n") + 1,
                )
            )
        if gap is not None:
            line += lines + gap.group().count("\n")
            at = gap.end()
    return tuple(found)


def confidence_of(
    said: str, citations: Sequence[Snippet], score: float, headings: Collection[str] = ()
) -> Confidence:
    """Return the confidence of an answer, from its citations and the best hit's score (0..1; 1 without scores).

    Coverage is the share of the answer's content words that its citations hold, or the `headings` above them (a row of
    a table is named by its header). An answer without a content word is covered. high: a score of `HIGH_SCORE` and a
    coverage of `HIGH_COVERAGE`, or more; low: less than `LOW_SCORE` or `LOW_COVERAGE`.
    """
    names = names_of(said)
    held = frozenset().union(*[names_of(snippet.text) for snippet in citations], *map(names_of, headings))
    coverage = len(names & held) / len(names) if names else 1.0
    if score >= HIGH_SCORE and coverage >= HIGH_COVERAGE:
        return "high"
    return "low" if score < LOW_SCORE or coverage < LOW_COVERAGE else "med"
