"""Reads the actions that a message asks for: by its own keywords, or by a field that the wish before it lacked.

Strategy: a wish is open for one message. A message with keywords of its own is a wish of its own. A message without
completes an open wish only if it tells a field that was asked for: a phone number, or the message itself where words
were asked for, unless it is a question, a courtesy or a withdrawal. Anything else is a new subject, and the wish is
gone. Only the user's words count, and no model's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from ..config import WISH_MESSAGES
from ..lang import LANGUAGES
from ..ports.brain import Proposal, Wish
from ..text.courtesy import find_courtesy
from ..text.sentences import find_line_sentences
from ..text.words import FUNCTION_WORDS, normalize_text, split_words
from .mood_words import ANY_LANGUAGE, join_languages
from .phone_numbers import find_answered_number, remove_phone_numbers
from .triggers import find_text_to_send, has_keyword, make_proposal, propose_actions
from .user_message import UserMessage

_WITHDRAWN = re.compile(
    rf"\W*(?:{'|'.join(each.completing.withdrawing for each in LANGUAGES.values())})\b", re.IGNORECASE
)
_ABOUT_PHONES = join_languages(lambda each: each.calling.phones)
_SENTENCE = re.compile(r"[^.!?\n]+")
_BESIDE = 2  # words beside a phone number that still tell nothing else
_WORDED = ("text", "subject")


def read_wishes(message: UserMessage, open_wishes: Sequence[Wish] = ()) -> tuple[Wish, ...]:
    """Return the wishes of a message, each action at most once, in the order of asking.

    `open_wishes`: the wishes that the message before it left open.
    """
    own, text = message.actions, message.text
    if own:
        before = {each.proposal.action: each for each in open_wishes}
        return tuple(_renew_wish(each, before.get(each.action), text) for each in own)
    return tuple(
        Wish(_fill_fields(each.proposal, fields), (*each.words, text)[-WISH_MESSAGES:])
        for each in open_wishes
        if (fields := _read_missing(text, each.proposal.missing))
    )


def only_completes(message: UserMessage, found: Sequence[Wish]) -> bool:
    """Return whether a message tells the missing fields and asks nothing besides, so that there is nothing to answer.

    `found`: the result of `read_wishes` for it.
    """
    text = message.text
    if message.actions or not found or _is_question(text):
        return False
    if any(
        each.proposal.payload.get(name) == normalize_text(text).strip() for each in found for name in _WORDED
    ):
        return True
    beside = FUNCTION_WORDS | _ABOUT_PHONES
    beside |= {
        word
        for each in found
        for name in _WORDED
        for word in split_words(str(each.proposal.payload.get(name, "")))
    }
    return sum(word not in beside for word in split_words(remove_phone_numbers(text))) <= _BESIDE


def asks_besides(text: str, proposals: Sequence[Proposal]) -> bool:
    """Return whether a message asks a question besides requesting the actions `proposals`.

    A sentence that requests an action is no question, nor is the text that is to be sent.
    """
    text = normalize_text(text)
    for proposal in proposals:
        if "text" in proposal.payload:
            text = text.replace(str(proposal.payload["text"]), " ")
    sentences = (text[start:end] for start, end in find_line_sentences(text))
    return any(_is_question(each) and not propose_actions(each) for each in sentences)


def _renew_wish(proposal: Proposal, before: Wish | None, text: str) -> Wish:
    """Return a wish that was made again, with the fields that are known of it."""
    if before is None:
        return Wish(proposal, (text,))
    payload = {**before.proposal.payload, **proposal.payload}
    return Wish(make_proposal(proposal.action, payload), (*before.words, text)[-WISH_MESSAGES:])


def _fill_fields(proposal: Proposal, fields: Mapping[str, str]) -> Proposal:
    return make_proposal(proposal.action, {**proposal.payload, **fields})


def _read_missing(text: str, missing: Sequence[str]) -> dict[str, str]:
    """Return the missing fields that a message tells."""
    text = normalize_text(text)
    if find_courtesy(text) is not None or _WITHDRAWN.match(text):
        return {}
    fields: dict[str, str] = {}
    phone = find_answered_number(text) if "phone" in missing and not has_keyword(text) else ""
    if phone:
        fields["phone"] = phone
    for name in _WORDED:
        if name in missing:
            text_to_send = find_text_to_send(text, phone)
            if not text_to_send and "phone" not in missing and not _is_question(text):
                text_to_send = text.strip()
            if text_to_send:
                fields[name] = text_to_send
    return fields


def _is_question(text: str) -> bool:
    """Return whether a message asks anything: it has a question mark, or a sentence begins with a question's word."""
    return "?" in text or any(first in ANY_LANGUAGE.question_openers for first in _first_words(text))


def _first_words(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.findall(text):
        yield next(iter(split_words(sentence)), "")
