"""Finds facts to remember in users' words with a language model: a list of values, obtained by `agent.structured`.

Strategy: one message is one request. The turns before the message are included so that "it" and "there" can be
understood, and the known memory items so that they are not proposed again. All of that is data between fences. The
result has the requested form and no more is known of it: the caller decides whether it may be proposed.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from ..config import ITEM_QUOTE, ITEM_TEXT, PROPOSALS_PER_TURN
from ..errors import ModelFailed
from ..lang import DEFAULT, LANGUAGES
from ..ports.memory import Item
from ..ports.model import LanguageModel, ModelMessage
from ..ports.note import MemoryNote, UnreadTurn
from ..ports.work import RunSync
from ..structured.extract import Extractor
from ..text.fences import fence_text
from ..text.language import detect_language

NOTE_TOKENS = 600  # of a model's output for one message

ATTEMPTS = 2  # for one message: the list, then once a repair of it
BEFORE_CHARACTERS = 500
"""Characters that a model sees of each turn before the message: the first ones."""


class Noted(msgspec.Struct, frozen=True):
    """One thing that is worth remembering."""

    type: Annotated[
        Literal["fact", "preference", "rule", "decision", "open_loop", "idea", "lesson"],
        msgspec.Meta(
            description="rule: how the user always or never wants it. open_loop: what is still to be done."
        ),
    ]
    about: Annotated[
        str, msgspec.Meta(min_length=1, max_length=120, description="What it is about, in one to five words.")
    ]
    text: Annotated[
        str, msgspec.Meta(min_length=1, max_length=ITEM_TEXT, description="A sentence that says it.")
    ]
    quote: Annotated[
        str,
        msgspec.Meta(
            min_length=1, max_length=ITEM_QUOTE, description="The words of the message that say it."
        ),
    ]
    replaces: Annotated[
        str | None, msgspec.Meta(description="The id of what is remembered and is corrected by it.")
    ] = None


class Notes(msgspec.Struct, frozen=True):
    """What the user's last message has to remember; empty where that is nothing."""

    items: Annotated[list[Noted], msgspec.Meta(max_length=PROPOSALS_PER_TURN)]


class ModelNoter:
    """Reads users' words with a language model (implements `agent.ports.note.Noter`).

    `run_sync`: mends text that is almost JSON, off the event loop.
    """

    def __init__(self, model: LanguageModel, run_sync: RunSync) -> None:
        self._extractor = Extractor(
            model, [Notes], max_attempts=ATTEMPTS, max_tokens=NOTE_TOKENS, native=False, run_sync=run_sync
        )

    async def find_notes(self, unread: UnreadTurn, known: Sequence[Item]) -> tuple[MemoryNote, ...]:
        """Return the facts of a turn that are worth remembering and not known yet.

        Raises `ModelFailed` when the model fails, declines, or gives no valid list in `ATTEMPTS`. When it is cancelled,
        the model's stream is closed first.
        """
        outcome = await self._extractor.extract(_make_messages(unread, known))
        if outcome.status == "provider_error":
            raise ModelFailed("the model failed", outcome.fault or "protocol", outcome.retry_after)
        if outcome.status != "ok":
            raise ModelFailed("the model gave no list that holds", "request")
        return tuple(
            MemoryNote(each.type, each.about, each.text, each.quote, each.replaces or None)
            for notes in outcome.values
            for each in notes.items
        )


def _make_messages(unread: UnreadTurn, known: Sequence[Item]) -> list[ModelMessage]:
    """Return the messages that ask for the facts of one turn."""
    message = unread.turn.remark.text
    texts = LANGUAGES[detect_language(message) or DEFAULT].prompting
    earlier = [
        f"{each.remark.speaker or each.remark.role}: {each.remark.text[:BEFORE_CHARACTERS]}"
        for each in unread.before
    ]
    items = [f"[{each.id}] {each.text}" for each in known]
    parts = [
        *([f"{texts.known}\n{fence_text(chr(10).join(items))}"] if items else []),
        *([f"{texts.before}\n{fence_text(chr(10).join(earlier))}"] if earlier else []),
        f"{texts.message}\n{fence_text(message)}",
    ]
    return [ModelMessage("system", texts.noting), ModelMessage("user", "\n\n".join(parts))]
