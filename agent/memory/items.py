"""Makes of a candidate what can be kept, whole or not at all: checked, keyed, its numbers read, its time limited.

Strategy: two items are about one thing when they have one key: the stems of the content words of their subject, in any
order. What of that thing an item says is its slot, of which one item at most is live: for numbers their kinds and
units, and the numbers that the subject is named by ("room 12"), so that another value stands in the same place; for
what has one value at a time (a preference, a decision, a fact told as the only one) always the same; else the wording
itself, so that several facts of one thing live beside each other. What happened is never the same thing twice: an
event's slot is its wording, too. A bound ("at least 14 days") has a slot beside that of the other bound.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from ..config import (
    EVENT_LASTS,
    IDEA_LASTS,
    ITEM_KEY,
    ITEM_LATEST,
    ITEM_QUOTE,
    ITEM_REF,
    ITEM_TEXT,
    LESSON_LASTS,
)
from ..errors import BadItem
from ..lang import LANGUAGES, Lang
from ..lexical.stems import stem
from ..numbers.read import Kind, Token, tokens
from ..numbers.units import same_measure
from ..ports.memory import Candidate, Draft, Item, ItemType, Number, Source
from ..text.words import words

LASTS: Final[dict[ItemType, float]] = {"event": EVENT_LASTS, "idea": IDEA_LASTS, "lesson": LESSON_LASTS}
"""Seconds after which an item of a type ends by itself, unless it says otherwise."""

SINGLE: Final[frozenset[ItemType]] = frozenset({"preference", "decision"})
"""Of which a thing has one at a time, also where there is no number in it."""

_UNITS: Final = ", "  # stands between the kinds of a slot

ONE_TEXT: Final = "text"
"""The slot of a single-valued item without numbers."""

_NO_VALUES: Final = frozenset({Kind.ROMAN, Kind.SYMBOL})  # letters and marks that a wording holds anyway
_ALWAYS: Final = frozenset({Kind.MONEY, Kind.PERCENT})  # whose units are of one measure
_MEASURED: Final = (
    frozenset({Kind.NUMBER, Kind.QUANTITY}) | _ALWAYS
)  # what a number may be that lacks its unit
_WORDING: Final = 16  # bytes: two wordings of one key never get one slot by chance
_BOUNDS: Final = {
    lang: tuple(
        (sign, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
        for sign, words in (("<", each.stating.at_most), (">", each.stating.at_least))
    )
    for lang, each in LANGUAGES.items()
}


def draft(candidate: Candidate, at: int) -> Draft:
    """Return what an item is made of; at: now. Raises `agent.errors.BadItem` where the candidate is not sound."""
    text, subject = cleaned(candidate.text), cleaned(candidate.subject)
    _check_text(text)
    _check_sources(candidate.sources)
    if not 0.0 <= candidate.confidence <= 1.0:
        raise BadItem("bad_confidence", "the confidence must be a number from 0 to 1")
    valid_from, expires_at = _times(candidate, at)
    named = tokens(subject, source=True)
    key = _key(subject, named, candidate.lang)
    if not key:
        raise BadItem(
            "no_key", "the subject must name in words what this is about; numbers alone name nothing"
        )
    numbers = numbers_of(text)
    return Draft(
        candidate.type,
        text,
        key,
        _slot(candidate.type, candidate.single, text, numbers, _numbers(named), candidate.lang),
        numbers,
        candidate.sources,
        float(candidate.confidence),
        valid_from,
        candidate.valid_to,
        expires_at,
    )


def edited(item: Item, text: str, lang: Lang, at: int) -> Draft:
    """Return what is put in an item's place when its user corrects its text; it is about the same, for as long.

    Its source is the user's correction. Raises `agent.errors.BadItem` for a text that cannot be kept.
    """
    source = Source("message", f"edit:{item.id}", quote=cleaned(text)[:ITEM_QUOTE])
    return corrected(item, text, lang, at, (source,))


def corrected(item: Item, text: str, lang: Lang, at: int, sources: tuple[Source, ...]) -> Draft:
    """Return what says another text of what an item is about, for as long. Raises `agent.errors.BadItem`."""
    made = draft(
        Candidate(
            item.type,
            " ".join(item.key),
            text,
            lang,
            sources,
            valid_to=item.valid_to,
            expires_at=item.expires_at,
        ),
        at,
    )
    return replace(made, key=item.key)


def cleaned(text: str) -> str:
    """Return a text on one line, without white space around it, of characters that can be written to a file."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def key_of(subject: str, lang: Lang) -> tuple[str, ...]:
    """Return the key of a subject: of its first ITEM_KEY content words, without numbers, the stems, sorted.

    The first ones, since what a thing is called stands before what else is said of it. Empty where it has none.
    """
    clean = cleaned(subject)
    return _key(clean, tokens(clean, source=True), lang)


def unnumbered(text: str) -> str:
    """Return a text without its numbers: as the subject of what says these numbers, and is not named by them."""
    return _without(text, tokens(text, source=True))


def _without(text: str, found: Iterable[Token]) -> str:
    rest: list[str] = []
    at = 0
    for token in found:
        rest.append(text[at : token.start])
        at = token.end
    return " ".join([*rest, text[at:]])


