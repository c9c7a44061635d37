"""Finds the actions that a user's words ask for: keywords from the languages' tables, never a model's judgement.

The text is brought to NFC and searched for each keyword on word boundaries, in any case and language. A keyword counts
where it is requested and not negated (`keyword_requests.py` and `keyword_negations.py` have the rules). Words in
quotation marks are another's words, and ask for nothing.

In doubt nothing fires: a missing suggestion costs a user one more sentence, an unwanted one costs trust. Keywords and
negations of all languages count in every text. Add a keyword to the record `Acting` in `agent.lang`; add an action by a
field of `Keywords`, which each language then must have, and a row of REQUIRED in `agent.intents.fields`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import Any

from ..lang import LANGUAGES
from ..lang.acting import Keywords
from ..ports.brain import Proposal
from ..protocol.payload import is_valid_payload
from ..text.words import normalize_text
from .fields import FILLED_CHARACTERS, REQUIRED
from .keyword_negations import is_negated
from .keyword_requests import is_requested
from .mood_words import join_languages
from .phone_numbers import RequestedKeyword, find_phone_numbers, remove_phone_numbers
from .quotations import QUOTED

_ALL = [language.acting for language in LANGUAGES.values()]

TRIGGERS: dict[str, tuple[str, ...]] = {
    field.name: tuple(
        dict.fromkeys(keyword for each in _ALL for keyword in getattr(each.keywords, field.name))
    )
    for field in fields(Keywords)
}
"""The keywords of each action, by its name on the wire."""

_OCCURRENCES = 32  # of the keywords of one action that are looked at: the cost of a message has a bound
_REQUESTED = 8  # of them that are requested and looked at further
_QUOTATIONS = 32  # that are looked at
_COLON = re.compile(r"[^:.!?;\n]{0,80}?:\s+(\S.*)", re.DOTALL)
_SAYING = re.compile(
    r"\W{0,3}(?:"
    + ("|".join(f"(?:{each.calling.saying})" for each in _ALL if each.calling.saying) or "(?!)")
    + r")\s+([^\s\"“”„«»][^.!?;\n\"“”„«»]{0,2000})",
    re.IGNORECASE,
)
_MENTIONED = join_languages(lambda each: each.mood.users | each.fillers)
_NUMBERED = re.compile(
    rf"\s{{1,3}}(?:(?:{'|'.join(sorted(join_languages(lambda each: each.calling.phones)))})\s{{1,3}})?#?\d",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"\W{0,3}(\w+)")
_CALLING = frozenset(action for action, needed in REQUIRED.items() if "phone" in needed)


def _keyword_pattern(keywords: tuple[str, ...], dialling: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of `keywords`, and of the words `dialling` where a phone number follows them."""
    longest_first = sorted(keywords, key=len, reverse=True)
    spaced = [r"\s+".join(re.escape(word) for word in keyword.split()) for keyword in longest_first]
    spaced += [rf"{re.escape(word)}(?=\s+\(?\+?\d[\d ().+-]{{5}})" for word in sorted(dialling)]
    known = "|".join(each.mood.endings for each in _ALL if each.mood.endings) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w|(?:{known})\b)", re.IGNORECASE)


# Keywords right before a number.
_DIALLING = {"schedule_callback": join_languages(lambda each: each.calling.dialling)}
_PATTERNS = {
    action: _keyword_pattern(keywords, _DIALLING.get(action, frozenset()))
    for action, keywords in TRIGGERS.items()
}
_FIRST_WORDS = {
    action: {keyword.split()[0] for keyword in keywords} | _DIALLING.get(action, frozenset())
    for action, keywords in TRIGGERS.items()
}


def propose_actions(text: str) -> tuple[Proposal, ...]:
    """Return the actions that a user's message asks for, in the order of TRIGGERS, each at most once.

    `text`: the message as the client sent it. Payload values are strings cut from it: `phone` as it was written
    (schedule_callback, send_sms), `text` the words in quotes, after a colon or after "saying" (send_sms), `subject` the
    whole message (create_ticket); of a value that does not fit the first `FILLED_CHARACTERS`. A key is left out when
    the message does not hold it, and named in `missing` when the action needs it.
    """
    text = normalize_text(text)
    requested = _find_requested(text)
    if not requested:
        return ()
    numbers = find_phone_numbers(text, requested, _CALLING)
    actions = [action for action in TRIGGERS if any(each.action == action for each in requested)]
    return tuple(_propose_action(action, text, requested, numbers.get(action, "")) for action in actions)


def has_keyword(text: str) -> bool:
    """Return whether a keyword of an action stands in `text`, requested or not."""
    return any(pattern.search(normalize_text(text)) for pattern in _PATTERNS.values())


