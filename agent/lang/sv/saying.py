"""How Swedish says numbers, dates, times and signs aloud."""

from ..language import words
from ..saying import ClockWords, Numerals, Saying
from .counting import COUNTING

_ONES = "noll ett två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton"
_TENS = "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio"
_ORDINALS = {place: word for word, place in reversed([*COUNTING.ordinals.words.items()])}
"""The usual spelling of each ordinal."""
_PARTS = {
    3: "tredjedel", 4: "fjärdedel", 5: "femtedel", 6: "sjättedel", 7: "sjundedel", 8: "åttondel", 9: "niondel",
    10: "tiondel", 12: "tolftedel", 16: "sextondel", 20: "tjugondel", 100: "hundradel",
}  # fmt: skip

NUMERALS = Numerals(
    ones=tuple(_ONES.split()),
    one="en",
    tens=dict(zip(range(20, 100, 10), _TENS.split(), strict=True)),
    tens_joint="",
    hundred="{count}hundra",
    hundred_joint="",
    scales=(
        (10**12, "en biljon", "{count} biljoner"),
        (10**9, "en miljard", "{count} miljarder"),
        (10**6, "en miljon", "{count} miljoner"),
        (1000, "ett tusen", "{count} tusen"),
    ),
    rest_joint=" ",
    ordinals=_ORDINALS,
    parts={2: ("halv", "halva")} | {below: (word, f"{word}ar") for below, word in _PARTS.items()},
    with_part="{whole} och {part}",
    year="{century}hundra{rest}",
    fold="{count}faldig",
    decimal="komma",
    minus="minus",
)

