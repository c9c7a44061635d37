"""The record of a language's counting: number words, units, money, rates, dates, and the words around a number.

There is one record for each group of words; `agent.numbers` builds the tables of its rows from them, over all
languages. Signs that all languages write alike (SI symbols, currency signs and codes, "%") are in `agent.numbers`.

Three kinds of fields hold text. Words and phrases are literal; they are folded, as they are matched in any case,
unless the field is "exact". Prefixes and stems are the beginnings of longer words. A pattern holds the alternatives of
a regular expression, "" for none.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinals:
    """Number words (`agent.numbers.number_words`, `agent.numbers.runs`), and how they are written together.

    A language that writes `femårsgaranti` for "a guarantee of five years" has `prefixes`, and `suffix_stems` for the
    words that follow a number word of any length.
    """

    # Zero and the numbers from two on. They follow one another and are written together: the largest first, from twenty
    # on with a ones word behind; ten with a ones word is a word of its own ("fourteen").
    words: Mapping[str, int]
    ones: Mapping[str, int]  # words for one, which may be an article
    pronouns: frozenset[str]  # those of `ones` that are no article ("one")
    singles: frozenset[str]  # words that say that a noun is one alone ("a single tablet")
    plural_endings: tuple[tuple[str, str], ...]  # of a noun: that of the singular, that of the plural
    standalone: Mapping[str, int]  # number words that begin no longer word
    prefixes: frozenset[str]  # words that may begin a word with any three letters behind them
    weak_prefixes: frozenset[str]  # those of `prefixes` that need a further number word
    ambiguous_ones: frozenset[
        str
    ]  # those of `ones` that begin too many words to be joined with one small number word
    suffix_stems: frozenset[str]  # beginnings of endings that any number word may have
    group_suffixes: frozenset[str]  # endings that make a round group of a number
    spellings: Mapping[str, str]  # usual spellings, by the beginning of the word that is spelt otherwise
    not_numbers: frozenset[str]  # words that only look like numbers
    homographs: frozenset[str]  # number words that are other words in lines of another language
    not_digits: frozenset[str]  # exact words whose letters look like digits ("SOS")
    not_romans: frozenset[str]  # exact words that look like Roman numerals ("MIX")
    articles: frozenset[str]  # words before a number or unit that are no number
    decimal_points: frozenset[str]  # words for the decimal point
    minus_words: frozenset[str]  # words for the sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinals:
    """Ordinals, and the fractions that they name.

    "First", "second" and "third" are often plain words: `determiners` and the fields after it tell when they count.
    """

    words: Mapping[str, int]  # by place
    suffixes: frozenset[str]  # endings of a number word
    digit_suffixes: str  # pattern of endings behind digits
    also_fractions: frozenset[str]  # ordinals below the fourth that also name a fraction ("a third")
    fraction_followers: str  # pattern of the words behind "a third" that make it a fraction
    higher_fraction_followers: str  # the same from the fourth on
    every: frozenset[str]  # words before an ordinal that make it an interval
    alternates: str  # pattern of the words behind `every` that stand for the second ("other")
    determiners: frozenset[str]  # words before a small ordinal that make it count the noun behind it
    counted_nouns: Mapping[
        str, str
    ]  # by small ordinal, pattern of the nouns before which it needs no determiner
    other_words: frozenset[str]  # small ordinals that mean "other" before another noun
    idioms: str  # pattern of the phrases in which a small ordinal counts nothing


@dataclass(frozen=True, slots=True)
class Fractions:
    """Fractions that are no ordinals, and halves of a unit."""

    words: Mapping[str, int]  # by divisor
    suffixes: frozenset[str]  # endings of a number word
    half_prefixes: frozenset[str]  # beginnings of a unit's word that halve it


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """Factors such as "double" and "tenfold", and words that tell how often something is."""

    words: Mapping[str, int]  # by factor; a negative factor divides
    suffixes: frozenset[str]  # endings of a number word
    digit_suffixes: str  # pattern of endings behind digits
    idioms: str  # pattern of the words behind which a factor is no number ("double click")
    frequencies: Mapping[str, int]  # how many times, before a rate only ("once" a day)
    occasion: str  # pattern of the word behind `Cardinals.ones` that makes the two such a word ("one time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Round and vague numbers, and groups of things."""

    counts: Mapping[str, str]  # numbers of things ("dozen")
    quantities: Mapping[str, tuple[str, str]]  # number and unit ("fortnight"); the unit "$SEK" is money
    decades: frozenset[str]  # words for ten years ("nineties")
    decade_suffixes: str  # pattern of endings behind digits
    vague: frozenset[str]  # words before a vague scale ("several")
    vague_scales: Mapping[str, int]  # powers of ten behind a vague word
    magnitudes: Mapping[str, int]  # words for a power of ten ("thousands")
    compound_magnitudes: frozenset[str]  # magnitudes that count only before another ("tens of thousands")
    multipliers: Mapping[str, int]  # powers of ten that multiply the number before them
    slang: Mapping[str, int]  # powers of ten, unless a noun follows ("grand")
    slang_followers: frozenset[str]  # words that may follow slang


