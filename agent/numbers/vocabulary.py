"""The number words of all languages, by table."""

from typing import Final

from .language_tables import merge_tables, unite_words

ONES: Final = merge_tables(lambda each: each.cardinals.ones)
ATOMS: Final = ONES | merge_tables(lambda each: each.cardinals.words)
"""The words that number words are composed of."""
CARDINALS: Final = merge_tables(lambda each: each.cardinals.words) | merge_tables(
    lambda each: each.cardinals.whole
)
ORDINALS: Final = merge_tables(lambda each: each.ordinals.words)
ALTERNATING: Final = unite_words(lambda each: each.ordinals.every if each.ordinals.other else ())
"""Words that make an interval of "other" behind them."""
ORDINAL_ENDS: Final = unite_words(lambda each: each.ordinals.ends)
PARTS_TOO: Final = unite_words(lambda each: each.ordinals.parts_too)
FRACTIONS: Final = merge_tables(lambda each: each.parts.words)
PART_ENDS: Final = unite_words(lambda each: each.parts.ends)
HALVES: Final = tuple(unite_words(lambda each: each.parts.halves))
FACTORS: Final = merge_tables(lambda each: each.factors.words)
FACTOR_ENDS: Final = unite_words(lambda each: each.factors.ends)
QUANTITIES: Final = merge_tables(lambda each: each.groups.quantities)
GROUPS: Final = merge_tables(lambda each: each.groups.counts)
DECADES: Final = unite_words(lambda each: each.groups.decades)
VAGUE: Final = unite_words(lambda each: each.groups.vague)
MAGNITUDES: Final = merge_tables(lambda each: each.groups.magnitudes)
SLANG: Final = merge_tables(lambda each: each.groups.slang)
MONTHS: Final = merge_tables(lambda each: each.calendar.months)
CAPITAL: Final = unite_words(lambda each: each.calendar.capital)
"""Months that are months only with a capital."""

TAILS: Final = tuple(unite_words(lambda each: each.cardinals.tails))
GROUP_ENDS: Final = unite_words(lambda each: each.cardinals.groups)
HEADS: Final = unite_words(lambda each: each.cardinals.heads)
WEAK_HEADS: Final = unite_words(lambda each: each.cardinals.weak_heads)
DOUBTFUL: Final = unite_words(lambda each: each.cardinals.doubtful)
SPELT: Final = merge_tables(lambda each: each.cardinals.spelt)
SKIP: Final = unite_words(lambda each: each.cardinals.plain)
