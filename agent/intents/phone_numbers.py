"""Finds the phone numbers of a message, and the requested keyword that each belongs to.

Strategy: the form of a number, the countries' number plans and the words around the number decide whether it is a phone
number. Each phone number then goes to one requested keyword.

- Form: 7 to 15 digits that are no date, time, personal number or IP address. A number that begins with "+", "0" or a
  bracket, or is written 555-123-4567, is a phone number by its form alone. Any other number needs a word before it
  behind which people are reached ("on", "at", "på"), a keyword right before it, or a word for a phone ("my number is").
- Number plans (`phonenumbers`, with Google's metadata): the length of a number must be possible in the country that the
  number names, else in a region of one of our languages (`Calling.regions`). Two writings of one number ("070-123 45
  67" and "+46 70 123 45 67") count as the same. Only the length is required: plans change, and users write numbers of
  other countries.
- Amounts, and numbers with a label of another kind (customer, order, invoice), are no phone numbers.
- A phone number is not used if it is denied ("not on A"), out of date ("my old number was A", "instead of A"),
  corrected ("on A, sorry, B"), somebody else's ("your number A"), or the origin of a call ("you called me from A").
- A number goes to the nearest keyword: one in its clause, else one in its sentence, else any; of two as near, the one
  before it. Keywords side by side share a number ("call or text me on A"), and so do keywords that are both about the
  user ("call me on A and text me"). In doubt a keyword gets none, and its number can be asked for.

The form is found by a pattern of this module instead of `phonenumbers.PhoneNumberMatcher`. The matcher takes the digits
of codes for phone numbers ("ABC-1234567"), and needs 20 to 25 ms for the three regions on 8,000 brackets, where a
whole message may cost 20 ms.
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


def _join_patterns(pick: Callable[[Acting], str]) -> str:
    """Join the patterns that `pick` returns of all languages; without any, the result matches nothing."""
    return "|".join(f"(?:{pick(each)})" for each in _ACTING if pick(each)) or "(?!)"


REMOVED_MAX = 64
"""Numbers of one text that are removed from it, or compared: the first ones."""
_CANDIDATES_MAX = 24  # numbers of a message that are considered, to bound the cost of a message
_REGIONS = tuple(dict.fromkeys(region for each in _ACTING for region in each.calling.regions))
_CONTEXT_MAX = 80  # characters that are read on either side of a number ...
_CONTEXT_WORDS = 8  # ... and words among them
_DENIAL_WORDS = 5  # words before a number among which a negation denies it
_PHONE_FORM = re.compile(
    r"(?=\+?\(?\+?\d)(?<![\w+])(?<!\w-)(?<!\d[.,])"  # not the rest of a longer token
    r"(?:\+?\(\+?\d{1,5}\)|\+?\d)"  # (08), +46, 0
    r"(?:[ \u00a0().\-‐‑–/]{0,3}\d)*"
    r"(?!\w|[.,:-]\d)"
)
_DIGIT_COUNTS = range(7, 16)  # E.164 allows 15; with fewer than 7 a number is a short number (112, 90 000)
_CLOCK_WORDS = "|".join(rf"(?<={word} )" for word in sorted(join_languages(lambda each: each.clock)))
_OTHER_FORM = re.compile(  # removed first: a date or a time may stand right beside a phone number
    r"(?=\d)(?<!\d)(?:(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d|\d{1,2}:\d{2}"
    rf"|(?:{_CLOCK_WORDS})\d{{1,2}}[.]\d{{2}}"
    r"|(?:(?:19|20)\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[-+]?\d{4})?"  # 20251231, and a personal number
    r"|(?!0[1-9])\d{6}[-+]\d{4}"  # a personal number or that of a company
    r"|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?!\d)",  # an IP address
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{3}[ .-]\d{3}[ .-]\d{4}")
_DIGIT = re.compile(r"\d")
_CLAUSE_END = re.compile(r"[.!?;\n](?=\s)|,|:(?=\s)")
_SENTENCE_END = re.compile(r"[.!?;\n]")
_IS_LABEL = re.compile(_join_patterns(lambda each: each.calling.labels)).fullmatch
_LABEL_BEHIND = re.compile(
    rf"\W{{0,3}}(?:\(|\b(?:{_join_patterns(lambda each: each.calling.being)})\s)\s*(?:\w{{1,8}}\s+){{0,2}}"
    rf"(?:{_join_patterns(lambda each: each.calling.labels)})\b",
    re.IGNORECASE,
)
_AMOUNT_BEHIND = re.compile(
    rf"\s*(?:[$€£%]|(?:{_join_patterns(lambda each: each.calling.amounts)})\b)", re.IGNORECASE
)
_OUTDATED_BEFORE = re.compile(
    rf"\b(?:{_join_patterns(lambda each: each.calling.outdated)})\W+(?:\w+\W+){{0,3}}$", re.IGNORECASE
)
_OUTDATED_BEHIND = re.compile(
    rf"\W{{0,3}}(?:{_join_patterns(lambda each: each.calling.lapsed)})\b", re.IGNORECASE
)
_CONJUNCTIONS = join_languages(lambda each: each.carries_on)
_PHONE_WORDS = join_languages(lambda each: each.calling.phones)
_LABEL_JOINTS = join_languages(lambda each: each.calling.joining)
_ORIGIN_WORDS = join_languages(lambda each: each.calling.origins)
_OTHER_PEOPLE = join_languages(lambda each: each.calling.addressed)
_CORRECTIONS = join_languages(lambda each: each.calling.corrections)


@dataclass(frozen=True, slots=True)
class RequestedKeyword:
    """A requested keyword at `text[start:end]`, and the action that it stands for."""

    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _WrittenNumber:
    """A usable phone number at `text[start:end]`.

    `sure`: its form alone makes it a phone number. `reached`: the word before it says that a person is reached there.
    """

    start: int
    end: int
    sure: bool
    reached: bool


def is_phone_number(written: str) -> bool:
    """Tell whether `written` is a possible phone number, with nothing but white space around it."""
    written = written.strip()
    match = _PHONE_FORM.fullmatch(written)
    return match is not None and _is_possible(written) and _OTHER_FORM.fullmatch(written) is None


def remove_phone_numbers(text: str) -> str:
    """Return `text` with a space in place of each number in the form of a phone number, up to `REMOVED_MAX` of them."""
    if _DIGIT.search(text) is None:
        return text
    return _PHONE_FORM.sub(
        lambda match: " " if _has_form(match.group()) else match.group(), text, count=REMOVED_MAX
    )


def find_phone_numbers(
    text: str, requested: Sequence[RequestedKeyword], calling: frozenset[str]
) -> dict[str, str]:
    """Return the phone numbers that belong to the actions that `text` requests, as written, by action.

    `requested`: the requested keywords, in the order of the text. `calling`: the actions that need a phone number.
    """
    if not requested or _DIGIT.search(text) is None:
        return {}
    candidates: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    breaks = [match.span() for match in _CLAUSE_END.finditer(text)]
    for number in _find_usable_numbers(text, requested):
        gap, keyword = _find_owner(text, number, requested, calling, breaks)
        if keyword.action in calling and not (gap and _is_not_the_users(text, number)):
            rank = (gap, not number.sure, number.start < keyword.start, not number.reached, number.start)
            candidates.setdefault(keyword.action, []).append((rank, text[number.start : number.end]))
    phone_numbers = {action: min(ranked)[1] for action, ranked in candidates.items()}
    for one, other in pairwise(requested):
        for first, second in ((one, other), (other, one)):
            if (
                first.action in phone_numbers
                and second.action in calling - phone_numbers.keys()
                and _share_number(text, one, other)
            ):
                phone_numbers[second.action] = phone_numbers[first.action]
    return phone_numbers


def find_answered_number(text: str) -> str:
    """Return the only usable phone number of a user's answer, as last written; "" for none or several."""
    numbers = {number_key(each): each for each in _find_answer_numbers(text)}
    return next(iter(numbers.values())) if len(numbers) == 1 else ""


