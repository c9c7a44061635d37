"""Each kind of number: whatever form it is rendered in, it is read as the same value."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.numbers.number_tokens import NumberToken, tokens

NUMBERS = st.integers(0, 10**9)
SPACES = st.sampled_from([" ", "\u00a0", "\u202f", "\u2009"])
DASHES = st.sampled_from(["-", "–", "—", "\u2011", "\u2212"])
UNITS = {
    "day": ["dagar", "days", "dag", "dagars"],
    "month": ["månader", "months", "mån", "månaders"],
    "hour": ["timmar", "hours", "h"],
    "MB": ["MB", "megabyte"],
    "kg": ["kg", "kilo", "kilogram"],
    "workday": ["arbetsdagar", "business days", "bankdagar", "working days"],
    "km/h": ["km/h"],
    "m^2": ["m²", "m2", "kvadratmeter", "square metres", "kvm"],
    "degC": ["°C", "grader Celsius", "degrees C"],
}
MONTHS = [
    ("January", "januari", "Jan"), ("February", "februari", "feb"), ("March", "mars", "Mar"), ("April", "april", "Apr"),
    ("May", "maj", "May"), ("June", "juni", "Jun"), ("July", "juli", "Jul"), ("August", "augusti", "Aug"),
    ("September", "september", "Sept"), ("October", "oktober", "Oct"), ("November", "november", "Nov"),
    ("December", "december", "Dec"),
]  # fmt: skip
_EN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_SV = "noll ett två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton"
_EN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SV_TENS = "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio"


def only(text: str, *, source: bool = False) -> NumberToken:
    """Return the one token of a text."""
    found = tokens(text, source=source)
    assert len(found) == 1, (text, found)
    return found[0]


def grouped(value: int, sep: str) -> str:
    """Return an integer in groups of three."""
    return f"{value:,}".replace(",", sep)


def english(value: int) -> str:
    """Return a number below a million in English words."""
    if value < 20:
        return _EN.split()[value]
    if value < 100:
        tens, rest = divmod(value, 10)
        return _EN_TENS.split()[tens - 2] + (f"-{_EN.split()[rest]}" if rest else "")
    if value < 1000:
        hundreds, rest = divmod(value, 100)
        return f"{_EN.split()[hundreds]} hundred" + (f" and {english(rest)}" if rest else "")
    thousands, rest = divmod(value, 1000)
    joint = " and " if 0 < rest < 100 else " "
    return f"{english(thousands)} thousand" + (f"{joint}{english(rest)}" if rest else "")


def swedish(value: int) -> str:
    """Return a number below a million in Swedish words, written as one word."""
    if value < 20:
        return _SV.split()[value]
    if value < 100:
        tens, rest = divmod(value, 10)
        return _SV_TENS.split()[tens - 2] + (_SV.split()[rest] if rest else "")
    if value < 1000:
        hundreds, rest = divmod(value, 100)
        return _SV.split()[hundreds] + "hundra" + (swedish(rest) if rest else "")
    thousands, rest = divmod(value, 1000)
    return swedish(thousands) + "tusen" + (swedish(rest) if rest else "")


@given(NUMBERS, st.sampled_from(["{}", "{} ", "({})", "{}.", "{}, and", "**{}**", "about {}!"]))
def test_integer(value: int, frame: str) -> None:
    """An integer is read alike in running text, brackets, emphasis and before punctuation."""
    assert (only(frame.format(value)).kind, only(frame.format(value)).value) == ("number", str(value))


@given(st.integers(1000, 10**12), SPACES)
def test_grouping(value: int, space: str) -> None:
    """Groups of three with spaces or apostrophes change nothing."""
    assert {only(grouped(value, sep)).value for sep in (space, "'", "’")} == {str(value)}


@given(st.integers(10**6, 10**12), st.sampled_from([",", "."]))
def test_two_separators(value: int, sep: str) -> None:
    """With two or more groups a comma or a point is a thousands separator."""
    assert only(grouped(value, sep)).value == str(value)


@given(st.integers(0, 10**6), st.integers(1, 99).filter(lambda part: part % 10), st.integers(2, 5))
def test_decimals(whole: int, part: int, zeros: int) -> None:
    """A decimal comma is a decimal point, and trailing zeros do not count."""
    digits = f"{part:02}".rstrip("0")
    forms = [f"{whole}.{digits}{'0' * zeros}", f"{whole},{digits}{'0' * zeros}", f"{whole}.{digits}"]
    assert {only(form).value for form in forms} == {f"{whole}.{digits}"}


@given(st.integers(1, 999), st.integers(1, 9))
def test_multipliers(whole: int, tenth: int) -> None:
    """A multiplier belongs to its number."""
    forms = [
        f"{whole}.{tenth} million",
        f"{whole},{tenth} miljoner",
        f"{whole}.{tenth}M",
        f"{whole},{tenth} mn",
    ]
    assert {only(form).value for form in forms} == {str(whole * 10**6 + tenth * 10**5)}


@given(NUMBERS, SPACES)
def test_percent(value: int, space: str) -> None:
    """Percent in any of its spellings is one kind."""
    forms = [
        f"{value}%",
        f"{value}{space}%",
        f"{value} procent",
        f"{value} percent",
        f"{value}-procentig",
        f"{value} per cent",
    ]
    assert {(only(form).kind, only(form).value) for form in forms} == {("percent", f"{value} %")}


@given(NUMBERS)
def test_points(value: int) -> None:
    """Percentage points are a unit of their own."""
    assert {
        only(f"{value} {word}").value for word in ("procentenheter", "percentage points", "%-enheter")
    } == {f"{value} pp"}


@given(st.integers(0, 10**6))
def test_money(value: int) -> None:
    """A currency may stand on either side, as a sign, a code or a word."""
    crowns = [
        f"{value} kr",
        f"{value}kr",
        f"SEK {value}",
        f"{value}:-",
        f"{value} kronor",
        f"{value} SEK",
        f"kr {value}",
    ]
    dollars = [f"${value}", f"{value} USD", f"{value} dollars", f"$ {value}", f"US${value}"]
    assert {only(form).value for form in crowns} == {f"{value} SEK"}
    assert {only(form).value for form in dollars} == {f"{value} USD"}


@given(st.integers(0, 9999), st.sampled_from(sorted(UNITS)), SPACES)
def test_quantity(value: int, unit: str, space: str) -> None:
    """A unit is one unit in each of its spellings and in both languages."""
    read = {only(f"{value}{space}{word}").value for word in UNITS[unit]}
    assert read == {f"{value} {unit}"}


@given(st.dates())
def test_date(day: object) -> None:
    """A whole date is the same in ISO form and with a month's name, in both languages."""
    year, month, number = (int(part) for part in str(day).split("-"))
    en, sv, short = MONTHS[month - 1]
    forms = [
        f"{number} {sv} {year:04}",
        f"{en} {number}, {year:04}",
        f"{number} {short} {year:04}",
        f"{en} {number}th, {year:04}",
    ]
    expected = str(day) if year >= 1000 else None
    if expected is not None:
        assert {only(form).value for form in (*forms, expected)} == {expected}


