"""Mixes what the two arms of the index found into one ranking.

Strategy: the scores of each arm are brought to 0..1 by min-max over what it found, and added with a weight that
depends on the language: on Swedish, with its compounds, 4-grams rank better than stems, on English stems do. (On the
labelled Swedish questions any share of stems from 0.2 to 0.5 ranks alike: `python -m tests.bench.retrieval`. Adding
normalised scores beat adding reciprocal ranks, which lets the weaker arm speak as loudly.)
"""

from collections.abc import Mapping, Sequence

from agent.ports.search import Lang

STEM_WEIGHT: Mapping[Lang, float] = {"en": 0.6, "sv": 0.4}
"""Share of the stem arm in the sum; the 4-gram arm has the rest."""


def normalise(found: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Return the scores of one arm brought to 0..1, the best 1; the least found keeps a little above nothing."""
    if not found:
        return {}
    best = max(score for _, score in found)
    least = min(score for _, score in found)
    # The least hit is still a hit: the scale starts below it, at the share of the best that it has itself.
    floor = least * (least / best) if best > 0 else 0.0
    span = best - floor
    return {key: (score - floor) / span if span > 0 else 1.0 for key, score in found}


def fuse(
    stems: Sequence[tuple[int, float]], grams: Sequence[tuple[int, float]], lang: Lang
) -> dict[int, float]:
    """Return the mixed score, 0..1, of every piece that either arm found."""
    share = STEM_WEIGHT[lang]
    mixed = {key: share * score for key, score in normalise(stems).items()}
    for key, score in normalise(grams).items():
        mixed[key] = mixed.get(key, 0.0) + (1 - share) * score
    return mixed