def collect_numbers(texts: Sequence[str]) -> dict[str, str]:
    """Return the usable phone numbers of a user's messages by their digits, each as last written.

    If any message calls a number something else, or says not to use it, the number is left out in every writing.
    """
    numbers: dict[str, str] = {}
    doubtful: set[str] = set()
    for text in texts:
        usable = [*_find_answer_numbers(text)]
        numbers |= {read_digits(each): each for each in usable}
        written = (number_key(match.group()) for match in islice(_PHONE_FORM.finditer(text), REMOVED_MAX))
        doubtful |= set(written) - set(map(number_key, usable))
    return {key: each for key, each in numbers.items() if number_key(each) not in doubtful}


def read_digits(written: str) -> str:
    """Return the digits of `written`, in any script, as ASCII."""
    return "".join(str(unicodedata.decimal(char)) for char in written if char.isdecimal())


def number_key(written: str) -> str:
    """Return a key that all writings of one phone number share: E.164 ("+46701234567"), else its digits in ASCII."""
    number = _parse_number(written)
    return read_digits(written) if number is None else format_number(number, PhoneNumberFormat.E164)


def _has_form(written: str) -> bool:
    """Tell whether a match of `_PHONE_FORM` has as many digits as a phone number."""
    return sum(char.isdigit() for char in written) in _DIGIT_COUNTS