def numbers_of(text: str) -> tuple[Number, ...]:
    """Return the typed numbers of a text, sorted."""
    return _numbers(tokens(text, source=True))


def agree(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Tell whether two lists of numbers say the same: each of one is read alike, once, in the other.

    Digits that may be read in two ways ("1.234") agree with both.
    """
    left = [*other]
    for number in one:
        found = next((each for each in left if alike(number, each)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def alike(one: Number, other: Number) -> bool:
    """Tell whether two numbers can be read as the same value of one kind and unit."""
    return one[0] == other[0] and not _readings(one).isdisjoint(_readings(other))


def comparable(one: str, other: str) -> bool:
    """Tell whether numbers of two kinds stand in one place: with and without a unit, or in two units of one measure.

    one, other: kinds with their units, as of a `Number`. Every currency measures money.
    """
    (kind, _, unit), (its, _, other_unit) = one.partition(" "), other.partition(" ")
    if kind != its:
        return Kind.NUMBER in (kind, its) and {kind, its} <= _MEASURED
    return kind in _ALWAYS or same_measure(unit, other_unit)


def _readings(number: Number) -> set[str]:
    """Return what the digits of a number may be read as, without its unit."""
    return set(number[1].partition(" ")[0].split("|"))


def same_wording(one: str, other: str) -> bool:
    """Tell whether two texts have the same words in the same order, whatever their case and marks."""
    return words(one) == words(other)


def _key(subject: str, named: Iterable[Token], lang: Lang) -> tuple[str, ...]:
    empty = LANGUAGES[lang].writing.function_words
    said = words(_without(subject, named))
    stems = (stem(lang, word) for word in said if word not in empty)
    return tuple(sorted([*dict.fromkeys(stems)][:ITEM_KEY]))


def _numbers(found: Iterable[Token]) -> tuple[Number, ...]:
    return tuple(sorted((_kind(token), token.value) for token in found if token.kind not in _NO_VALUES))


def _kind(token: Token) -> str:
    """Return the kind of a number and its unit: only numbers of one kind can contradict each other."""
    return f"{token.kind} {token.value.partition(' ')[2]}".strip()


def _slot(
    kind: ItemType,
    single: bool,
    text: str,
    numbers: tuple[Number, ...],
    names: tuple[Number, ...],
    lang: Lang,
) -> str:
    values = [*numbers]
    for name in names:
        if name in values:
            values.remove(name)
    if kind == "event" or not values:
        return (
            ONE_TEXT
            if single or kind in SINGLE
            else blake2b(" ".join(words(text)).encode(), digest_size=_WORDING).hexdigest()
        )
    bounds = "".join(sign for sign, pattern in _BOUNDS[lang] if pattern.search(text))
    named = " ".join(f"#{value}" for _, value in names)
    return f"{bounds}|{named}|{_UNITS.join(unit for unit, _ in values)}"


def places(slot: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the bounds of a slot of numbers, the numbers that name its subject, and the kinds of its values.

    Of the slot of a wording there are none of any.
    """
    bounds, _, rest = slot.partition("|")
    named, _, units = rest.rpartition("|")
    return (bounds, named, tuple(units.split(_UNITS))) if rest else ("", "", ())


def _check_text(text: str) -> None:
    if not text:
        raise BadItem("empty", "the text must say what is to be remembered")
    if len(text) > ITEM_TEXT:
        raise BadItem(
            "too_long", f"the text must have {ITEM_TEXT} characters at most; split it into several items"
        )


def _check_sources(sources: tuple[Source, ...]) -> None:
    if not sources:
        raise BadItem(
            "no_source", "at least one source must be named: a message, a document or a tool's result"
        )
    for source in sources:
        if not source.ref or len(source.ref) > ITEM_REF:
            raise BadItem("bad_source", f"a source must be named, in {ITEM_REF} characters at most")
        if len(source.quote) > ITEM_QUOTE:
            raise BadItem("bad_source", f"a source's quote must have {ITEM_QUOTE} characters at most")
        lines = 1 <= source.first <= source.last
        if not (lines if source.kind == "document" else (source.first, source.last) == (0, 0)):
            raise BadItem(
                "bad_source",
                "a document's lines are counted from 1, the first before the last; no other source has any",
            )


def _times(candidate: Candidate, at: int) -> tuple[int, int | None]:
    """Return from when it is valid and when it ends by itself; raises BadItem where its times cannot be."""
    start = at if candidate.valid_from is None else candidate.valid_from
    times = (start, candidate.valid_to, candidate.expires_at)
    if not all(each is None or 0 <= each <= ITEM_LATEST for each in times):
        raise BadItem("bad_time", "a time must be a date from 1970 to 9999")
    if candidate.valid_to is not None and candidate.valid_to <= start:
        raise BadItem("bad_time", "valid_to must be later than valid_from")
    ends = candidate.expires_at
    if ends is None and candidate.type in LASTS:
        ends = min(max(at, start) + round(LASTS[candidate.type] * 1000), ITEM_LATEST)
    if ends is None and candidate.type == "metric":
        raise BadItem("no_limit", "a metric must say until when it counts: give expires_at")
    if ends is not None and ends <= max(at, start):
        raise BadItem("bad_time", "expires_at must be later than now and than valid_from")
    return start, ends
