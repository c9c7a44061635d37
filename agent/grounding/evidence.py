"""What snippets hold, in the form that number tokens are looked up in.

A snippet's evidence is made once and kept: the cache is keyed by the snippet's text, bounded, and safe to drop.
"""

from dataclasses import dataclass
from functools import lru_cache

from agent.ports.search import Snippet
from agent.text.numbers import Token, tokens

KEPT = 65_536
"""Snippets whose tokens are kept; about 1 KiB each."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers of one snippet.

    keys: what they give. lows, highs: by value, the units with which it may be that end of a range.
    amounts: bare values.
    """

    keys: frozenset[str]
    lows: dict[str, frozenset[str]]
    highs: dict[str, frozenset[str]]
    amounts: frozenset[str]

    def supports(self, token: Token) -> bool:
        """Tell whether this snippet holds an answer's number, by type and value."""
        keys = self.keys
        for group in token.needs:
            for key in group:
                if key not in keys and not (key.startswith("pair ") and self._pair(key)):
                    break
            else:
                return True
        return False

    def _pair(self, key: str) -> bool:
        """Tell whether two numbers carry one known unit: `key` is "pair low high"."""
        _, low, high = key.split(" ")
        return not self.lows.get(low, frozenset()).isdisjoint(self.highs.get(high, frozenset()))

    def repeats(self, token: Token) -> bool:
        """Tell whether this snippet shows a token's value in any form, supported or not."""
        return self.supports(token) or not self.amounts.isdisjoint(token.amounts)


def shown(snippet: Snippet) -> str:
    """Return what a citation shows of a snippet, in one text: its lines and the headings above them."""
    return f"{snippet.text}\n\n{' › '.join(snippet.headings)}" if snippet.headings else snippet.text


@lru_cache(maxsize=KEPT)
def evidence_of(text: str) -> Evidence:
    """Return the evidence of a snippet's text, from the cache when it was read before."""
    return read(text)


def read(text: str) -> Evidence:
    """Return the evidence of a snippet's text, reading it anew."""
    keys: set[str] = set()
    amounts: set[str] = set()
    ends: dict[str, dict[str, set[str]]] = {"low": {}, "high": {}}
    for token in tokens(text, source=True):
        amounts.update(token.amounts)
        keys.update(token.gives)
        for key in token.gives:
            end, _, rest = key.partition(" ")
            if end in ends:
                sort, value, unit = rest.split(" ", 2)
                if sort in "qm":
                    ends[end].setdefault(value, set()).add(sort + unit)
    lows, highs = ({value: frozenset(units) for value, units in ends[end].items()} for end in ("low", "high"))
    return Evidence(frozenset(keys), lows, highs, frozenset(amounts))