def _is_possible(written: str) -> bool:
    """Tell whether a match of `_PHONE_FORM` has as many digits as a phone number, and a number plan allows them."""
    return _has_form(written) and _parse_number(written) is not None


def _parse_number(written: str) -> PhoneNumber | None:
    """Parse a number in its own country, else in the first region where it is valid, else where it is possible."""
    possible: PhoneNumber | None = None
    for region in _REGIONS:
        with suppress(NumberParseException):
            number = parse(written, region)
            if is_valid_number(number):
                return number
            if possible is None and is_possible_number(number):
                possible = number
    return possible


def _find_answer_numbers(text: str) -> Iterator[str]:
    """Yield the usable phone numbers of a text in which a user answers a question for a number."""
    if _DIGIT.search(text):
        for each in _find_usable_numbers(text, (), answers=True):
            yield text[each.start : each.end]


def _find_usable_numbers(
    text: str, requested: Sequence[RequestedKeyword], answers: bool = False
) -> Iterator[_WrittenNumber]:
    """Yield the phone numbers of `text`, except those with another label and those that are not to be used.

    `answers`: the text answers a question for a number, so that a number of any form counts.
    """
    blanked = _OTHER_FORM.sub(lambda match: "|" * len(match.group()), text)
    matches = [
        each for each in islice(_PHONE_FORM.finditer(blanked), _CANDIDATES_MAX) if _is_possible(each.group())
    ]
    starts = [each.start for each in requested]
    labelled = False
    for at, match in enumerate(matches):
        start, end = match.span()
        follows = matches[at + 1].start() if at + 1 < len(matches) else None
        before = list(_words_before(text, start))
        linked = at > 0 and _only_joins(text[matches[at - 1].end() : start])
        labelled = (linked and labelled) or _is_labelled(text, before, end)
        if labelled or _is_withdrawn(text, start, end, follows, requested[: bisect_left(starts, start)]):
            continue
        written = match.group()
        reached = bool(before) and before[0] in REACHING
        sure = written[0] in "+0(" or _GROUPED.fullmatch(written) is not None
        if sure or reached or linked or answers or _is_introduced(text, before, start, requested):
            yield _WrittenNumber(start, end, sure, reached)


def _words_before(text: str, start: int) -> Iterator[str]:
    """Yield the words of the clause before a number, the nearest first.

    The full stops of "no." and "tel." end no clause.
    """
    last = ""
    for word in islice(words_before(text, start), _CONTEXT_WORDS):
        if word[0].isalnum():
            if last == "." and word not in _LABEL_JOINTS | _PHONE_WORDS:
                return
            last = word
            yield word
        elif word not in ".:(" or last:
            if word != ":":
                return
        else:
            last = word


def _only_joins(between: str) -> bool:
    """Tell whether only conjunctions ("or", "and") stand between two numbers."""
    return len(between) <= _CONTEXT_MAX and all(
        word in _CONJUNCTIONS for word in re.findall(r"\w+", between.casefold())
    )


def _is_labelled(text: str, before: list[str], end: int) -> bool:
    """Tell whether the words beside a number make it another kind of number. `before`: the words before it."""
    for word in before:
        if word in _PHONE_WORDS - _LABEL_JOINTS:
            break
        if _IS_LABEL(word):
            return True
        if word not in _LABEL_JOINTS:
            break
    after = text[end : end + _CONTEXT_MAX]
    return _AMOUNT_BEHIND.match(after) is not None or _LABEL_BEHIND.match(after) is not None


