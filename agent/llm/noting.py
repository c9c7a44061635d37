"""Finds what is to be remembered in users' words with a language model: a list of values, from `agent.structured`.

Strategy: one message is one request; what was said before it is shown so that "it" and "there" can be understood, and
what is remembered already lest it comes again. All of that is data between fences. What comes back has the form that
was asked for and nothing more is known of it: whether it may be proposed is for the caller.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from ..config import ITEM_QUOTE, ITEM_TEXT, NOTE_TOKENS, PROPOSALS_PER_TURN
from ..errors import ModelFailed
from ..lang import DEFAULT, LANGUAGES
from ..ports.memory import Item
from ..ports.model import LanguageModel, Message
from ..ports.note import Found, Unread
from ..ports.work import RunSync
from ..structured.extract import Extractor
from ..text.fences import fenced
from ..text.language import language

ATTEMPTS = 2  # of one message: the list, and once more what of it does not hold
BEFORE_CHARACTERS = 500
"""Characters of each turn before the message that a model is shown: the first ones."""


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

    run_sync: mends what is almost JSON, off the loop.
    """

    def __init__(self, model: LanguageModel, run_sync: RunSync) -> None:
        self._extractor = Extractor(
            model, [Notes], max_attempts=ATTEMPTS, max_tokens=NOTE_TOKENS, native=False, run_sync=run_sync
        )

    async def find(self, unread: Unread, known: Sequence[Item]) -> tuple[Found, ...]:
        """Return what a turn has to remember that is not known yet.

        Raises `ModelFailed` when the model fails, declines, or gives nothing that holds in ATTEMPTS. Cancelled, the
        model's stream is closed before it returns.
        """
        outcome = await self._extractor.extract(_asked(unread, known))
        if outcome.status == "provider_error":
            raise ModelFailed("the model failed", outcome.fault or "protocol", outcome.retry_after)
        if outcome.status != "ok":
            raise ModelFailed("the model gave no list that holds", "request")
        return tuple(
            Found(each.type, each.about, each.text, each.quote, each.replaces or None)
            for notes in outcome.values
            for each in notes.items
        )


def _asked(unread: Unread, known: Sequence[Item]) -> list[Message]:
    said = unread.turn.remark.text
    telling = LANGUAGES[language(said) or DEFAULT].prompting
    before = [
        f"{each.remark.speaker or each.remark.role}: {each.remark.text[:BEFORE_CHARACTERS]}"
        for each in unread.before
    ]
    shown = [f"[{each.id}] {each.text}" for each in known]
    parts = [
        *([f"{telling.known}\n{fenced(chr(10).join(shown))}"] if shown else []),
        *([f"{telling.before}\n{fenced(chr(10).join(before))}"] if before else []),
        f"{telling.message}\n{fenced(said)}",
    ]
    return [Message("system", telling.noting), Message("user", "\n\n".join(parts))]
