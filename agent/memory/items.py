"""Turns a candidate into a draft that can be stored, or rejects it: checks it, keys it, reads numbers, limits times.

Strategy: two items are about one thing when they have one key: the stems of the content words of their subject, in any
order. The slot says which aspect of the thing an item states, and at most one item of a slot is live. For numbers the
slot is their kinds and units, and the numbers that name the subject ("room 12"), so that another value takes the same
place. For a thing with one value at a time (a preference, a decision, a fact told as the only one) the slot is always
the same. Otherwise the slot is the wording, so that several facts of one thing live side by side. An event never
happens twice: its slot is its wording, too. A bound ("at least 14 days") has a slot beside that of the other bound.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from hashlib import blake2b
from typing import Final

from ..config import ITEM_QUOTE, ITEM_TEXT
from ..errors import BadItem
from ..intents.subjects import clean_line, stem_key
from ..lang import LANGUAGES, Lang
from ..numbers.number_tokens import Kind, NumberToken, tokens
from ..numbers.units import same_measure
from ..ports.memory import Candidate, Draft, Item, ItemType, Number, Source
from ..text.words import split_words

ITEM_REF = 300  # characters of a source's reference: a message's id, a file's path
# Unix milliseconds: the end of the year 9999, the last that a date can be of.
ITEM_LATEST = 253_402_300_799_999
EVENT_LASTS = 7 * 24 * 3600.0
IDEA_LASTS = 30 * 24 * 3600.0
LESSON_LASTS = 90 * 24 * 3600.0
METRIC_LASTS = 24 * 3600.0  # of a metric that a model proposes; a program says when its metric ends

LASTS: Final[dict[ItemType, float]] = {"event": EVENT_LASTS, "idea": IDEA_LASTS, "lesson": LESSON_LASTS}
"""Seconds after which an item of a type expires, unless it says otherwise; of an event, after its last day."""

SINGLE: Final[frozenset[ItemType]] = frozenset({"preference", "decision"})
"""Types of which a thing has one at a time, even without a number in the text."""

_UNITS: Final = ", "  # stands between the kinds of a slot

ONE_TEXT: Final = "text"
"""The slot of a single-valued item without numbers."""

_NO_VALUES: Final = frozenset({Kind.ROMAN, Kind.SYMBOL})  # letters and marks, which the wording covers
_ALWAYS: Final = frozenset({Kind.MONEY, Kind.PERCENT})  # kinds with units of a single measure
# Kinds that a number without a unit may stand for.
_MEASURED: Final = frozenset({Kind.NUMBER, Kind.QUANTITY}) | _ALWAYS
_WORDING: Final = 16  # bytes: two wordings of one key never get one slot by chance
_BOUNDS: Final = {
    lang: tuple(
        (sign, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
        for sign, words in (("<", each.stating.at_most), (">", each.stating.at_least))
    )
    for lang, each in LANGUAGES.items()
}


def make_draft(candidate: Candidate, at: int) -> Draft:
    """Return the draft of `candidate`; `at`: now. Raises `agent.errors.BadItem` if the candidate is not sound."""
    text, subject = clean_line(candidate.text), clean_line(candidate.subject)
    _check_text(text)
    _check_sources(candidate.sources)
    if not 0.0 <= candidate.confidence <= 1.0:
        raise BadItem("bad_confidence", "the confidence must be a number from 0 to 1")
    numbers = numbers_of(text)
    valid_from, expires_at = _check_times(candidate, numbers, at)
    named = tokens(subject, source=True)
    key = stem_key(subject, named, candidate.lang)
    if not key:
        raise BadItem("no_key", "the subject must have words; numbers alone do not name a subject")
    return Draft(
        type=candidate.type,
        text=text,
        key=key,
        slot=_make_slot(
            candidate.type, candidate.single, text, numbers, _typed_numbers(named), candidate.lang
        ),
        numbers=numbers,
        sources=candidate.sources,
        confidence=float(candidate.confidence),
        valid_from=valid_from,
        valid_to=candidate.valid_to,
        expires_at=expires_at,
        by_rule=candidate.by_rule,
    )


def draft_edit(item: Item, text: str, lang: Lang, at: int) -> Draft:
    """Return the draft that replaces `item` when its user corrects its text; subject and validity stay.

    Its source is the user's correction. Raises `agent.errors.BadItem` for a text that cannot be kept.
    """
    source = Source("message", f"edit:{item.id}", quote=clean_line(text)[:ITEM_QUOTE])
    return draft_correction(item, text, lang, at, (source,))


def draft_correction(item: Item, text: str, lang: Lang, at: int, sources: tuple[Source, ...]) -> Draft:
    """Return a draft with another `text` and the key and validity of `item`. Raises `agent.errors.BadItem`."""
    draft = make_draft(
        Candidate(
            type=item.type,
            subject=" ".join(item.key),
            text=text,
            lang=lang,
            sources=sources,
            valid_to=item.valid_to,
            expires_at=item.expires_at,
        ),
        at,
    )
    return replace(draft, key=item.key)


def numbers_of(text: str) -> tuple[Number, ...]:
    """Return the typed numbers of `text`, sorted."""
    return _typed_numbers(tokens(text, source=True))


def named_days(numbers: Iterable[Number]) -> list[date]:
    """Return the days that `numbers` name with their year."""
    return [
        date.fromisoformat(value)
        for kind, value in numbers
        if kind == Kind.DATE and len(value) == len("2026-05-08")
    ]


def numbers_agree(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Tell whether two lists of numbers say the same: each number of `one` matches one number of `other`.

    Digits that have two readings ("1.234") agree with both.
    """
    unmatched = [*other]
    for number in one:
        match = next((each for each in unmatched if numbers_match(number, each)), None)
        if match is None:
            return False
        unmatched.remove(match)
    return not unmatched