SAYING = Saying(
    numerals=NUMERALS,
    clock=ClockWords(
        opener="klockan", whole="{hour} noll noll", parted="{hour} {minute}", low_minute="noll {minute}", halves=()
    ),
    months=(
        "januari", "februari", "mars", "april", "maj", "juni", "juli", "augusti", "september", "oktober", "november",
        "december",
    ),
    date="{day} {month}",
    the="den",
    to="till",
    by="gånger",
    units={
        "%": ("procent", "procent"), "pp": ("procentenhet", "procentenheter"), "‰": ("promille", "promille"),
        "millisecond": ("millisekund", "millisekunder"), "second": ("sekund", "sekunder"),
        "minute": ("minut", "minuter"), "hour": ("timme", "timmar"), "day": ("dag", "dagar"),
        "night": ("natt", "nätter"),
        "week": ("vecka", "veckor"), "month": ("månad", "månader"), "year": ("år", "år"),
        "quarter-year": ("kvartal", "kvartal"), "workday": ("arbetsdag", "arbetsdagar"),
        "bit": ("bit", "bitar"), "kbit": ("kilobit", "kilobit"), "Mbit": ("megabit", "megabit"),
        "Gbit": ("gigabit", "gigabit"),

        "byte": ("byte", "byte"), "kB": ("kilobyte", "kilobyte"), "MB": ("megabyte", "megabyte"),
        "GB": ("gigabyte", "gigabyte"), "TB": ("terabyte", "terabyte"), "PB": ("petabyte", "petabyte"),
        "KiB": ("kibibyte", "kibibyte"), "MiB": ("mebibyte", "mebibyte"), "GiB": ("gibibyte", "gibibyte"),
        "mm": ("millimeter", "millimeter"), "cm": ("centimeter", "centimeter"), "dm": ("decimeter", "decimeter"),
        "m": ("meter", "meter"), "km": ("kilometer", "kilometer"), "mil": ("mil", "mil"), "inch": ("tum", "tum"),
        "foot": ("fot", "fot"), "yard": ("yard", "yard"),
        "mm^2": ("kvadratmillimeter", "kvadratmillimeter"), "cm^2": ("kvadratcentimeter", "kvadratcentimeter"),
        "m^2": ("kvadratmeter", "kvadratmeter"), "km^2": ("kvadratkilometer", "kvadratkilometer"),
        "foot^2": ("kvadratfot", "kvadratfot"), "cm^3": ("kubikcentimeter", "kubikcentimeter"),
        "m^3": ("kubikmeter", "kubikmeter"), "hectare": ("hektar", "hektar"), "ml": ("milliliter", "milliliter"),
        "cl": ("centiliter", "centiliter"), "dl": ("deciliter", "deciliter"), "l": ("liter", "liter"),
        "cup": ("kopp", "koppar"), "tablespoon": ("matsked", "matskedar"), "teaspoon": ("tesked", "teskedar"),
        "ug": ("mikrogram", "mikrogram"), "mg": ("milligram", "milligram"), "g": ("gram", "gram"),
        "hg": ("hektogram", "hektogram"), "kg": ("kilogram", "kilogram"), "ton": ("ton", "ton"),
        "degree?": ("grad", "grader"), "degC": ("grad Celsius", "grader Celsius"),
        "degF": ("grad Fahrenheit", "grader Fahrenheit"), "K": ("kelvin", "kelvin"),
        "knot": ("knop", "knop"), "mW": ("milliwatt", "milliwatt"), "W": ("watt", "watt"),
        "kW": ("kilowatt", "kilowatt"),
        "MW": ("megawatt", "megawatt"), "hp": ("hästkraft", "hästkrafter"), "Wh": ("wattimme", "wattimmar"),
        "kWh": ("kilowattimme", "kilowattimmar"), "MWh": ("megawattimme", "megawattimmar"),
        "mAh": ("milliamperetimme", "milliamperetimmar"), "Ah": ("amperetimme", "amperetimmar"), "V": ("volt", "volt"),
        "mV": ("millivolt", "millivolt"), "kV": ("kilovolt", "kilovolt"), "A": ("ampere", "ampere"),
        "mA": ("milliampere", "milliampere"), "ohm": ("ohm", "ohm"), "Hz": ("hertz", "hertz"),
        "kHz": ("kilohertz", "kilohertz"), "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"),
        "dB": ("decibel", "decibel"), "lm": ("lumen", "lumen"), "lux": ("lux", "lux"), "N": ("newton", "newton"),
        "Nm": ("newtonmeter", "newtonmeter"), "Pa": ("pascal", "pascal"), "hPa": ("hektopascal", "hektopascal"),
        "kPa": ("kilopascal", "kilopascal"), "MPa": ("megapascal", "megapascal"), "bar": ("bar", "bar"),
        "psi": ("pund per kvadrattum", "pund per kvadrattum"), "dpi": ("punkt per tum", "punkter per tum"),
        "pound": ("pund", "pund"),
        "J": ("joule", "joule"), "kJ": ("kilojoule", "kilojoule"), "MJ": ("megajoule", "megajoule"),
        "cal": ("kalori", "kalorier"), "kcal": ("kilokalori", "kilokalorier"), "px": ("pixel", "pixlar"),
        "MP": ("megapixel", "megapixel"), "rpm": ("varv per minut", "varv per minut"), "carat": ("karat", "karat"),
    },
    per={"/h": "i timmen", "/s": "per sekund"},
    neuter=words("year quarter-year ton ohm"),
    money={
        "SEK": ("krona", "kronor", "öre"), "USD": ("dollar", "dollar", "cent"), "EUR": ("euro", "euro", "cent"),
        "GBP": ("brittiskt pund", "brittiska pund", "pence"), "NOK": ("norsk krona", "norska kronor", "öre"),
        "DKK": ("dansk krona", "danska kronor", "öre"), "ISK": ("isländsk krona", "isländska kronor", ""),
        "CHF": ("schweizerfranc", "schweizerfranc", ""), "JPY": ("yen", "yen", ""),
        "CAD": ("kanadensisk dollar", "kanadensiska dollar", "cent"),
        "AUD": ("australisk dollar", "australiska dollar", "cent"), "INR": ("rupie", "rupier", ""),
        "PLN": ("złoty", "złoty", ""), "RUB": ("rubel", "rubler", ""), "cent": ("cent", "cent", ""),
        "öre": ("öre", "öre", ""),
    },
    with_hundredths="{whole} och {hundredths}",
    marks={
        ".": "punkt", "-": "streck", "/": "snedstreck", "(": "parentes", "_": "understreck", ":": "kolon", "+": "plus",
        "@": "snabel-a", "#": "brädgård", ";": "semikolon", "*": "asterisk", "=": "likhetstecken", "&": "et-tecken",
        "~": "tilde", "^": "cirkumflex", "\\": "bakstreck", "'": "apostrof", ",": "kommatecken", "!": "utropstecken",
        "?": "frågetecken", " ": "mellanslag",
    },
    signs={
        "&": "och", "%": "procent", "‰": "promille", "+": "plus", "=": "lika med", "<": "mindre än", ">": "mer än",
        "≤": "högst", "≥": "minst", "~": "ungefär", "≈": "ungefär", "°": "grader", "§": "paragraf", "×": "gånger",
        "→": "till", "/": "eller", "@": "at", "#": "nummer", "$": "dollar", "€": "euro", "£": "pund", "≠": "inte",
    },
    short_forms={
        "t.ex.": "till exempel", "bl.a.": "bland annat", "dvs.": "det vill säga", "ca": "cirka", "ca.": "cirka",
        "m.m.": "med mera", "osv.": "och så vidare", "fr.o.m.": "från och med", "t.o.m.": "till och med",
        "inkl.": "inklusive", "exkl.": "exklusive", "max.": "högst", "min.": "minst", "nr": "nummer", "kl": "klockan",
        "kl.": "klockan", "st": "styck", "kr": "kronor", "tel.": "telefon", "/mån": "per månad", "/år": "per år",
        "/tim": "per timme", "/h": "per timme", "/s": "per sekund", "/min": "per minut", "/st": "per styck",
        "/dag": "per dag", "/dygn": "per dygn", "/kvm": "per kvadratmeter",
    },
    mail_marks={"@": "snabel-a", ".": "punkt", "-": "streck", "_": "understreck", "+": "plus"},
    link="länken på skärmen",
    address="adressen på skärmen",
    figure="Siffran står på skärmen.",
    assents=frozenset(("ja", "ja tack", "bekräfta", "ja bekräfta")),
    passage="Den delen står på skärmen.",
)  # fmt: skip
