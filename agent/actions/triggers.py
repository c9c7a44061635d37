"""Which actions a user's words ask for: keywords from the languages' tables, never the model's judgement.

The text is brought to NFC and searched for each keyword on word boundaries, without regard to case or language. A
keyword counts unless it is negated, which is looked for in its own clause only:

- a negator (`not`, `never`, `inte` ...) stands before it, with at most NEGATOR_REACH words between;
- an excluder (`no`, `without`, `ingen` ...) stands before it, with nothing but FILLERS between;
- a late negator (`inte`, `aldrig`, `never` ...) stands after it, with nothing but FOLLOWERS between.

In doubt nothing fires: a suggestion that is missing costs a user one more sentence, an unwanted one costs trust.
Keywords and negations of all languages count in every text (`agent.lang`, the record `Acting`): add one there, and an
action by a field of `Keywords`, which each language then must have.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import islice

from ..lang import LANGUAGES
from ..lang.language import Acting, Keywords
from ..ports.brain import Proposal
from ..text.words import composed

_ALL = [language.acting for language in LANGUAGES.values()]

TRIGGERS: dict[str, tuple[str, ...]] = {
    field.name: tuple(
        dict.fromkeys(keyword for each in _ALL for keyword in getattr(each.keywords, field.name))
    )
    for field in fields(Keywords)
}
"""The keywords of each action, by its name on the wire."""


def _of_all(words: Callable[[Acting], frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*map(words, _ALL))


NEGATORS = _of_all(lambda each: each.negators)
NEGATOR_REACH = 4  # words between it and the keyword: "I do not want you to call me" has three
EXCLUDERS = _of_all(lambda each: each.excluders)
FILLERS = _of_all(lambda each: each.fillers)
LATE_NEGATORS = _of_all(lambda each: each.late_negators)
FOLLOWERS = _of_all(lambda each: each.followers)
ASKING = _of_all(lambda each: each.asking)
NEW_START = _of_all(lambda each: each.new_start)
CARRIES_ON = _of_all(lambda each: each.carries_on)  # after a comma, the same clause goes on

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:,()\"”“«»]|\n\s*\n")
_CLAUSE_END = frozenset('.!?;:()"”“«»\n')
_BEFORE_REACHES = 200  # characters read for a clause before a keyword, and after it ...
_AFTER_REACHES = 80
_WORDS_READ = 12  # ... and words of them
_OCCURRENCES = 32  # of the keywords of one action that are looked at: what a message costs has a bound
_NUMBERS = 64  # that may be the phone number
_PHONE = re.compile(
    r"(?<![\w+])(?<!\w-)(?<!\d[.,])"  # not the rest of a longer token
    r"(?:\+?\(\+?\d{1,5}\)|\+?\d)"  # (08), +46, 0
    r"(?:[ \u00a0().\-‐‑–/]{0,3}\d)*"
    r"(?!\w|[.,:-]\d)"
)
_PHONE_DIGITS = range(7, 16)  # E.164 allows 15; fewer than 7 is not a subscriber's number
_BEFORE_CLOCK = "|".join(rf"(?<={word} )" for word in sorted(_of_all(lambda each: each.clock)))
_NOT_PHONE = re.compile(  # a date or a time may stand right beside a phone number
    r"(?<!\d)(?:(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d|\d{1,2}:\d{2}"
    rf"|(?:{_BEFORE_CLOCK})\d{{1,2}}[.]\d{{2}})(?!\d)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
_AFTER_COLON = re.compile(r":\s+(\S.*)", re.DOTALL)


def _pattern(keywords: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(keywords, key=len, reverse=True)
    spaced = (r"\s+".join(re.escape(word) for word in keyword.split()) for keyword in longest_first)
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)", re.IGNORECASE)


_PATTERNS = {action: _pattern(keywords) for action, keywords in TRIGGERS.items()}
_FIRST_WORDS = {action: {keyword.split()[0] for keyword in keywords} for action, keywords in TRIGGERS.items()}


def proposals(text: str) -> tuple[Proposal, ...]:
    """Return the actions that a user's message asks for, in the order of TRIGGERS, each at most once.

    text: the message as the client sent it. Payload values are strings cut from it: `phone` as it was written
    (schedule_callback, send_sms), `text` what follows a colon or stands in quotes (send_sms), `subject` the whole
    message (create_ticket). A key is left out when the message does not hold it.
    """
    text = composed(text)
    return tuple(Proposal(action, _payload(action, text)) for action, fire in _firing(text) if any(fire))


def asked(text: str) -> str:
    """Return what a message asks of the knowledge base: the text without the keywords that fire and phone numbers.

    Both are about the action, and as words of a search they would hide what the question is about. The result may
    be empty.
    """
    text = composed(text)
    kept: list[str] = []
    at = 0
    for start, end in sorted(match.span() for _, fire in _firing(text) for match in fire):
        kept.append(text[at:start])
        at = max(at, end)
    text = " ".join([*kept, text[at:]])
    if _DIGIT.search(text) is None:
        return text.strip()
    return _PHONE.sub(
        lambda match: " " if _is_phone(match.group()) else match.group(), text, count=_NUMBERS
    ).strip()


def _firing(text: str) -> Iterator[tuple[str, Iterator[re.Match[str]]]]:
    """Yield each action with those of its keywords in a text that are not negated, among the first _OCCURRENCES."""
    folded = text.casefold()
    for action, pattern in _PATTERNS.items():
        if any(word in folded for word in _FIRST_WORDS[action]):
            found = islice(pattern.finditer(text), _OCCURRENCES)
            yield action, (match for match in found if not _negated(text, match))


def _payload(action: str, text: str) -> dict[str, str]:
    if action == "create_ticket":
        return {"subject": text.strip()}
    payload = {"phone": _phone(text)}
    if action == "send_sms":
        payload["text"] = _message(text, payload["phone"])
    return {key: value for key, value in payload.items() if value}


def _phone(text: str) -> str:
    """Return the phone number that `text` holds, as written; one that starts with + or 0 before any other."""
    if _DIGIT.search(text) is None:
        return ""
    numbers = islice(_PHONE.finditer(_NOT_PHONE.sub("|", text)), _NUMBERS)
    found = [match.group() for match in numbers if _is_phone(match.group())]
    return next((phone for phone in found if phone.lstrip("(")[0] in "+0"), found[0] if found else "")


def _is_phone(written: str) -> bool:
    return sum(char.isdigit() for char in written) in _PHONE_DIGITS


def _message(text: str, phone: str) -> str:
    """Return what the message to send says: the quoted part, else what follows a colon; never just the number."""
    match = _QUOTED.search(text) or _AFTER_COLON.search(text)
    message = match.group(1).strip() if match else ""
    return "" if message.rstrip(".!? ") == phone else message


def _negated(text: str, keyword: re.Match[str]) -> bool:
    before = text[max(0, keyword.start() - _BEFORE_REACHES) : keyword.start()]
    return _negated_before(_clause_before(before)) or _negated_after(
        text[keyword.end() : keyword.end() + _AFTER_REACHES]
    )


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.replace("’", "'")):
        yield match.group().casefold()


def _words_backwards(text: str) -> Iterator[str]:
    """Yield the words of a text from its end; what is a word backwards is one."""
    for match in _WORD.finditer(text.replace("’", "'")[::-1]):
        yield match.group()[::-1].casefold()


def _clause_before(text: str) -> Iterator[str]:
    """Yield the words of the clause that `text` ends in, nearest first.

    A comma ends the clause unless it belongs to a list ("call, text, or sms").
    """
    last, words = "", 0  # the last word since a comma, and how many there were
    in_list = False
    for word in _words_backwards(text):
        if word[0] in _CLAUSE_END:
            return
        if word != ",":
            last = word
            words += 1
            yield word
            continue
        in_list = words > 0 and (last in CARRIES_ON or (in_list and words == 1))
        if not in_list:
            return
        words = 0


def _negated_before(nearest_first: Iterator[str]) -> bool:
    only_fillers = True
    for distance, word in enumerate(islice(nearest_first, _WORDS_READ)):
        if word in EXCLUDERS and only_fillers:
            return True
        if word in NEGATORS and distance <= NEGATOR_REACH:
            return next(nearest_first, "") not in ASKING
        if word in NEW_START and not (word in FILLERS and only_fillers):
            return False
        only_fillers = only_fillers and word in FILLERS
        if distance >= NEGATOR_REACH and not only_fillers:
            return False
    return False


def _negated_after(text: str) -> bool:
    for word in islice(_words(text), _WORDS_READ):
        if word in LATE_NEGATORS:
            return True
        if word not in FOLLOWERS:
            return False
    return False