@given(st.integers(0, 23), st.integers(0, 59))
def test_time(hour: int, minute: int) -> None:
    """A time is the same with a colon, a point after "kl", and on the twelve-hour clock."""
    half = "am" if hour < 12 else "pm"
    forms = [
        f"{hour}:{minute:02}",
        f"{hour:02}:{minute:02}",
        f"kl {hour}.{minute:02}",
        f"{(hour - 1) % 12 + 1}:{minute:02} {half}",
    ]
    assert {only(form).value for form in forms} == {f"{hour:02}:{minute:02}"}


@given(st.integers(0, 9998), st.integers(1, 500), DASHES)
def test_range(low: int, step: int, dash: str) -> None:
    """A range is the same with any dash and with words."""
    high = low + step
    forms = [
        f"{low}{dash}{high} kg",
        f"{low} to {high} kg",
        f"{low} till {high} kilo",
        f"{low} kg to {high} kg",
    ]
    assert {only(form).value for form in forms} == {f"{low}-{high} kg"}


@given(st.lists(st.sampled_from("0123456789"), min_size=6, max_size=8), st.data())
def test_phone(digits: list[str], data: st.DataObject) -> None:
    """A phone number is its digits, however grouped."""
    rest = "".join(digits)
    cut = data.draw(st.integers(2, len(rest) - 2))
    forms = [f"08{rest}", f"08-{rest}", f"08-{rest[:cut]} {rest[cut:]}"]
    assert {only(form).value for form in forms} == {f"08{rest}"}
    assert only(f"+46 8 {rest[:cut]} {rest[cut:]}").value == f"+468{rest}"


