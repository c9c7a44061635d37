"""Which actions a user's words ask for: keywords from one table, never the model's judgement.

The text is brought to NFC and searched for each keyword on word boundaries, without regard to case or language. A
keyword counts unless it is negated, which is looked for in its own clause only:

- a negator (`not`, `never`, `inte` ...) stands before it, with at most NEGATOR_REACH words between;
- an excluder (`no`, `without`, `ingen` ...) stands before it, with nothing but FILLERS between;
- a late negator (`inte`, `aldrig`, `never` ...) stands after it, with nothing but FOLLOWERS between.

In doubt nothing fires: a suggestion that is missing costs a user one more sentence, an unwanted one costs trust.
Edit TRIGGERS to add a keyword or an action.
"""

import re
import unicodedata
from collections.abc import Iterator

from ..ports.brain import Proposal

TRIGGERS: dict[str, tuple[str, ...]] = {
    "schedule_callback": ("call me", "call person", "call back", "ring mig", "ring upp"),
    "send_sms": ("sms", "text me", "sms:a"),
    "create_ticket": (
        "ticket",
        "skapa ärende",
        "skapa ett ärende",
        "öppna ärende",
        "öppna ett ärende",
    ),
}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATORS = _set(
    "not never don't dont doesn't didn't won't wont can't cant cannot shouldn't mustn't needn't "
    "stop quit avoid inte ej aldrig sluta slipp slippa undvik"
)
NEGATOR_REACH = 4  # words between it and the keyword: "I do not want you to call me" has three
EXCLUDERS = _set("no without utan ingen inget inga")
FILLERS = _set(
    "a an any more further such send sending mer fler flera något några ett en "
    "calls call emails email mail samtal mejl or nor and eller och"
)
LATE_NEGATORS = _set("inte ej aldrig never")
FOLLOWERS = _set("mig me upp us oss absolut verkligen helst snälla please ever någonsin")
ASKING = _set("why varför")  # "why not call me" asks for it
NEW_START = _set("but please so then instead mind and just men så och snälla utan istället")
CARRIES_ON = _set("or nor and eller och")  # after a comma, the same clause goes on

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:,()\"”“«»]|\n\s*\n")
_CLAUSE_END = frozenset('.!?;:()"”“«»\n')
_BEFORE_REACHES = 200  # characters read for a clause before a keyword, and after it
_AFTER_REACHES = 80
_PHONE = re.compile(
    r"(?<![\w+])(?<!\w-)(?<!\d[.,])"  # not the rest of a longer token
    r"(?:\+?\(\+?\d{1,5}\)|\+?\d)"  # (08), +46, 0
    r"(?:[ \u00a0().\-‐‑–/]{0,3}\d)*"
    r"(?!\w|[.,:-]\d)"
)
_PHONE_DIGITS = range(7, 16)  # E.164 allows 15; fewer than 7 is not a subscriber's number
_NOT_PHONE = re.compile(  # a date or a time may stand right beside a phone number
    r"(?<!\d)(?:(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d|\d{1,2}:\d{2}"
    r"|(?:(?<=kl )|(?<=at )|(?<=klockan ))\d{1,2}[.]\d{2})(?!\d)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
_AFTER_COLON = re.compile(r":\s+(\S.*)", re.DOTALL)


def _pattern(keywords: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(keywords, key=len, reverse=True)
    spaced = (r"\s+".join(re.escape(word) for word in keyword.split()) for keyword in longest_first)
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)", re.IGNORECASE)


_PATTERNS = {action: _pattern(keywords) for action, keywords in TRIGGERS.items()}


def proposals(text: str) -> tuple[Proposal, ...]:
    """Return the actions that a user's message asks for, in the order of TRIGGERS, each at most once.

    text: the message as the client sent it. Payload values are strings cut from it: `phone` as it was written
    (schedule_callback, send_sms), `text` what follows a colon or stands in quotes (send_sms), `subject` the whole
    message (create_ticket). A key is left out when the message does not hold it.
    """
    text = unicodedata.normalize("NFC", text)
    return tuple(
        Proposal(action, _payload(action, text))
        for action, pattern in _PATTERNS.items()
        if any(not _negated(text, match) for match in pattern.finditer(text))
    )


def asked(text: str) -> str:
    """Return what a message asks of the knowledge base: the text without the keywords that fire and phone numbers.

    Both are about the action, and as words of a search they would hide what the question is about. The result may
    be empty.
    """
    text = unicodedata.normalize("NFC", text)
    for pattern in _PATTERNS.values():
        text = pattern.sub(lambda match, whole=text: match.group() if _negated(whole, match) else " ", text)  # type: ignore[misc]
    return _PHONE.sub(lambda match: " " if _is_phone(match.group()) else match.group(), text).strip()


def _payload(action: str, text: str) -> dict[str, str]:
    if action == "create_ticket":
        return {"subject": text.strip()}
    payload = {"phone": _phone(text)}
    if action == "send_sms":
        payload["text"] = _message(text, payload["phone"])
    return {key: value for key, value in payload.items() if value}


def _phone(text: str) -> str:
    """Return the phone number that `text` holds, as written; one that starts with + or 0 before any other."""
    found = [
        match.group() for match in _PHONE.finditer(_NOT_PHONE.sub("|", text)) if _is_phone(match.group())
    ]
    return next((phone for phone in found if phone.lstrip("(")[0] in "+0"), found[0] if found else "")


def _is_phone(written: str) -> bool:
    return sum(char.isdigit() for char in written) in _PHONE_DIGITS


def _message(text: str, phone: str) -> str:
    """Return what the message to send says: the quoted part, else what follows a colon; never just the number."""
    match = _QUOTED.search(text) or _AFTER_COLON.search(text)
    message = match.group(1).strip() if match else ""
    return "" if message.rstrip(".!? ") == phone else message


def _negated(text: str, keyword: re.Match[str]) -> bool:
    return _negated_before(_clause_before(text[: keyword.start()])) or _negated_after(text[keyword.end() :])


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.replace("’", "'")):
        yield match.group().casefold()


def _clause_before(text: str) -> list[str]:
    """Return the words of the clause that `text` ends in, nearest first.

    A comma ends the clause unless it belongs to a list ("call, text, or sms").
    """
    words: list[str] = []
    item: list[str] = []  # the words since the last comma
    in_list = False
    for word in reversed(list(_words(text[-_BEFORE_REACHES:]))):
        if word[0] in _CLAUSE_END:
            break
        if word != ",":
            words.append(word)
            item.append(word)
            continue
        in_list = bool(item) and (item[-1] in CARRIES_ON or (in_list and len(item) == 1))
        if not in_list:
            break
        item = []
    return words


def _negated_before(nearest_first: list[str]) -> bool:
    only_fillers = True
    for distance, word in enumerate(nearest_first):
        if word in EXCLUDERS and only_fillers:
            return True
        if word in NEGATORS and distance <= NEGATOR_REACH:
            asked = nearest_first[distance + 1 : distance + 2]
            return not (asked and asked[0] in ASKING)
        if word in NEW_START and not (word in FILLERS and only_fillers):
            return False
        only_fillers = only_fillers and word in FILLERS
    return False


def _negated_after(text: str) -> bool:
    for word in _words(text[:_AFTER_REACHES]):
        if word in LATE_NEGATORS:
            return True
        if word not in FOLLOWERS:
            return False
    return False