def find_text_to_send(text: str, phone: str = "") -> str:
    """Return the words that a message sets apart as the text to send; "" where it sets none apart.

    `phone`: the phone number in the message, which is no part of the text.
    """
    text = normalize_text(text)
    return _find_text(text, RequestedKeyword("send_sms", 0, 0), phone)


def remove_requests(text: str) -> str:
    """Return the question to search for: `text` without requested keywords and phone numbers.

    Both are about the action, and as words of a search they would hide the subject of the question. The result may be
    empty.
    """
    text = normalize_text(text)
    pieces: list[str] = []
    at = 0
    for each in _find_requested(text):
        pieces.append(text[at : each.start])
        at = max(at, each.end)
    return remove_phone_numbers(" ".join([*pieces, text[at:]])).strip()


def _find_requested(text: str) -> list[RequestedKeyword]:
    """Return the requested keywords of `text` in its order.

    Of each action the first _OCCURRENCES keywords are looked at, and the first _REQUESTED of those are returned.
    """
    folded = text.casefold()
    quotations: list[tuple[int, int]] | None = None
    requested: list[RequestedKeyword] = []
    for action, pattern in _PATTERNS.items():
        if not any(word in folded for word in _FIRST_WORDS[action]):
            continue
        if quotations is None:
            quotations = [match.span() for match in islice(QUOTED.finditer(text), _QUOTATIONS)]
        requested += islice(_of_action(action, pattern, text, quotations), _REQUESTED)
    return sorted(requested, key=lambda each: each.start)


def _of_action(
    action: str, pattern: re.Pattern[str], text: str, quotations: list[tuple[int, int]]
) -> Iterator[RequestedKeyword]:
    """Yield the requested keywords of one action that stand in no quotation."""
    for match in islice(pattern.finditer(text), _OCCURRENCES):
        within = bisect_right(quotations, match.span()) - 1
        if within >= 0 and match.end() < quotations[within][1]:
            continue
        keyword = match.group().casefold()
        is_thing = (
            len(keyword.split()) == 1 and ":" not in keyword and keyword not in _DIALLING.get(action, ())
        )
        if is_thing and action not in _CALLING and _NUMBERED.match(text, match.end()):
            continue  # "ticket 4711" is there already
        if not is_negated(text, *match.span(), is_thing) and is_requested(text, *match.span(), is_thing):
            yield RequestedKeyword(action, *match.span())


def _propose_action(action: str, text: str, requested: list[RequestedKeyword], phone: str) -> Proposal:
    """Return the proposal of an action, its payload cut from `text`."""
    payload = {"phone": phone}
    if action == "create_ticket":
        payload = {"subject": text.strip()}
    if action == "send_sms":
        keyword = next(each for each in requested if each.action == action)
        payload["text"] = _find_text(text, keyword, phone)
    return make_proposal(action, {key: value for key, value in payload.items() if value})


def make_proposal(action: str, payload: Mapping[str, Any]) -> Proposal:
    """Return the proposal of an action with its missing fields; each field of a payload that is too large is cut."""
    if not is_valid_payload(payload):
        payload = {key: value[:FILLED_CHARACTERS] for key, value in payload.items()}
    missing = tuple(name for name in REQUIRED[action] if name not in payload)
    return Proposal(action=action, payload=payload, missing=missing)


def _find_text(text: str, keyword: RequestedKeyword, phone: str) -> str:
    """Return the text to send, never just the number.

    It is the quotation behind the keyword, else the one before it; else the words after a colon behind the keyword, or
    after words that lead into a text ("saying").
    """
    match = (
        QUOTED.search(text, keyword.end)
        or QUOTED.search(text)
        or _COLON.match(text, keyword.end)
        or _match_saying(text, keyword, phone)
    )
    message = match.group(1).strip() if match else ""
    return "" if message.rstrip(".!? ") == phone else message


def _match_saying(text: str, keyword: RequestedKeyword, phone: str) -> re.Match[str] | None:
    """Match the words after "saying", where nothing but the number and the user stands before it."""
    at = text.find(phone, keyword.end) if phone else -1
    for start in (at + len(phone) if at >= 0 else keyword.end, keyword.end):
        match = _SAYING.match(text, start) or _SAYING.match(text, _skip_user_words(text, start))
        if match and not (phone and phone in match.group(1)):
            return match
    return None


def _skip_user_words(text: str, at: int) -> int:
    """Return where the words for the user that follow `at` end."""
    while match := _NEXT_WORD.match(text, at):
        if match.group(1).casefold() not in _MENTIONED:
            break
        at = match.end()
    return at
