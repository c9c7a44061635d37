"""Selects the candidates to show: as many as fit a budget, each cut to the part that fits the question.

Strategy: the best are taken first, and those that would exceed the budget are skipped. Of a long text, the sentence
with most words of the question is shown, with as many around it as fit. The selection is returned oldest first, as a
conversation is read. Two that give different numbers for one thing are both shown, and reported as a disagreement.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.numbers.number_tokens import tokens as numbers_in
from agent.numbers.token import Kind
from agent.ports.memory import Number
from agent.ports.recall import Excerpt
from agent.recall.documents import SentenceSpan, split_sentences

EXCERPT: Final = 120
"""Tokens of one excerpt at most."""
PER_TOKEN: Final = 3
"""Characters of a token, roughly, as in `agent.answering`."""
_LOOKED_AT: Final = 24  # excerpts that are compared with each other
_NAMES: Final = frozenset({Kind.ORDINAL, Kind.ROMAN, Kind.SYMBOL, Kind.UNREAD, Kind.IDENTIFIER})


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens in `text`."""
    return -(-len(text) // PER_TOKEN)


def cut_excerpt(
    text: str,
    question_words: Collection[str],
    cut: Callable[[], Sequence[SentenceSpan]] | None = None,
    most: int = EXCERPT,
) -> str:
    """Return `text`, or the part of it that holds most of the words `question_words`.

    `cut`: returns its sentences, if they are cached. `most`: tokens, estimated.
    """
    if estimate_tokens(text) <= most:
        return text
    room = most * PER_TOKEN
    spans = split_sentences(text) if cut is None else cut()
    if not spans:
        return text[:room]
    wanted = set(question_words)
    shared_counts = [len(wanted & each.words) for each in spans]
    first = last = shared_counts.index(max(shared_counts))
    grown = True
    while grown:
        grown = False
        for low, high in ((-1, 0), (0, 1)):
            low, high = first + low, last + high
            if low >= 0 and high < len(spans) and spans[high].end - spans[low].start <= room:
                first, last, grown = low, high, True
    start = spans[first].start
    return text[start : min(spans[last].end, start + room)]


def select_excerpts(excerpts: Iterable[Excerpt], limit: int, budget: int) -> tuple[Excerpt, ...]:
    """Return those of `excerpts`, best first, that fit: `limit` at most, of `budget` tokens together (0 for any)."""
    selected: list[Excerpt] = []
    tokens_left = budget
    for each in excerpts:
        size = estimate_tokens(each.text)
        if not budget or size <= tokens_left:
            tokens_left -= size
            selected.append(each)
        if len(selected) >= limit:
            break
    return tuple(sorted(selected, key=lambda each: (each.at, each.id)))


@dataclass(frozen=True, slots=True)
class NumberClaim:
    """The parts of an excerpt to compare.

    `key`: the stems of an item's subject, () for a turn. `stems`: those of its words.
    """

    id: str
    at: int
    key: tuple[str, ...]
    stems: frozenset[str]
    numbers: Collection[Number]


def find_disagreements(claims: Sequence[NumberClaim]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of ids with different numbers for one key, the older first."""
    pairs: list[tuple[str, str]] = []
    claims = sorted(claims, key=lambda each: (each.at, each.id))[:_LOOKED_AT]
    for at, one in enumerate(claims):
        for other in claims[at + 1 :]:
            about = one.key or other.key
            if (
                about
                and _is_about(one, about)
                and _is_about(other, about)
                and _numbers_differ(one.numbers, other.numbers)
            ):
                pairs.append((one.id, other.id))
    return tuple(pairs)


def _is_about(claim: NumberClaim, key: tuple[str, ...]) -> bool:
    """Tell whether a claim is about `key`: an item has the key, a turn holds all of its stems."""
    return claim.key == key if claim.key else claim.stems.issuperset(key)


def _numbers_differ(one: Collection[Number], other: Collection[Number]) -> bool:
    """Tell whether numbers of one kind and unit have different values on each side."""
    for kind in {kind for kind, _ in one} & {kind for kind, _ in other}:
        here, there = ({value for each, value in side if each == kind} for side in (one, other))
        if here.isdisjoint(there):
            return True
    return False


def numbers_of(text: str) -> tuple[Number, ...]:
    """Return the numbers of `text` with kind and unit, sorted, without those that are names."""
    numbers = [
        (f"{token.kind} {':' if ':' in token.value else token.value.partition(' ')[2]}".strip(), token.value)
        for token in numbers_in(text, source=True)
        if token.kind not in _NAMES
    ]
    return tuple(sorted(numbers))