@given(st.from_regex(r"[A-Z]{1,4}-[0-9]{1,5}", fullmatch=True))
def test_code(code: str) -> None:
    """A code is read whole, character by character, where its letters are no word, as in JAN-1 and SIX-1."""
    letters = code.partition("-")[0]
    assume(len(letters) < 3 or not set(letters) & set("AEIOUY"))
    assert (only(code).kind, only(code).value) == ("identifier", code)


@given(st.integers(1, 19), st.integers(2, 20))
def test_fraction(upper: int, lower: int) -> None:
    """A fraction below one is its value; any other is only itself."""
    token = only(f"{upper}/{lower}")
    assert token.kind == ("number" if upper < lower else "unread")


@given(st.integers(4, 10**6))
def test_ordinal(value: int) -> None:
    """An ordinal counts by its value."""
    suffix = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    assert (only(f"the {value}{suffix}").kind, only(f"the {value}{suffix}").value) == ("ordinal", str(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the twenty-third floor", "23"),
        ("the one hundred and third floor", "103"),
        ("den tjugotredje gången", "23"),
        ("den trettiofemte gången", "35"),
    ],
)
def test_ordinal_of_several_words(text: str, value: str) -> None:
    """A place behind tens is no part: "twenty-third" is no twenty thirds."""
    assert (only(text).kind, only(text).value) == ("ordinal", value)
    assert only("two hundred and a third hours").value == "601/3 hour"


@given(st.integers(2, 999_999))
def test_words(value: int) -> None:
    """A number in English or Swedish words is its value."""
    assert only(english(value)).value == str(value)
    assert only(swedish(value)).value == str(value)
    assert only(english(value).upper()).value == str(value)


@given(st.integers(2, 99))
def test_compound(value: int) -> None:
    """A Swedish number grown together with its unit is a quantity."""
    assert {only(f"{swedish(value)}{rest}").value for rest in ("årsgaranti", "års")} == {f"{value} year"}
    assert only(f"{swedish(value)}dagarsperiod").value == f"{value} day"


@given(st.integers(-30, 30))
def test_power(exponent: int) -> None:
    """A power of ten is its value, raised or spelt."""
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    values = {only(form).value for form in (f"10{raised}", f"10^{exponent}", f"1e{exponent}")}
    assert len(values) == 1


@given(
    st.sampled_from(
        [("double", "dubbla", "twice", "2x"), ("triple", "trefaldig", "tredubbla", "threefold", "3x")]
    )
)
def test_factor(forms: tuple[str, ...]) -> None:
    """A factor is one kind in any of its forms."""
    assert len({(only(form).kind, only(form).value) for form in forms}) == 1


def test_offsets() -> None:
    """A token's offsets are those of the text as it was given, markup and all."""
    text = "Pris 2**99**\u00a0kr och &#49;&#52; da\u00adgar"
    assert [text[t.start : t.end] for t in tokens(text)] == ["2**99**\u00a0kr", "&#49;&#52; da\u00adgar"]


@given(st.text(max_size=60))
def test_offsets_hold(text: str) -> None:
    """Tokens lie in the text in order, do not overlap, and are its own characters."""
    at = 0
    for token in tokens(text):
        assert at <= token.start <= token.end <= len(text)
        assert token.text == text[token.start : token.end]
        at = token.end
