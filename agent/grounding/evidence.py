"""The numbers of snippets, in the form in which number tokens are looked up.

A snippet's evidence is made once and cached: the cache is keyed by the citation's text, bounded, and safe to drop.
"""

from functools import lru_cache

from msgspec.structs import replace

from agent.numbers.columns import NOTHING, sums_in
from agent.numbers.number_tokens import Kind, tokens
from agent.numbers.rates import find_rates
from agent.numbers.source_numbers import SourceNumbers, collect_keys
from agent.ports.search import Snippet

CACHED_TEXTS = 65_536
"""Size of the cache in texts; about 1 KiB each."""
_RATED = frozenset((Kind.NUMBER, Kind.MONEY, Kind.QUANTITY, Kind.PERCENT, Kind.RANGE))


def citation_text(snippet: Snippet) -> str:
    """Return the text of a snippet's citation: its lines and the headings above them."""
    return f"{snippet.text}\n\n{' › '.join(snippet.headings)}" if snippet.headings else snippet.text


def evidence_for(snippet: Snippet) -> SourceNumbers:
    """Return the evidence of a snippet, from the text of its citation.

    A row with cells that only spaces or tags separate is also read in its spoken form, "Basic; Price (kr): 149": the
    same lines, with each number beside the header of its column.
    """
    apart = snippet.kind == "row" and "|" not in snippet.text and snippet.plain_text != snippet.text
    return evidence_of(citation_text(snippet), snippet.headings, snippet.plain_text if apart else "")


@lru_cache(maxsize=CACHED_TEXTS)
def evidence_of(text: str, headings: tuple[str, ...] = (), said: str = "") -> SourceNumbers:
    """Return the evidence of a text, cached."""
    return read_evidence(text, headings, said)


def read_evidence(text: str, headings: tuple[str, ...] = (), said: str = "") -> SourceNumbers:
    """Return the evidence of a text, without the cache.

    `headings`: outermost first; they may give the rate of the numbers ("per month"), and the nearest with a unit of
    sums ("in thousands") counts. `said`: the same lines with their headers beside them.
    """
    heading = next((sums for each in reversed(headings) if (sums := sums_in(each)) is not NOTHING), NOTHING)
    found = tokens(text, source=True, heading=heading)
    if said:
        found += tokens(said, source=True, heading=heading)
    rate = frozenset().union(*map(find_rates, headings))
    if rate:
        found = tuple([replace(t, rate=rate) if not t.rate and t.kind in _RATED else t for t in found])
    return collect_keys(found)
