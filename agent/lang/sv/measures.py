"""Swedish units and currencies, and words for rates."""

from ..counting import Money, RateWords, Units
from ..language import words

UNITS = Units(
    words={
        "millisecond": "millisekund millisekunder",
        "second": "sek sekund sekunder sekunden sekunderna",
        "minute": "minut minuter minuten minuterna",
        "hour": "tim timme timmar timmen timmarna timma",
        "day": "dag dagar dagen dagarna dgr dygn dygnet",
        "night": "natt nätter natten",
        "week": "vecka veckor veckan veckorna",
        "month": "månad månader månaden månaderna mån",
        "quarter-year": "kvartal kvartalet",
        "year": "års året åren år åring åringar årig åriga årigt",
        "workday": "arbetsdag arbetsdagar arbetsdagarna bankdag bankdagar vardag vardagar",
        "bit": "bit bitar",
        "byte": "byte",
        "kB": "kilobyte",
        "MB": "megabyte",
        "GB": "gigabyte",
        "TB": "terabyte",
        "mm": "millimeter",
        "cm": "centimeter",
        "dm": "decimeter",
        "m": "meter metern",
        "km": "kilometer",
        "mil": "mil",
        "inch": "tum",
        "foot": "fot",
        "yard": "yard",
        "hectare": "hektar",
        "ml": "milliliter",
        "cl": "centiliter",
        "dl": "deciliter",
        "l": "liter litern",
        "cup": "kopp koppar",
        "tablespoon": "msk matsked matskedar",
        "teaspoon": "tsk tesked teskedar",
        "mg": "milligram",
        "ug": "mikrogram",
        "g": "gr gram",
        "hg": "hekto hektogram",
        "kg": "kilo kilon kilogram",
        "ton": "ton",
        "degree?": "grad grader graders gradig gradigt gradiga",
        "knot": "knop",
        "W": "watt",
        "kW": "kilowatt",
        "kWh": "kilowattimme kilowattimmar",
        "V": "volt",
        "A": "ampere",
        "lm": "lumen",
        "N": "newton",
        "Nm": "newtonmeter",
        "Hz": "hertz",
        "kcal": "kilokalorier",
        "cal": "kalori kalorier",
        "dB": "decibel",
        "px": "pixel pixlar",
        "ohm": "ohm",
        "carat": "karat",
        "hp": "hk hästkraft hästkrafter",
        "MP": "megapixel",
        "times": "gånger ggr",
    },
    exact={
        "kvm": "m^2", "kvadratmeter": "m^2", "kubikmeter": "m^3", "kvadratkilometer": "km^2", "kvadratfot": "foot^2",
    },
    prefixes={
        "arbetsdag": "workday", "bankdag": "workday", "vardag": "workday", "dags": "day", "dagar": "day",
        "dygn": "day", "månad": "month", "veckor": "week", "vecko": "week", "veckas": "week", "timm": "hour",
        "timer": "hour", "minut": "minute", "sekund": "second", "års": "year", "årig": "year", "åring": "year",
        "kilometer": "km", "centimeter": "cm", "millimeter": "mm", "meters": "m", "liters": "l", "kilos": "kg",
        "grams": "g", "watts": "W", "volts": "V", "tums": "inch", "grad": "degree?", "kvadratmeter": "m^2",
        "gångs": "times", "nätters": "night",
    },
    not_units=words("gradvis gradera graderas dagarnas timmer minutiös minutiöst timmerhus"),
    weak=words("mil fot grad"),
    glued={},
    suffixes=words("år"),
    per_units={"tim": "h"},
    powers={"kvadrat": "2", "kubik": "3"},
    workday_words=words("arbets"),
    calendar_words=words("kalender"),
    fillers=words(
        "fulla hel hela långa sammanhängande extra fler mer ytterligare korta raka kalender kompletta"
    ),
    below_zero=words("minusgrader") | {"under noll"},
    above_zero=words("plusgrader") | {"över noll"},
    idioms=words("byte vardag"),
)  # fmt: skip

_NATIONS = {
    "canadensiska": {"USD": "CAD"}, "kanadensiska": {"USD": "CAD"}, "australiska": {"USD": "AUD"},
    "amerikanska": {"USD": "USD"}, "norska": {"SEK": "NOK"}, "danska": {"SEK": "DKK"}, "isländska": {"SEK": "ISK"},
    "svenska": {"SEK": "SEK"}, "brittiska": {"GBP": "GBP"},
}  # fmt: skip

MONEY = Money(
    words={
        "kr": "SEK", "krona": "SEK", "kronor": "SEK", "kronors": "SEK", "kronan": "SEK", "kronorna": "SEK",
        "spänn": "SEK", "öre": "öre", "dollar": "USD", "dollarn": "USD", "euro": "EUR", "euron": "EUR", "yen": "JPY",
        "cent": "cent", "rupier": "INR", "rubel": "RUB", "rubler": "RUB", "złoty": "PLN",
    },
    leading=words("kr Kr KR"),
    nations=_NATIONS,
    scaled_words={
        "tkr": (3, "SEK"), "kkr": (3, "SEK"), "mkr": (6, "SEK"), "mnkr": (6, "SEK"), "mdkr": (9, "SEK"),
        "mdrkr": (9, "SEK"),
    },
    suffixes={"kr": "SEK", "krona": "SEK", "kronor": "SEK", "kronors": "SEK", "kronorssedel": "SEK"},
    suffix_stems={"lapp": "SEK", "kronorsl": "SEK"},
)  # fmt: skip

RATES = RateWords(
    per=words("per"),
    each=frozenset(("per.", "à", "i varje")),
    every=words("varje var om i"),
    things={
        "användare": "user", "anställd": "employee", "medarbetare": "employee", "person": "person", "pers": "person",
        "personer": "person", "konto": "account", "kund": "customer", "enhet": "device", "enheter": "device",
        "st": "piece", "styck": "piece", "stk": "piece", "barn": "child", "vuxen": "adult", "plats": "seat",
        "paket": "package", "order": "order", "beställning": "order", "samtal": "call", "meddelande": "message",
        "elev": "student", "hushåll": "household", "rum": "room", "licens": "license", "gång": "time", "kvm": "m^2",
    },
    adverbs={
        "månatligen": "month", "månadsvis": "month", "årligen": "year", "årsvis": "year", "veckovis": "week",
        "dagligen": "day", "kvartalsvis": "quarter-year", "styck": "piece", "årlig": "year", "årliga": "year",
    },
    charge_prefixes={
        "månads": "month", "års": "year", "dags": "day", "dygns": "day", "vecko": "week", "tim": "hour",
        "minut": "minute", "kvartals": "quarter-year", "styck": "piece",
    },
    charge_suffixes="pris|kostnad|avgift|hyra|premie|taxa|lön|belopp|debitering|betalning|abonnemang|kort",
    charge_names="(?:pris|kostnad|avgift|hyra|premie|lön|betalning|abonnemang)(?:en|et|n|er|erna)?",
    charge_stems=words("pris kostn avg hyr lön premi beta abonn belopp taxa debit kort"),
    stop_words=words(
        "i på av för från inom efter före under till och eller är om med men"
    ),
    asides=words("exkl inkl"),
)  # fmt: skip
