"""A second opinion on the first promise: which numbers of an answer stand in none of its citations.

Written from the rule's own words and from nothing of the product, so that a mistake there is not repeated here. It is
simpler and stricter: what it cannot read must stand, character for character, in a snippet. It knows the ways in which
the knowledge base and the mock write numbers, in English and Swedish, not every way there is.

    text -> cleaned text -> tokens, at each word's start by the first pattern that fits -> is each held by a snippet?
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache


def _each(names: str, border: str = ";") -> list[str]:
    return names.split(border)


_MONTHS = {
    name: number
    for number, names in enumerate(
        _each(
            "january januari jan;february februari feb;march mars mar;april apr;may maj;june juni jun;july juli jul;"
            "august augusti aug;september sep sept;october oktober oct okt;november nov;december dec"
        ),
        1,
    )
    for name in names.split()
}
_UNITS = {
    name: names.split(",")[0]
    for names in _each(
        "business day,business days,working day,working days,arbetsdag,arbetsdagar,weekday,weekdays,vardag,vardagar;"
        "day,days,dag,dagar,dagars,dygn;week,weeks,vecka,veckor,veckors;month,months,månad,månader,månaders;"
        "year,years,år,års;hour,hours,timme,timmar,timmars;minute,minutes,min,minut,minuter,minuters;"
        "second,seconds,sekund,sekunder;percentage point,percentage points,procentenhet,procentenheter;"
        "kg;cm;mm;km;metre,metres,meter,meters,m;tonne,tonnes,ton;mb;gb;kb;mbit/s;ghz;°c;°f,f;"
        "degree,degrees,grader;decibel,decibels,db;thousand,tusen,k,tkr;million,miljon,miljoner,mn"
    )
    for name in names.split(",")
}
_CURRENCIES = {
    name: code
    for code, names in {
        "sek": "kr kronor krona sek :-",
        "eur": "eur euro euros €",
        "usd": "usd dollar dollars $",
        "gbp": "gbp pounds £",
        "nok": "nok",
        "dkk": "dkk",
    }.items()
    for name in names.split()
}
_PERCENT = ("procent", "percent", "percentage", "%")

_EN = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_SV = "två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton"
_TENS_EN = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS_SV = "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio"


def _number_words() -> dict[str, int]:
    words = {"ett": 1, "en": 1, "one": 1}
    for few, tens, ones, joints in (
        (_EN, _TENS_EN, "one two three four five six seven eight nine", ("-", " ")),
        (_SV, _TENS_SV, "ett två tre fyra fem sex sju åtta nio", ("",)),
    ):
        words |= {word: value for value, word in enumerate(few.split(), 2)}
        for ten, word in zip(range(20, 100, 10), tens.split(), strict=True):
            words[word] = ten
            for one, last in enumerate(ones.split(), 1):
                words |= {f"{word}{joint}{last}": ten + one for joint in joints}
    return words


_WORDS = _number_words()
_AS_THEY_STAND = _each(
    "hundred thousand million billion hundra tusen miljon miljoner miljard miljarder dozen dussin couple par decade "
    "fortnight sekel halvår double doubled twice triple threefold fourfold dubbel dubbla dubbelt trippel tredubbla "
    "half halva hälften quarter kvart fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "fjärde femte sjätte sjunde åttonde nionde tionde elfte tolfte hundreds thousands hundratals tusentals thirds "
    "two-thirds tredjedel tredjedelar fjärdedel fjärdedelar",
    " ",
)


def _any(names: Sequence[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_BEGIN = r"(?<![^\W_])(?<!\d[.,:/'-])(?<!\d )"
_END = r"(?![^\W_]|[^\w\s|]+\d| \d)"  # what touches another run of digits is not whole
_NUM = r"\d{1,3}(?:[ ,.']\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
_UNIT = rf"(?:[ -]?(?P<unit>{_any([*_UNITS, *_CURRENCIES, *_PERCENT])})(?![^\W_]))"
_MONTH = rf"(?P<month>{_any(list(_MONTHS))})"
_CLOCK = r"(?:[01]?\d|2[0-4])[:.][0-5]\d"

# In the order in which they are tried. What none of the others reads is taken by the last as it stands.
_PATTERNS = [
    (kind, re.compile(_BEGIN + pattern))
    for kind, pattern in (
        ("date", rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){_END}"),
        ("date", rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH}(?:,? (?P<year>\d{{4}}))?{_END}"),
        ("date", rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?{_END}"),
        ("date", rf"{_MONTH} (?P<year>\d{{4}}){_END}"),
        ("phone", r"(?P<digits>(?:\+|0)\d+(?:[ -]{1,2}\d+)+)" + _END),
        ("phone", r"(?P<digits>(?:\+|0)\d{6,})" + _END),
        ("times", rf"(?P<first>{_CLOCK}) ?- ?(?P<last>{_CLOCK})(?! ?(?:kr|%|sek|cm|kg)){_END}"),
        ("time", rf"(?P<time>(?:[01]?\d|2[0-4]):[0-5]\d|0\d\.[0-5]\d)(?: ?(?P<half>am|pm))?{_END}"),
        ("time", rf"(?P<time>1[0-2]|[1-9]) ?(?P<half>am|pm){_END}"),
        ("time", rf"(?<=at )(?P<time>{_CLOCK}){_END}|(?<=klockan )(?P<time2>{_CLOCK}){_END}"),
        # 15.00 in a table may be an hour: then it is neither 15 nor 15 of anything.
        ("time", rf"(?P<time>(?:[01]\d|2[0-4])\.[0-5]\d)(?!{_UNIT}){_END}"),
        ("code", r"\d{4,}-\d{4,}" + _END),
        ("code", r"0\d+" + _END),
        ("code", rf"\d+(?:,\d+)?(?: ?x ?\d+)+{_UNIT}?{_END}"),
        (
            "range",
            rf"(?P<from>-?(?:{_NUM})) ?(?:-|to|till) ?(?P<to>-?(?:{_NUM}))(?:{_UNIT}|{_END})",
        ),
        ("amount", rf"(?P<before>[$€£]|sek |eur )(?P<num>{_NUM}){_END}"),
        ("amount", rf"(?P<num>(?<![^\s(|])-?(?:{_NUM})|{_NUM}){_UNIT}"),
        ("amount", rf"(?P<num>(?<![^\s(|])-?(?:{_NUM})|{_NUM}){_END}"),
        ("ordinal", rf"(?P<num>\d+)(?:th|st|nd|rd|:e|:a){_END}"),
        ("run", rf"(?:{_any(list(_WORDS))})(?:[ -](?:and |och )?(?:{_any(list(_WORDS))}))+(?![^\W_])"),
        ("word", rf"(?P<word>{_any(list(_WORDS))})(?:{_UNIT}(?P<rest>[a-zåäö]*)|(?![\w-]))"),
        (
            "word",
            rf"(?P<word>{_any(list(_WORDS))})(?P<unit>års|månaders|dagars|veckors|timmars)(?P<rest>[a-zåäö]*)",
        ),
        ("code", rf"(?:{_any(_AS_THEY_STAND)})(?![^\W_])"),
        ("code", rf"(?:{_any(_TENS_EN.split())})-(?:first|second|third|[a-z]+th)(?![^\W_])"),
        ("code", r"[a-zåäö]+(?:tonde|tionde|dubbl[a-zåäö]+)(?![^\W_])"),
    )
]
_CLUMP = re.compile(r"[$€£]?[\w.,:/'@+-]*\d[\w.,:/'@+-]*(?: \d[\w.,:/'@+-]*)*")
_START = re.compile(r"[+$€£.,-]?[^\W_]+")
_ROMAN = re.compile(
    r"(?<!\w)(?=[IVXLCDM]{2})(?!(?:CD|MC|DI|MIX|MM|CM|MD)\b)"
    r"M*(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)"
)
_MARKUP = re.compile(r"<!--.*?-->|</?[a-z][^<>]*>|\]\([^()]*\)\[?|[*`]+", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(rf"(?:between|mellan) (?P<from>{_NUM}) (?:and|och) (?P<to>{_NUM}){_UNIT}?")


@dataclass(frozen=True, slots=True)
class Number:
    """One number as a text has it.

    kind: amount (bare), percent, money, quantity, time, date, phone, range or code. raw: its characters.
    readings: the values it can have. unit: of a quantity or money. parts: of a date, a phone or a range.
    """

    kind: str
    raw: str
    readings: frozenset[Decimal] = frozenset()
    unit: str = ""
    parts: tuple[object, ...] = ()


def shown(citations: Iterable[Mapping[str, object]]) -> list[str]:
    """Return what citations, as they come over the wire, show: each snippet, and the headings above it."""
    return [str(each[name]) for each in citations for name in ("snippet", "heading") if name in each]


def unsupported(answer: str, snippets: Sequence[str]) -> list[str]:
    """Return the numbers of `answer`, as it writes them, that not one of the snippets holds."""
    held = [number for snippet in snippets for number in _numbers(snippet, True)]
    return [
        number.raw for number in _numbers(answer, False) if not any(_holds(each, number) for each in held)
    ]


def _holds(source: Number, said: Number) -> bool:
    """Whether `source`, a number of a snippet, is the number `said` or holds it."""
    same = source.readings == said.readings and bool(said.readings)
    same = same or (source.raw == said.raw and source.unit == said.unit)
    match said.kind, source.kind:
        case ("amount", "amount" | "quantity" | "money") | ("quantity", "amount"):
            return same
        case ("amount", "date"):
            return said.readings == {Decimal(str(source.parts[0] or -1))}
        case ("amount", "time") | ("time", "amount"):
            return source.raw == said.raw
        case ("percent", "percent") | ("money", "money") | ("quantity", "quantity"):
            return same and source.unit == said.unit
        case "date", "date":
            return all(
                part is None or part == whole for part, whole in zip(said.parts, source.parts, strict=True)
            )
        case "range", "range":
            return all(
                isinstance(theirs, Number) and isinstance(ours, Number) and _holds(theirs, ours)
                for theirs, ours in zip(source.parts, said.parts, strict=True)
            )
        case ("time", "time") | ("phone", "phone"):
            return source.parts == said.parts
        case "code", _:
            return source.raw == said.raw and source.kind == "code"
    return False


@lru_cache(maxsize=4096)
def _numbers(text: str, source: bool) -> tuple[Number, ...]:
    """Return the numbers of a text. In a `source` the ends of a range count too, and list markers do not."""
    if source:
        text = re.sub(r"(?m)^\s*(?:[-*+]|\d+[.)]|#+)\s+", "", text)
    cleaned = _clean(text)
    found = [Number("code", match.group()) for match in _ROMAN.finditer(cleaned)]
    cleaned = cleaned.casefold()
    found += _scan(cleaned)
    if source:
        found += [
            part for each in found if each.kind == "range" for part in each.parts if isinstance(part, Number)
        ]
        found += [_range(match, cleaned) for match in _BETWEEN.finditer(cleaned)]
    return tuple(found)


def _clean(text: str) -> str:
    """Return the text with one kind of space, dash and digit, without markup and what cannot be seen."""
    out = []
    for char in html.unescape(text):
        category = unicodedata.category(char)
        if category == "Cf":
            continue
        if category in ("Zs", "Zl", "Zp", "Cc"):
            char = " "
        elif category == "Pd" or char == "\u2212":
            char = "-"
        elif category == "Nd":
            char = str(unicodedata.decimal(char))
        out.append(char)
    return re.sub(r" +", " ", _MARKUP.sub("", "".join(out)))


def _scan(text: str) -> Iterator[Number]:
    at = 0
    while (start := _START.search(text, at)) is not None:
        at = start.start()
        number, at = _at(text, at, start.end())
        if number is not None:
            yield number
    for char in text:
        if unicodedata.numeric(char, None) is not None and not char.isdecimal():
            yield Number("code", char)


def _at(text: str, at: int, after: int) -> tuple[Number | None, int]:
    """Return the number that begins at a word's start, if one does, and where to go on."""
    for kind, pattern in _PATTERNS:
        match = pattern.match(text, at)
        if match is not None and not (kind == "run" and match.group() in _WORDS):
            return _READ[kind](match, text), match.end()
    clump = _CLUMP.match(text, at)
    if clump is not None:
        return Number("code", clump.group().rstrip(".,:'")), clump.end()
    return None, after


