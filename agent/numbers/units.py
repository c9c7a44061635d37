"""Tables of the units, currencies, percent words and multipliers that stand before or after a number.

This module lists the symbols, signs and codes that all languages write alike; the words come from `agent.lang`. Each
unit has one short canonical name, and two units agree if their names are equal. A name that ends in "?" is general
(plain degrees) and agrees with each of its special forms. No value is ever converted.

Tables are keyed by lower-case words unless their docstring says otherwise.
"""

from functools import lru_cache
from typing import Final

from agent.lang.language import words

from .language_tables import COUNTINGS, merge_tables, unite_words

_SYMBOLS: Final = {  # canonical name -> symbols
    "millisecond": "ms", "second": "s", "minute": "min", "hour": "h", "byte": "byte", "kB": "kbyte", "MB": "mbyte",
    "GB": "gbyte", "TB": "tbyte", "mm": "mm", "cm": "cm", "dm": "dm", "m": "m", "km": "km", "hectare": "ha",
    "ml": "ml", "cl": "cl", "dl": "dl", "l": "l", "mg": "mg", "ug": "µg μg mcg", "g": "g", "hg": "hg", "kg": "kg",
    "degree?": "°", "kWh": "kwh", "MWh": "mwh", "mAh": "mah", "lm": "lm", "lux": "lux lx", "Nm": "nm", "pt": "pt",
    "Hz": "hz", "kHz": "khz", "MHz": "mhz", "GHz": "ghz", "kcal": "kcal", "cal": "cal", "kJ": "kj", "bar": "bar",
    "psi": "psi", "dB": "db", "px": "px", "dpi": "dpi ppi", "ppm": "ppm", "rpm": "rpm", "mol": "mol", "mmol": "mmol",
    "ohm": "ω", "carat": "ct",
}  # fmt: skip
_CASED: Final = {  # symbol, as written -> canonical name
    "B": "byte", "kB": "kB", "KB": "kB", "kb": "kB", "Kb": "kB", "MB": "MB", "Mb": "MB", "mb": "MB", "GB": "GB",
    "gb": "GB", "Gb": "GB", "TB": "TB", "tb": "TB", "PB": "PB", "KiB": "KiB", "MiB": "MiB", "GiB": "GiB",
    "TiB": "TiB", "Mbit": "Mbit", "Gbit": "Gbit", "kbit": "kbit", "mbit": "Mbit", "gbit": "Gbit",
    "Mbps": "Mbit/s", "mbps": "Mbit/s", "Gbps": "Gbit/s", "gbps": "Gbit/s", "kbps": "kbit/s", "W": "W", "kW": "kW",
    "MW": "MW", "V": "V", "kV": "kV", "mV": "mV", "A": "A", "mA": "mA",
    "mAh": "mAh", "Ah": "Ah", "N": "N", "Nm": "Nm", "MP": "MP", "K": "K",
    "C": "degC", "F": "degF", "celsius": "degC", "Celsius": "degC", "fahrenheit": "degF", "Fahrenheit": "degF",
    "kmh": "km/h", "kph": "km/h", "Pa": "Pa", "kPa": "kPa", "MPa": "MPa", "hPa": "hPa", "J": "J", "MJ": "MJ",
} | merge_tables(lambda each: each.units.exact)  # fmt: skip

UNITS: Final = {
    word: name
    for table in (_SYMBOLS, *(each.units.words for each in COUNTINGS.values()))
    for name, listed in table.items()
    for word in listed.split()
}
"""The canonical name of the unit that a word or symbol stands for."""

_PREFIXES: Final = merge_tables(lambda each: each.units.prefixes)
_ANY_PREFIX: Final = tuple(_PREFIXES)
_NOT_UNITS: Final = unite_words(lambda each: each.units.not_units)

