"""What may follow or precede a number: units, currencies, percent words and multipliers, English and Swedish.

A unit is known by one short canonical name; two units agree when their names are equal. Names that end in
"?" are general (plain degrees) and agree with each of their special forms. Nothing is ever converted.
"""

from functools import lru_cache
from typing import Final

from agent.lang.language import words

_WORDS: Final = {
    "millisecond": "ms millisecond milliseconds millisekund millisekunder",
    "second": "s sec secs second seconds sek sekund sekunder sekunden sekunderna",
    "minute": "min mins minute minutes minut minuter minuten minuterna",
    "hour": "h hr hrs hour hours hourly tim timme timmar timmen timmarna timma",
    "day": "day days dag dagar dagen dagarna dgr dygn dygnet",
    "night": "night nights natt nätter natten",
    "week": "week weeks wk wks weekly vecka veckor veckan veckorna",
    "month": "month months mo mos monthly månad månader månaden månaderna mån",
    "quarter-year": "kvartal kvartalet",
    "year": "year years yr yrs yearly år års året åren åring åringar årig åriga årigt",
    "workday": "arbetsdag arbetsdagar arbetsdagarna bankdag bankdagar vardag vardagar workday workdays weekdays",
    "bit": "bit bits bitar",
    "byte": "byte bytes",
    "kB": "kilobyte kilobytes kbyte",
    "MB": "megabyte megabytes mbyte",
    "GB": "gigabyte gigabytes gbyte",
    "TB": "terabyte terabytes tbyte",
    "mm": "mm millimeter millimeters millimetre millimetres",
    "cm": "cm centimeter centimeters centimetre centimetres",
    "dm": "dm decimeter decimeters",
    "m": "m meter meters metre metres metern",
    "km": "km kilometer kilometers kilometre kilometres kms",
    "mil": "mil",
    "inch": "inch inches tum",
    "foot": "ft foot feet fot",
    "yard": "yd yds yard yards",
    "mile": "mi mile miles",
    "acre": "acre acres",
    "hectare": "ha hektar hectare hectares",
    "ml": "ml milliliter milliliters millilitre millilitres",
    "cl": "cl centiliter centiliters",
    "dl": "dl deciliter deciliters",
    "l": "l liter liters litre litres litern",
    "cup": "cup cups kopp koppar",
    "tablespoon": "tbsp tbsps tablespoon tablespoons msk matsked matskedar",
    "teaspoon": "tsp tsps teaspoon teaspoons tsk tesked teskedar",
    "gallon": "gal gallon gallons",
    "pint": "pint pints",
    "quart": "quart quarts",
    "ounce": "oz ounce ounces",
    "mg": "mg milligram milligrams",
    "ug": "µg μg mcg mikrogram microgram micrograms",
    "g": "g gr gram grams gramme grammes",
    "hg": "hg hekto hektogram",
    "kg": "kg kgs kilo kilos kilon kilogram kilograms kilogramme",
    "ton": "ton tons tonne tonnes",
    "pound": "lb lbs pound pounds",
    "degree?": "° deg degs degree degrees grad grader graders gradig gradigt gradiga",
    "mph": "mph",
    "knot": "knot knots knop",
    "W": "watt watts",
    "kW": "kilowatt kilowatts",
    "kWh": "kwh kilowattimme kilowattimmar",
    "MWh": "mwh",
    "V": "volt volts",
    "A": "ampere amperes amp amps",
    "mAh": "mah",
    "lm": "lm lumen lumens",
    "lux": "lux lx",
    "N": "newton newtons",
    "Nm": "nm newtonmeter newtonmeters",
    "pt": "pt",
    "Hz": "hz hertz",
    "kHz": "khz",
    "MHz": "mhz",
    "GHz": "ghz",
    "kcal": "kcal kilocalories kilokalorier",
    "cal": "cal calorie calories kalori kalorier",
    "kJ": "kj",
    "bar": "bar",
    "psi": "psi",
    "dB": "db decibel decibels",
    "px": "px pixel pixels pixlar",
    "dpi": "dpi ppi",
    "ppm": "ppm",
    "rpm": "rpm",
    "mol": "mol",
    "mmol": "mmol",
    "ohm": "ohm ohms ω",
    "carat": "carat carats karat ct",
    "hp": "hk hästkraft hästkrafter hp horsepower",
    "MP": "megapixel megapixels",
    "times": "times gånger ggr",
    "century": "",
}  # fmt: skip
_EXACT: Final = {
    "B": "byte", "kB": "kB", "KB": "kB", "kb": "kB", "Kb": "kB", "MB": "MB", "Mb": "MB", "mb": "MB", "GB": "GB",
    "gb": "GB", "Gb": "GB", "TB": "TB", "tb": "TB", "PB": "PB", "KiB": "KiB", "MiB": "MiB", "GiB": "GiB",
    "TiB": "TiB", "Mbit": "Mbit", "Gbit": "Gbit", "kbit": "kbit", "mbit": "Mbit", "gbit": "Gbit",
    "Mbps": "Mbit/s", "mbps": "Mbit/s", "Gbps": "Gbit/s", "gbps": "Gbit/s", "kbps": "kbit/s", "W": "W", "kW": "kW",
    "MW": "MW", "V": "V", "kV": "kV", "mV": "mV", "A": "A", "mA": "mA",
    "mAh": "mAh", "Ah": "Ah", "N": "N", "Nm": "Nm", "MP": "MP", "K": "K", "kvm": "m^2", "sqm": "m^2",
    "sqft": "foot^2", "kvadratmeter": "m^2", "kubikmeter": "m^3", "kvadratkilometer": "km^2", "kvadratfot": "foot^2",
    "C": "degC", "F": "degF", "celsius": "degC", "Celsius": "degC", "fahrenheit": "degF", "Fahrenheit": "degF",
    "kmh": "km/h", "kph": "km/h", "Pa": "Pa", "kPa": "kPa", "MPa": "MPa", "hPa": "hPa", "J": "J", "MJ": "MJ",
}  # fmt: skip

