"""The number words of all languages, by table."""

from typing import Final

from .language_tables import merge_tables, unite_words

ONES: Final = merge_tables(lambda each: each.cardinals.ones)
ATOMS: Final = ONES | merge_tables(lambda each: each.cardinals.words)
"""The words that number words are composed of."""
CARDINALS: Final = merge_tables(lambda each: each.cardinals.words) | merge_tables(
    lambda each: each.cardinals.standalone
)
ORDINALS: Final = merge_tables(lambda each: each.ordinals.words)
ALTERNATING: Final = unite_words(lambda each: each.ordinals.every if each.ordinals.alternates else ())
"""Words that make an interval of "other" behind them."""
ORDINAL_SUFFIXES: Final = unite_words(lambda each: each.ordinals.suffixes)
ALSO_FRACTIONS: Final = unite_words(lambda each: each.ordinals.also_fractions)
FRACTIONS: Final = merge_tables(lambda each: each.fractions.words)
FRACTION_SUFFIXES: Final = unite_words(lambda each: each.fractions.suffixes)
HALF_PREFIXES: Final = tuple(unite_words(lambda each: each.fractions.half_prefixes))
FACTORS: Final = merge_tables(lambda each: each.factors.words)
FACTOR_SUFFIXES: Final = unite_words(lambda each: each.factors.suffixes)
QUANTITIES: Final = merge_tables(lambda each: each.groups.quantities)
GROUPS: Final = merge_tables(lambda each: each.groups.counts)
DECADES: Final = unite_words(lambda each: each.groups.decades)
VAGUE: Final = unite_words(lambda each: each.groups.vague)
MAGNITUDES: Final = merge_tables(lambda each: each.groups.magnitudes)
SLANG: Final = merge_tables(lambda each: each.groups.slang)
MONTHS: Final = merge_tables(lambda each: each.calendar.months)
CAPITALIZED: Final = unite_words(lambda each: each.calendar.capitalized)
"""Months that are months only with a capital."""

SUFFIX_STEMS: Final = tuple(unite_words(lambda each: each.cardinals.suffix_stems))
GROUP_SUFFIXES: Final = unite_words(lambda each: each.cardinals.group_suffixes)
PREFIXES: Final = unite_words(lambda each: each.cardinals.prefixes)
WEAK_PREFIXES: Final = unite_words(lambda each: each.cardinals.weak_prefixes)
AMBIGUOUS_ONES: Final = unite_words(lambda each: each.cardinals.ambiguous_ones)
SPELLINGS: Final = merge_tables(lambda each: each.cardinals.spellings)
NOT_NUMBERS: Final = unite_words(lambda each: each.cardinals.not_numbers)
