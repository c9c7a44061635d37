"""How a language counts: its number words, units, money, rates, dates and what stands around a number.

One record for each group of words, which the rows of `agent.numbers` build their tables from, over all languages. What
is written alike everywhere (SI symbols, currency signs and codes, "%") stands there, not here. Words are folded, as
they are matched whatever their case, unless a field says exact. Where a field holds phrases, each is matched as it is
written; where it says pattern, it is the alternatives of a regular expression, "" for none.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cardinals:
    """Number words (`agent.numbers.number_words`, `agent.numbers.runs`).

    words: zero and from two on, which follow one another and are written together: the largest first, from twenty on
    with a one behind, so that what ten and a one make is a word of its own ("fourteen"). ones: an article, too;
    pronouns: of these, which are no article ("one"). whole: that no longer word begins with. heads: which may begin a
    word that goes on with any three letters; weak_heads: of these, only with a further number word. doubtful: of ones,
    which begin too many other words to be read together with one small number word. tails: beginnings of what may
    follow any number in one word. groups: ends that make a round group of it. spelt: beginnings of words, and as what
    they are read. plain: words that only look like one. own: words of other languages that are none in their lines.
    lookalikes: exact, of letters that look like digits; romans: exact, that look like a Roman numeral.
    articles: that are no number. points: said for the decimal point. minus: said for the sign.
    """

    words: Mapping[str, int]
    ones: Mapping[str, int]
    pronouns: frozenset[str]
    whole: Mapping[str, int]
    heads: frozenset[str]
    weak_heads: frozenset[str]
    doubtful: frozenset[str]
    tails: frozenset[str]
    groups: frozenset[str]
    spelt: Mapping[str, str]
    plain: frozenset[str]
    own: frozenset[str]
    lookalikes: frozenset[str]
    romans: frozenset[str]
    articles: frozenset[str]
    points: frozenset[str]
    minus: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ordinals:
    """words: by place. ends: behind a number word; digit_ends: pattern of those behind digits.

    parts_too: of words below the fourth, which also name a part ("a third"). before_part: pattern of the words before
    which one of these names a part after an article; before_any_part: the same of ordinals from the fourth on.
    """

    words: Mapping[str, int]
    ends: frozenset[str]
    digit_ends: str
    parts_too: frozenset[str]
    before_part: str
    before_any_part: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Fractions. words: by what they divide by. ends: behind a number word. halves: that begin a unit's word."""

    words: Mapping[str, int]
    ends: frozenset[str]
    halves: frozenset[str]


@dataclass(frozen=True, slots=True)
class Factors:
    """words: by their factor, a negative one divides. ends: behind a number word; digit_ends: pattern, behind digits.

    idioms: pattern of what follows a factor that is none ("double click").
    """

    words: Mapping[str, int]
    ends: frozenset[str]
    digit_ends: str
    idioms: str


@dataclass(frozen=True, slots=True)
class Groups:
    """Round and vague numbers, and groups of things.

    counts: how many. quantities: how many of which unit ("$SEK" is money). decades: that name ten years. decade_ends:
    pattern behind digits. vague: words before a scale. scales: powers of ten that may stand behind these. magnitudes:
    words for a power of ten; with_more: of these, which are one only before another. powers: that multiply what stands
    before them. slang: powers of ten, where no noun follows; ends_slang: words that may.
    """

    counts: Mapping[str, str]
    quantities: Mapping[str, tuple[str, str]]
    decades: frozenset[str]
    decade_ends: str
    vague: frozenset[str]
    scales: Mapping[str, int]
    magnitudes: Mapping[str, int]
    with_more: frozenset[str]
    powers: Mapping[str, int]
    slang: Mapping[str, int]
    ends_slang: frozenset[str]


@dataclass(frozen=True, slots=True)
class Percents:
    """words: for per cent, mille: for thousandths, points: for percentage points or, behind "per cent", for these.

    point_words: of points, which say so alone. stems, point_stems: beginnings of longer words. phrases, mille_phrases:
    of several words. sign_ends: behind the sign, "-ig".
    """

    words: frozenset[str]
    mille: frozenset[str]
    points: frozenset[str]
    point_words: frozenset[str]
    stems: frozenset[str]
    point_stems: frozenset[str]
    phrases: frozenset[str]
    mille_phrases: frozenset[str]
    sign_ends: frozenset[str]