UNITS: Final = {word: name for name, words in _WORDS.items() for word in words.split()}
"""Canonical unit by lower-case word."""

_STEMS: Final = (
    ("arbetsdag", "workday"), ("bankdag", "workday"), ("vardag", "workday"), ("dags", "day"), ("dagar", "day"),
    ("dygn", "day"), ("månad", "month"), ("veckor", "week"), ("vecko", "week"), ("veckas", "week"),
    ("timm", "hour"), ("timer", "hour"), ("minut", "minute"), ("sekund", "second"), ("års", "year"),
    ("årig", "year"), ("åring", "year"), ("kilometer", "km"), ("centimeter", "cm"), ("millimeter", "mm"),
    ("meters", "m"), ("liters", "l"), ("kilos", "kg"), ("grams", "g"), ("watts", "W"), ("volts", "V"),
    ("tums", "inch"), ("grad", "degree?"), ("kvadratmeter", "m^2"), ("gångs", "times"), ("nätters", "night"),
)  # fmt: skip
_NOT_UNITS: Final = words("gradvis gradera graderas dagarnas timmer minutiös minutiöst timmerhus")

SHORT: Final = words("s h m g l W V A B C F K J mo mi bar cal bit mil hr gal fot deg grad")
"""Units that are also words or letters: too weak to make a unit of a word that only follows a look-alike."""

CURRENCIES: Final = {
    "kr": "SEK", "krona": "SEK", "kronor": "SEK", "kronors": "SEK", "kronan": "SEK", "kronorna": "SEK", "sek": "SEK",
    "spänn": "SEK", "usd": "USD", "dollar": "USD", "dollars": "USD", "eur": "EUR", "euro": "EUR", "euros": "EUR",
    "gbp": "GBP", "sterling": "GBP", "nok": "NOK", "dkk": "DKK", "chf": "CHF", "jpy": "JPY", "yen": "JPY",
    "cad": "CAD", "aud": "AUD", "cny": "CNY", "inr": "INR", "öre": "öre", "cent": "cent", "cents": "cent",
    "pence": "pence", "rupee": "INR", "rupees": "INR", "rupier": "INR", "bucks": "USD", "quid": "GBP",
    "zloty": "PLN", "zlotys": "PLN", "złoty": "PLN", "rubel": "RUB", "rubler": "RUB", "ruble": "RUB", "rubles": "RUB",
    "roubles": "RUB", "franc": "CHF", "francs": "CHF", "forint": "HUF", "peso": "MXN", "pesos": "MXN", "baht": "THB",
    "lira": "TRY", "shekel": "ILS", "shekels": "ILS", "bitcoin": "BTC", "bitcoins": "BTC", "yuan": "CNY",
    "renminbi": "CNY", "dirham": "AED", "dirhams": "AED", "rmb": "CNY", "dollarn": "USD", "euron": "EUR",
}  # fmt: skip
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
CODES: Final = words("SEK USD EUR GBP NOK DKK CHF JPY CAD AUD CNY INR kr Kr KR") | _ISO
"""Currency words that may stand before the number."""

