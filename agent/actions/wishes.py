"""What a message asks to be done: by its own keywords, or because it tells what the wish before it lacked.

Strategy: a wish is open for one message. A message with keywords of its own is a wish of its own; one without is the
rest of an open wish only if it tells something that was asked for: a phone number, or for words that were asked for the
message itself, unless it is a question, a courtesy or a withdrawal. Anything else is a new subject, and the wish is
gone. Only the user's words count, and no model's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..config import FILLED_CHARACTERS, WISH_MESSAGES
from ..lang import LANGUAGES
from ..ports.brain import Proposal, Wish
from ..protocol.payload import fits
from ..text.courtesy import courtesy
from ..text.words import FUNCTION_WORDS, composed, words
from .fields import REQUIRED
from .phones import told_phone, without_phones
from .triggers import dictated, mentions, proposals

_WITHDRAWN = re.compile(
    rf"\W*(?:{'|'.join(each.completing.withdrawing for each in LANGUAGES.values())})\b", re.IGNORECASE
)
_OPENING = frozenset().union(
    *(each.acting.mood.asking | each.acting.mood.inverting for each in LANGUAGES.values())
)
_ABOUT_PHONES = frozenset().union(*(each.acting.calling.phones for each in LANGUAGES.values()))
_SENTENCE = re.compile(r"[^.!?\n]+")
_BESIDE = 2  # words beside a phone number that still tell nothing else
_WORDED = ("text", "subject")


def wishes(text: str, left: Sequence[Wish] = ()) -> tuple[Wish, ...]:
    """Return what a message asks to be done, each action at most once, in the order of asking.

    left: what the message before it left open.
    """
    own = proposals(text)
    if own:
        before = {each.proposal.action: each for each in left}
        return tuple(_joined(each, before.get(each.action), text) for each in own)
    return tuple(
        Wish(_with(each.proposal, told), (*each.words, text)[-WISH_MESSAGES:])
        for each in left
        if (told := _told(text, each.proposal.missing))
    )


def only_tells(text: str, found: Sequence[Wish]) -> bool:
    """Return whether a message tells what was asked for and asks nothing besides, so that there is nothing to answer.

    found: what `wishes` made of it.
    """
    if proposals(text) or not found or _asks(text):
        return False
    if any(each.proposal.payload.get(name) == composed(text).strip() for each in found for name in _WORDED):
        return True
    beside = FUNCTION_WORDS | _ABOUT_PHONES
    beside |= {
        word for each in found for name in _WORDED for word in words(str(each.proposal.payload.get(name, "")))
    }
    return sum(word not in beside for word in words(without_phones(text))) <= _BESIDE


def _joined(proposal: Proposal, before: Wish | None, text: str) -> Wish:
    """Return a wish that was made again, with what is known of it."""
    if before is None:
        return Wish(proposal, (text,))
    payload = {**before.proposal.payload, **proposal.payload}
    return Wish(_made(proposal.action, payload), (*before.words, text)[-WISH_MESSAGES:])


def _with(proposal: Proposal, told: Mapping[str, str]) -> Proposal:
    return _made(proposal.action, {**proposal.payload, **told})


def _made(action: str, payload: Mapping[str, Any]) -> Proposal:
    if not fits(payload):
        payload = {key: value[:FILLED_CHARACTERS] for key, value in payload.items()}
    return Proposal(action, payload, tuple(name for name in REQUIRED[action] if name not in payload))


def _told(text: str, missing: Sequence[str]) -> dict[str, str]:
    """Return what a message tells of what is missing."""
    text = composed(text)
    if courtesy(text) is not None or _WITHDRAWN.match(text):
        return {}
    told: dict[str, str] = {}
    phone = told_phone(text) if "phone" in missing and not mentions(text) else ""
    if phone:
        told["phone"] = phone
    for name in _WORDED:
        if name in missing:
            said = dictated(text, phone)
            if not said and "phone" not in missing and not _asks(text):
                said = text.strip()
            if said:
                told[name] = said
    return told


def _asks(text: str) -> bool:
    """Return whether a message asks something: by its mark, or by the word with which a sentence of it begins."""
    return "?" in text or any(first in _OPENING for first in _firsts(text))


def _firsts(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.findall(text):
        yield next(iter(words(sentence)), "")
