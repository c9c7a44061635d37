"""Units, currencies, percent words and multipliers before or after a number, of all languages.

This module holds symbols, signs and codes that all languages write alike; the words are in `agent.lang`. A unit is
known by one short canonical name; two units agree when their names are equal. Names that end in "?" are general (plain
degrees) and agree with each of their special forms. No value is ever converted.
"""

from functools import lru_cache
from typing import Final

from agent.lang.language import words

from .language_tables import COUNTINGS, merge_tables, unite_words

_SYMBOLS: Final = {
    "millisecond": "ms", "second": "s", "minute": "min", "hour": "h", "byte": "byte", "kB": "kbyte", "MB": "mbyte",
    "GB": "gbyte", "TB": "tbyte", "mm": "mm", "cm": "cm", "dm": "dm", "m": "m", "km": "km", "hectare": "ha",
    "ml": "ml", "cl": "cl", "dl": "dl", "l": "l", "mg": "mg", "ug": "µg μg mcg", "g": "g", "hg": "hg", "kg": "kg",
    "degree?": "°", "kWh": "kwh", "MWh": "mwh", "mAh": "mah", "lm": "lm", "lux": "lux lx", "Nm": "nm", "pt": "pt",
    "Hz": "hz", "kHz": "khz", "MHz": "mhz", "GHz": "ghz", "kcal": "kcal", "cal": "cal", "kJ": "kj", "bar": "bar",
    "psi": "psi", "dB": "db", "px": "px", "dpi": "dpi ppi", "ppm": "ppm", "rpm": "rpm", "mol": "mol", "mmol": "mmol",
    "ohm": "ω", "carat": "ct",
}  # fmt: skip
_EXACT: Final = {
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
"""The canonical unit by lower-case word."""

_STEMS: Final = merge_tables(lambda each: each.units.prefixes)
_BEGINNINGS: Final = tuple(_STEMS)
_NOT_UNITS: Final = unite_words(lambda each: each.units.not_units)

SHORT: Final = words("s h m g l W V A B C F K J bar cal bit") | unite_words(lambda each: each.units.weak)
"""Units that are also words or letters: too weak to confirm a look-alike of a number before them."""
GLUED: Final = merge_tables(lambda each: each.units.glued)
JOINED: Final = unite_words(lambda each: each.units.suffixes)
PER_UNITS: Final = {"h": "h", "s": "s"} | merge_tables(lambda each: each.units.per_units)
"""The second units of pairs such as "km/h", behind the "/"."""
POWERS: Final = merge_tables(lambda each: each.units.powers)
WORKING: Final = unite_words(lambda each: each.units.workday_words)
CALENDAR: Final = unite_words(lambda each: each.units.calendar_words)
FILLERS: Final = unite_words(lambda each: each.units.fillers)
BELOW_ZERO: Final = unite_words(lambda each: each.units.below_zero)
ABOVE_ZERO: Final = unite_words(lambda each: each.units.above_zero)
"""Words for degrees on one side of zero, and phrases that tell the side."""

CURRENCIES: Final = {
    "sek": "SEK", "usd": "USD", "eur": "EUR", "gbp": "GBP", "nok": "NOK", "dkk": "DKK", "chf": "CHF", "jpy": "JPY",
    "cad": "CAD", "aud": "AUD", "cny": "CNY", "inr": "INR", "rmb": "CNY",
} | merge_tables(lambda each: each.money.words)  # fmt: skip
SIGNS: Final = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "¢": "cent", "₹": "INR", "₽": "RUB", "₿": "BTC", "₩": "KRW",
    "₺": "TRY", "₴": "UAH", "₫": "VND", "₪": "ILS", "₱": "PHP", "฿": "THB", "₦": "NGN", "₡": "CRC", "₲": "PYG",
    "₸": "KZT", "₼": "AZN", "₾": "GEL", "₵": "GHS", "₭": "LAK", "₮": "MNT", "₣": "CHF", "₤": "GBP", "₨": "INR",
    "₧": "ESP", "₥": "mill", "₠": "EUR", "₯": "GRD", "₰": "DEM", "₳": "ARA", "₶": "FRF", "₷": "SPL", "₻": "NOK",
    "¤": "¤", "৳": "BDT", "៛": "KHR",
}  # fmt: skip
_ISO: Final = words(
    "PLN RUB KRW TRY ILS THB BRL MXN SGD HKD NZD ZAR CZK HUF ISK RON BGN UAH VND IDR MYR PHP AED SAR EGP NGN KES TWD "
    "CLP COP ARS PEN BTC RMB"
)
CODES: Final = (
    words("SEK USD EUR GBP NOK DKK CHF JPY CAD AUD CNY INR")
    | _ISO
    | unite_words(lambda each: each.money.leading)
)
"""Currency words that may stand before the number."""
NATIONS: Final = merge_tables(lambda each: each.money.nations)
"""Words before a currency that tell which of that name it is."""
JOINED_MONEY: Final = merge_tables(lambda each: each.money.suffixes)
JOINED_MONEY_STEMS: Final = merge_tables(lambda each: each.money.suffix_stems)

