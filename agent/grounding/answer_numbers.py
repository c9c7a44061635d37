"""The numbers of an answer, and which of them each snippet supports: the look-up that the number rule decides by.

The numbers of an answer that was read before are taken from a cache, and a snippet is read when it is first asked.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from agent.numbers.keys import TIMES
from agent.numbers.number_tokens import Kind, NumberToken, find_numbers, make_tokens
from agent.numbers.rates import find_regular_times
from agent.numbers.source_numbers import SourceNumbers
from agent.numbers.token import Key
from agent.ports.search import Snippet

from .citations import Steps
from .evidence import evidence_for


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
_ONCE: Final = f"1 {TIMES}"
_KEPT_CHARACTERS: Final = 2000  # of an answer whose numbers are kept


class AnswerNumbers:
    """The numbers of an answer, and which of them each snippet supports; a snippet is read when this is asked.

    `found`: the numbers, with their rates once a snippet that states a rate was read: until then no rate is compared,
    but of "once a day", which a snippet may say without a number.
    `masks`: by the index of each snippet that was read, the numbers that it supports, as bits. An answer without a
    number needs no snippet, and reads none.
    """

    __slots__ = ("_is_rated", "_lookup", "_numbers", "_snippets", "found", "masks")

    def __init__(self, said: str, snippets: Sequence[Snippet]) -> None:
        self._numbers = _read_answer(said) if len(said) <= _KEPT_CHARACTERS else _NumbersOfText(said)
        self._snippets = snippets
        unrated = self._numbers.unrated
        self._is_rated = any(token.value == _ONCE for token in unrated)
        self.found = self._numbers.rated if self._is_rated else unrated
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
            mask = self.masks[index] = self._lookup.find_supported(evidence, snippet.text)
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

    def find_supported(self, evidence: SourceNumbers, text: str) -> int:
        """Return the tokens that a snippet supports, as bits. `text`: the snippet's."""
        mask = 0
        for key in evidence.keys & self._alone.keys():
            mask |= self._alone[key]
        for bit, token in self._others:
            if _supports(evidence, token) or _is_regular(evidence, token, text):
                mask |= bit
        return mask


def _is_regular(evidence: SourceNumbers, token: NumberToken, text: str) -> bool:
    """Tell whether `text` says "daily" of what an answer says "once a day" of, and never how many times."""
    if token.value != _ONCE or not token.rate:
        return False
    counts = any(isinstance(key, str) and key.endswith(f" {TIMES}") for key in evidence.keys)
    return not counts and token.rate <= find_regular_times(text)


def _supports(evidence: SourceNumbers, token: NumberToken) -> bool:
    """Tell whether a snippet supports a token."""
    keys, holds = evidence.keys, evidence.keys.issuperset
    for group in token.needs:
        if (group[0] in keys if len(group) == 1 else holds(group)) and (
            not token.rate or evidence.at_rate(group, token.rate)
        ):
            return True
    return token.kind is Kind.RANGE and evidence.holds(token)
