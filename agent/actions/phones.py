"""Which phone number in a message belongs to which keyword of it.

Strategy: a number is a phone number by its form and by what stands around it, and of those that remain each keyword
gets the one that was said with it.

- Form: 7 to 15 digits, no date, time, personal number or address of a machine. One that begins with +, 0 or a bracket,
  or is written 555-123-4567, is one as it stands; any other only where somebody is reached there ("on", "at", "på"),
  right behind a keyword, or behind a word for it ("my number is").
- A number that a word for another kind of number names (a customer's, an order's, an invoice's), or that is an amount,
  is none.
- A number that is denied ("not on A"), out of date ("my old number was A", "instead of A"), taken back ("on A, sorry,
  B"), somebody else's ("your number A") or where a call came from ("you called me from A") is not used.
- A number goes with the keyword that is nearest to it: in the same clause, before one in the same sentence, before any
  other; of two as near, with the one before it. Keywords side by side ("call or text me on A") share, and so do those
  that are both about the user ("call me on A and text me"). In doubt a keyword has none: it can be asked for.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from ..lang import LANGUAGES
from ..lang.language import Acting
from .clauses import clause_after, words_before

_ACTING = [language.acting for language in LANGUAGES.values()]


def _of_all(words: Callable[[Acting], frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*map(words, _ACTING))


def _any(pattern: Callable[[Acting], str]) -> str:
    return "|".join(f"(?:{pattern(each)})" for each in _ACTING if pattern(each)) or "(?!)"


NUMBERS = 64  # that are no words of a question
_CANDIDATES = 24  # that may be the phone number: what a message costs has a bound
_NEAR = 80  # characters read on either side of a number
_WORDS = 8  # and words of them
_DENIED_WITHIN = 5  # words between a negation and the number that it denies
_PHONE = re.compile(
    r"(?=\+?\(?\+?\d)(?<![\w+])(?<!\w-)(?<!\d[.,])"  # not the rest of a longer token
    r"(?:\+?\(\+?\d{1,5}\)|\+?\d)"  # (08), +46, 0
    r"(?:[ \u00a0().\-‐‑–/]{0,3}\d)*"
    r"(?!\w|[.,:-]\d)"
)
_DIGITS = range(7, 16)  # E.164 allows 15; fewer than 7 is not a subscriber's number
_BEFORE_CLOCK = "|".join(rf"(?<={word} )" for word in sorted(_of_all(lambda each: each.clock)))
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
_NEGATORS = _of_all(lambda each: each.negators)
_NEW_START = _of_all(lambda each: each.new_start)
_FILLERS = _of_all(lambda each: each.fillers)
_JOINS = _of_all(lambda each: each.carries_on)
_REACHING = _of_all(lambda each: each.calling.reaching)
_PHONES = _of_all(lambda each: each.calling.phones)
_JOINING = _of_all(lambda each: each.calling.joining)
_ORIGINS = _of_all(lambda each: each.calling.origins)
_ADDRESSED = _of_all(lambda each: each.calling.addressed)
_CORRECTIONS = _of_all(lambda each: each.calling.corrections)
_PAST = re.compile(_any(lambda each: each.mood.past)).fullmatch
_SPEAKERS = _of_all(lambda each: each.mood.speakers)
_USERS = _of_all(lambda each: each.mood.users)


@dataclass(frozen=True, slots=True)
class Asked:
    """A keyword that is asked for, at text[start:end]."""

    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Number:
    """A phone number at text[start:end]. sure: by its form alone. reached: where somebody is reached."""

    start: int
    end: int
    sure: bool
    reached: bool


def is_phone(written: str) -> bool:
    """Return whether what somebody wrote as a phone number has the form of one, and nothing beside it."""
    written = written.strip()
    match = _PHONE.fullmatch(written)
    return match is not None and has_its_digits(written) and _NO_PHONE.fullmatch(written) is None


def has_its_digits(written: str) -> bool:
    """Return whether there are as many digits as a phone number has."""
    return sum(char.isdigit() for char in written) in _DIGITS


def without_phones(text: str) -> str:
    """Return a text with a space in place of each number that has the form of a phone number."""
    if _DIGIT.search(text) is None:
        return text
    return _PHONE.sub(
        lambda match: " " if has_its_digits(match.group()) else match.group(), text, count=NUMBERS
    )


def phones(text: str, asked: Sequence[Asked], calling: frozenset[str]) -> dict[str, str]:
    """Return the phone number of each action that has one, as it was written.

    asked: the keywords that are asked for, in the order of the text. calling: the actions that need a number.
    """
    if not asked or _DIGIT.search(text) is None:
        return {}
    owned: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    breaks = [match.span() for match in _BREAK.finditer(text)]
    for number in _usable(text, asked):
        gap, keyword = _owner(text, number, asked, calling, breaks)
        if keyword.action in calling and not (gap and _is_anothers(text, number)):
            rank = (gap, not number.sure, number.start < keyword.start, not number.reached, number.start)
            owned.setdefault(keyword.action, []).append((rank, text[number.start : number.end]))
    found = {action: min(numbers)[1] for action, numbers in owned.items()}
    for one, other in pairwise(asked):
        for first, second in ((one, other), (other, one)):
            if first.action in found and second.action in calling - found.keys() and _share(text, one, other):
                found[second.action] = found[first.action]
    return found


def told_phone(text: str) -> str:
    """Return the phone number that answers which one is meant, as it was written; "" for none, and for several."""
    found = {digits(text[each.start : each.end]): text[each.start : each.end] for each in _answering(text)}
    return next(iter(found.values())) if len(found) == 1 else ""


def said_phones(texts: Sequence[str]) -> dict[str, str]:
    """Return the phone numbers of somebody's messages by their digits, each as it was written last.

    None that any of the messages says to be something else, or not to be used.
    """
    found: dict[str, str] = {}
    doubtful: set[str] = set()
    for text in texts:
        usable = [text[each.start : each.end] for each in _answering(text)]
        found |= {digits(each): each for each in usable}
        every = (digits(match.group()) for match in islice(_PHONE.finditer(text), NUMBERS))
        doubtful |= set(every) - {digits(each) for each in usable}
    return {key: each for key, each in found.items() if key not in doubtful}


def digits(written: str) -> str:
    """Return the digits of a text, of whatever script, in the usual one."""
    return "".join(str(unicodedata.decimal(char)) for char in written if char.isdecimal())


def _answering(text: str) -> Iterator[_Number]:
    return _usable(text, (), answers=True) if _DIGIT.search(text) else iter(())


def _usable(text: str, asked: Sequence[Asked], answers: bool = False) -> Iterator[_Number]:
    """Yield the phone numbers of a text that are not said to be something else, or not to be used.

    answers: the text tells a number that was asked for.
    """
    blanked = _NO_PHONE.sub(lambda match: "|" * len(match.group()), text)
    matches = [each for each in islice(_PHONE.finditer(blanked), _CANDIDATES) if has_its_digits(each.group())]
    starts = [each.start for each in asked]
    labelled = False
    for at, match in enumerate(matches):
        start, end = match.span()
        follows = matches[at + 1].start() if at + 1 < len(matches) else None
        before = list(_words_before(text, start))
        linked = at > 0 and _only_joins(text[matches[at - 1].end() : start])
        labelled = (linked and labelled) or _is_labelled(text, before, end)
        if labelled or _is_dropped(text, start, end, follows, asked[: bisect_left(starts, start)]):
            continue
        written = match.group()
        reached = bool(before) and before[0] in _REACHING
        sure = written[0] in "+0(" or _GROUPED.fullmatch(written) is not None
        if sure or reached or linked or answers or _is_introduced(text, before, start, asked):
            yield _Number(start, end, sure, reached)


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
    return len(between) <= _NEAR and all(word in _JOINS for word in re.findall(r"\w+", between.casefold()))


def _is_labelled(text: str, before: list[str], end: int) -> bool:
    """Return whether words say that a number is another than a phone's."""
    for word in before:
        if word in _PHONES - _JOINING:
            break
        if _LABEL(word):
            return True
        if word not in _JOINING:
            break
    after = text[end : end + _NEAR]
    return _AMOUNT.match(after) is not None or _SAID_TO_BE.match(after) is not None