def numbers_match(one: Number, other: Number) -> bool:
    """Tell whether two numbers can be read as the same value of one kind and unit."""
    return one[0] == other[0] and not _readings(one).isdisjoint(_readings(other))


def kinds_compete(one: str, other: str) -> bool:
    """Tell whether numbers of two kinds compete for one place: with and without a unit, or in units of one measure.

    `one`, `other`: kinds with their units, as in a `Number`. Every currency measures money.
    """
    (kind, _, unit), (its, _, other_unit) = one.partition(" "), other.partition(" ")
    if kind != its:
        return Kind.NUMBER in (kind, its) and {kind, its} <= _MEASURED
    return kind in _ALWAYS or same_measure(unit, other_unit)


def _readings(number: Number) -> set[str]:
    """Return the values that the digits of `number` can be read as, without the unit."""
    return set(number[1].partition(" ")[0].split("|"))


def same_wording(one: str, other: str) -> bool:
    """Tell whether two texts have the same words in the same order, ignoring case and punctuation."""
    return split_words(one) == split_words(other)


def _typed_numbers(number_tokens: Iterable[NumberToken]) -> tuple[Number, ...]:
    return tuple(
        sorted((_kind_of(token), token.value) for token in number_tokens if token.kind not in _NO_VALUES)
    )


def _kind_of(token: NumberToken) -> str:
    """Return the kind and unit of a number: only numbers of one kind can contradict each other."""
    return f"{token.kind} {token.value.partition(' ')[2]}".strip()


def _make_slot(
    kind: ItemType,
    single: bool,
    text: str,
    numbers: tuple[Number, ...],
    names: tuple[Number, ...],
    lang: Lang,
) -> str:
    """Return the slot of an item, as the opening of this module says; `names`: the numbers of its subject."""
    values = [*numbers]
    for name in names:
        if name in values:
            values.remove(name)
    if kind == "event" or not values:
        return (
            ONE_TEXT
            if single or kind in SINGLE
            else blake2b(" ".join(split_words(text)).encode(), digest_size=_WORDING).hexdigest()
        )
    bounds = "".join(sign for sign, pattern in _BOUNDS[lang] if pattern.search(text))
    named = " ".join(f"#{value}" for _, value in names)
    return f"{bounds}|{named}|{_UNITS.join(unit for unit, _ in values)}"


def split_slot(slot: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the parts of a number slot: bounds, the numbers that name its subject, and the kinds of its values.

    All parts are empty for a wording slot.
    """
    bounds, _, rest = slot.partition("|")
    named, _, units = rest.rpartition("|")
    return (bounds, named, tuple(units.split(_UNITS))) if rest else ("", "", ())


def _check_text(text: str) -> None:
    if not text:
        raise BadItem("empty", "the text is empty: give the sentence to remember")
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
                "give lines only for a document, counted from 1, first <= last",
            )


def _check_times(candidate: Candidate, numbers: Iterable[Number], at: int) -> tuple[int, int | None]:
    """Return the start of validity and the time of expiry, Unix milliseconds. Raises `BadItem` for impossible times.

    `numbers`: those of the text. An event lasts from the last day that they name, if that is still to come.
    """
    start = at if candidate.valid_from is None else candidate.valid_from
    times = (start, candidate.valid_to, candidate.expires_at)
    if not all(each is None or 0 <= each <= ITEM_LATEST for each in times):
        raise BadItem("bad_time", "a time must be a date from 1970 to 9999")
    if candidate.valid_to is not None and candidate.valid_to <= start:
        raise BadItem("bad_time", "valid_to must be later than valid_from")
    ends = candidate.expires_at
    if ends is None and candidate.type in LASTS:
        days = named_days(numbers) if candidate.type == "event" else []
        since = [round(datetime.combine(day, time(), UTC).timestamp() * 1000) for day in days]
        ends = min(max(at, start, *since) + round(LASTS[candidate.type] * 1000), ITEM_LATEST)
    if ends is None and candidate.type == "metric":
        raise BadItem("no_limit", "a metric must expire: give expires_at")
    if ends is not None and ends <= max(at, start):
        raise BadItem("bad_time", "expires_at must be later than now and than valid_from")
    return start, ends