_DOLLARS: Final = {
    "CAD": "canadian canadensiska kanadensiska", "AUD": "australian australiska", "USD": "us american amerikanska",
}  # fmt: skip
_KRONOR: Final = {
    "NOK": "norwegian norska", "DKK": "danish danska", "ISK": "icelandic isländska", "SEK": "swedish svenska",
}  # fmt: skip
NATIONS: Final = {
    nation: {base: code}
    for base, table in (("USD", _DOLLARS), ("SEK", _KRONOR), ("GBP", {"GBP": "british brittiska"}))
    for code, nations in table.items()
    for nation in nations.split()
}
"""Words before a currency that tell which of that name it is."""

SCALED: Final = {
    "tkr": (3, "SEK"), "kkr": (3, "SEK"), "mkr": (6, "SEK"), "mnkr": (6, "SEK"), "mdkr": (9, "SEK"),
    "ksek": (3, "SEK"), "tsek": (3, "SEK"), "msek": (6, "SEK"), "mdrkr": (9, "SEK"), "meur": (6, "EUR"),
    "musd": (6, "USD"), "keur": (3, "EUR"), "kusd": (3, "USD"),
}  # fmt: skip
"""Multiplier (power of ten) and currency in one word."""

MULTIPLIERS: Final = {
    "tusen": 3, "thousand": 3, "thousands": 3, "hundra": 2, "hundred": 2, "miljon": 6, "miljoner": 6, "million": 6,
    "millions": 6, "mn": 6, "mln": 6, "mio": 6, "milj": 6, "miljard": 9, "miljarder": 9, "billion": 9, "billions": 9,
    "bn": 9, "mdr": 9, "biljon": 12, "biljoner": 12, "trillion": 12, "trillions": 12, "tn": 12,
    "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7,
}  # fmt: skip
LETTER_MULTIPLIERS: Final = {"k": 3, "K": 3, "M": 6}
PREFIXED_MULTIPLIERS: Final = {"m": 6, "b": 9, "B": 9, "t": 12, "T": 12}
"""Letters that multiply an amount whose currency stands before it, when nothing is between: $1.5m."""

MILLE: Final = words("promille promilles permille")
"""Words for thousandths, which are no percents."""
PERCENT: Final = words("percent percentage percentages pct procent procents procentig procentiga procentigt")
POINTS: Final = words(
    "procentenhet procentenheter procentenheters procentenheten procentpoäng percentpoints pp enheter "
    "enhet points point"
)


@lru_cache(maxsize=8192)
def unit_of(word: str) -> str | None:
    """Return the canonical name of the unit that `word` (one word, any case) names, or None."""
    if word in _EXACT:
        return _EXACT[word]
    lower = word.lower()
    if len(word) == 1 and word.isupper() and word != "L":  # 5G, 3D
        return None
    if lower in UNITS:
        return UNITS[lower]
    if lower.endswith("s") and len(lower) > 3 and lower[:-1] in UNITS and lower[:-1] not in SHORT:
        return UNITS[lower[:-1]]
    if len(lower) > 4 and lower not in _NOT_UNITS:
        for stem, name in _STEMS:
            if lower.startswith(stem):
                return name
    return None


@lru_cache(maxsize=1024)
def currency_of(word: str) -> str | None:
    """Return the code of the currency that `word` names, or None."""
    if word == "sek":  # seconds, in Swedish
        return None
    if word in _ISO:
        return word
    return CURRENCIES.get(word.lower())
