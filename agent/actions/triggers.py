"""Which actions a user's words ask for: keywords from the languages' tables, never the model's judgement.

The text is brought to NFC and searched for each keyword on word boundaries, without regard to case or language. A
keyword counts where it is asked for (`wanted` says what that is) and not negated, which is looked for in its own
clause only:

- a negator (`not`, `never`, `inte` ...) stands before it, with at most NEGATOR_REACH words between;
- an excluder (`no`, `without`, `ingen` ...) stands before it, with nothing but FILLERS between;
- a late negator (`inte`, `aldrig`, `never` ...) stands after it, with nothing but FOLLOWERS between.

What stands in quotation marks is somebody's words, and asks for nothing.

In doubt nothing fires: a suggestion that is missing costs a user one more sentence, an unwanted one costs trust.
Keywords and negations of all languages count in every text (`agent.lang`, the record `Acting`): add one there, and an
action by a field of `Keywords`, which each language then must have, and a row of REQUIRED in `fields`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import islice, pairwise

from ..config import FILLED_CHARACTERS
from ..lang import LANGUAGES
from ..lang.language import Acting, Keywords
from ..ports.brain import Proposal
from ..protocol.payload import fits
from ..text.words import composed
from .clauses import WORDS_READ, clause_before, words_after
from .fields import REQUIRED
from .phones import Asked, phones, without_phones
from .wanted import wanted

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

_OCCURRENCES = 32  # of the keywords of one action that are looked at: what a message costs has a bound
_ASKED = 8  # of them that are asked for and looked at further
_QUOTATIONS = 32  # that are looked at
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
_COLON = re.compile(r"[^:.!?;\n]{0,80}?:\s+(\S.*)", re.DOTALL)
_SAYING = re.compile(
    r"\W{0,3}(?:"
    + ("|".join(f"(?:{each.calling.saying})" for each in _ALL if each.calling.saying) or "(?!)")
    + r")\s+([^\s\"“”„«»][^.!?;\n\"“”„«»]{0,2000})",
    re.IGNORECASE,
)
_REACHING = _of_all(lambda each: each.calling.reaching)
_MENTIONED = _of_all(lambda each: each.mood.users | each.fillers)
_NUMBERED = re.compile(
    rf"\s{{1,3}}(?:(?:{'|'.join(sorted(_of_all(lambda each: each.calling.phones)))})\s{{1,3}})?#?\d",
    re.IGNORECASE,
)
_CALLING = frozenset(action for action, needed in REQUIRED.items() if "phone" in needed)


def _pattern(keywords: tuple[str, ...], dialling: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(keywords, key=len, reverse=True)
    spaced = [r"\s+".join(re.escape(word) for word in keyword.split()) for keyword in longest_first]
    spaced += [rf"{re.escape(word)}(?=\s+\(?\+?\d[\d ().+-]{{5}})" for word in sorted(dialling)]
    known = "|".join(each.mood.endings for each in _ALL if each.mood.endings) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w|(?:{known})\b)", re.IGNORECASE)


_DIALLING = {
    "schedule_callback": _of_all(lambda each: each.calling.dialling)
}  # keywords right before a number
_PATTERNS = {
    action: _pattern(keywords, _DIALLING.get(action, frozenset())) for action, keywords in TRIGGERS.items()
}
_FIRST_WORDS = {
    action: {keyword.split()[0] for keyword in keywords} | _DIALLING.get(action, frozenset())
    for action, keywords in TRIGGERS.items()
}


def proposals(text: str) -> tuple[Proposal, ...]:
    """Return the actions that a user's message asks for, in the order of TRIGGERS, each at most once.

    text: the message as the client sent it. Payload values are strings cut from it: `phone` as it was written
    (schedule_callback, send_sms), `text` what stands in quotes, follows a colon or is said to be said (send_sms),
    `subject` the whole message (create_ticket); of what would not fit into a payload the first FILLED_CHARACTERS. A
    key is left out when the message does not hold it, and named in `missing` when the action needs it.
    """
    text = composed(text)
    asked_for = _asked_for(text)
    if not asked_for:
        return ()
    numbers = phones(text, asked_for, _CALLING)
    actions = [action for action in TRIGGERS if any(each.action == action for each in asked_for)]
    return tuple(_proposal(action, text, asked_for, numbers.get(action, "")) for action in actions)


def mentions(text: str) -> bool:
    """Return whether a keyword stands in a text, asked for or not."""
    return any(pattern.search(composed(text)) for pattern in _PATTERNS.values())


def dictated(text: str, phone: str = "") -> str:
    """Return what a message that tells what to send says is to be sent; "" where it does not set that apart.

    phone: the number in it, which is no part of it.
    """
    text = composed(text)
    return _message(text, Asked("send_sms", 0, 0), phone)


def asked(text: str) -> str:
    """Return what a message asks of the knowledge base: the text without the keywords that fire and phone numbers.

    Both are about the action, and as words of a search they would hide what the question is about. The result may
    be empty.
    """
    text = composed(text)
    kept: list[str] = []
    at = 0
    for each in _asked_for(text):
        kept.append(text[at : each.start])
        at = max(at, each.end)
    return without_phones(" ".join([*kept, text[at:]])).strip()


def _asked_for(text: str) -> list[Asked]:
    """Return the keywords in a text that are asked for, in its order.

    Among the first _OCCURRENCES of those of an action, and of these the first _ASKED.
    """
    folded = text.casefold()
    quotations: list[tuple[int, int]] | None = None
    found: list[Asked] = []
    for action, pattern in _PATTERNS.items():
        if not any(word in folded for word in _FIRST_WORDS[action]):
            continue
        if quotations is None:
            quotations = [match.span() for match in islice(_QUOTED.finditer(text), _QUOTATIONS)]
        found += islice(_of_action(action, pattern, text, quotations), _ASKED)
    return sorted(found, key=lambda each: each.start)


def _of_action(
    action: str, pattern: re.Pattern[str], text: str, quotations: list[tuple[int, int]]
) -> Iterator[Asked]:
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
        if not negated(text, match.start(), match.end(), is_thing) and wanted(
            text, match.start(), match.end(), is_thing
        ):
            yield Asked(action, match.start(), match.end())


def _proposal(action: str, text: str, asked_for: list[Asked], phone: str) -> Proposal:
    payload = {"phone": phone}
    if action == "create_ticket":
        payload = {"subject": text.strip()}
    if action == "send_sms":
        payload["text"] = _message(text, next(each for each in asked_for if each.action == action), phone)
    payload = {key: value for key, value in payload.items() if value}
    if not fits(payload):
        payload = {key: value[:FILLED_CHARACTERS] for key, value in payload.items()}
    return Proposal(action, payload, tuple(name for name in REQUIRED[action] if name not in payload))


def _message(text: str, keyword: Asked, phone: str) -> str:
    """Return what the message to send says; never just the number.

    What stands in quotes, behind the keyword rather than before it; else what follows a colon behind the keyword, or
    words that lead into it ("saying").
    """
    match = (
        _QUOTED.search(text, keyword.end)
        or _QUOTED.search(text)
        or _COLON.match(text, keyword.end)
        or _said(text, keyword, phone)
    )
    message = match.group(1).strip() if match else ""
    return "" if message.rstrip(".!? ") == phone else message


def _said(text: str, keyword: Asked, phone: str) -> re.Match[str] | None:
    """Return what is said to be said, where nothing but the number and the user stands before that."""
    at = text.find(phone, keyword.end) if phone else -1
    for start in (at + len(phone) if at >= 0 else keyword.end, keyword.end):
        match = _SAYING.match(text, start) or _SAYING.match(text, _past_mentioned(text, start))
        if match and not (phone and phone in match.group(1)):
            return match
    return None


def _past_mentioned(text: str, at: int) -> int:
    """Return where the words for the user end that follow a place."""
    while match := _NEXT_WORD.match(text, at):
        if match.group(1).casefold() not in _MENTIONED:
            break
        at = match.end()
    return at


_NEXT_WORD = re.compile(r"\W{0,3}(\w+)")


def negated(text: str, start: int, end: int, is_thing: bool) -> bool:
    """Return whether the keyword at text[start:end] is said not to be wanted.

    is_thing: it names something to be had ("ticket") rather than saying what to do ("call me").
    """
    return _negated_before(clause_before(text, start), is_thing) or _negated_after(words_after(text, end))


def _negated_before(nearest_first: Iterator[str], is_thing: bool) -> bool:
    only_fillers = True
    for distance, word in enumerate(islice(nearest_first, WORDS_READ)):
        if word in EXCLUDERS and only_fillers:
            return (
                is_thing or word not in NEW_START
            )  # "utan" is "without" before a thing, and "but" before a verb
        if word in NEGATORS and distance <= NEGATOR_REACH:
            return next(nearest_first, "") not in ASKING
        if word in NEW_START and not (word in FILLERS and only_fillers):
            return False
        only_fillers = only_fillers and word in FILLERS
        if distance >= NEGATOR_REACH and not only_fillers:
            return False
    return False


def _negated_after(words: Iterator[str]) -> bool:
    """Return whether a late negator follows that is not of a number beside another ("not on A but on B")."""
    near = list(islice(words, 2 * WORDS_READ))
    for at, word in enumerate(near[:WORDS_READ]):
        if word in LATE_NEGATORS:
            return not any(one in NEW_START and two in _REACHING for one, two in pairwise(near[at:]))
        if word not in FOLLOWERS:
            return False
    return False
