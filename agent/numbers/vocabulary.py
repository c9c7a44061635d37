"""Tables of the number words of all languages, merged from `agent.lang`; all are keyed by lower-case words."""

from typing import Final

from .language_tables import merge_tables, unite_words

ONES: Final = merge_tables(lambda each: each.cardinals.ones)
"""Words for one, which may be articles."""
ATOMS: Final = ONES | merge_tables(lambda each: each.cardinals.words)
"""The values of the words that number words are composed of."""
CARDINALS: Final = merge_tables(lambda each: each.cardinals.words) | merge_tables(
    lambda each: each.cardinals.standalone
)
"""The values of all cardinals in one word, except `ONES`."""
ORDINALS: Final = merge_tables(lambda each: each.ordinals.words)
EVERY_WORDS: Final = unite_words(lambda each: each.ordinals.every if each.ordinals.alternates else ())
"""Words that make an interval of "other" behind them ("every other")."""
ORDINAL_SUFFIXES: Final = unite_words(lambda each: each.ordinals.suffixes)
ALSO_FRACTIONS: Final = unite_words(lambda each: each.ordinals.also_fractions)
"""Ordinals below the fourth that also name a fraction ("third")."""
FRACTIONS: Final = merge_tables(lambda each: each.fractions.words)
"""The divisors of fractions that are no ordinals."""
FRACTION_SUFFIXES: Final = unite_words(lambda each: each.fractions.suffixes)
HALF_PREFIXES: Final = tuple(unite_words(lambda each: each.fractions.half_prefixes))
"""Beginnings of a unit's word that halve the unit."""
FACTORS: Final = merge_tables(lambda each: each.factors.words)
"""The factors of words such as "double"; a negative factor divides."""
FREQUENCIES: Final = merge_tables(lambda each: each.factors.frequencies)
"""How many times words such as "once" tell before a rate."""
FACTOR_SUFFIXES: Final = unite_words(lambda each: each.factors.suffixes)

GROUP_COUNTS: Final = merge_tables(lambda each: each.groups.counts)
"""The sizes of groups of things ("dozen")."""
GROUP_QUANTITIES: Final = merge_tables(lambda each: each.groups.quantities)
"""The values and units of words that state both ("fortnight")."""
DECADES: Final = unite_words(lambda each: each.groups.decades)
VAGUE_WORDS: Final = unite_words(lambda each: each.groups.vague)
"""Words before a vague scale ("several" thousand)."""
MAGNITUDES: Final = merge_tables(lambda each: each.groups.magnitudes)
"""The powers of ten of words such as "thousands"."""
SLANG: Final = merge_tables(lambda each: each.groups.slang)
"""The powers of ten of words such as "grand", which are other words before a noun."""
MONTHS: Final = merge_tables(lambda each: each.calendar.months)
"""The numbers of the months, by name and abbreviation."""
CLOCK_WORDS: Final = merge_tables(lambda each: each.calendar.clock_words)
"""The hours of the names of times ("noon")."""
CAPITALIZED_MONTHS: Final = unite_words(lambda each: each.calendar.capitalized)
"""Words that are months with a capital only ("May")."""

# How a language writes number words together with others.
SUFFIX_STEMS: Final = tuple(unite_words(lambda each: each.cardinals.suffix_stems))
"""Beginnings of the endings that any number word may have."""
GROUP_SUFFIXES: Final = unite_words(lambda each: each.cardinals.group_suffixes)
"""Endings that make a round group of a number."""
COMPOUND_PREFIXES: Final = unite_words(lambda each: each.cardinals.prefixes)
"""Number words that may begin a longer word, before any three or more letters."""
WEAK_PREFIXES: Final = unite_words(lambda each: each.cardinals.weak_prefixes)
"""Those of `COMPOUND_PREFIXES` that need a second number word."""
AMBIGUOUS_ONES: Final = unite_words(lambda each: each.cardinals.ambiguous_ones)
"""Those of `ONES` that begin too many words to be joined with one small number word."""
SPELLINGS: Final = merge_tables(lambda each: each.cardinals.spellings)
"""The usual spellings, by the beginning of a word that is spelt otherwise."""
NOT_NUMBERS: Final = unite_words(lambda each: each.cardinals.not_numbers)
"""Words that only look like numbers."""