@dataclass(frozen=True, slots=True)
class Units:
    """Units by their canonical names (`agent.numbers.units`), which languages share.

    words: of each, separated by spaces. exact: by the word exactly as written. stems: by the beginning of longer words;
    not_units: that only begin so. weak: exact, that are words or letters, too. glued: by words that are other ones
    behind a space. joined: of two letters, which are a unit behind a number in one word. per: by the word behind "/".
    powers: of a length, by the word before it. working: words before a day that make a workday of it. calendar: that
    make a calendar day of it. fillers: that change nothing. below_zero, above_zero: degrees. idioms: units that are
    none behind an article.
    """

    words: Mapping[str, str]
    exact: Mapping[str, str]
    stems: Mapping[str, str]
    not_units: frozenset[str]
    weak: frozenset[str]
    glued: Mapping[str, str]
    joined: frozenset[str]
    per: Mapping[str, str]
    powers: Mapping[str, str]
    working: frozenset[str]
    calendar: frozenset[str]
    fillers: frozenset[str]
    below_zero: frozenset[str]
    above_zero: frozenset[str]
    idioms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Money:
    """Currencies by their ISO codes.

    words: of each. before: exact, that may stand before the number. nations: before a currency, which of its kind it
    is. scaled: power of ten and currency in one word. joined: ends behind a number word; joined_stems: beginnings of
    such ends.
    """

    words: Mapping[str, str]
    before: frozenset[str]
    nations: Mapping[str, Mapping[str, str]]
    scaled: Mapping[str, tuple[int, str]]
    joined: Mapping[str, str]
    joined_stems: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Rates:
    """What a number is per (`agent.numbers.rates`); things have the names that languages share, the English ones.

    per: phrases before what it is per. each: before it, behind a number only. every: before a time. things: by the
    word. adverbs: that say it ("monthly"). compounds: beginnings of the name of a charge. charges: pattern of what
    stands behind these. named: pattern of names of charges; stems: that all names of charges hold. stops: words that
    do not stand between a number and its rate. asides: abbreviations that may.
    """

    per: frozenset[str]
    each: frozenset[str]
    every: frozenset[str]
    things: Mapping[str, str]
    adverbs: Mapping[str, str]
    compounds: Mapping[str, str]
    charges: str
    named: str
    stems: frozenset[str]
    stops: frozenset[str]
    asides: frozenset[str]


@dataclass(frozen=True, slots=True)
class Joints:
    """What stands between numbers, or before one: phrases.

    both: "and"; besides: other words for it, which only stand before the last item of a list. either: "or". to: makes a
    range. between: opens one. about: before an end of one, and of no account. of: before what is counted. the: after
    it. by: between the sides of a dimension. within: before the unit of a label.
    """

    both: frozenset[str]
    besides: frozenset[str]
    either: frozenset[str]
    to: frozenset[str]
    between: frozenset[str]
    about: frozenset[str]
    of: frozenset[str]
    the: frozenset[str]
    by: frozenset[str]
    within: frozenset[str]


@dataclass(frozen=True, slots=True)
class Calendar:
    """Dates and times of day (`agent.numbers.dates`).

    months: by their place in the year, names and abbreviations. dotted: of these, of four letters or more, which are
    abbreviations. capital: which are months with a capital only. day_of: phrases between a day and its month. the:
    before a day. after: words before which a further number is a day. day_ends: pattern behind a day's digits.
    before_noon, after_noon: patterns with the space before them. opening: words after which "9.30" is a time; clock: of
    these, after which "9-17" are hours.
    """

    months: Mapping[str, int]
    dotted: frozenset[str]
    capital: frozenset[str]
    day_of: frozenset[str]
    the: frozenset[str]
    after: frozenset[str]
    day_ends: str
    before_noon: str
    after_noon: str
    opening: frozenset[str]
    clock: frozenset[str]


@dataclass(frozen=True, slots=True)
class Labels:
    """What numbers that count nothing belong to.

    parts: of a text, before their number. letters: exact words that are no number behind these where another word
    follows; but_before: words that do not count as that. versions: before a version. calls: before a telephone number.
    accounts: pattern of the ends of words before a number of an account. abbreviations: before a full stop and a
    number. not_units: words of a few letters that look like a unit's symbol. sources: pattern of what marks that count
    sources may say. steps: of instructions, before their number; and what is said in place of one and of several of
    them with it.
    """

    parts: frozenset[str]
    letters: frozenset[str]
    but_before: frozenset[str]
    versions: frozenset[str]
    calls: frozenset[str]
    accounts: str
    abbreviations: frozenset[str]
    not_units: frozenset[str]
    sources: str
    step: frozenset[str]
    steps: frozenset[str]
    that_step: str
    those_steps: str


@dataclass(frozen=True, slots=True)
class Counting:
    """All of how a language counts.

    decimal: its mark of decimals, "." or ",". line_words: frequent ones, which tell that a line is in it, where a lone
    mark may part thousands or decimals.
    """

    cardinals: Cardinals
    ordinals: Ordinals
    parts: Parts
    factors: Factors
    groups: Groups
    percents: Percents
    units: Units
    money: Money
    rates: Rates
    joints: Joints
    calendar: Calendar
    labels: Labels
    decimal: str
    line_words: frozenset[str]
