"""English number words, dates and times, and words around a number."""

from ..counting import (
    Calendar,
    Cardinals,
    Counting,
    Factors,
    Fractions,
    Groups,
    Joints,
    Labels,
    Ordinals,
    Percents,
)
from ..language import words
from .measures import MONEY, RATES, UNITS

_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "twelveth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15,
    "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
    "fortieth": 40, "fourtieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
    "ninetieth": 90, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip

COUNTING = Counting(
    cardinals=Cardinals(
        words={
            "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
            "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
            "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40,
            "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "ninty": 90, "hundred": 100,
            "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
        },
        ones={"one": 1},
        pronouns=words("one"),
        singles=words("one single"),
        plural_endings=(("", "s"), ("", "es"), ("y", "ies")),
        standalone={},
        prefixes=frozenset(),
        weak_prefixes=frozenset(),
        ambiguous_ones=frozenset(),
        suffix_stems=words("pack person"),
        group_suffixes=frozenset(),
        spellings={},
        not_numbers=words("sextillion"),
        homographs=frozenset(),
        not_digits=words("So SOS Solo SOLO SO BOB Ill ill lol loo so is IS BIOS OBS"),
        not_romans=words("MIX DIM"),
        articles=words("a an"),
        decimal_points=words("point"),
        minus_words=words("minus negative"),
    ),
    ordinals=Ordinals(
        words=_ORDINALS,
        suffixes=words("th eth ieth"),
        digit_suffixes="st|nd|rd|th",
        also_fractions=words("third"),
        fraction_followers=(
            r"of|off|less|more|the|as|to|or|and|in|is|are|was|at|on|by|for|than|from|between|per|[^\W\d_]{3,12}er"
        ),
        higher_fraction_followers="of|off|less|more",
        every=words("every"),
        alternates="other",
        determiners=words("the this that my your our his her its their each"),
        counted_nouns={},
        other_words=frozenset(),
        idioms=(
            "first (?:aid|class|hand|names?|place|things?|time)|second (?:hand|later|nature|opinion|thoughts?)"
            "|third part(?:y|ies)"
        ),
    ),
    fractions=Fractions(
        words={"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "thirds": 3}
        | {f"{word}s": below for word, below in _ORDINALS.items() if below > 3},
        suffixes=frozenset(),
        half_prefixes=frozenset(),
    ),
    factors=Factors(
        words={
            "double": 2, "doubles": 2, "doubled": 2, "doubling": 2, "twofold": 2, "duplex": 2,
            "triple": 3, "triples": 3, "tripled": 3, "tripling": 3, "treble": 3, "threefold": 3,
            "quadruple": 4, "quadruples": 4, "quadrupled": 4, "quadrupling": 4, "quintuple": 5, "quintupled": 5,
            "sextuple": 6, "sextupled": 6, "septuple": 7, "octuple": 8, "decuple": 10, "tenfold": 10,
            "hundredfold": 100, "halve": -2, "halved": -2, "halving": -2,
        },
        suffixes=words("fold"),
        digit_suffixes="-fold",
        idioms="(?:check|click|tap|press)(?:s|ed|ing|ping|ped)?",
        frequencies={"once": 1, "twice": 2, "thrice": 3},
        occasion="time",
    ),
    groups=Groups(
        counts={"couple": "2", "dozen": "12"},
        quantities={
            "decade": ("10", "year"), "decades": ("10", "year"), "fortnight": ("14", "day"),
            "fortnights": ("14", "day"), "century": ("100", "year"), "centuries": ("100", "year"),
            "millennium": ("1000", "year"), "millennia": ("1000", "year"), "biweekly": ("2", "week"),
            "bimonthly": ("2", "month"), "fortnightly": ("14", "day"), "tenner": ("10", "note"),
            "fiver": ("5", "note"),
        },
        decades=words("twenties thirties forties fifties sixties seventies eighties nineties"),
        decade_suffixes="'?s",
        vague=words("several few many some"),
        vague_scales={"hundred": 2, "thousand": 3, "million": 6, "billion": 9},
        magnitudes={
            "tens": 1, "dozens": 1, "hundreds": 2, "thousands": 3, "millions": 6, "billions": 9, "trillions": 12,
        },
        compound_magnitudes=words("tens"),
        multipliers={
            "hundred": 2, "thousand": 3, "thousands": 3, "million": 6, "millions": 6, "billion": 9, "billions": 9,
            "trillion": 12, "trillions": 12, "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7,
        },
        slang={"grand": 3},
        slang_followers=words("a an per for more less in or and to"),
    ),
    percents=Percents(
        words=words("percent percentage percentages pct"),
        per_mille=words("permille"),
        points=words("percentpoints pp points point"),
        standalone_points=words("pp percentpoints"),
        prefixes=frozenset(),
        point_prefixes=frozenset(),
        phrases=frozenset(("per cent",)),
        per_mille_phrases=frozenset(("per mille", "per mill")),
        sign_suffixes=frozenset(),
    ),
    units=UNITS,
    money=MONEY,
    rates=RATES,
    joints=Joints(
        conjunctions=words("and"),
        disjunctions=words("or"),
        range_words=words("to till until through thru") | {"up to"},
        range_openers=words("between"),
        approximations=words("about around approximately approx approx. roughly circa ca ca. nearly almost")
        | {"up to"},
        of=words("of"),
        the=words("the"),
        by=words("by"),
        within=words("in"),
    ),
    calendar=Calendar(
        months={
            "january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5,
            "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9,
            "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
        },
        dotted=words("sept"),
        capitalized=words("may march mar"),
        day_of=frozenset(("of", "day of")),
        the=words("the"),
        day_followers=words("and or in at of on the from for is are"),
        day_suffixes="st|nd|rd|th",
        before_noon=r"[ \n]?a\.?m\b\.?",
        after_noon=r"[ \n]?p\.?m\b\.?",
        time_openers=words("at open opens opened close closes closed until"),
        hour_openers=frozenset(),
        clock_words={"noon": 12, "midday": 12, "midnight": 0},
    ),
    labels=Labels(
        text_parts=words(
            "version chapter part section article volume appendix passage paragraph table figure page source step "
            "document item"
        ),
        letters=words("I"),
        not_followers=words("of and or in is to"),
        versions=words("version versions release ver"),
        phone_words=words("call phone telephone tel dial number fax mobile"),
        account_suffixes="number|no|account|id|swish|vat",
        abbreviations=words("nr no nos s p pp ca art max min fig vol st ch sec par pos"),
        not_units=words("st nr th nd rd xx p pp s vs pcs pc"),
        sources="sources?|refs?|references?|snippets?|passages?",
        step_words=words("step"),
        plural_step_words=words("steps"),
        that_step="that step",
        those_steps="those steps",
    ),
    decimal=".",
    line_words=words(
        "the of and to is in a for it that with you are be on this as at by from or can have has not your will an was "
        "if which its weighs costs about than per their they we our there these"
    ),
)  # fmt: skip
