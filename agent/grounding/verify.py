"""The number rule: a draft may be sent only when each of its numbers stands in a snippet that it cites.

`verify` is the server's form: it renders list markers as bullets, chooses citations among the hits, checks every
number against those citations alone, and makes the `VerifiedText` that may be sent. `check_numbers` is the same rule
for an answer and snippets of any origin. Both are pure and linear in the draft; snippets' tokens are cached.

The rule cannot catch a number that stands in a cited snippet but belongs to another thing there. `binding` "strict"
also asks that the number's row in the snippet shares a word with the answer's sentence; that catches some of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from agent.numbers.layout import remove_source_marks, render_bullets
from agent.numbers.number_tokens import TOO_MANY, Kind, NumberToken, tokens
from agent.numbers.source_numbers import SourceNumbers
from agent.numbers.token import Key
from agent.ports.brain import Confidence, VerifiedText
from agent.ports.search import Hit, Snippet

from .binding import Binding, find_bound, names_of, rows_of
from .citations import FILL, Span, choose_citations, find_places, source_of
from .evidence import citation_text, evidence_for

HIGH_SCORE: Final = 0.9
LOW_SCORE: Final = 0.35
HIGH_COVERAGE: Final = 0.7
LOW_COVERAGE: Final = 0.4
"""Thresholds of `confidence_of`: the best hit's score, and the share of the answer's content words in its citations.

Measured on the labelled answers that pass the rule, where a labelled wrong number is wrong and anything else right:
of 275 with a coverage of 0.7 or more 99.3 % are right, of all 393 98.5 %; 6 are below 0.4. Their passages have no
scores, so these figures are of coverage alone, as for a best hit that scores 1. Of short answers that quote (`python -m
tests.bench.documents`, static vectors), 18 of the 20 with a score of 0.9 or more are right; with 0.85 it would be said
of 15 % of answers, of which 80 % are right.
"""


class NumberCheck(NamedTuple):
    """One number of an answer. `supported_by`: index of the citation that holds it, or `None`.

    `text`, `kind`, `value`: as in `Token`. `start`, `end`: offsets in the verdict's `said`.
    """

    text: str
    kind: str
    value: str
    supported_by: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verdict:
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
    above: dict[Snippet, tuple[str, ...]] = {}
    best = 0.0
    for hit in hits:
        best = max(best, hit.score)
        above.setdefault(hit.snippet, hit.passage.headings)
    verdict, places = _check_answer(
        draft, list(above), fill=None, binding=binding, headings=list(above.values())
    )
    if verdict.refused:
        return verdict
    sure = confidence
    if sure is None:
        cited = frozenset(verdict.citations)
        named = [line for hit in hits if hit.snippet in cited for line in hit.passage.headings]
        sure = confidence_of(verdict.said, verdict.citations, best, named)
    text = VerifiedText(text=verdict.said, citations=verdict.citations, confidence=sure, places=places)
    return Verdict(verdict.said, verdict.citations, verdict.checks, (), text)


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
    return _check_answer(answer, snippets, fill=fill, binding=binding, headings=headings)[0]


def _check_answer(
    answer: str,
    snippets: Sequence[Snippet],
    *,
    fill: int | None,
    binding: Binding,
    headings: Sequence[Sequence[str]],
) -> tuple[Verdict, tuple[tuple[Span, ...], ...]]:
    """Return the verdict on an answer (`check_numbers`), and the parts of it that each citation was cited for."""
    texts = (text for each in snippets for text in (each.text, each.plain_text))
    said = render_bullets(remove_source_marks(answer, len(snippets), texts))
    evidence = [evidence_for(snippet) for snippet in snippets]
    found = tokens(said, rates=any(one.rated for one in evidence))
    if len(found) > TOO_MANY:
        return _make_verdict(said, (), found[-1:], ()), ()
    masks = _make_masks(evidence, found)
    if binding == "strict":
        above = headings or [()] * len(snippets)
        masks = [
            find_bound(said, found, snippet, mask, its)
            for snippet, mask, its in zip(snippets, masks, above, strict=True)
        ]
    starts = [token.start for token in found]
    places = {} if fill is not None else find_places(said, snippets, starts, masks)
    once: dict[object, int] = {}
    for index in choose_citations(masks, 1 if fill is None else fill, places):
        first = once.setdefault(source_of(snippets[index]), index)
        if first != index and index in places:
            places[first] = (*places.get(first, ()), *places[index])
    cited = once.values()
    verdict = _make_verdict(
        said, tuple([snippets[i] for i in cited]), found, tuple([masks[i] for i in cited])
    )
    return verdict, tuple([places.get(i, ()) for i in cited])


def _make_masks(evidence: Sequence[SourceNumbers], found: Sequence[NumberToken]) -> list[int]:
    """Return the tokens that each snippet supports, as bits.

    Most tokens need one key, and a snippet has few keys: those are looked up by key, the others one by one.
    """
    alone: dict[Key, int] = {}
    others: list[tuple[int, NumberToken]] = []
    bit = 1
    for token in found:
        if token.rate or token.kind is Kind.RANGE or max(map(len, token.needs), default=0) != 1:
            others.append((bit, token))
        else:
            for (key,) in token.needs:
                alone[key] = alone.get(key, 0) | bit
        bit <<= 1
    masks: list[int] = []
    for one in evidence:
        mask = 0
        for key in one.keys & alone.keys():
            mask |= alone[key]
        for bit, token in others:
            if _supports(one, token):
                mask |= bit
        masks.append(mask)
    return masks


def _supports(evidence: SourceNumbers, token: NumberToken) -> bool:
    """Tell whether a snippet supports a token."""
    keys, holds = evidence.keys, evidence.keys.issuperset
    for group in token.needs:
        if (group[0] in keys if len(group) == 1 else holds(group)) and (
            not token.rate or evidence.at_rate(group, token.rate)
        ):
            return True
    return token.kind is Kind.RANGE and evidence.holds(token)


def _make_verdict(
    said: str, citations: tuple[Snippet, ...], found: Sequence[NumberToken], masks: Sequence[int]
) -> Verdict:
    checks: list[NumberCheck] = []
    refused: list[NumberToken] = []
    numbered = tuple(enumerate(masks))
    bit = 1
    for token in found:
        by = None
        for index, mask in numbered:
            if mask & bit:
                by = index
                break
        else:
            refused.append(token)
        checks.append(NumberCheck(token.text, token.kind, token.value, by, token.start, token.end))
        bit <<= 1
    return Verdict(said, citations, tuple(checks), tuple(refused))


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
    said: str, citations: Sequence[Snippet], score: float, headings: Sequence[str] = ()
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
