"""English number words, dates and times, and words around a number."""

from ..counting import (
    Calendar,
    Cardinals,
    Counting,
    Factors,
    Groups,
    Joints,
    Labels,
    Ordinals,
    Parts,
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
        whole={},
        heads=frozenset(),
        weak_heads=frozenset(),
        doubtful=frozenset(),
        tails=words("pack person"),
        groups=frozenset(),
        spelt={},
        plain=words("sextillion"),
        own=frozenset(),
        lookalikes=words("So SOS Solo SOLO SO BOB Ill ill lol loo so is IS BIOS OBS"),
        romans=words("MIX DIM"),
        articles=words("a an"),
        points=words("point"),
        minus=words("minus negative"),
    ),
    ordinals=Ordinals(
        words=_ORDINALS,
        ends=words("th eth ieth"),
        digit_ends="st|nd|rd|th",
        parts_too=words("third"),
        before_part=(
            r"of|off|less|more|the|as|to|or|and|in|is|are|was|at|on|by|for|than|from|between|per|[^\W\d_]{3,12}er"
        ),
        before_any_part="of|off|less|more",
        every=words("every"),
        other="other",
        determiners=words("the this that my your our his her its their each"),
        counted={},
        others=frozenset(),
        idioms=(
            "first (?:aid|class|hand|names?|place|things?|time)|second (?:hand|later|nature|opinion|thoughts?)"
            "|third part(?:y|ies)"
        ),
    ),
    parts=Parts(
        words={"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "thirds": 3}
        | {f"{word}s": below for word, below in _ORDINALS.items() if below > 3},
        ends=frozenset(),
        halves=frozenset(),
    ),
    factors=Factors(
        words={
            "double": 2, "doubles": 2, "doubled": 2, "doubling": 2, "twice": 2, "twofold": 2, "duplex": 2,
            "triple": 3, "triples": 3, "tripled": 3, "tripling": 3, "thrice": 3, "treble": 3, "threefold": 3,
            "quadruple": 4, "quadruples": 4, "quadrupled": 4, "quadrupling": 4, "quintuple": 5, "quintupled": 5,
            "sextuple": 6, "sextupled": 6, "septuple": 7, "octuple": 8, "decuple": 10, "tenfold": 10,
            "hundredfold": 100, "halve": -2, "halved": -2, "halving": -2,
        },
        ends=words("fold"),
        digit_ends="-fold",
        idioms="(?:check|click|tap|press)(?:s|ed|ing|ping|ped)?",
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
        decade_ends="'?s",
        vague=words("several few many some"),
        scales={"hundred": 2, "thousand": 3, "million": 6, "billion": 9},
        magnitudes={
            "tens": 1, "dozens": 1, "hundreds": 2, "thousands": 3, "millions": 6, "billions": 9, "trillions": 12,
        },
        with_more=words("tens"),
        powers={
            "hundred": 2, "thousand": 3, "thousands": 3, "million": 6, "millions": 6, "billion": 9, "billions": 9,
            "trillion": 12, "trillions": 12, "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7,
        },
        slang={"grand": 3},
        ends_slang=words("a an per for more less in or and to"),
    ),
    percents=Percents(
        words=words("percent percentage percentages pct"),
        mille=words("permille"),
        points=words("percentpoints pp points point"),
        point_words=words("pp percentpoints"),
        stems=frozenset(),
        point_stems=frozenset(),
        phrases=frozenset(("per cent",)),
        mille_phrases=frozenset(("per mille", "per mill")),
        sign_ends=frozenset(),
    ),
    units=UNITS,
    money=MONEY,
    rates=RATES,
    joints=Joints(
        both=words("and"),
        either=words("or"),
        to=words("to till until through thru") | {"up to"},
        between=words("between"),
        about=words("about around approximately approx approx. roughly circa ca ca. nearly almost")
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
        capital=words("may march mar"),
        day_of=frozenset(("of", "day of")),
        the=words("the"),
        after=words("and or in at of on the from for is are"),
        day_ends="st|nd|rd|th",
        before_noon=r"[ \n]?a\.?m\b\.?",
        after_noon=r"[ \n]?p\.?m\b\.?",
        opening=words("at open opens opened close closes closed until"),
        clock=frozenset(),
    ),
    labels=Labels(
        parts=words(
            "version chapter part section article volume appendix passage paragraph table figure page source step "
            "document item"
        ),
        letters=words("I"),
        but_before=words("of and or in is to"),
        versions=words("version versions release ver"),
        calls=words("call phone telephone tel dial number fax mobile"),
        accounts="number|no|account|id|swish|vat",
        abbreviations=words("nr no nos s p pp ca art max min fig vol st ch sec par pos"),
        not_units=words("st nr th nd rd xx p pp s vs pcs pc"),
        sources="sources?|refs?|references?|snippets?|passages?",
        step=words("step"),
        steps=words("steps"),
        that_step="that step",
        those_steps="those steps",
    ),
    decimal=".",
    line_words=words(
        "the of and to is in a for it that with you are be on this as at by from or can have has not your will an was "
        "if which its weighs costs about than per their they we our there these"
    ),
)  # fmt: skip
