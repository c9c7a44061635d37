"""Swedish number words, dates and times, and words around a number."""

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

_PARTS = {
    "fjärdedel": 4, "tredjedel": 3, "femtedel": 5, "sjättedel": 6, "sjättondel": 16, "sjundedel": 7, "åttondel": 8,
    "åttondedel": 8, "niondel": 9, "niondedel": 9, "tiondel": 10, "tiondedel": 10, "elftedel": 11, "tolftedel": 12,
    "sextondel": 16, "sextondedel": 16, "tjugondel": 20, "hundradel": 100, "tusendel": 1000, "miljondel": 10**6,
}  # fmt: skip
_DEFINITE = r"\w{2,}(?:an|en|et)"
"""Nouns in the definite form: without a determiner, an ordinal before another noun is a set phrase, "i första hand"."""
_SINGULAR = r"\w*(?:\w\w(?:an|et)|ingen|[io]nen|naden|dagen|timmen)"
"""Of these the ones that cannot be plural ("ärenden"), before which "andra" means "other"."""

COUNTING = Counting(
    cardinals=Cardinals(
        words={
            "noll": 0, "två": 2, "tre": 3, "fyra": 4, "fem": 5, "sex": 6, "sju": 7, "åtta": 8, "nio": 9, "tio": 10,
            "elva": 11, "tolv": 12, "tretton": 13, "fjorton": 14, "femton": 15, "sexton": 16, "sjutton": 17,
            "arton": 18, "aderton": 18, "nitton": 19, "tjugo": 20, "tjugu": 20, "trettio": 30, "fyrtio": 40,
            "femtio": 50, "sextio": 60, "sjuttio": 70, "åttio": 80, "nittio": 90, "tretti": 30, "fyrti": 40,
            "sjutti": 70, "åtti": 80, "nitti": 90, "hundra": 100, "tusen": 1000, "miljon": 10**6, "miljoner": 10**6,
            "miljard": 10**9, "miljarder": 10**9, "biljon": 10**12, "biljoner": 10**12,
        },
        ones={"en": 1, "ett": 1},
        pronouns=frozenset(),
        singles=words("enda"),
        plural_endings=(("", "er"), ("", "ar"), ("", "r"), ("", "n"), ("a", "or"), ("e", "ar")),
        standalone={"tva": 2, "femti": 50, "sexti": 60},
        prefixes=words(
            "fyra åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton aderton nitton tjugo tjugu "
            "trettio fyrtio femtio sextio sjuttio åttio nittio hundra tusen miljon miljard två tre fem sex sju ett"
        ),
        weak_prefixes=words("två tre fem sex sju ett hundra"),
        ambiguous_ones=words("en"),
        suffix_stems=words(
            "siffrig rums rumm hjul språk stegs pack person procent sitsig dörr delad delar sidig kant tals talet tal "
            "personers gradig poäng växlad mil manna barns tiden kommafem stjärnig våning plan"
        ),
        group_suffixes=words("tal tals"),
        spellings={
            "ettusen": "etttusen", "fyrsiffr": "fyrasiffr", "fyrhjul": "fyrahjul", "fyrsits": "fyrasits",
            "fyrsid": "fyrasid", "fyrfald": "fyrafald", "fyrfalt": "fyrafalt", "fyrdubb": "fyradubb",
        },
        not_numbers=words("entre tusensköna tusenskönor fyrar fyran elvan tolvan åttan nians halvtid halvmil"),
        homographs=words("sex"),
        not_digits=words("Bo Oslo OBS SIS Solo SOLO"),
        not_romans=words("vi"),
        articles=frozenset(),
        decimal_points=words("komma"),
        minus_words=words("minus negativa negativt"),
    ),
    ordinals=Ordinals(
        words={
            "första": 1, "förste": 1, "andra": 2, "andre": 2, "tredje": 3, "fjärde": 4, "femte": 5, "sjätte": 6,
            "sjunde": 7, "åttonde": 8, "nionde": 9, "tionde": 10, "elfte": 11, "tolfte": 12, "trettonde": 13,
            "fjortonde": 14, "femtonde": 15, "sextonde": 16, "sjuttonde": 17, "artonde": 18, "nittonde": 19,
            "tjugonde": 20, "trettionde": 30, "fyrtionde": 40, "femtionde": 50, "sextionde": 60, "sjuttionde": 70,
            "åttionde": 80, "nittionde": 90, "hundrade": 100, "tusende": 1000, "miljonte": 10**6,
        },
        suffixes=words("nde de te dje"),
        digit_suffixes=":e|:a",
        also_fractions=frozenset(),
        fraction_followers="",
        higher_fraction_followers="",
        every=words("var vart varje"),
        alternates="",
        determiners=words("min mitt din ditt sin sitt vår vårt er ert hans hennes dess deras varje"),
        counted_nouns={"första": _DEFINITE, "förste": _DEFINITE, "tredje": _DEFINITE, "andra": _SINGULAR},
        other_words=words("andra"),
        idioms="första (?:början|gången|hjälpen)|andra sidan|(?:andra|tredje) (?:part|man)(?:en|nen)?",
    ),
    fractions=Fractions(
        words={"halv": 2, "halva": 2, "halvt": 2, "hälft": 2, "hälften": 2, "hälfter": 2}
        | {f"{word}{end}": below for word, below in _PARTS.items() for end in ("", "ar", "en", "arna")},
        suffixes=words("del delar delen delarna ndel ndelar"),
        half_prefixes=words("halv"),
    ),
    factors=Factors(
        words={
            "dubbel": 2, "dubbla": 2, "dubbelt": 2, "dubblar": 2, "dubblas": 2, "dubblade": 2, "dubblat": 2,
            "dubblering": 2, "dubblerad": 2, "dubblerat": 2, "dubblerade": 2, "dubblerar": 2, "dubblera": 2,
            "dubblad": 2, "dubblades": 2, "fördubblad": 2, "fördubblat": 2, "fördubblade": 2, "fördubblingen": 2,
            "fördubbla": 2, "fördubblar": 2, "fördubblas": 2, "fördubblades": 2, "fördubblats": 2, "fördubbling": 2,
            "trippel": 3, "trippla": 3, "tripplar": 3, "tripplas": 3, "trippelt": 3, "enfaldigt": 1, "halvera": -2,
            "halverar": -2, "halveras": -2, "halverad": -2, "halverat": -2, "halverade": -2, "halverades": -2,
            "halvering": -2,
        },
        suffixes=words(
            "faldig faldiga faldigt faldigas faldigade falt dubbel dubbla dubbelt dubblar dubblas dubblade dubblad "
            "dubblat dubblades dubblats dubbling dubblingen dubblera dubblerad"
        ),
        digit_suffixes="-faldiga?|-faldigt|-falt",
        idioms="",
        frequencies={},
        occasion="gång",
    ),
    groups=Groups(
        counts={
            "par": "2", "dussin": "12", "dussinet": "12", "halvdussin": "6", "tjog": "20", "halvannan": "1.5",
            "halvannat": "1.5", "varannan": "2", "vartannat": "2", "varannat": "2",
        },
        quantities={
            "decennium": ("10", "year"), "decennier": ("10", "year"), "årtionde": ("10", "year"),
            "årtionden": ("10", "year"), "sekel": ("100", "year"), "sekler": ("100", "year"),
            "seklet": ("100", "year"), "århundrade": ("100", "year"), "århundraden": ("100", "year"),
            "millennium": ("1000", "year"), "årtusende": ("1000", "year"), "årtusenden": ("1000", "year"),
            "kvart": ("15", "minute"), "trekvart": ("45", "minute"), "halvtimme": ("0.5", "hour"),
            "halvtimmes": ("0.5", "hour"), "halvtimma": ("0.5", "hour"), "halvtimmen": ("0.5", "hour"),
            "hundring": ("100", "$SEK"), "hundringar": ("100", "$SEK"), "femhundring": ("500", "$SEK"),
            "femtilapp": ("50", "$SEK"),
        },
        decades=frozenset(),
        decade_suffixes="-tal(?:et|ets|s)?",
        vague=words("några flera många"),
        vague_scales={"hundra": 2, "tusen": 3, "miljoner": 6, "miljarder": 9},
        magnitudes={
            "tiotals": 1, "tiotal": 1, "dussintals": 1, "hundratals": 2, "hundratal": 2, "tusentals": 3,
            "tusental": 3, "tiotusentals": 4, "hundratusentals": 5, "miljontals": 6, "miljontal": 6, "miljardtals": 9,
        },
        compound_magnitudes=frozenset(),
        multipliers={
            "hundra": 2, "tusen": 3, "milj": 6, "miljon": 6, "miljoner": 6, "mdr": 9, "miljard": 9, "miljarder": 9,
            "biljon": 12, "biljoner": 12,
        },
        slang={},
        slang_followers=frozenset(),
    ),
    percents=Percents(
        words=words("procent procents procentig procentiga procentigt"),
        per_mille=words("promille promilles"),
        points=words("procentenhet procentenheter procentenheters procentenheten procentpoäng enheter enhet"),
        standalone_points=frozenset(),
        prefixes=words("procent"),
        point_prefixes=words("procentenhet procentpoäng"),
        phrases=frozenset(),
        per_mille_phrases=frozenset(),
        sign_suffixes=words("-ig -iga -igt"),
    ),
    units=UNITS,
    money=MONEY,
    rates=RATES,
    joints=Joints(
        conjunctions=words("och"),
        disjunctions=words("eller"),
        range_words=words("till t.o.m.") | {"upp till"},
        range_openers=words("mellan"),
        approximations=words("circa cirka ca ca. c:a ungefär omkring runt nästan") | {"upp till"},
        of=words("av"),
        the=frozenset(),
        by=frozenset(),
        within=words("i à"),
    ),
    calendar=Calendar(
        months={
            "januari": 1, "jan": 1, "februari": 2, "febr": 2, "feb": 2, "mars": 3, "mar": 3, "april": 4, "apr": 4,
            "maj": 5, "juni": 6, "jun": 6, "juli": 7, "jul": 7, "augusti": 8, "aug": 8, "september": 9, "sept": 9,
            "sep": 9, "oktober": 10, "okt": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
        },
        dotted=words("febr sept"),
        capitalized=frozenset(),
        day_of=frozenset(),
        the=frozenset(),
        day_followers=words("och eller i är"),
        day_suffixes=":e|:a|e|a",
        before_noon=r"[ ]fm\b",
        after_noon=r"[ ]em\b",
        time_openers=words("kl klockan öppet öppnar öppettider stänger stängt från fram"),
        hour_openers=words("kl klockan"),
        clock_words={"midnatt": 0},
    ),
    labels=Labels(
        text_parts=words(
            "version kapitel del kap avsnitt artikel volym bilaga stycke paragraph tabell figur sida källa steg "
            "dokument punkt"
        ),
        letters=frozenset(),
        not_followers=words("av och eller är om till"),
        versions=words("version versionen versioner utgåva utgåvan"),
        phone_words=words("ring tel tfn telefon telefonnummer numret nummer fax mobil"),
        account_suffixes="nr|nummer|numret|giro|girot|konto|kontot|id|swish|moms",
        abbreviations=words("kl nr s p ca art kap tel sid max min tfn pos fig st"),
        not_units=words("st sts stk nr kl s p xx"),
        sources="källa|källor|källorna|utdrag",
        step_words=words("steg"),
        plural_step_words=frozenset(),
        that_step="det steget",
        those_steps="de stegen",
    ),
    decimal=",",
    line_words=words(
        "och är att det som en ett på av för med till den har de inte om kan du vi i eller från vid så din ditt dina "
        "ska vår måste varje finns hos efter per kostar väger denna detta bli blir ni er oss vara"
    ),
)  # fmt: skip
