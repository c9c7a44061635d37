"""Finds the phone numbers of a message, and the requested keyword that each belongs to.

Strategy: a number is a phone number by its form, by the countries' number plans and by the words around it; of those
that remain, each keyword gets the number that was said with it.

- Form: 7 to 15 digits, no date, time, personal number or address of a machine. A number that begins with +, 0 or a
  bracket, or is written 555-123-4567, is a phone number as it stands; any other only where somebody is reached there
  ("on", "at", "på"), right behind a keyword, or behind a word for it ("my number is").
- Number plans (`phonenumbers`, Google's metadata): a number must have a length that is possible in the country that it
  names, else in a region of one of our languages (`Calling.regions`). Two writings of one number ("070-123 45 67" and
  "+46 70 123 45 67") count as that number. Validity beyond the length is not asked for: plans change, and users write
  numbers of other countries.
- A number that a word for another kind of number names (a customer's, an order's, an invoice's) and an amount are no
  phone numbers.
- A number that is denied ("not on A"), out of date ("my old number was A", "instead of A"), taken back ("on A, sorry,
  B"), somebody else's ("your number A") or where a call came from ("you called me from A") is not used.
- A number goes with the keyword that is nearest to it: in the same clause, before one in the same sentence, before any
  other; of two as near, with the one before it. Keywords side by side ("call or text me on A") share a number, and so
  do those that are both about the user ("call me on A and text me"). In doubt a keyword has none: it can be asked for.

The form is found by a pattern of ours and not by `phonenumbers.PhoneNumberMatcher`: this takes the digits of codes for
phone numbers ("ABC-1234567"), and 20 to 25 ms for the three regions on 8,000 brackets, where a message may cost 20.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise

from phonenumbers import (
    NumberParseException,
    PhoneNumber,
    PhoneNumberFormat,
    format_number,
    is_possible_number,
    is_valid_number,
    parse,
)

from ..lang import LANGUAGES
from ..lang.acting import Acting
from .clauses import clause_after, words_before
from .mood_words import ANY_LANGUAGE, FILLERS, NEGATORS, NEW_START, REACHING, join_languages

_ACTING = [language.acting for language in LANGUAGES.values()]


def _any(pattern: Callable[[Acting], str]) -> str:
    return "|".join(f"(?:{pattern(each)})" for each in _ACTING if pattern(each)) or "(?!)"


NUMBERS = 64  # of a question that are left out of its search
_CANDIDATES = 24  # numbers of a message that are looked at: its cost has a bound
_REGIONS = tuple(dict.fromkeys(region for each in _ACTING for region in each.calling.regions))
_NEAR = 80  # characters read on either side of a number
_WORDS = 8  # and words of them
_DENIED_WITHIN = 5  # words between a negation and the number that it denies
_PHONE = re.compile(
    r"(?=\+?\(?\+?\d)(?<![\w+])(?<!\w-)(?<!\d[.,])"  # not the rest of a longer token
    r"(?:\+?\(\+?\d{1,5}\)|\+?\d)"  # (08), +46, 0
    r"(?:[ \u00a0().\-‐‑–/]{0,3}\d)*"
    r"(?!\w|[.,:-]\d)"
)
_DIGITS = range(7, 16)  # E.164 allows 15; with fewer than 7 it is a short number (112, 90 000)
_BEFORE_CLOCK = "|".join(rf"(?<={word} )" for word in sorted(join_languages(lambda each: each.clock)))
_NO_PHONE = re.compile(  # a date or a time may stand right beside a phone number
    r"(?=\d)(?<!\d)(?:(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d|\d{1,2}:\d{2}"
    rf"|(?:{_BEFORE_CLOCK})\d{{1,2}}[.]\d{{2}}"
    r"|(?:(?:19|20)\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[-+]?\d{4})?"  # 20251231, and a person's number
    r"|(?!0[1-9])\d{6}[-+]\d{4}"  # the number of a person or a company
    r"|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?!\d)",  # of a machine
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{3}[ .-]\d{3}[ .-]\d{4}")
_DIGIT = re.compile(r"\d")
_BREAK = re.compile(r"[.!?;\n](?=\s)|,|:(?=\s)")
_SENTENCE = re.compile(r"[.!?;\n]")
_LABEL = re.compile(_any(lambda each: each.calling.labels)).fullmatch
_SAID_TO_BE = re.compile(
    rf"\W{{0,3}}(?:\(|\b(?:{_any(lambda each: each.calling.being)})\s)\s*(?:\w{{1,8}}\s+){{0,2}}"
    rf"(?:{_any(lambda each: each.calling.labels)})\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(rf"\s*(?:[$€£%]|(?:{_any(lambda each: each.calling.amounts)})\b)", re.IGNORECASE)
_OUTDATED = re.compile(
    rf"\b(?:{_any(lambda each: each.calling.outdated)})\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE
)
_LAPSED = re.compile(rf"\W{{0,3}}(?:{_any(lambda each: each.calling.lapsed)})\b", re.IGNORECASE)
_JOINS = join_languages(lambda each: each.carries_on)
_PHONES = join_languages(lambda each: each.calling.phones)
_JOINING = join_languages(lambda each: each.calling.joining)
_ORIGINS = join_languages(lambda each: each.calling.origins)
_ADDRESSED = join_languages(lambda each: each.calling.addressed)
_CORRECTIONS = join_languages(lambda each: each.calling.corrections)


@dataclass(frozen=True, slots=True)
class RequestedKeyword:
    """A requested keyword at `text[start:end]`, and the action that it stands for."""

    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _PhoneNumber:
    """A phone number at text[start:end]. `sure`: by its form alone. `reached`: where somebody is reached."""

    start: int
    end: int
    sure: bool
    reached: bool


def is_phone_number(written: str) -> bool:
    """Return whether `written` is a possible phone number, with nothing but space around it."""
    written = written.strip()
    match = _PHONE.fullmatch(written)
    return match is not None and _is_possible(written) and _NO_PHONE.fullmatch(written) is None


def remove_phone_numbers(text: str) -> str:
    """Return `text` with a space in place of each number that has the form of a phone number, of the first NUMBERS."""
    if _DIGIT.search(text) is None:
        return text
    return _PHONE.sub(lambda match: " " if _has_form(match.group()) else match.group(), text, count=NUMBERS)


def find_phone_numbers(
    text: str, requested: Sequence[RequestedKeyword], calling: frozenset[str]
) -> dict[str, str]:
    """Return the phone number of each action that has one, as it was written.

    `requested`: the requested keywords, in the order of the text. `calling`: the actions that need a number.
    """
    if not requested or _DIGIT.search(text) is None:
        return {}
    owned: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    breaks = [match.span() for match in _BREAK.finditer(text)]
    for number in _find_usable(text, requested):
        gap, keyword = _find_owner(text, number, requested, calling, breaks)
        if keyword.action in calling and not (gap and _is_anothers(text, number)):
            rank = (gap, not number.sure, number.start < keyword.start, not number.reached, number.start)
            owned.setdefault(keyword.action, []).append((rank, text[number.start : number.end]))
    phone_numbers = {action: min(numbers)[1] for action, numbers in owned.items()}
    for one, other in pairwise(requested):
        for first, second in ((one, other), (other, one)):
            if (
                first.action in phone_numbers
                and second.action in calling - phone_numbers.keys()
                and _share(text, one, other)
            ):
                phone_numbers[second.action] = phone_numbers[first.action]
    return phone_numbers


def find_told_number(text: str) -> str:
    """Return the only usable phone number of an answer, as it was written last; "" for none, and for several."""
    numbers = {number_key(each): each for each in _find_answers(text)}
    return next(iter(numbers.values())) if len(numbers) == 1 else ""


def find_given_numbers(texts: Sequence[str]) -> dict[str, str]:
    """Return the phone numbers of a user's messages by their digits, each as it was written last.

    A number that any of the messages says to be something else, or not to be used, is left out, in every writing.
    """
    numbers: dict[str, str] = {}
    doubtful: set[str] = set()
    for text in texts:
        usable = [*_find_answers(text)]
        numbers |= {read_digits(each): each for each in usable}
        every = (number_key(match.group()) for match in islice(_PHONE.finditer(text), NUMBERS))
        doubtful |= set(every) - set(map(number_key, usable))
    return {key: each for key, each in numbers.items() if number_key(each) not in doubtful}


def read_digits(written: str) -> str:
    """Return the digits of `written`, in any script, as ASCII."""
    return "".join(str(unicodedata.decimal(char)) for char in written if char.isdecimal())


def number_key(written: str) -> str:
    """Return the same text for each writing of one phone number: E.164 ("+46701234567"), else its digits in ASCII."""
    number = _parse_number(written)
    return read_digits(written) if number is None else format_number(number, PhoneNumberFormat.E164)


def _has_form(written: str) -> bool:
    """Return whether a match of _PHONE has as many digits as phone numbers have."""
    return sum(char.isdigit() for char in written) in _DIGITS


def _is_possible(written: str) -> bool:
    """Return whether a number has the form of a phone number, and a length that a number plan knows."""
    return _has_form(written) and _parse_number(written) is not None


def _parse_number(written: str) -> PhoneNumber | None:
    """Parse a number as one of its own country, else of the region where it is valid, else where it is possible."""
    possible: PhoneNumber | None = None
    for region in _REGIONS:
        with suppress(NumberParseException):
            number = parse(written, region)
            if is_valid_number(number):
                return number
            if possible is None and is_possible_number(number):
                possible = number
    return possible


def _find_answers(text: str) -> Iterator[str]:
    """Yield the usable phone numbers of a text that answers which number is meant."""
    if _DIGIT.search(text):
        for each in _find_usable(text, (), answers=True):
            yield text[each.start : each.end]


def _find_usable(
    text: str, requested: Sequence[RequestedKeyword], answers: bool = False
) -> Iterator[_PhoneNumber]:
    """Yield the phone numbers of `text` that are not said to be something else, or not to be used.

    `answers`: the text tells a number that was asked for.
    """
    blanked = _NO_PHONE.sub(lambda match: "|" * len(match.group()), text)
    matches = [each for each in islice(_PHONE.finditer(blanked), _CANDIDATES) if _is_possible(each.group())]
    starts = [each.start for each in requested]
    labelled = False
    for at, match in enumerate(matches):
        start, end = match.span()
        follows = matches[at + 1].start() if at + 1 < len(matches) else None
        before = list(_words_before(text, start))
        linked = at > 0 and _only_joins(text[matches[at - 1].end() : start])
        labelled = (linked and labelled) or _is_labelled(text, before, end)
        if labelled or _is_dropped(text, start, end, follows, requested[: bisect_left(starts, start)]):
            continue
        written = match.group()
        reached = bool(before) and before[0] in REACHING
        sure = written[0] in "+0(" or _GROUPED.fullmatch(written) is not None
        if sure or reached or linked or answers or _is_introduced(text, before, start, requested):
            yield _PhoneNumber(start, end, sure, reached)


def _words_before(text: str, start: int) -> Iterator[str]:
    """Yield the words of the clause before a number, nearest first; "no." and "tel." end none."""
    words = islice(words_before(text, start), _WORDS)
    seen = ""
    for word in words:
        if word[0].isalnum():
            if seen == "." and word not in _JOINING | _PHONES:
                return
            seen = word
            yield word
        elif word not in ".:(" or seen:
            if word != ":":
                return
        else:
            seen = word


def _only_joins(between: str) -> bool:
    """Return whether nothing but joining words ("or", "and") stands between two numbers."""
    return len(between) <= _NEAR and all(word in _JOINS for word in re.findall(r"\w+", between.casefold()))


def _is_labelled(text: str, before: list[str], end: int) -> bool:
    """Return whether words beside a number say that it is another kind of number."""
    for word in before:
        if word in _PHONES - _JOINING:
            break
        if _LABEL(word):
            return True
        if word not in _JOINING:
            break
    after = text[end : end + _NEAR]
    return _AMOUNT.match(after) is not None or _SAID_TO_BE.match(after) is not None


def _is_introduced(text: str, before: list[str], start: int, requested: Sequence[RequestedKeyword]) -> bool:
    """Return whether the words before a number of any form make it a phone number."""
    if any(word in _PHONES for word in before[:3]):
        return True
    for keyword in requested:
        if keyword.end <= start <= keyword.end + _NEAR:
            between = re.findall(r"\w+", text[keyword.end : start].casefold())
            if all(word in ANY_LANGUAGE.mood.users for word in between):
                return True
    return False


def _is_dropped(
    text: str, start: int, end: int, follows: int | None, requested: Sequence[RequestedKeyword]
) -> bool:
    """Return whether a number is denied, out of date, or taken back by the next number (which begins at `follows`).

    `requested`: the requested keywords before it.
    """
    since = max(start - _NEAR, requested[-1].end if requested else 0, 0)
    denied = 0
    for word in islice(words_before(text, start, since), _DENIED_WITHIN):
        if not word[0].isalnum() or word in NEW_START:
            break
        denied += word in NEGATORS
    clause = re.split(r"[,.;!?](?=\s)", text[since:start])[-1]
    if denied or _OUTDATED.search(clause):
        return True
    after = text[end : end + _NEAR if follows is None else min(follows, end + _NEAR)]
    if _LAPSED.match(after):
        return True
    if follows is None or follows > end + _NEAR or _OUTDATED.search(after):
        return False
    between = re.findall(r"\w+", after.casefold())
    return (
        len(between) <= _WORDS
        and not _CORRECTIONS.isdisjoint(between[:3])
        and not any(_LABEL(word) for word in between)
    )


def _is_anothers(text: str, number: _PhoneNumber) -> bool:
    """Return whether a number outside a keyword's clause is where the user was called from, or somebody else's."""
    before = list(_words_before(text, number.start))
    if before and before[0] in _ORIGINS:
        return ANY_LANGUAGE.mood.speakers.isdisjoint(before)
    if _PHONES.isdisjoint(before) and any(map(ANY_LANGUAGE.past, before)):
        return True  # "when I called A"
    after = islice(clause_after(text, number.end), 2)
    return not _ADDRESSED.isdisjoint((*before[:3], *after))


def _find_owner(
    text: str,
    number: _PhoneNumber,
    requested: Sequence[RequestedKeyword],
    calling: frozenset[str],
    breaks: list[tuple[int, int]],
) -> tuple[int, RequestedKeyword]:
    """Return the gap between a number and its keyword (0 nothing, 1 a comma, 2 a sentence's end), and the keyword."""
    at = bisect_left([each.start for each in requested], number.start)
    beside = []
    for keyword in requested[max(0, at - 1) : at + 1]:
        low, high = sorted(((keyword.start, keyword.end), (number.start, number.end)))
        first = bisect_left(breaks, (low[1], 0))
        gap = 0
        for start, end in breaks[first : first + _WORDS]:
            if end <= high[0]:
                gap = max(gap, 2 if _SENTENCE.match(text[start]) else text[start] == ",")
        after = keyword.start > number.start
        beside.append(((gap, keyword.action not in calling, after), keyword))
    rank, keyword = min(beside, key=lambda each: each[0])
    return int(rank[0]), keyword


def _share(text: str, one: RequestedKeyword, other: RequestedKeyword) -> bool:
    """Return whether two keywords that follow each other are about the same number."""
    between = text[one.end : other.start]
    if len(between) <= _NEAR and _DIGIT.search(between) is None:
        words = re.findall(r"\w+", between.casefold())
        if len(words) <= 4 and any(word in FILLERS for word in words) and _SENTENCE.search(between) is None:
            return True
    return all(_is_about_the_user(text, each) for each in (one, other))


def _is_about_the_user(text: str, keyword: RequestedKeyword) -> bool:
    """Return whether the user is the object of a keyword, in it or right behind it ("call me")."""
    words = text[keyword.start : keyword.end].casefold().split()
    return bool(ANY_LANGUAGE.mood.users.intersection((*words, next(clause_after(text, keyword.end), ""))))
