"""The record of a language's counting: number words, units, money, rates, dates, and the words around a number.

There is one record for each group of words; `agent.numbers` builds the tables of its rows from them, over all
languages. Signs that all languages write alike (SI symbols, currency signs and codes, "%") are in `agent.numbers`.
Words are folded, as they are matched in any case, unless a field says "exact". A field of phrases holds literal texts;
a field called a pattern holds the alternatives of a regular expression, "" for none.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinals:
    """Number words (`agent.numbers.number_words`, `agent.numbers.runs`).

    `words`: zero and the numbers from two on, which follow one another and are written together: the largest first,
    from twenty on with one that goes on with a ones word, while ten and a ones word form a word of their own
    ("fourteen"). `ones`: the words for one, which may be an article; `pronouns`: those of them that are no article
    ("one"). `whole`: number words that begin no longer word. `heads`: words that may begin a word with any three
    letters after them; `weak_heads`: those of them that need a further number word. `doubtful`: words of `ones` that
    begin too many other words to be joined with one small number word. `tails`: beginnings of endings that any number
    word may have. `groups`: endings that make a round group of a number. `spelt`: beginnings of words, and their usual
    spelling. `plain`: words that only look like numbers. `own`: number words that are other words in lines of another
    language. `lookalikes`: exact words of letters that look like digits; `romans`: exact words that look like Roman
    numerals. `articles`: words before a number or unit that are no number. `points`: words for the decimal point.
    `minus`: words for the sign.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordinals:
    """Ordinals, and the fractions that they name.

    `words`: by place. `ends`: endings of a number word; `digit_ends`: pattern of those after digits.
    `parts_too`: words below the fourth that also name a part ("a third"). `before_part`: pattern of the words before
    which one of these names a part after an article; `before_any_part`: the same for ordinals from the fourth on.
    `every`: words before an ordinal that make it an interval; `other`: pattern of the words behind them that stand for
    the second. The first three are often plain words: `determiners`: words before one of them that make it count the
    noun behind it; `counted`: by the word, pattern of the nouns before which it needs none; `others`: those of them
    that mean "other" before another noun; `idioms`: pattern of the phrases in which one counts nothing.
    """

    words: Mapping[str, int]
    ends: frozenset[str]
    digit_ends: str
    parts_too: frozenset[str]
    before_part: str
    before_any_part: str
    every: frozenset[str]
    other: str
    determiners: frozenset[str]
    counted: Mapping[str, str]
    others: frozenset[str]
    idioms: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Fractions.

    `words`: by their divisor. `ends`: endings of a number word. `halves`: beginnings of a unit's word.
    """

    words: Mapping[str, int]
    ends: frozenset[str]
    halves: frozenset[str]


@dataclass(frozen=True, slots=True)
class Factors:
    """Factors such as "double" and "tenfold".

    `words`: by their factor; a negative one divides. `ends`: endings of a number word; `digit_ends`: pattern of those
    after digits. `idioms`: pattern of the words after which a factor is no number ("double click").
    """

    words: Mapping[str, int]
    ends: frozenset[str]
    digit_ends: str
    idioms: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Round and vague numbers, and groups of things.

    `counts`: by their number. `quantities`: by number and unit ("$SEK" is money). `decades`: words for ten years.
    `decade_ends`: pattern of endings after digits. `vague`: words before a scale. `scales`: powers of ten that may
    follow these. `magnitudes`: words for a power of ten; `with_more`: those of them that count only before another.
    `powers`: words that multiply the number before them. `slang`: powers of ten, unless a noun follows; `ends_slang`:
    words that may follow them.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Percents:
    """Words for per cent and its relatives.

    `words`: for per cent. `mille`: for thousandths. `points`: for percentage points, alone or after "per cent".
    `point_words`: those of `points` that need no "per cent". `stems`, `point_stems`: beginnings of longer words.
    `phrases`, `mille_phrases`: forms of several words. `sign_ends`: endings after the sign, "-ig".
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Units by their canonical names (`agent.numbers.units`), which languages share.

    `words`: of each unit, separated by spaces. `exact`: by the word exactly as written. `stems`: by the beginning of
    longer words; `not_units`: words with such a beginning that are no units. `weak`: exact units that are also words or
    letters. `glued`: units directly after a number that are other words after a space. `joined`: units of two letters
    that may end a number word. `per`: by the word after "/". `powers`: of a length, by the word before it. `working`:
    words before a day that make it a workday. `calendar`: words that make it a calendar day. `fillers`: words before a
    unit that do not change it. `below_zero`, `above_zero`: words for degrees, and phrases after them. `idioms`: units
    that count nothing after an article.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Currencies by their ISO codes.

    `words`: of each currency. `before`: exact words that may stand before the number. `nations`: adjectives before a
    currency, with the currency they make of it. `scaled`: power of ten and currency in one word. `joined`: endings of a
    number word; `joined_stems`: beginnings of such endings.
    """

    words: Mapping[str, str]
    before: frozenset[str]
    nations: Mapping[str, Mapping[str, str]]
    scaled: Mapping[str, tuple[int, str]]
    joined: Mapping[str, str]
    joined_stems: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateWords:
    """The units that a number is per (`agent.numbers.rates`); things have names that languages share, the English ones.

    `per`: phrases before a unit. `each`: words before it after a number only. `every`: words before a time. `things`:
    by the word. `adverbs`: words such as "monthly". `compounds`: beginnings of the name of a charge. `charges`: pattern
    of the endings of those. `named`: pattern of names of charges; `stems`: parts that every name of a charge contains.
    `stops`: words that cannot stand between a number and its rate. `asides`: abbreviations that can.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Joints:
    """Phrases between numbers, or before a number.

    `both`: "and". `either`: "or". `to`: makes a range. `between`: opens a range. `about`: before an end of a range,
    without effect. `of`: before a counted thing. `the`: articles after it. `by`: between the sides of a dimension.
    `within`: before the unit of a label.
    """

    both: frozenset[str]
    either: frozenset[str]
    to: frozenset[str]
    between: frozenset[str]
    about: frozenset[str]
    of: frozenset[str]
    the: frozenset[str]
    by: frozenset[str]
    within: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Dates and times of day (`agent.numbers.dates`).

    `months`: names and abbreviations, by their place in the year. `dotted`: abbreviations among them of four letters or
    more. `capital`: words that are months with a capital only. `day_of`: phrases between a day and its month. `the`:
    words before a day. `after`: words before which a further number is a day. `day_ends`: pattern of endings of a day's
    digits. `before_noon`, `after_noon`: patterns with the space before them. `opening`: words after which "9.30" is a
    time; `clock`: those of them after which "9-17" are hours.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Words before numbers that count nothing.

    `parts`: names of parts of a text, before their number. `letters`: exact words that are no number after these where
    another word follows; `but_before`: words that do not count as such. `versions`: before a version. `calls`: before a
    telephone number. `accounts`: pattern of the endings of words before an account number. `abbreviations`: before a
    full stop and a number. `not_units`: words of a few letters that look like a unit's symbol. `sources`: pattern of
    the words in marks that count sources. `step`, `steps`: words for steps of instructions, before their number;
    `that_step`, `those_steps`: the words that replace one or several of them with the number.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """All data of a language's counting.

    `decimal`: its decimal mark, "." or ",". `line_words`: frequent words, which show that a line is in this language;
    that decides whether a lone mark in it parts thousands or decimals.
    """

    cardinals: Cardinals
    ordinals: Ordinals
    parts: Parts
    factors: Factors
    groups: Groups
    percents: Percents
    units: Units
    money: Money
    rates: RateWords
    joints: Joints
    calendar: Calendar
    labels: Labels
    decimal: str
    line_words: frozenset[str]
