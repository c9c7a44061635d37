"""What a model finds in a user's words, made sound or left out. Pure.

Strategy: what a model writes is a proposal of its own wording, which its user will read and decide about. So it must
come from words that stand in the message, as its quote, and no number may be in it that the message does not hold:
nobody is shown a number that nobody said. What a rule would accept by itself is not a model's to propose.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ..config import ITEM_QUOTE, PROPOSALS_PER_TURN
from ..errors import BadItem
from ..lang import DEFAULT
from ..ports.memory import LIVE, Candidate, Draft, Item, ItemType, Number, Source, StoredTurn
from ..ports.note import Found
from ..text.language import language
from ..text.words import words
from .items import alike, cleaned, corrected, draft, numbers_of
from .repeats import within

BY_RULE: Final[frozenset[ItemType]] = frozenset({"event", "metric"})
"""The types that a rule accepts, which nothing but a user's words may propose."""


def sound(found: Sequence[Found], turn: StoredTurn, known: Sequence[Item], at: int) -> tuple[Draft, ...]:
    """Return what may be proposed of what a model found in a turn, PROPOSALS_PER_TURN at most.

    known: the items that it was shown. at: now, Unix milliseconds.
    """
    said = words(turn.remark.text)
    numbers = numbers_of(turn.remark.text)
    drafts: list[Draft] = []
    for each in found:
        quote = words(each.quote)
        if not quote or not within(quote, said) or not _hold(numbers, (each.text, each.subject)):
            continue
        with suppress(BadItem):
            made = _made(each, turn, known, at)
            if made is not None and not any((made.key, made.slot) == (one.key, one.slot) for one in drafts):
                drafts.append(made)
    return tuple(drafts[:PROPOSALS_PER_TURN])


def _made(found: Found, turn: StoredTurn, known: Sequence[Item], at: int) -> Draft | None:
    """Return the draft of what was found; None where it is not a model's to propose. Raises `BadItem`."""
    lang = language(turn.remark.text) or DEFAULT
    sources = (Source("message", turn.remark.message, quote=cleaned(found.quote)[:ITEM_QUOTE]),)
    item = next((each for each in known if each.id == found.replaces and each.status in LIVE), None)
    if (found.type if item is None else item.type) in BY_RULE:
        return None
    if item is None:  # also where it names what is not there: what it contradicts is found by its key
        return draft(Candidate(found.type, found.subject, found.text, lang, sources), at)
    return replace(corrected(item, found.text, lang, at, sources), replaces=item.id)


def _hold(numbers: Sequence[Number], texts: Sequence[str]) -> bool:
    """Tell whether each number of some texts is among these."""
    own = (number for text in texts for number in numbers_of(text))
    return all(any(alike(number, each) for each in numbers) for number in own)
