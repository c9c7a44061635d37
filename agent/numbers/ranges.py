"""Rows for amounts and ranges: `299 kr`, `3-5 dagar`, `between 3 and 5`, `$5 to $10`."""

import re

from . import keys
from .amounts import canonical, digits_at, fraction_after, negate, scale
from .language_tables import AND, ARTICLES, OR, TO, either, pattern, unite_words
from .number_words import classify
from .reader import NumberReader
from .runs import run_at
from .suffixes import read_suffix
from .token import Amount, Kind, NumberMatch, Sort, show
from .units import CODES, SIGNS, currency_of

_ABOUT = unite_words(lambda each: each.joints.approximations)
_CONNECTOR = re.compile(
    rf"(?:(?P<dash>-)|(?P<spaced> - ?)|[ \n](?P<word>{pattern(TO, OR, AND)})[ \n])"
    rf"(?:(?:{pattern(_ABOUT)})[ \n]|[~≈])?(?:(?P<article>{pattern(ARTICLES)})[ \n])?",
    re.I,
)
_BETWEEN = unite_words(lambda each: each.joints.range_openers)
_LAKHS = re.compile(r"[1-9]\d?(?:,\d\d){1,7},\d{3}(?![\d,])(?:\.\d++)?")
"""Indian grouping of a sum: thousands, then two digits a group, `₹1,50,000`; without a currency it may be a list."""
_WORD = re.compile(r"[^\W\d_]++")
_STARTS = frozenset("- \n")
_POINTED = frozenset(("USD", "GBP"))
"""Currencies with a decimal point: in a line of unknown language, a comma in such a sum parts its thousands."""
_PARTING = {True: ",", False: "."}
"""The mark that parts the thousands of a sum in a line of unknown language, by whether its currency stands before it:
`€1,299` and `1.299 €` are written by the same two customs, one of which has a decimal comma."""
_ACCOUNT = 7
"""Digits; two numbers with at least as many that fall, or stand behind a label, are one number rather than a range."""
_NUMBERED = re.compile(rf"\w*(?:{either(lambda each: each.labels.account_suffixes)})", re.I)
_ENDS = frozenset(("cardinal", "article", "fraction"))


def digits_amount(
    r: NumberReader, at: int, sign: bool = False, currency: str = "", point: bool = False
) -> Amount | None:
    """Read the digits at `at` and the unit after them, with a minus, currency or point already read before them."""
    amount = _lakhs_at(r.s, at, currency) or digits_at(r.s, at, r.decimal_mark(at))
    if amount is None:
        return None
    if point:
        if "." in amount.values[0] or "/" in amount.values[0] or amount.same is not None:
            return None
        amount.values = (canonical("0." + r.s[at : amount.end]),)
    if currency:
        amount.sort, amount.unit, amount.prefixed = Sort.MONEY, currency, True
    else:
        fraction_after(r.s, amount)
    if sign:
        negate(amount)
    read_suffix(r.s, amount)
    if len(amount.values) > 1 and amount.sort is Sort.MONEY:
        parting = "," if amount.unit in _POINTED else _PARTING[amount.prefixed]
        if parting in r.s[at : amount.end]:
            amount.values = amount.values[:1]
    return amount


def _lakhs_at(s: str, at: int, currency: str) -> Amount | None:
    """Read the digits of `₹1,50,000`; `None` for digits without a currency on either side."""
    found = _LAKHS.match(s, at)
    if found is None:
        return None
    amount = Amount(found.end(), (canonical(found.group().replace(",", "")),))
    if not currency and read_suffix(s, Amount(found.end(), ("0",))).sort is not Sort.MONEY:
        return None
    return amount


