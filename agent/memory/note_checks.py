"""Checks the notes that a model made of a user's message, and drops those that are not sound. Pure.

Strategy: a note is the model's own wording, which the user will read and decide about. So its quote must stand in the
message, and every number in it must be a number of the message: no user is shown a number that was never said. An
event or a metric (`BY_RULE`) ends soon, and is not looked for in the background.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ..config import ITEM_QUOTE, PROPOSALS_PER_TURN
from ..errors import BadItem
from ..intents.subjects import clean_line
from ..lang import DEFAULT
from ..ports.memory import LIVE, Candidate, Draft, Item, ItemType, Number, Source, StoredTurn
from ..ports.note import MemoryNote
from ..text.language import detect_language
from ..text.words import split_words
from .items import draft_correction, make_draft, numbers_match, numbers_of
from .repeats import is_within

BY_RULE: Final[frozenset[ItemType]] = frozenset({"event", "metric"})
"""The types that a rule may accept (`agent.memory.states`)."""


def check_notes(
    notes: Sequence[MemoryNote], turn: StoredTurn, known: Sequence[Item], at: int
) -> tuple[Draft, ...]:
    """Return the drafts to propose from the notes in `notes`, `PROPOSALS_PER_TURN` at most.

    `turn`: the message that the model read. `known`: the items that the model was shown. `at`: now, Unix milliseconds.
    """
    words = split_words(turn.remark.text)
    numbers = numbers_of(turn.remark.text)
    drafts: list[Draft] = []
    for each in notes:
        quote = split_words(each.quote)
        if not quote or not is_within(quote, words) or not _are_held(numbers, (each.text, each.subject)):
            continue
        with suppress(BadItem):
            draft = _make_draft(each, turn, known, at)
            if draft is not None and not any(
                (draft.key, draft.slot) == (one.key, one.slot) for one in drafts
            ):
                drafts.append(draft)
    return tuple(drafts[:PROPOSALS_PER_TURN])


def _make_draft(note: MemoryNote, turn: StoredTurn, known: Sequence[Item], at: int) -> Draft | None:
    """Return the draft of the note `note`; None if its type is in `BY_RULE`. Raises `BadItem`."""
    lang = detect_language(turn.remark.text) or DEFAULT
    sources = (Source("message", turn.remark.message, quote=clean_line(note.quote)[:ITEM_QUOTE]),)
    item = next((each for each in known if each.id == note.replaces and each.status in LIVE), None)
    if (note.type if item is None else item.type) in BY_RULE:
        return None
    if item is None:  # also for an unknown id in `replaces`: conflicts are found by the key
        return make_draft(
            Candidate(type=note.type, subject=note.subject, text=note.text, lang=lang, sources=sources), at
        )
    return replace(draft_correction(item, note.text, lang, at, sources), replaces=item.id)


def _are_held(numbers: Sequence[Number], texts: Sequence[str]) -> bool:
    """Tell whether each number in `texts` is among `numbers`."""
    own = (number for text in texts for number in numbers_of(text))
    return all(any(numbers_match(number, each) for each in numbers) for number in own)