# --- one reader for each kind


def _date(match: re.Match[str], _: str) -> Number:
    fields = match.groupdict()
    month = fields["month"]
    parts = (
        int(fields["year"]) if fields.get("year") else None,
        int(month) if month.isdigit() else _MONTHS[month],
        int(fields["day"]) if fields.get("day") else None,
    )
    return Number("date", match.group(), parts=parts)


def _phone(match: re.Match[str], _: str) -> Number:
    digits = "".join(char for char in match["digits"] if char in "+0123456789")
    return Number("phone", match.group(), parts=(digits,))


def _clock(raw: str, half: str | None = None) -> Number:
    hour, _, minute = raw.replace(".", ":").partition(":")
    whole = int(hour) % 12 + (12 if half == "pm" else 0) if half else int(hour)
    return Number("time", raw, parts=(whole, int(minute or 0)))


def _time(match: re.Match[str], _: str) -> Number:
    fields = match.groupdict()
    return _clock(fields.get("time") or fields["time2"], fields.get("half"))


def _times(match: re.Match[str], _: str) -> Number:
    return Number("range", match.group(), parts=(_clock(match["first"]), _clock(match["last"])))


def _code(match: re.Match[str], _: str) -> Number:
    return Number("code", match.group())


def _range(match: re.Match[str], text: str) -> Number:
    unit = match["unit"]
    ends = tuple(_counted(match[end], unit, _language(text)) for end in ("from", "to"))
    return Number("range", match.group(), parts=ends)


