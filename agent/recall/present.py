"""What of the best candidates is shown: as many as a budget holds, each cut to what it says of the question.

Strategy: the best are taken first, and those that would burst the budget are passed over. Of a long text the sentence
that holds most of the question is shown with as many around it as have room. What was chosen is told oldest first, as a
conversation is read. Two that say different numbers of one thing are both shown, and named as such.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.numbers.read import tokens as numbers_in
from agent.numbers.token import Kind
from agent.ports.memory import Number
from agent.ports.recall import Excerpt

from .documents import Sentence, sentences

EXCERPT: Final = 120
"""Tokens of one excerpt at most."""
PER_TOKEN: Final = 3
"""Characters of a token, roughly, as `agent.answering` reckons."""
_LOOKED_AT: Final = 24  # excerpts that are compared with each other
_NAMES: Final = frozenset({Kind.ORDINAL, Kind.ROMAN, Kind.SYMBOL, Kind.UNREAD, Kind.IDENTIFIER})


def estimated(text: str) -> int:
    """Return how many tokens a text has, roughly."""
    return -(-len(text) // PER_TOKEN)


def excerpt(
    text: str,
    said: Collection[str],
    cut: Callable[[], Sequence[Sentence]] | None = None,
    most: int = EXCERPT,
) -> str:
    """Return a text, or the part of it that holds most of some folded words.

    cut: returns its sentences, where they are known. most: tokens, estimated.
    """
    if estimated(text) <= most:
        return text
    room = most * PER_TOKEN
    spans = sentences(text) if cut is None else cut()
    if not spans:
        return text[:room]
    wanted = set(said)
    held = [len(wanted & each.words) for each in spans]
    first = last = held.index(max(held))
    grown = True
    while grown:
        grown = False
        for low, high in ((-1, 0), (0, 1)):
            low, high = first + low, last + high
            if low >= 0 and high < len(spans) and spans[high].end - spans[low].start <= room:
                first, last, grown = low, high, True
    start = spans[first].start
    return text[start : min(spans[last].end, start + room)]


def chosen(excerpts: Iterable[Excerpt], limit: int, budget: int) -> tuple[Excerpt, ...]:
    """Return those of some excerpts, best first, that fit: `limit` at most, of `budget` tokens together, 0 for any."""
    kept: list[Excerpt] = []
    left = budget
    for each in excerpts:
        size = estimated(each.text)
        if not budget or size <= left:
            left -= size
            kept.append(each)
        if len(kept) >= limit:
            break
    return tuple(sorted(kept, key=lambda each: (each.at, each.id)))


@dataclass(frozen=True, slots=True)
class Claim:
    """What an excerpt may be compared by. key: stems of what it is about, () of a turn. stems: of its words."""

    id: str
    at: int
    key: tuple[str, ...]
    stems: frozenset[str]
    numbers: Collection[Number]


def disagreements(claims: Sequence[Claim]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of ids that say different numbers of one key, the older one first."""
    found: list[tuple[str, str]] = []
    claims = sorted(claims, key=lambda each: (each.at, each.id))[:_LOOKED_AT]
    for at, one in enumerate(claims):
        for other in claims[at + 1 :]:
            about = one.key or other.key
            if about and _of(one, about) and _of(other, about) and _differ(one.numbers, other.numbers):
                found.append((one.id, other.id))
    return tuple(found)


def _of(claim: Claim, key: tuple[str, ...]) -> bool:
    """Tell whether a claim is about a key: it has it, or as a turn all of its words."""
    return claim.key == key if claim.key else claim.stems.issuperset(key)


def _differ(one: Collection[Number], other: Collection[Number]) -> bool:
    """Tell whether numbers of one kind and unit have another value on each side."""
    for kind in {kind for kind, _ in one} & {kind for kind, _ in other}:
        here, there = ({value for each, value in side if each == kind} for side in (one, other))
        if here.isdisjoint(there):
            return True
    return False


def numbers_of(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text by kind and unit, sorted, but for those that name."""
    found = [
        (f"{token.kind} {':' if ':' in token.value else token.value.partition(' ')[2]}".strip(), token.value)
        for token in numbers_in(text, source=True)
        if token.kind not in _NAMES
    ]
    return tuple(sorted(found))
