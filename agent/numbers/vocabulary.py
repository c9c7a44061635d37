"""The number words of all languages, by table."""

from typing import Final

from .spoken import merged, united

ONES: Final = merged(lambda each: each.cardinals.ones)
ATOMS: Final = ONES | merged(lambda each: each.cardinals.words)
"""What number words are put together from."""
CARDINALS: Final = merged(lambda each: each.cardinals.words) | merged(lambda each: each.cardinals.whole)
ORDINALS: Final = merged(lambda each: each.ordinals.words)
ORDINAL_ENDS: Final = united(lambda each: each.ordinals.ends)
PARTS_TOO: Final = united(lambda each: each.ordinals.parts_too)
FRACTIONS: Final = merged(lambda each: each.parts.words)
PART_ENDS: Final = united(lambda each: each.parts.ends)
HALVES: Final = tuple(united(lambda each: each.parts.halves))
FACTORS: Final = merged(lambda each: each.factors.words)
FACTOR_ENDS: Final = united(lambda each: each.factors.ends)
QUANTITIES: Final = merged(lambda each: each.groups.quantities)
GROUPS: Final = merged(lambda each: each.groups.counts)
DECADES: Final = united(lambda each: each.groups.decades)
VAGUE: Final = united(lambda each: each.groups.vague)
MAGNITUDES: Final = merged(lambda each: each.groups.magnitudes)
SLANG: Final = merged(lambda each: each.groups.slang)
MONTHS: Final = merged(lambda each: each.calendar.months)
CAPITAL: Final = united(lambda each: each.calendar.capital)
"""Months that are months only with a capital."""

TAILS: Final = tuple(united(lambda each: each.cardinals.tails))
GROUP_ENDS: Final = united(lambda each: each.cardinals.groups)
HEADS: Final = united(lambda each: each.cardinals.heads)
WEAK_HEADS: Final = united(lambda each: each.cardinals.weak_heads)
DOUBTFUL: Final = united(lambda each: each.cardinals.doubtful)
SPELT: Final = merged(lambda each: each.cardinals.spelt)
SKIP: Final = united(lambda each: each.cardinals.plain)