def _amount(match: re.Match[str], text: str) -> Number:
    fields = match.groupdict()
    unit = fields.get("unit") or (fields.get("before") or "").strip()
    return _counted(match["num"], unit, _language(text))


def _ordinal(match: re.Match[str], _: str) -> Number:
    return Number("code", match.group())


def _word(match: re.Match[str], _: str) -> Number | None:
    value, unit = _WORDS[match["word"]], match["unit"]
    if value == 1 and not unit:
        return None  # an article
    return _counted(str(value), unit, "")


_READ = {
    "date": _date,
    "phone": _phone,
    "time": _time,
    "times": _times,
    "code": _code,
    "range": _range,
    "amount": _amount,
    "ordinal": _ordinal,
    "run": _code,
    "word": _word,
}


def _counted(raw: str, unit: str | None, language: str) -> Number:
    """Return a number of its kind: bare, or a percentage, money or a quantity by what stands beside it."""
    readings = _readings(raw, language)
    if unit in _PERCENT:
        return Number("percent", raw, readings)
    if unit in _CURRENCIES:
        return Number("money", raw, readings, _CURRENCIES[unit])
    if unit in _UNITS:
        return Number("quantity", raw, readings, _UNITS[unit])
    return Number("amount", raw, readings)


def _readings(raw: str, language: str) -> frozenset[Decimal]:
    """Return the values that a numeral can have; two for `1,234` where the language does not tell."""
    sign = -1 if raw.startswith("-") else 1
    bare = re.sub(r"[ '-]", "", raw)
    marks = [char for char in bare if char in ",."]
    if not marks:
        whole = {bare}
    elif len(set(marks)) == 2:
        decimal = marks[-1]
        whole = {bare.replace("," if decimal == "." else ".", "").replace(decimal, ".")}
    elif len(marks) > 1:
        whole = {re.sub("[,.]", "", bare)}
    elif re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", bare) and " " not in raw:
        grouped = re.sub("[,.]", "", bare)
        groups_with = {"en": ",", "sv": "."}.get(language)
        if groups_with is None:
            whole = {grouped, bare.replace(",", ".")}
        else:
            whole = {grouped if marks[0] == groups_with else bare.replace(",", ".")}
    else:
        whole = {bare.replace(",", ".")}
    return frozenset(sign * Decimal(each) for each in whole)


def _language(text: str) -> str:
    """Return the language of a text by its small words, or "" where they do not tell."""
    words = set(re.findall(r"[^\W\d_]+", text))
    en = len(
        words & {"the", "and", "of", "is", "are", "with", "which", "costs", "you", "it", "a", "for", "to"}
    )
    sv = len(
        words & {"och", "är", "som", "med", "för", "kostar", "du", "det", "ett", "på", "av", "till", "i"}
    )
    return "" if en == sv else "en" if en > sv else "sv"
