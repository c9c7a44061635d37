"""The words of numbers in English and Swedish, as data: what each is, by table."""

from typing import Final

from agent.lang.language import words

UNITS: Final = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "två": 2, "tva": 2, "tre": 3, "fyra": 4, "fem": 5, "sex": 6, "sju": 7, "åtta": 8, "nio": 9,
}  # fmt: skip
ONES: Final = {"one": 1, "en": 1, "ett": 1}
TEENS: Final = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "tio": 10, "elva": 11, "tolv": 12, "tretton": 13, "fjorton": 14,
    "femton": 15, "sexton": 16, "sjutton": 17, "arton": 18, "aderton": 18, "nitton": 19,
}  # fmt: skip
TENS: Final = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "ninty": 90, "tjugo": 20, "tjugu": 20, "trettio": 30, "fyrtio": 40, "femtio": 50, "sextio": 60,
    "sjuttio": 70, "åttio": 80, "nittio": 90, "tretti": 30, "fyrti": 40, "sjutti": 70, "åtti": 80, "nitti": 90,
}  # fmt: skip
SCALES: Final = {
    "hundred": 100, "hundra": 100, "thousand": 1000, "tusen": 1000, "million": 10**6, "miljon": 10**6,
    "miljoner": 10**6, "billion": 10**9, "miljard": 10**9, "miljarder": 10**9, "trillion": 10**12, "biljon": 10**12,
    "biljoner": 10**12,
}  # fmt: skip
ATOMS: Final = {"zero": 0, "noll": 0} | ONES | UNITS | TEENS | TENS | SCALES
CARDINALS: Final = UNITS | TEENS | TENS | SCALES | {"zero": 0, "noll": 0, "femti": 50, "sexti": 60}

ORDINALS_EN: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "twelveth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15,
    "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
    "fortieth": 40, "fourtieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
    "ninetieth": 90, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip
ORDINALS_SV: Final = {
    "första": 1, "förste": 1, "andra": 2, "andre": 2, "tredje": 3, "fjärde": 4, "femte": 5, "sjätte": 6, "sjunde": 7,
    "åttonde": 8, "nionde": 9, "tionde": 10, "elfte": 11, "tolfte": 12, "trettonde": 13, "fjortonde": 14,
    "femtonde": 15, "sextonde": 16, "sjuttonde": 17, "artonde": 18, "nittonde": 19, "tjugonde": 20, "trettionde": 30,
    "fyrtionde": 40, "femtionde": 50, "sextionde": 60, "sjuttionde": 70, "åttionde": 80, "nittionde": 90,
    "hundrade": 100, "tusende": 1000, "miljonte": 10**6,
}  # fmt: skip
ORDINALS: Final = ORDINALS_EN | ORDINALS_SV

