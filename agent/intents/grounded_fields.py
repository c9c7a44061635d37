"""Keeps of a payload that a language model filled in the fields that the user's words, or a cited snippet, hold.

Strategy: the model proposes, and each of its fields stands or is left out, wherever the model has it from.

- A number of any script, in digits or in words, and each run of three digits stands in one of the user's messages; in a
  field that is worded (a subject, a body, a text) it may stand in a snippet that the answer cites. Numbers are read as
  those of an answer (`agent.numbers`), so a phone number is compared as a whole.
- A phone number is one that the user gave to be used, as the user wrote it. A name and a time are the user's own words.
- A field that the words themselves gave (`agent.intents.wishes`) comes before the model's: a number that was said with
  its keyword, words that were set apart to be sent. A subject is only the whole message there, so the model's comes
  first; the message's counts where the user was asked for it.

Words without a number that a model puts into a subject, a body or a text are not caught. The user reads them before
confirming.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..numbers.number_tokens import Kind, NumberToken, tokens
from ..numbers.source_numbers import SourceNumbers, collect_keys
from ..ports.brain import Proposal, Wish
from ..protocol.payload import is_valid_payload
from ..text.words import normalize_text
from .fields import FILLED_CHARACTERS, OF_THE_USER, REQUIRED, describe_action
from .phone_numbers import collect_numbers, read_digits

_RUN: Final = 3  # digits, or single numbers in a row, that count as one
_RUNS = re.compile(rf"\d{{{_RUN},}}")
_BETWEEN = r"[ \u00a0\u202f.,'’()/\-‐‑–]{0,3}"
_WORDS = re.compile(r"[^\W\d_]+")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))  # characters that show nothing, or end a line


@dataclass(frozen=True, slots=True)
class NumberSource:
    """A text that numbers may come from: a message of the user's or a cited snippet. `numbers`: the numbers in it."""

    text: str
    numbers: SourceNumbers

    @classmethod
    def of(cls, text: str) -> "NumberSource":
        """Read the numbers of `text`."""
        return cls(text, collect_keys(tokens(text, source=True)))


def ground_fields(
    wish: Wish,
    by_model: Mapping[str, Any],
    sources: Sequence[NumberSource],
    cited: Sequence[NumberSource] = (),
) -> Proposal:
    """Return the proposal of a wish: the fields that its words gave, and those of the model's that stand.

    `by_model`: the fields as the model wrote them. `sources`: the user's messages in this thread, oldest first, the
    one that is answered last. `cited`: the snippets that the answer cites. `missing` names the fields to ask for.
    """
    proposal = wish.proposal
    payload = dict(proposal.payload)
    was_asked = len(wish.words) > 1
    for name in describe_action(proposal.action)[1]["properties"]:
        if name == "subject" and not was_asked:
            payload.pop(name, None)
        if name in payload and name != "subject":
            continue
        value = _ground_value(name, by_model.get(name), sources, cited)
        if value and is_valid_payload({**payload, name: value}):
            payload[name] = value
    return Proposal(
        action=proposal.action,
        payload=payload,
        missing=tuple(name for name in REQUIRED[proposal.action] if name not in payload),
    )


def _ground_value(
    name: str, value: Any, sources: Sequence[NumberSource], cited: Sequence[NumberSource]
) -> str:
    """Return the value of a field as it may be proposed; "" where it does not stand."""
    if not isinstance(value, str):
        return ""
    value = normalize_text(value).strip()
    if not _is_plain(value, name in OF_THE_USER or name == "subject"):
        return ""
    if name == "phone":
        return collect_numbers([each.text for each in sources]).get(read_digits(value), "")
    if name in OF_THE_USER:
        return value if _is_worded_by(value, sources) and is_supported(value, sources) else ""
    return value if is_supported(value, (*sources, *cited)) else ""


def _is_plain(value: str, is_line: bool) -> bool:
    """Return whether a field has a letter or digit, fits, and has no character that cannot be seen."""
    return (
        len(value) <= FILLED_CHARACTERS
        and any(map(str.isalnum, value))
        and all(unicodedata.category(char) not in _HIDDEN or (char == "\n" and not is_line) for char in value)
    )


def _is_worded_by(value: str, sources: Sequence[NumberSource]) -> bool:
    """Return whether each word of a field is one of the user's."""
    source_words = {word for each in sources for word in _WORDS.findall(normalize_text(each.text).casefold())}
    return source_words.issuperset(_WORDS.findall(value.casefold()))


def is_supported(value: str, sources: Sequence[NumberSource]) -> bool:
    """Return whether each number of `value`, and each run of its digits, stands in one of `sources`."""
    number_tokens = tokens(value)
    if not all(any(source.numbers.holds(token) for source in sources) for token in number_tokens):
        return False
    runs = {*_RUNS.findall(_in_digits(value)), *_in_a_row(value, number_tokens)}
    symbols = {char for char in value if char.isnumeric() and not char.isdecimal()}
    texts = [_in_digits(each.text) for each in sources] if runs or symbols else []
    return all(any(_holds(text, run) for text in texts) for run in runs | symbols)


def _holds(text: str, run: str) -> bool:
    """Return whether a run stands in `text`, its digits perhaps in groups, and is no part of a longer run."""
    if run.isdecimal():
        return re.search(rf"(?<!\d){_BETWEEN.join(run)}(?!\d)", text) is not None
    return run in text


def _in_a_row(value: str, number_tokens: Sequence[NumberToken]) -> list[str]:
    """Return the rows of single numbers with no word between ("nine, nine, nine"), as they would stand in a source."""
    rows: list[str] = []
    first = 0
    for at, token in enumerate(number_tokens):
        if not _is_single(token):
            first = at + 1
        elif at and _WORDS.search(value, number_tokens[at - 1].end, token.start):
            first = at
        if at - first + 1 >= _RUN:
            rows.append(_in_digits(value[number_tokens[first].start : token.end]))
    return rows


def _is_single(token: NumberToken) -> bool:
    return len(token.value) == 1 or token.kind in (Kind.ROMAN, Kind.SYMBOL)


def _in_digits(text: str) -> str:
    """Return `text` case-folded, its digits in ASCII."""
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text.casefold())
