"""Numbers written as words, in English and Swedish.

`classify` says what one word is; `value_of` reads a run of number words by the grammar of cardinals. Swedish
writes numbers and their units in one word (`tvåhundrafemtio`, `femårsgaranti`), so a word is also split into
number words and the rest is looked up as a unit. Both are cached by word: a text repeats its words.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agent.text.tables import words

from .units import unit_of

Sort = Literal[
    "cardinal", "article", "ordinal", "fraction", "third", "factor", "quantity", "magnitude", "month", "sign", "symbol",
    "roman", "letter", "lookalike", "vague", "opaque", "slang",
]  # fmt: skip

_UNITS: Final = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "två": 2, "tva": 2, "tre": 3, "fyra": 4, "fem": 5, "sex": 6, "sju": 7, "åtta": 8, "nio": 9,
}  # fmt: skip
_ONES: Final = {"one": 1, "en": 1, "ett": 1}
_TEENS: Final = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "tio": 10, "elva": 11, "tolv": 12, "tretton": 13, "fjorton": 14,
    "femton": 15, "sexton": 16, "sjutton": 17, "arton": 18, "aderton": 18, "nitton": 19,
}  # fmt: skip
_TENS: Final = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "ninty": 90, "tjugo": 20, "tjugu": 20, "trettio": 30, "fyrtio": 40, "femtio": 50, "sextio": 60,
    "sjuttio": 70, "åttio": 80, "nittio": 90, "tretti": 30, "fyrti": 40, "sjutti": 70, "åtti": 80, "nitti": 90,
}  # fmt: skip
_SCALES: Final = {
    "hundred": 100, "hundra": 100, "thousand": 1000, "tusen": 1000, "million": 10**6, "miljon": 10**6,
    "miljoner": 10**6, "billion": 10**9, "miljard": 10**9, "miljarder": 10**9, "trillion": 10**12, "biljon": 10**12,
    "biljoner": 10**12,
}  # fmt: skip
_ATOMS: Final = {"zero": 0, "noll": 0} | _ONES | _UNITS | _TEENS | _TENS | _SCALES
_CARDINALS: Final = _UNITS | _TEENS | _TENS | _SCALES | {"zero": 0, "noll": 0, "femti": 50, "sexti": 60}

_ORDINALS_EN: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "twelveth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15,
    "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
    "fortieth": 40, "fourtieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
    "ninetieth": 90, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip
_ORDINALS_SV: Final = {
    "första": 1, "förste": 1, "andra": 2, "andre": 2, "tredje": 3, "fjärde": 4, "femte": 5, "sjätte": 6, "sjunde": 7,
    "åttonde": 8, "nionde": 9, "tionde": 10, "elfte": 11, "tolfte": 12, "trettonde": 13, "fjortonde": 14,
    "femtonde": 15, "sextonde": 16, "sjuttonde": 17, "artonde": 18, "nittonde": 19, "tjugonde": 20, "trettionde": 30,
    "fyrtionde": 40, "femtionde": 50, "sextionde": 60, "sjuttionde": 70, "åttionde": 80, "nittionde": 90,
    "hundrade": 100, "tusende": 1000, "miljonte": 10**6,
}  # fmt: skip
_ORDINALS: Final = _ORDINALS_EN | _ORDINALS_SV

_FRACTIONS: Final = {
    "half": 2, "halves": 2, "halv": 2, "halva": 2, "halvt": 2, "hälft": 2, "hälften": 2, "hälfter": 2,
    "quarter": 4, "quarters": 4, "fjärdedel": 4, "tredjedel": 3, "thirds": 3,
    "femtedel": 5, "sjättedel": 6, "sjättondel": 16, "sjundedel": 7, "åttondel": 8, "åttondedel": 8, "niondel": 9,
    "niondedel": 9, "tiondel": 10, "tiondedel": 10, "elftedel": 11, "tolftedel": 12, "sextondel": 16,
    "sextondedel": 16, "tjugondel": 20, "hundradel": 100, "tusendel": 1000, "miljondel": 10**6,
}  # fmt: skip
_FACTORS: Final = {
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
_FACTOR_ENDS: Final = words(
    "fold faldig faldiga faldigt faldigas faldigade falt dubbel dubbla dubbelt dubblar dubblas dubblade dubblad "
    "dubblat dubblades dubblats dubbling dubblingen dubblera dubblerad"
)
_QUANTITIES: Final = {
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
_GROUPS: Final = {
    "couple": "2", "par": "2", "dozen": "12", "dussin": "12", "dussinet": "12", "halvdussin": "6",
    "tjog": "20", "halvannan": "1.5", "halvannat": "1.5",
}  # fmt: skip
_DECADES: Final = words("twenties thirties forties fifties sixties seventies eighties nineties")
_VAGUE: Final = words("several few many some några flera många")
_MAGNITUDES: Final = {
    "hundreds": 2, "hundratals": 2, "hundratal": 2, "thousands": 3, "tusentals": 3, "tusental": 3, "millions": 6,
    "miljontals": 6, "miljontal": 6, "billions": 9, "miljardtals": 9, "tiotals": 1, "tiotal": 1, "tiotusentals": 4,
    "hundratusentals": 5, "trillions": 12, "dozens": 1, "dussintals": 1,
}  # fmt: skip
_MONTHS: Final = words(
    "january jan januari february feb februari febr march mar mars april apr may maj june jun juni july jul juli "
    "august aug augusti september sep sept october oct oktober okt november nov december dec"
)

PARTS: Final = words(
    "version kapitel chapter part del kap avsnitt section article artikel volume volym bilaga appendix passage stycke "
    "paragraph table tabell figure figur page sida source källa step steg document dokument item punkt"
)
"""What parts of a text are called, before their number."""
_REST: Final = (
    "siffrig", "rums", "rumm", "hjul", "språk", "stegs", "pack", "person", "procent", "sitsig", "dörr", "delad",
    "delar", "sidig", "kant", "tals", "talet", "tal", "personers", "gradig", "poäng", "växlad", "mil", "manna",
    "barns", "tiden", "kommafem", "stjärnig", "våning", "plan",
)  # fmt: skip
_WEAK: Final = words("två tre fem sex sju six ten one en ett tva hundra")
_SKIP: Final = words(
    "entre tusensköna tusenskönor fyrar fyran elvan tolvan åttan nians sextillion"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """What one word says: its sort, its number words (`atoms`), a value and, in one word with it, a unit."""

    sort: Sort
    atoms: tuple[int, ...] = ()
    value: str = ""
    unit: str | None = None


@lru_cache(maxsize=65536)
def classify(word: str) -> Word | None:
    """Return what `word` says about numbers, or None for a plain word."""
    lower = word.lower()
    if not lower.isascii():
        if any(c.isnumeric() for c in word):
            return Word("symbol", value=word)
        lower = _unaccented(lower)
    found = _listed(lower, word)
    if found is not None or len(lower) < 5 or len(lower) > 120 or lower in _SKIP:
        return found
    return _compound(lower)


def _unaccented(lower: str) -> str:
    """Strip accents that neither language has, so that `fóurteen` is read as it looks."""
    if all(c.isascii() or c in "åäö" for c in lower):
        return lower
    return "".join(c if c in "åäö" else unicodedata.normalize("NFD", c)[0] for c in lower)


_KNOWN: Final[dict[str, Word]] = {
    **{word: Word("opaque", value=word) for word in _DECADES},
    **{word: Word("vague") for word in _VAGUE},
    **{word: Word("quantity", value=value) for word, value in _GROUPS.items()},
    **{word: Word("month") for word in _MONTHS},
    **{word: Word("magnitude", value=str(power)) for word, power in _MAGNITUDES.items()},
    **{word: Word("quantity", value=value, unit=unit) for word, (value, unit) in _QUANTITIES.items()},
    **{word: Word("factor", value=str(by) if by > 0 else "0.5") for word, by in _FACTORS.items()},
    **{f"{word}s": Word("fraction", (below,)) for word, below in _ORDINALS_EN.items() if below > 3},
    **{word: Word("fraction", (below,)) for word, below in _FRACTIONS.items()},
    **{word: Word("third" if word == "third" else "ordinal", (at,)) for word, at in _ORDINALS.items()},
    **{word: Word("cardinal", (value,)) for word, value in _CARDINALS.items()},
    **{word: Word("article", (1,), value=word) for word in _ONES},
    **{word: Word("sign") for word in ("minus", "negative", "negativa", "negativt")},
    "grand": Word("slang", value="1000"),
    "tens": Word("magnitude", value="1"),
}
"""What whole words say; of two tables that know a word the later here decides."""
_NAMES_TOO: Final = words("may march mar")
"""Months that are months only with a capital."""


def _listed(lower: str, word: str) -> Word | None:
    """Look a whole word up in the tables."""
    found = _KNOWN.get(lower)
    if found is not None:
        return found if lower not in _NAMES_TOO or word[0].isupper() else _shaped(word)
    if lower.endswith(("delar", "delen", "delarna")):
        below = _FRACTIONS.get(lower.removesuffix("na").removesuffix("ar").removesuffix("en"))
        if below is not None:
            return Word("fraction", (below,))
    return _shaped(word)


_LOOKALIKE: Final = re.compile(r"[OolISBZQ]{2,6}|[lO]")
_REAL: Final = words(
    "So Bo SOS IOS OS Solo SOLO SO BOB Ill ill lol loo so is IS ISO ISBO IO SSL SQL BIOS OSS Oslo Z SIS OBS"
)
_ROMAN: Final = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_NOT_ROMAN: Final = words(
    "CD MC DI MIX MD DC CC CV CL DL ML CM MM MI CI LI LV DVI DIV CLI MDI DIM XL MCI DCI MX LC MV MDC "
    "MCC CDI XI"
) - {"XI"}


def _shaped(word: str) -> Word | None:
    """Read words by their letters: Roman numerals, and letters that only look like digits."""
    if (
        1 < len(word) <= 7
        and word[0] in "ivx"
        and word != "vi"
        and word.islower()
        and _ROMAN.fullmatch(word.upper())
    ):
        return Word("letter", value=word.upper())
    if len(word) <= 15 and word.isupper() and _ROMAN.fullmatch(word):
        return Word("roman" if len(word) > 1 and word not in _NOT_ROMAN else "letter", value=word)
    if len(word) <= 6 and _LOOKALIKE.fullmatch(word) and word not in _REAL:
        return Word("lookalike", value=word)
    return None


def _compound(lower: str) -> Word | None:
    """Read number words written together, with or without a unit or an ordinal ending after them."""
    if lower.startswith("halv"):
        unit = unit_of(lower[4:]) if len(lower) > 5 and lower[4:] not in ("tid", "mil") else None
        return Word("quantity", value="0.5", unit=unit) if unit else None
    atoms: list[int] = []
    at = 0
    if lower.startswith("fyr") and lower[3:] in _FACTOR_ENDS:
        return Word("factor", value="4")
    if lower.startswith(("fyrsiffr", "fyrhjul", "fyrsits", "fyrsid")):
        return Word("cardinal", (4,))
    if lower.startswith("ettusen"):  # ett + tusen, written with two t
        lower = "ett" + lower[2:]
    names: list[str] = []
    while at < len(lower):
        name = _longest(lower, at)
        if name is None:
            break
        atoms.append(_ATOMS[name])
        names.append(name)
        at += len(name)
    rest = lower[at:]
    if not atoms:
        return None
    if not rest:
        return (
            Word("cardinal", tuple(atoms))
            if names[0] not in ("en",) or len(names) > 2 or atoms[1] >= 100
            else None
        )
    return _with_rest(tuple(atoms), names, rest, lower)


def _with_rest(atoms: tuple[int, ...], names: list[str], rest: str, lower: str) -> Word | None:
    if rest in _FACTOR_ENDS:
        return Word("factor", value=str(value_of(atoms) or "?"))
    if rest in _ORDINALS or rest in ("nde", "de") or _ordinal_tail(names, rest):
        return Word("ordinal", (*atoms, _ORDINALS.get(rest, 0)) if rest in _ORDINALS else atoms)
    if rest in ("del", "delar", "delen", "delarna", "ndel", "ndelar") and names[0] not in (
        "en",
        "ett",
        "one",
    ):
        value = value_of(atoms)
        return Word("fraction", (value,)) if value else Word("opaque", value=lower)
    if rest.rstrip("s") in ("tal", "tals") and atoms[0] > 1:
        return Word("cardinal", atoms, value="tal")
    unit = unit_of(rest)
    if unit is not None and (len(rest) > 2 or rest == "år"):
        return Word("cardinal", atoms, unit=unit)
    if rest in ("kr", "krona", "kronor", "kronors", "kronorssedel") or rest.startswith(("lapp", "kronorsl")):
        return Word("cardinal", atoms, unit="$SEK")
    if names[0] in ("en", "ett", "one") and len(names) == 1:
        return None
    if rest.startswith("procent"):
        return Word("cardinal", atoms, unit="%pp" if rest.startswith("procentenhet") else "%")
    if any(rest.startswith(known) for known in _REST):
        return Word("cardinal", atoms)
    strong = len(names) > 1 or names[0] not in _WEAK
    return Word("cardinal", atoms) if strong and len(rest) >= 3 and _swedish(names[0]) else None


def _ordinal_tail(names: list[str], rest: str) -> bool:
    return rest in ("th", "eth", "ieth") and bool(names)


_SWEDISH: Final = words(
    "fyra åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton aderton nitton tjugo tjugu trettio "
    "fyrtio femtio sextio sjuttio åttio nittio hundra tusen miljon miljard två tre fem sex sju ett"
)


def _swedish(name: str) -> bool:
    return name in _SWEDISH


_BY_FIRST: Final[dict[str, tuple[str, ...]]] = {}
for _name in sorted({*_ATOMS} - {"tva"}, key=len, reverse=True):
    _BY_FIRST[_name[0]] = (*_BY_FIRST.get(_name[0], ()), _name)


def _longest(lower: str, at: int) -> str | None:
    """Return the longest number word that starts at `at`, if any."""
    for name in _BY_FIRST.get(lower[at], ()):
        if lower.startswith(name, at):
            return name
    return None


def value_of(atoms: tuple[int, ...]) -> int | None:
    """Return the value of a run of number words, or None when it is no cardinal ("one four nine").

    Grammar: [group scale]... group, scales falling; a group is [1-99] hundred, then 1-99; 20-90 may take 1-9.
    """
    total, group, last_scale, room, hundreds = 0, -1, 10**18, 100, False
    for atom in atoms:
        if atom >= 1000:
            if atom >= last_scale or group == 0:
                return None
            total += max(group, 1) * atom
            last_scale, group, room, hundreds = atom, -1, 100, False
        elif atom == 100:
            if hundreds or group == 0:
                return None
            group, room, hundreds = (group if group > 0 else 1) * 100, 100, True
        elif atom >= room or (atom == 0 and len(atoms) > 1):
            return None
        else:
            group = max(group, 0) + atom
            room = 10 if atom >= 20 else 1
    return total + max(group, 0)