def read_range(r: NumberReader, first: Amount, start: int) -> NumberMatch | None:
    """Read on when `first` is the first end of a range that ends at a border."""
    s = r.s
    if s[first.end : first.end + 1] not in _STARTS:
        return None
    joint = _CONNECTOR.match(s, first.end)
    if joint is None:
        return None
    word = joint["word"] and joint["word"].lower()
    if word is not None and not _joins(r, word, start):
        return None
    last = _operand(r, joint.end(), word is not None, joint["article"] is not None)
    if last is None or not same_unit(first, last) or not r.border(last.end):
        return None
    if joint["dash"] and _is_account(r, first, last, start):
        return None
    if joint["dash"] and _has_many_digits(first, last) and falls(first, last):
        number = s[start : last.end]
        return keys.same(Kind.IDENTIFIER, number, start, last.end, "id", (number,))
    if last.values[0][0] == "-" and s[joint.end()] != "-":  # 10-20 degrees below zero
        negate(first)
    return span(first, last, start)


def _is_account(r: NumberReader, first: Amount, last: Amount, start: int) -> bool:
    """Tell whether the numbers around a dash are one number of many digits, no range: `org.nr 556677-8899`."""
    if not _has_many_digits(first, last) or last.sort is not Sort.BARE:
        return False
    is_shorter = len(first.values[0]) < len(last.values[0])
    return not is_shorter and _NUMBERED.fullmatch(r.before(start).word) is not None


def _has_many_digits(first: Amount, last: Amount) -> bool:
    return len(first.values[0]) + len(last.values[0]) >= _ACCOUNT


def falls(first: Amount, last: Amount) -> bool:
    """Tell whether two bare numbers around a dash fall, so that they are no range: `556677-8899`."""
    low, high = first.values[0], last.values[0]
    return last.sort is Sort.BARE and low.isdecimal() and high.isdecimal() and int(low) > int(high)


def span(first: Amount, last: Amount, start: int) -> NumberMatch:
    """Return a range of two amounts of one unit."""
    value = f"{'|'.join(first.values)}-{show(last)}"
    return NumberMatch(
        Kind.RANGE, value, start, last.end, amounts=(*first.values, *last.values), amount=last, low=first
    )


def _joins(r: NumberReader, word: str, start: int) -> bool:
    """Tell whether `word` between two numbers makes a range of them."""
    if word in OR:
        return r.source
    if word in AND:
        before = r.before(start)
        if before.word.lower() in _ABOUT:
            before = r.before(before.start)
        return before.word.lower() in _BETWEEN
    return True


def _operand(r: NumberReader, at: int, words: bool, article: bool) -> Amount | None:
    """Read the second end of a range. `words`: it may be written in words. `article`: "a" stands before it."""
    s = r.s
    sign = currency = ""
    if s[at : at + 1] == "-":
        sign, at = "-", at + 1
    if s[at : at + 1] in SIGNS and s[at : at + 1]:
        currency, at = SIGNS[s[at]], at + 1
    if s[at : at + 1].isdecimal():
        return digits_amount(r, at, bool(sign), currency)
    found = _WORD.match(s, at) if not currency and not sign else None
    if found is None:
        return None
    if found.group() in CODES and s[found.end() : found.end() + 1] == " ":
        return digits_amount(r, found.end() + 1, False, currency_of(found.group()) or "")
    word = classify(found.group()) if words else None
    if word is None or word.sort not in _ENDS:
        return None
    run = run_at(s, word, found.end(), article)
    return run.amount if run.what == "amount" else None


def same_unit(first: Amount, last: Amount) -> bool:
    """Bring both ends of a range to one unit, in place; return `False` when they form no range."""
    inherits = first.sort is Sort.BARE and (last.sort is not Sort.BARE or bool(last.shift))
    extends = first.sort is Sort.MONEY and first.prefixed and last.sort is Sort.BARE
    alike = first.sort is last.sort is Sort.MONEY and first.unit == last.unit and first.prefixed
    if (inherits or extends or alike) and last.shift and not first.shift:
        scale(first, last.shift)
    if inherits:
        first.sort, first.unit = last.sort, last.unit
    elif extends:
        last.sort, last.unit = Sort.MONEY, first.unit
    elif (
        first.sort is last.sort is Sort.QUANTITY and first.unit == "degree?" and last.unit in ("degF", "degC")
    ):
        first.unit = last.unit
    return first.sort is last.sort and first.unit == last.unit