FRACTIONS: Final = {
    "half": 2, "halves": 2, "halv": 2, "halva": 2, "halvt": 2, "hälft": 2, "hälften": 2, "hälfter": 2,
    "quarter": 4, "quarters": 4, "fjärdedel": 4, "tredjedel": 3, "thirds": 3,
    "femtedel": 5, "sjättedel": 6, "sjättondel": 16, "sjundedel": 7, "åttondel": 8, "åttondedel": 8, "niondel": 9,
    "niondedel": 9, "tiondel": 10, "tiondedel": 10, "elftedel": 11, "tolftedel": 12, "sextondel": 16,
    "sextondedel": 16, "tjugondel": 20, "hundradel": 100, "tusendel": 1000, "miljondel": 10**6,
}  # fmt: skip
FACTORS: Final = {
    "double": 2, "doubles": 2, "doubled": 2, "doubling": 2, "twice": 2, "twofold": 2, "duplex": 2,
    "triple": 3, "triples": 3, "tripled": 3, "tripling": 3, "thrice": 3, "treble": 3, "threefold": 3,
    "quadruple": 4, "quadruples": 4, "quadrupled": 4, "quadrupling": 4, "quintuple": 5, "quintupled": 5,
    "sextuple": 6, "sextupled": 6, "septuple": 7, "octuple": 8, "decuple": 10, "tenfold": 10, "hundredfold": 100,
    "dubbel": 2, "dubbla": 2, "dubbelt": 2, "dubblar": 2, "dubblas": 2, "dubblade": 2, "dubblat": 2, "dubblering": 2,
    "dubblerad": 2, "dubblerat": 2, "dubblerade": 2, "dubblerar": 2, "dubblera": 2, "dubblad": 2, "dubblades": 2,
    "fördubblad": 2, "fördubblat": 2, "fördubblade": 2, "fördubblingen": 2,
    "fördubbla": 2, "fördubblar": 2, "fördubblas": 2, "fördubblades": 2, "fördubblats": 2, "fördubbling": 2,
    "trippel": 3, "trippla": 3, "tripplar": 3, "tripplas": 3, "trippelt": 3, "enfaldigt": 1,
    "halve": -2, "halved": -2, "halving": -2, "halvera": -2, "halverar": -2, "halveras": -2, "halverad": -2,
    "halverat": -2, "halverade": -2, "halverades": -2, "halvering": -2,
}  # fmt: skip
FACTOR_ENDS: Final = words(
    "fold faldig faldiga faldigt faldigas faldigade falt dubbel dubbla dubbelt dubblar dubblas dubblade dubblad "
    "dubblat dubblades dubblats dubbling dubblingen dubblera dubblerad"
)
QUANTITIES: Final = {
    "decade": ("10", "year"), "decades": ("10", "year"), "decennium": ("10", "year"), "decennier": ("10", "year"),
    "årtionde": ("10", "year"), "årtionden": ("10", "year"), "fortnight": ("14", "day"), "fortnights": ("14", "day"),
    "century": ("100", "year"), "centuries": ("100", "year"), "sekel": ("100", "year"), "sekler": ("100", "year"),
    "seklet": ("100", "year"), "århundrade": ("100", "year"), "århundraden": ("100", "year"),
    "millennium": ("1000", "year"), "millennia": ("1000", "year"), "årtusende": ("1000", "year"),
    "årtusenden": ("1000", "year"), "kvart": ("15", "minute"), "trekvart": ("45", "minute"),
    "halvtimme": ("0.5", "hour"),
    "halvtimmes": ("0.5", "hour"), "halvtimma": ("0.5", "hour"), "halvtimmen": ("0.5", "hour"),
    "biweekly": ("2", "week"), "bimonthly": ("2", "month"),
    "fortnightly": ("14", "day"), "tenner": ("10", "note"), "fiver": ("5", "note"), "hundring": ("100", "$SEK"),
    "hundringar": ("100", "$SEK"), "femhundring": ("500", "$SEK"), "femtilapp": ("50", "$SEK"),
}  # fmt: skip
GROUPS: Final = {
    "couple": "2", "par": "2", "dozen": "12", "dussin": "12", "dussinet": "12", "halvdussin": "6",
    "tjog": "20", "halvannan": "1.5", "halvannat": "1.5",
}  # fmt: skip
DECADES: Final = words("twenties thirties forties fifties sixties seventies eighties nineties")
VAGUE: Final = words("several few many some några flera många")
MAGNITUDES: Final = {
    "hundreds": 2, "hundratals": 2, "hundratal": 2, "thousands": 3, "tusentals": 3, "tusental": 3, "millions": 6,
    "miljontals": 6, "miljontal": 6, "billions": 9, "miljardtals": 9, "tiotals": 1, "tiotal": 1, "tiotusentals": 4,
    "hundratusentals": 5, "trillions": 12, "dozens": 1, "dussintals": 1,
}  # fmt: skip
MONTHS: Final = words(
    "january jan januari february feb februari febr march mar mars april apr may maj june jun juni july jul juli "
    "august aug augusti september sep sept october oct oktober okt november nov december dec"
)

PARTS: Final = words(
    "version kapitel chapter part del kap avsnitt section article artikel volume volym bilaga appendix passage stycke "
    "paragraph table tabell figure figur page sida source källa step steg document dokument item punkt"
)
"""What parts of a text are called, before their number."""
REST: Final = (
    "siffrig", "rums", "rumm", "hjul", "språk", "stegs", "pack", "person", "procent", "sitsig", "dörr", "delad",
    "delar", "sidig", "kant", "tals", "talet", "tal", "personers", "gradig", "poäng", "växlad", "mil", "manna",
    "barns", "tiden", "kommafem", "stjärnig", "våning", "plan",
)  # fmt: skip
WEAK: Final = words("två tre fem sex sju six ten one en ett tva hundra")
SKIP: Final = words(
    "entre tusensköna tusenskönor fyrar fyran elvan tolvan åttan nians sextillion"
)  # fmt: skip
