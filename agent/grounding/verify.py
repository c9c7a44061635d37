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
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from agent.numbers.layout import remove_source_marks, render_bullets
from agent.numbers.number_tokens import TOO_MANY, Kind, NumberToken, find_numbers, make_tokens
from agent.numbers.source_numbers import SourceNumbers
from agent.numbers.token import Key
from agent.ports.brain import Confidence, VerifiedText
from agent.ports.search import Hit, Snippet

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
        sure = confidence_of(verdict.said, verdict.citations, max(best, 0.0), named)
    text = VerifiedText(text=verdict.said, citations=verdict.citations, confidence=sure, places=places)
    return Verdict(verdict.said, verdict.citations, verdict.checks, (), text)


def _leave_out_repeated(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the first hit of each snippet. Where no two have one text, as in most turns, no snippet is hashed."""
    if len({hit.snippet.text for hit in hits}) == len(hits):
        return hits
    first: dict[Snippet, Hit] = {}
    for hit in hits:
        first.setdefault(hit.snippet, hit)
    return list(first.values())


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
    reading = _AnswerNumbers(said, snippets)
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
    verdict = _make_verdict(
        said, tuple([snippets[i] for i in cited]), reading.found, tuple([masks[i] for i in cited])
    )
    return verdict, tuple([places.get(i, ()) for i in cited])


class _NumbersOfText:
    """The numbers of a text, which is read once for both of its forms: `unrated`, and `rated`, with their rates."""

    __slots__ = ("_rated", "_reader", "unrated")

    def __init__(self, text: str) -> None:
        self._reader = find_numbers(text)
        self._rated: tuple[NumberToken, ...] | None = None
        self.unrated = make_tokens(self._reader, rates=False)

    @property
    def rated(self) -> tuple[NumberToken, ...]:
        """Return the numbers with their rates, which are read when they are first asked for."""
        if self._rated is None:
            self._rated = make_tokens(self._reader, rates=True)
        return self._rated


_read_answer = lru_cache(maxsize=256)(
    _NumbersOfText
)  # a question that is asked again is answered in the same words
_KEPT_CHARACTERS: Final = 2000  # of an answer whose numbers are kept


class _AnswerNumbers:
    """The numbers of an answer, and which of them each snippet supports; a snippet is read when this is asked.

    `found`: the numbers, with their rates once a snippet that states a rate was read: until then no rate is compared.
    `masks`: by the index of each snippet that was read, the numbers that it supports, as bits. An answer without a
    number needs no snippet, and reads none.
    """

    __slots__ = ("_is_rated", "_lookup", "_numbers", "_snippets", "found", "masks")

    def __init__(self, said: str, snippets: Sequence[Snippet]) -> None:
        self._numbers = _read_answer(said) if len(said) <= _KEPT_CHARACTERS else _NumbersOfText(said)
        self._snippets = snippets
        self._is_rated = False
        self.found = self._numbers.unrated
        self._lookup = _NumberLookup(self.found)
        self.masks: dict[int, int] = {}

    def read_mask(self, index: int) -> Steps[int]:
        """Return the numbers that a snippet supports, as bits; yield the length of its citation if it is read now."""
        mask = self.masks.get(index)
        if mask is None:
            snippet = self._snippets[index]
            evidence = evidence_for(snippet)
            if evidence.rated and not self._is_rated:
                self._is_rated = True
                self.found = self._numbers.rated
                self._lookup = _NumberLookup(self.found)
            mask = self.masks[index] = self._lookup.find_supported(evidence)
            yield len(snippet.text) + sum(map(len, snippet.headings))
        return mask

    def read_masks(self, indexes: Iterable[int]) -> Steps[None]:
        """Read the masks of the snippets `indexes`; yield as `read_mask`."""
        for index in indexes if self.found else ():
            yield from self.read_mask(index)

    def are_held(self, masks: Iterable[int]) -> bool:
        """Tell whether `masks` hold all numbers together."""
        held = 0
        for mask in masks:
            held |= mask
        return held == (1 << len(self.found)) - 1


class _NumberLookup:
    """The tokens of an answer in the form in which a snippet's keys are looked up.

    Most tokens need one key, and a snippet has few keys: those are looked up by key, the others one by one.
    """

    __slots__ = ("_alone", "_others")

    def __init__(self, found: Sequence[NumberToken]) -> None:
        self._alone: dict[Key, int] = {}
        self._others: list[tuple[int, NumberToken]] = []
        bit = 1
        for token in found:
            if token.rate or token.kind is Kind.RANGE or max(map(len, token.needs), default=0) != 1:
                self._others.append((bit, token))
            else:
                for (key,) in token.needs:
                    self._alone[key] = self._alone.get(key, 0) | bit
            bit <<= 1

    def find_supported(self, evidence: SourceNumbers) -> int:
        """Return the tokens that a snippet supports, as bits."""
        mask = 0
        for key in evidence.keys & self._alone.keys():
            mask |= self._alone[key]
        for bit, token in self._others:
            if _supports(evidence, token):
                mask |= bit
        return mask


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