def _is_introduced(text: str, before: list[str], start: int, requested: Sequence[RequestedKeyword]) -> bool:
    """Tell whether the words before a number make it a phone number, in any form."""
    if any(word in _PHONE_WORDS for word in before[:3]):
        return True
    for keyword in requested:
        if keyword.end <= start <= keyword.end + _CONTEXT_MAX:
            between = re.findall(r"\w+", text[keyword.end : start].casefold())
            if all(word in ANY_LANGUAGE.mood.users for word in between):
                return True
    return False


def _is_withdrawn(
    text: str, start: int, end: int, follows: int | None, requested: Sequence[RequestedKeyword]
) -> bool:
    """Tell whether a number is denied, out of date, or corrected by the next number, which begins at `follows`.

    `requested`: the requested keywords before the number.
    """
    since = max(start - _CONTEXT_MAX, requested[-1].end if requested else 0, 0)
    denied = False
    for word in islice(words_before(text, start, since), _DENIAL_WORDS):
        if not word[0].isalnum() or word in NEW_START:
            break
        denied = denied or word in NEGATORS
    clause = re.split(r"[,.;!?](?=\s)", text[since:start])[-1]
    if denied or _OUTDATED_BEFORE.search(clause):
        return True
    after = text[end : end + _CONTEXT_MAX if follows is None else min(follows, end + _CONTEXT_MAX)]
    if _OUTDATED_BEHIND.match(after):
        return True
    if follows is None or follows > end + _CONTEXT_MAX or _OUTDATED_BEFORE.search(after):
        return False
    between = re.findall(r"\w+", after.casefold())
    return (
        len(between) <= _CONTEXT_WORDS
        and not _CORRECTIONS.isdisjoint(between[:3])
        and not any(_IS_LABEL(word) for word in between)
    )


def _is_not_the_users(text: str, number: _WrittenNumber) -> bool:
    """Tell whether a number outside a keyword's clause belongs to another person or is the origin of a past call."""
    before = list(_words_before(text, number.start))
    if before and before[0] in _ORIGIN_WORDS:
        return ANY_LANGUAGE.mood.speakers.isdisjoint(before)
    if _PHONE_WORDS.isdisjoint(before) and any(map(ANY_LANGUAGE.past, before)):
        return True  # "when I called A"
    after = islice(clause_after(text, number.end), 2)
    return not _OTHER_PEOPLE.isdisjoint((*before[:3], *after))


def _find_owner(
    text: str,
    number: _WrittenNumber,
    requested: Sequence[RequestedKeyword],
    calling: frozenset[str],
    breaks: list[tuple[int, int]],
) -> tuple[int, RequestedKeyword]:
    """Return the gap between a number and its keyword (2 a sentence's end, 1 a comma, 0 neither), and the keyword.

    `calling`: the actions that need a phone number. `breaks`: the places of all clause ends.
    """
    at = bisect_left([each.start for each in requested], number.start)
    ranked = []
    for keyword in requested[max(0, at - 1) : at + 1]:
        low, high = sorted(((keyword.start, keyword.end), (number.start, number.end)))
        first = bisect_left(breaks, (low[1], 0))
        gap = 0
        for start, end in breaks[first : first + _CONTEXT_WORDS]:
            if end <= high[0]:
                gap = max(gap, 2 if _SENTENCE_END.match(text[start]) else text[start] == ",")
        after = keyword.start > number.start
        ranked.append(((gap, keyword.action not in calling, after), keyword))
    rank, keyword = min(ranked, key=lambda each: each[0])
    return int(rank[0]), keyword


def _share_number(text: str, one: RequestedKeyword, other: RequestedKeyword) -> bool:
    """Tell whether two consecutive keywords share one number."""
    between = text[one.end : other.start]
    if len(between) <= _CONTEXT_MAX and _DIGIT.search(between) is None:
        words = re.findall(r"\w+", between.casefold())
        if (
            len(words) <= 4
            and any(word in FILLERS for word in words)
            and _SENTENCE_END.search(between) is None
        ):
            return True
    return all(_is_about_the_user(text, each) for each in (one, other))


def _is_about_the_user(text: str, keyword: RequestedKeyword) -> bool:
    """Tell whether the user is the object of a keyword, inside it or right behind it ("call me")."""
    words = text[keyword.start : keyword.end].casefold().split()
    return bool(ANY_LANGUAGE.mood.users.intersection((*words, next(clause_after(text, keyword.end), ""))))