WEAK_UNITS: Final = words("s h m g l W V A B C F K J bar cal bit") | unite_words(lambda each: each.units.weak)
"""Units, as written, that are also words or letters: too weak to prove that a look-alike before them is a number."""
ATTACHED_UNITS: Final = merge_tables(lambda each: each.units.glued)
"""The units of words that mean something else behind a space: they count directly behind a number only."""
UNIT_SUFFIXES: Final = unite_words(lambda each: each.units.suffixes)
"""Units of two letters that may end a number word."""
PER_UNITS: Final = {"h": "h", "s": "s"} | merge_tables(lambda each: each.units.per_units)
"""The second unit of pairs such as "km/h", by the word behind the "/"."""
POWER_WORDS: Final = merge_tables(lambda each: each.units.powers)
"""The power of a length, by the word before it ("square")."""
WORKDAY_WORDS: Final = unite_words(lambda each: each.units.workday_words)
CALENDAR_DAY_WORDS: Final = unite_words(lambda each: each.units.calendar_words)
"""Words before a day that make it a workday, or a calendar day."""
UNIT_FILLERS: Final = unite_words(lambda each: each.units.fillers)
"""Words before a unit that do not change it."""
BELOW_ZERO: Final = unite_words(lambda each: each.units.below_zero)
ABOVE_ZERO: Final = unite_words(lambda each: each.units.above_zero)
"""Words for degrees on one side of zero, and phrases behind degrees that name the side."""

CURRENCIES: Final = {
    "sek": "SEK", "usd": "USD", "eur": "EUR", "gbp": "GBP", "nok": "NOK", "dkk": "DKK", "chf": "CHF", "jpy": "JPY",
    "cad": "CAD", "aud": "AUD", "cny": "CNY", "inr": "INR", "rmb": "CNY",
} | merge_tables(lambda each: each.money.words)  # fmt: skip
"""The code of the currency that a word stands for."""
SIGNS: Final = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "¢": "cent", "₹": "INR", "₽": "RUB", "₿": "BTC", "₩": "KRW",
    "₺": "TRY", "₴": "UAH", "₫": "VND", "₪": "ILS", "₱": "PHP", "฿": "THB", "₦": "NGN", "₡": "CRC", "₲": "PYG",
    "₸": "KZT", "₼": "AZN", "₾": "GEL", "₵": "GHS", "₭": "LAK", "₮": "MNT", "₣": "CHF", "₤": "GBP", "₨": "INR",
    "₧": "ESP", "₥": "mill", "₠": "EUR", "₯": "GRD", "₰": "DEM", "₳": "ARA", "₶": "FRF", "₷": "SPL", "₻": "NOK",
    "¤": "¤", "৳": "BDT", "៛": "KHR",
}  # fmt: skip
"""The code of the currency that a sign stands for; a sign without a code has a name of its own."""
_ISO: Final = words(
    "PLN RUB KRW TRY ILS THB BRL MXN SGD HKD NZD ZAR CZK HUF ISK RON BGN UAH VND IDR MYR PHP AED SAR EGP NGN KES TWD "
    "CLP COP ARS PEN BTC RMB"
)
CODES: Final = (
    words("SEK USD EUR GBP NOK DKK CHF JPY CAD AUD CNY INR")
    | _ISO
    | unite_words(lambda each: each.money.leading)
)
"""Codes and words of currencies, as written, that may stand before the number."""
NATIONALITIES: Final = merge_tables(lambda each: each.money.nations)
"""For each word of nationality ("US"), the currencies that it selects among those of one name."""
CURRENCY_SUFFIXES: Final = merge_tables(lambda each: each.money.suffixes)
CURRENCY_SUFFIX_STEMS: Final = merge_tables(lambda each: each.money.suffix_stems)
"""The currencies of endings of a number word, and of beginnings of such endings."""

SCALED_CURRENCIES: Final = {
    "ksek": (3, "SEK"), "tsek": (3, "SEK"), "msek": (6, "SEK"), "meur": (6, "EUR"), "musd": (6, "USD"),
    "keur": (3, "EUR"), "kusd": (3, "USD"),
} | merge_tables(lambda each: each.money.scaled_words)  # fmt: skip
"""The power of ten and the currency of words that state both."""

