"""How English says numbers, dates, times and signs aloud."""

from ..saying import ClockWords, Numerals, Saying
from .counting import COUNTING

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ORDINALS = {place: word for word, place in reversed([*COUNTING.ordinals.words.items()])}
"""The usual spelling of each ordinal."""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"

NUMERALS = Numerals(
    ones=tuple(_ONES.split()),
    one="one",
    tens=dict(zip(range(20, 100, 10), _TENS.split(), strict=True)),
    tens_joint="-",
    hundred="{count} hundred",
    hundred_joint=" and ",
    scales=(
        (10**12, "one trillion", "{count} trillion"),
        (10**9, "one billion", "{count} billion"),
        (10**6, "one million", "{count} million"),
        (1000, "one thousand", "{count} thousand"),
    ),
    rest_joint=" and ",
    ordinals=_ORDINALS,
    parts={2: ("half", "halves"), 3: ("third", "thirds"), 4: ("quarter", "quarters")}
    | {below: (_ORDINALS[below], f"{_ORDINALS[below]}s") for below in (5, 6, 7, 8, 9, 10, 12, 16, 20, 100)},
    with_part="{whole} and {part}",
    year="{century} {rest}",
    fold="{count}fold",
    decimal="point",
    minus="minus",
)

SAYING = Saying(
    numerals=NUMERALS,
    clock=ClockWords(
        opener="",
        whole="{hour} o'clock",
        parted="{hour} {minute}",
        low_minute="oh {minute}",
        halves=("a.m.", "p.m."),
    ),
    months=(
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ),
    date="{day} of {month}",
    the="the",
    to="to",
    by="by",
    units={
        "%": ("percent", "percent"), "pp": ("percentage point", "percentage points"), "‰": ("per mille", "per mille"),
        "millisecond": ("millisecond", "milliseconds"), "second": ("second", "seconds"),
        "minute": ("minute", "minutes"), "hour": ("hour", "hours"), "day": ("day", "days"),
        "night": ("night", "nights"),
        "week": ("week", "weeks"), "month": ("month", "months"), "year": ("year", "years"),
        "workday": ("business day", "business days"), "calendar day": ("calendar day", "calendar days"),
        "bit": ("bit", "bits"), "kbit": ("kilobit", "kilobits"), "Mbit": ("megabit", "megabits"),
        "Gbit": ("gigabit", "gigabits"),

        "byte": ("byte", "bytes"), "kB": ("kilobyte", "kilobytes"), "MB": ("megabyte", "megabytes"),
        "GB": ("gigabyte", "gigabytes"), "TB": ("terabyte", "terabytes"), "PB": ("petabyte", "petabytes"),
        "KiB": ("kibibyte", "kibibytes"), "MiB": ("mebibyte", "mebibytes"), "GiB": ("gibibyte", "gibibytes"),
        "mm": ("millimetre", "millimetres"), "cm": ("centimetre", "centimetres"), "dm": ("decimeter", "decimeters"),
        "m": ("metre", "metres"), "km": ("kilometre", "kilometres"), "inch": ("inch", "inches"),
        "foot": ("foot", "feet"), "yard": ("yard", "yards"), "mile": ("mile", "miles"),
        "mil": ("Swedish mile", "Swedish miles"),
        "mm^2": ("square millimetre", "square millimetres"), "cm^2": ("square centimetre", "square centimetres"),
        "m^2": ("square metre", "square metres"), "km^2": ("square kilometre", "square kilometres"),
        "foot^2": ("square foot", "square feet"), "cm^3": ("cubic centimetre", "cubic centimetres"),
        "m^3": ("cubic metre", "cubic metres"), "hectare": ("hectare", "hectares"), "acre": ("acre", "acres"),
        "ml": ("millilitre", "millilitres"), "cl": ("centiliter", "centiliters"), "dl": ("deciliter", "deciliters"),
        "l": ("litre", "litres"), "cup": ("cup", "cups"), "pint": ("pint", "pints"), "gallon": ("gallon", "gallons"),
        "tablespoon": ("tablespoon", "tablespoons"), "teaspoon": ("teaspoon", "teaspoons"),
        "ug": ("microgram", "micrograms"), "mg": ("milligram", "milligrams"), "g": ("gram", "grams"),
        "hg": ("hectogram", "hectograms"), "kg": ("kilogram", "kilograms"), "ton": ("tonne", "tonnes"),
        "ounce": ("ounce", "ounces"), "pound": ("pound", "pounds"),
        "degree?": ("degree", "degrees"), "degC": ("degree Celsius", "degrees Celsius"),
        "degF": ("degree Fahrenheit", "degrees Fahrenheit"), "K": ("kelvin", "kelvins"),

        "mph": ("mile per hour", "miles per hour"), "knot": ("knot", "knots"),
        "mW": ("milliwatt", "milliwatts"), "W": ("watt", "watts"), "kW": ("kilowatt", "kilowatts"),
        "MW": ("megawatt", "megawatts"), "hp": ("horsepower", "horsepower"),
        "Wh": ("watt-hour", "watt-hours"), "kWh": ("kilowatt-hour", "kilowatt-hours"),
        "MWh": ("megawatt-hour", "megawatt-hours"), "mAh": ("milliampere-hour", "milliampere-hours"),
        "Ah": ("ampere-hour", "ampere-hours"), "V": ("volt", "volts"), "mV": ("millivolt", "millivolts"),
        "kV": ("kilovolt", "kilovolts"), "A": ("ampere", "amperes"), "mA": ("milliampere", "milliamperes"),
        "ohm": ("ohm", "ohms"), "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"),
        "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"), "dB": ("decibel", "decibels"),
        "lm": ("lumen", "lumens"), "lux": ("lux", "lux"), "N": ("newton", "newtons"),
        "Nm": ("newton-metre", "newton-metres"), "Pa": ("pascal", "pascals"), "hPa": ("hectopascal", "hectopascals"),
        "kPa": ("kilopascal", "kilopascals"), "MPa": ("megapascal", "megapascals"), "bar": ("bar", "bar"),
        "psi": ("pound per square inch", "pounds per square inch"), "J": ("joule", "joules"),
        "kJ": ("kilojoule", "kilojoules"), "MJ": ("megajoule", "megajoules"), "cal": ("calorie", "calories"),
        "kcal": ("kilocalorie", "kilocalories"), "px": ("pixel", "pixels"), "MP": ("megapixel", "megapixels"),
        "dpi": ("dot per inch", "dots per inch"), "ppm": ("part per million", "parts per million"),
        "rpm": ("revolution per minute", "revolutions per minute"), "carat": ("carat", "carats"),
    },
    per={"/h": "per hour", "/s": "per second"},
    neuter=frozenset(),
    money={
        "SEK": ("krona", "kronor", "öre"), "USD": ("dollar", "dollars", "cents"), "EUR": ("euro", "euros", "cents"),
        "GBP": ("pound sterling", "pounds sterling", "pence"),
        "NOK": ("Norwegian krona", "Norwegian kronor", "öre"), "DKK": ("Danish krona", "Danish kronor", "öre"),
        "ISK": ("Icelandic krona", "Icelandic kronor", ""), "CHF": ("franc", "francs", ""), "JPY": ("yen", "yen", ""),
        "CAD": ("Canadian dollar", "Canadian dollars", "cents"),
        "AUD": ("Australian dollar", "Australian dollars", "cents"), "INR": ("rupee", "rupees", ""),
        "CNY": ("yuan", "yuan", ""), "PLN": ("zloty", "zlotys", ""), "RUB": ("ruble", "rubles", ""),
        "HUF": ("forint", "forint", ""), "THB": ("baht", "baht", ""), "TRY": ("lira", "lira", ""),
        "ILS": ("shekel", "shekels", ""), "BTC": ("bitcoin", "bitcoins", ""), "cent": ("cent", "cents", ""),
        "pence": ("penny", "pence", ""), "öre": ("öre", "öre", ""),
    },
    with_hundredths="{whole} and {hundredths}",
    marks={
        ".": "dot", "-": "dash", "/": "slash", "(": "bracket", "_": "underscore", ":": "colon", "+": "plus", "@": "at",
        "#": "hash", ";": "semicolon", "*": "asterisk", "=": "equals", "&": "ampersand", "~": "tilde", "^": "caret",
        "\\": "backslash", "'": "apostrophe", ",": "comma", "!": "exclamation", "?": "question",
        " ": "space",
    },
    signs={
        "&": "and", "%": "percent", "‰": "per mille", "+": "plus", "=": "equals", "<": "less than", ">": "more than",
        "≤": "at most", "≥": "at least", "~": "about", "≈": "about", "°": "degrees", "§": "section", "×": "times",
        "→": "to", "/": "or", "@": "at", "#": "number", "$": "dollars", "€": "euros", "£": "pounds", "≠": "not",
    },
    short_forms={
        "e.g.": "for example", "i.e.": "that is", "approx.": "approximately", "no.": "number", "nos.": "numbers",
        "vs.": "versus", "etc.": "and so on", "incl.": "including", "excl.": "excluding", "max.": "at most",
        "min.": "at least", "kr": "kronor", "/mo": "per month", "/yr": "per year", "/hr": "per hour", "/h": "per hour",
        "/s": "per second", "/min": "per minute",
    },
    mail_marks={"@": "at", ".": "dot", "-": "dash", "_": "underscore", "+": "plus"},
    link="the link on your screen",
    address="the address on your screen",
    figure="The figure is on your screen.",
    assents=frozenset(("yes", "yes please", "confirm", "yes confirm")),
    passage="This part is on your screen.",
)  # fmt: skip