@dataclass(frozen=True, slots=True, kw_only=True)
class Percents:
    """Words for per cent, per mille and percentage points."""

    words: frozenset[str]
    per_mille: frozenset[str]
    points: frozenset[str]  # words for percentage points, alone or behind "per cent"
    standalone_points: frozenset[str]  # those of `points` that need no "per cent"
    prefixes: frozenset[str]  # beginnings of longer words for per cent
    point_prefixes: frozenset[str]  # beginnings of longer words for percentage points
    phrases: frozenset[str]  # forms of several words
    per_mille_phrases: frozenset[str]
    sign_suffixes: frozenset[str]  # endings behind the sign ("-ig")


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Units by their canonical names (`agent.numbers.units`), which languages share."""

    words: Mapping[str, str]  # of each unit, separated by spaces
    exact: Mapping[str, str]  # by the word exactly as written
    prefixes: Mapping[str, str]  # by the beginning of longer words
    not_units: frozenset[str]  # words with such a beginning that are no units
    weak: frozenset[str]  # exact units that are also words or letters
    glued: Mapping[str, str]  # units directly behind a number that are other words behind a space
    suffixes: frozenset[str]  # units of two letters that may end a number word
    per_units: Mapping[str, str]  # by the word behind "/"
    powers: Mapping[str, str]  # of a length, by the word before it ("square")
    workday_words: frozenset[str]  # words before a day that make it a workday
    calendar_words: frozenset[str]  # words before a day that make it a calendar day
    fillers: frozenset[str]  # words before a unit that do not change it
    below_zero: frozenset[str]  # words for degrees, and phrases behind them
    above_zero: frozenset[str]
    idioms: frozenset[str]  # units that count nothing behind an article


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Currencies by their ISO codes."""

    words: Mapping[str, str]
    leading: frozenset[str]  # exact words that may stand before the number
    nations: Mapping[
        str, Mapping[str, str]
    ]  # adjectives: from a currency to the currency that they make of it
    scaled_words: Mapping[str, tuple[int, str]]  # power of ten and currency in one word
    suffixes: Mapping[str, str]  # endings of a number word
    suffix_stems: Mapping[str, str]  # beginnings of such endings


@dataclass(frozen=True, slots=True, kw_only=True)
class RateWords:
    """The units that a number is per (`agent.numbers.rates`).

    People and things have names that languages share, the English ones.
    """

    per: frozenset[str]  # phrases before a unit
    each: frozenset[str]  # phrases before a unit, behind a number only
    every: frozenset[str]  # words before a time
    things: Mapping[str, str]  # people and things, by the word
    adverbs: Mapping[str, str]  # units of words such as "monthly"
    charge_prefixes: Mapping[str, str]  # units, by the beginning of a charge's name (`månadsavgift`)
    charge_suffixes: str  # pattern of the endings of such names
    charge_names: str  # pattern of the names of charges
    charge_stems: frozenset[str]  # parts of which every name of a charge contains one
    stop_words: frozenset[str]  # words that cannot stand between a number and its rate
    asides: frozenset[str]  # abbreviations that can


@dataclass(frozen=True, slots=True, kw_only=True)
class Joints:
    """Phrases between numbers, or before a number."""

    conjunctions: frozenset[str]  # "and"
    disjunctions: frozenset[str]  # "or"
    range_words: frozenset[str]  # between the ends of a range ("to")
    range_openers: frozenset[str]  # before the ends of a range ("between")
    approximations: frozenset[str]  # before an end of a range, without effect ("about")
    of: frozenset[str]  # before a counted thing
    the: frozenset[str]  # articles behind `of`
    by: frozenset[str]  # between the sides of a dimension
    within: frozenset[str]  # before the unit of a label


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Dates and times of day (`agent.numbers.dates`)."""

    months: Mapping[str, int]  # names and abbreviations, by place in the year
    dotted: frozenset[str]  # abbreviations of four letters or more
    capitalized: frozenset[str]  # words that are months with a capital only ("May")
    day_of: frozenset[str]  # phrases between a day and its month
    the: frozenset[str]  # words before a day
    day_followers: frozenset[str]  # words before which a further number is a day ("May 5 and 6 at noon")
    day_suffixes: str  # pattern of endings of a day's digits
    before_noon: str  # pattern, with the space before it
    after_noon: str  # pattern, with the space before it
    time_openers: frozenset[str]  # words behind which "9.30" is a time
    hour_openers: frozenset[str]  # those of `time_openers` behind which "9-17" are hours
    clock_words: Mapping[str, int]  # names of times ("noon"), in hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Words before numbers that count nothing."""

    text_parts: frozenset[str]  # names of parts of a text, before their number
    letters: frozenset[
        str
    ]  # exact words that are no number behind `text_parts` where a further word follows ("I")
    not_followers: frozenset[str]  # words that do not count as such a further word
    versions: frozenset[str]  # words before a version
    phone_words: frozenset[str]  # words before a telephone number
    account_suffixes: str  # pattern of the endings of words before an account number
    abbreviations: frozenset[str]  # words before a full stop and a number
    not_units: frozenset[str]  # words of a few letters that look like a unit's symbol
    sources: str  # pattern of the words in marks that count sources
    step_words: frozenset[str]  # words for a step of instructions, before its number
    plural_step_words: frozenset[str]  # words for several steps, before their numbers
    that_step: str  # replaces a step word and its number
    those_steps: str  # replaces step words and their numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """All data of a language's counting."""

    cardinals: Cardinals
    ordinals: Ordinals
    fractions: Fractions
    factors: Factors
    groups: Groups
    percents: Percents
    units: Units
    money: Money
    rates: RateWords
    joints: Joints
    calendar: Calendar
    labels: Labels
    decimal: str  # the decimal mark, "." or ","
    # Frequent words, which show that a line is in this language: that decides whether a lone mark in it parts thousands
    # or decimals.
    line_words: frozenset[str]