MULTIPLIERS: Final = {"mn": 6, "mln": 6, "mio": 6, "bn": 9, "tn": 12} | merge_tables(
    lambda each: each.groups.multipliers
)
"""The power of ten by which a word multiplies the number before it."""
LETTER_MULTIPLIERS: Final = {"k": 3, "K": 3, "M": 6}
"""The same of letters, as written."""
PREFIXED_MULTIPLIERS: Final = {"m": 6, "b": 9, "B": 9, "t": 12, "T": 12}
"""The same of letters, as written, that multiply only directly behind an amount with its currency before it: $1.5m."""

_DIMENSIONS: Final = tuple(
    words(each)
    for each in (
        "mm cm dm m km mil inch foot yard mile",
        "m^2 km^2 foot^2 hectare acre",
        "m^3 ml cl dl l cup pint quart gallon tablespoon teaspoon",
        "ug mg g hg kg ton ounce pound",
        "millisecond s second min minute h hour day workday night week month quarter-year year",
        "bit kbit Mbit Gbit B byte kB MB GB TB PB KiB MiB GiB TiB",
        "kbit/s Mbit/s Gbit/s",
        "m/s km/h mph knot",
        "degree? degC degF K",
        "cal kcal J kJ MJ kWh MWh",
        "W kW MW hp",
        "Hz kHz MHz GHz",
        "mV V kV",
        "mA A",
        "mAh Ah",
        "Pa hPa kPa MPa bar psi",
        "mol mmol",
    )
)
"""Groups of units of one dimension, so that a number in one unit can replace a number in another."""

PER_MILLE: Final = unite_words(lambda each: each.percents.per_mille)
PERCENT_WORDS: Final = unite_words(lambda each: each.percents.words)
PERCENTAGE_POINTS: Final = unite_words(lambda each: each.percents.points)
"""Words for percentage points, alone or behind "per cent"."""
STANDALONE_POINTS: Final = unite_words(lambda each: each.percents.standalone_points)
"""Words for percentage points that need no "per cent" before them."""
PERCENT_STEMS: Final = tuple(unite_words(lambda each: each.percents.prefixes))
POINT_STEMS: Final = tuple(unite_words(lambda each: each.percents.point_prefixes))
"""Beginnings of longer words for per cent, and for percentage points."""
PERCENT_PHRASES: Final = unite_words(lambda each: each.percents.phrases)
PER_MILLE_PHRASES: Final = unite_words(lambda each: each.percents.per_mille_phrases)
"""Forms of several words."""
PERCENT_SIGN_SUFFIXES: Final = unite_words(lambda each: each.percents.sign_suffixes)
"""Endings behind the sign "%"."""


@lru_cache(maxsize=8192)
def unit_of(word: str) -> str | None:
    """Return the canonical name of the unit that `word`, a word or symbol in any case, stands for, or `None`."""
    if word in _CASED:
        return _CASED[word]
    lower = word.lower()
    if len(word) == 1 and word.isupper() and word != "L":  # 5G, 3D
        return None
    if lower in UNITS:
        return UNITS[lower]
    if lower.endswith("s") and len(lower) > 3 and lower[:-1] in UNITS and lower[:-1] not in WEAK_UNITS:
        return UNITS[lower[:-1]]
    if len(lower) > 4 and lower.startswith(_ANY_PREFIX) and lower not in _NOT_UNITS:
        return next(name for prefix, name in _PREFIXES.items() if lower.startswith(prefix))
    return None


@lru_cache(maxsize=1024)
def currency_of(word: str) -> str | None:
    """Return the code of the currency that `word` stands for, or `None`. A word that is also a unit is that unit."""
    if word in UNITS:  # "sek" is seconds in Swedish
        return None
    if word in _ISO:
        return word
    return CURRENCIES.get(word.lower())


def same_measure(one: str, other: str) -> bool:
    """Tell whether two units measure one dimension. "" stands for a missing unit, which agrees with any."""
    return one == other or not (one and other) or any({one, other} <= dimension for dimension in _DIMENSIONS)
