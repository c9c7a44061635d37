"""What snippets hold, in the form that number tokens are looked up in.

A snippet's evidence is made once and kept: the cache is keyed by what its citation shows, bounded, and safe to drop.
"""

from functools import lru_cache

from agent.numbers.columns import NOTHING, sums_in
from agent.numbers.given import Given, given
from agent.numbers.rates import rates_in
from agent.numbers.read import Kind, tokens
from agent.ports.search import Snippet

KEPT = 65_536
"""Snippets whose tokens are kept; about 1 KiB each."""
_RATED = frozenset((Kind.NUMBER, Kind.MONEY, Kind.QUANTITY, Kind.PERCENT, Kind.RANGE))


def shown(snippet: Snippet) -> str:
    """Return what a citation shows of a snippet, in one text: its lines and the headings above them."""
    return f"{snippet.text}\n\n{' › '.join(snippet.headings)}" if snippet.headings else snippet.text


def evidence_for(snippet: Snippet) -> Given:
    """Return the evidence of a snippet: of what its citation shows.

    A row whose cells only stand apart by spaces or tags is also read as it is said, "Basic; Price (kr): 149": the same
    lines, with each number beside the header of its column.
    """
    apart = snippet.kind == "row" and "|" not in snippet.text and snippet.said != snippet.text
    return evidence_of(shown(snippet), snippet.headings, snippet.said if apart else "")


@lru_cache(maxsize=KEPT)
def evidence_of(text: str, headings: tuple[str, ...] = (), said: str = "") -> Given:
    """Return the evidence of a text, from the cache when it was read before."""
    return read(text, headings, said)


def read(text: str, headings: tuple[str, ...] = (), said: str = "") -> Given:
    """Return the evidence of a text, reading it anew.

    headings: what may say what its numbers are per, and what its sums are in; of that the nearest. said: the same lines
    with their headers beside them.
    """
    heading = next((sums for each in reversed(headings) if (sums := sums_in(each)) is not NOTHING), NOTHING)
    found = tokens(text, source=True, heading=heading)
    if said:
        found += tokens(said, source=True, heading=heading)
    rate = frozenset().union(*map(rates_in, headings))
    if rate:
        found = tuple([t._replace(rate=rate) if not t.rate and t.kind in _RATED else t for t in found])
    return given(found)
