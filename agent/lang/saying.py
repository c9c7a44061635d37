"""The record of a language's speech: the words in which numbers, dates, times and signs are said aloud.

`agent.numbers.spoken_forms` writes a number in these words, and `agent.numbers.written_forms` reads them back. A field
called a pattern of words holds `{}` fields; it is no regular expression.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerals:
    """The words of cardinals, ordinals and fractions, and how they are joined."""

    ones: tuple[str, ...]  # zero to nineteen
    one: str  # one before a noun of the common gender
    tens: Mapping[int, str]  # twenty to ninety
    tens_joint: str  # between a ten and a one
    hundred: str  # pattern of words with {count}
    hundred_joint: str  # between hundreds and the rest
    # Value, words for one of it, and pattern of words with {count}; the largest first.
    scales: tuple[tuple[int, str, str], ...]
    rest_joint: str  # between a scale and a rest below a hundred
    ordinals: Mapping[int, str]  # by the value of a cardinal's last word
    parts: Mapping[int, tuple[str, str]]  # one part and several, by divisor
    with_part: str  # pattern of words with {whole} and {part}
    year: str  # pattern of words with {century} and {rest}, both of two digits
    fold: str  # pattern of words for a factor, with {count}
    decimal: str  # the word for the decimal mark
    minus: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockWords:
    """Times of day. Patterns of words with {hour} and {minute}."""

    opener: str  # word before every time, "" for none
    whole: str  # a whole hour
    parted: str  # an hour with minutes
    low_minute: str  # minutes below ten, with {minute}
    halves: tuple[str, ...]  # words behind the hours before and after noon; () where hours count to 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """All data of a language's speech."""

    numerals: Numerals
    clock: ClockWords
    months: tuple[str, ...]
    date: str  # pattern of words with {day} and {month}
    the: str  # word before a date
    to: str  # between the ends of a range
    by: str  # between the sides of a dimension
    # One and several of a unit, by the unit's canonical name; "%", "pp" and "‰" are units here.
    units: Mapping[str, tuple[str, str]]
    per: Mapping[str, str]  # words for the ends of names such as "km/h"
    neuter: frozenset[str]  # units whose "one" is the cardinal itself
    money: Mapping[
        str, tuple[str, str, str]
    ]  # one, several, and the hundredths, by code; "" where none are named
    with_hundredths: str  # pattern of words with {whole} and {hundredths}
    marks: Mapping[str, str]  # marks within a code that is said character by character
    signs: Mapping[str, str]  # signs beside words
    short_forms: Mapping[str, str]  # written abbreviations, folded
    mail_marks: Mapping[str, str]  # marks within a mail address
    link: str  # in place of an address of a page
    address: str  # in place of a mail address that cannot be said
    figure: str  # the sentence in place of one whose numbers cannot be said
    assents: frozenset[str]  # whole answers that confirm a suggestion which was read aloud, folded
    passage: str  # the sentence in place of one that is in another language or script