SCALED: Final = {
    "ksek": (3, "SEK"), "tsek": (3, "SEK"), "msek": (6, "SEK"), "meur": (6, "EUR"), "musd": (6, "USD"),
    "keur": (3, "EUR"), "kusd": (3, "USD"),
} | merge_tables(lambda each: each.money.scaled_words)  # fmt: skip
"""Multiplier (power of ten) and currency in one word."""

MULTIPLIERS: Final = {"mn": 6, "mln": 6, "mio": 6, "bn": 9, "tn": 12} | merge_tables(
    lambda each: each.groups.multipliers
)
LETTER_MULTIPLIERS: Final = {"k": 3, "K": 3, "M": 6}
PREFIXED_MULTIPLIERS: Final = {"m": 6, "b": 9, "B": 9, "t": 12, "T": 12}
"""Letters that multiply an amount whose currency stands before it, when nothing is between: $1.5m."""

_MEASURES: Final = tuple(
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
"""Units that measure one dimension, so that a number in one of them can replace a number in another."""

MILLE: Final = unite_words(lambda each: each.percents.per_mille)
"""Words for thousandths, which are not percents."""
PERCENT: Final = unite_words(lambda each: each.percents.words)
POINTS: Final = unite_words(lambda each: each.percents.points)
POINT_WORDS: Final = unite_words(lambda each: each.percents.standalone_points)
PERCENT_STEMS: Final = tuple(unite_words(lambda each: each.percents.prefixes))
POINT_STEMS: Final = tuple(unite_words(lambda each: each.percents.point_prefixes))
PERCENT_PHRASES: Final = unite_words(lambda each: each.percents.phrases)
MILLE_PHRASES: Final = unite_words(lambda each: each.percents.per_mille_phrases)
SIGN_ENDS: Final = unite_words(lambda each: each.percents.sign_suffixes)


@lru_cache(maxsize=8192)
def unit_of(word: str) -> str | None:
    """Return the canonical name of the unit that `word` (one word, any case) names, or `None`."""
    if word in _EXACT:
        return _EXACT[word]
    lower = word.lower()
    if len(word) == 1 and word.isupper() and word != "L":  # 5G, 3D
        return None
    if lower in UNITS:
        return UNITS[lower]
    if lower.endswith("s") and len(lower) > 3 and lower[:-1] in UNITS and lower[:-1] not in SHORT:
        return UNITS[lower[:-1]]
    if len(lower) > 4 and lower.startswith(_BEGINNINGS) and lower not in _NOT_UNITS:
        return next(name for stem, name in _STEMS.items() if lower.startswith(stem))
    return None


@lru_cache(maxsize=1024)
def currency_of(word: str) -> str | None:
    """Return the code of the currency that `word` names, or `None`."""
    if word in UNITS:  # "sek" is seconds in Swedish
        return None
    if word in _ISO:
        return word
    return CURRENCIES.get(word.lower())


def same_measure(one: str, other: str) -> bool:
    """Return whether two units measure one dimension. "" is a missing unit, which agrees with any."""
    return one == other or not (one and other) or any({one, other} <= each for each in _MEASURES)