def _is_introduced(text: str, before: list[str], start: int, asked: Sequence[Asked]) -> bool:
    """Return whether a number that could be any stands where a phone number does."""
    if any(word in _PHONES for word in before[:3]):
        return True
    for keyword in asked:
        if keyword.end <= start <= keyword.end + _NEAR:
            between = re.findall(r"\w+", text[keyword.end : start].casefold())
            if all(word in _USERS for word in between):
                return True
    return False


def _is_dropped(text: str, start: int, end: int, follows: int | None, asked: Sequence[Asked]) -> bool:
    """Return whether a number is denied, out of date, or taken back by the next one (which begins at `follows`)."""
    since = max(start - _NEAR, asked[-1].end if asked else 0, 0)
    denied = 0
    for word in islice(words_before(text, start, since), _DENIED_WITHIN):
        if not word[0].isalnum() or word in _NEW_START:
            break
        denied += word in _NEGATORS
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


def _is_anothers(text: str, number: _Number) -> bool:
    """Return whether a number outside a keyword's clause is where the user was called from, or somebody else's."""
    before = list(_words_before(text, number.start))
    if before and before[0] in _ORIGINS:
        return _SPEAKERS.isdisjoint(before)
    if _PHONES.isdisjoint(before) and any(map(_PAST, before)):
        return True  # "when I called A"
    after = islice(clause_after(text, number.end), 2)
    return not _ADDRESSED.isdisjoint((*before[:3], *after))


def _owner(
    text: str,
    number: _Number,
    asked: Sequence[Asked],
    calling: frozenset[str],
    breaks: list[tuple[int, int]],
) -> tuple[int, Asked]:
    """Return the keyword that a number goes with, and what lies between: 0 nothing, 1 a comma, 2 a sentence's end."""
    at = bisect_left([each.start for each in asked], number.start)
    beside = []
    for keyword in asked[max(0, at - 1) : at + 1]:
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


def _share(text: str, one: Asked, other: Asked) -> bool:
    """Return whether two keywords that follow each other are about the same number."""
    between = text[one.end : other.start]
    if len(between) <= _NEAR and _DIGIT.search(between) is None:
        words = re.findall(r"\w+", between.casefold())
        if len(words) <= 4 and any(word in _FILLERS for word in words) and _SENTENCE.search(between) is None:
            return True
    return all(_is_about_the_user(text, each) for each in (one, other))


def _is_about_the_user(text: str, keyword: Asked) -> bool:
    words = text[keyword.start : keyword.end].casefold().split()
    return bool(_USERS.intersection((*words, next(clause_after(text, keyword.end), ""))))
