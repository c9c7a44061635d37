"""What of a payload that a language model filled in is kept: what the user, or a snippet that is cited, says.

Strategy: the model proposes, and each of its fields stands or is left out, whatever it was told by whom.

- A number of any script, in digits or in words, and each run of three digits stands in one of the user's messages; in a
  field that is worded (a subject, a body, a text) it may stand in a snippet that the answer cites. They are read as the
  number rule reads an answer's (`agent.numbers`), so a phone number is compared as a whole.
- A phone number is one that the user gave to be used, as the user wrote it. A name and a time are the user's own words.
- What the words themselves gave (`wishes`) is kept before what a model makes of them: a number that was said with its
  keyword, words that were set apart to be sent. A subject is only the whole message there, so a model's comes first;
  the message's counts where the user was asked for it.

What it cannot catch: words without a number that a model puts into a subject, a body or a text. The user reads them
before confirming.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..config import FILLED_CHARACTERS
from ..numbers.given import Given, given
from ..numbers.read import Kind, Token, tokens
from ..ports.brain import Proposal, Wish
from ..protocol.payload import fits
from ..text.words import composed
from .fields import OF_THE_USER, REQUIRED, written
from .phones import digits, said_phones

_RUN: Final = 3  # digits, or single numbers in a row, that count as one
_RUNS = re.compile(rf"\d{{{_RUN},}}")
_BETWEEN = r"[ \u00a0\u202f.,'’()/\-‐‑–]{0,3}"
_WORDS = re.compile(r"[^\W\d_]+")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))  # characters that show nothing, or end a line


@dataclass(frozen=True, slots=True)
class Source:
    """A text that numbers may come from: a message of the user's, or what a citation shows. given: what it gives."""

    text: str
    given: Given

    @classmethod
    def of(cls, text: str) -> "Source":
        """Return a text as one, reading its numbers."""
        return cls(text, given(tokens(text, source=True)))


def filled(
    wish: Wish, by_model: Mapping[str, Any], said: Sequence[Source], cited: Sequence[Source] = ()
) -> Proposal:
    """Return what is proposed of a wish: what its words gave, and what stands of what a model made of them.

    by_model: the fields as the model wrote them. said: the user's messages of this conversation, oldest first, the
    one that is answered last. cited: the snippets that the answer cites. `missing` names what is to be asked for.
    """
    proposal = wish.proposal
    kept = dict(proposal.payload)
    was_asked = len(wish.words) > 1
    for name in written(proposal.action)[1]["properties"]:
        if name == "subject" and not was_asked:
            kept.pop(name, None)
        if name in kept and name != "subject":
            continue
        value = _standing(name, by_model.get(name), said, cited)
        if value and fits({**kept, name: value}):
            kept[name] = value
    return Proposal(
        proposal.action, kept, tuple(name for name in REQUIRED[proposal.action] if name not in kept)
    )


def _standing(name: str, value: Any, said: Sequence[Source], cited: Sequence[Source]) -> str:
    """Return a field as it may be proposed; "" where it does not stand."""
    if not isinstance(value, str):
        return ""
    value = composed(value).strip()
    if not _is_plain(value, name in OF_THE_USER or name == "subject"):
        return ""
    if name == "phone":
        return said_phones([each.text for each in said]).get(digits(value), "")
    if name in OF_THE_USER:
        return value if _is_worded_by(value, said) and stands(value, said) else ""
    return value if stands(value, (*said, *cited)) else ""


def _is_plain(value: str, is_line: bool) -> bool:
    """Return whether a field says something, and nothing that cannot be seen."""
    return (
        len(value) <= FILLED_CHARACTERS
        and any(map(str.isalnum, value))
        and all(unicodedata.category(char) not in _HIDDEN or (char == "\n" and not is_line) for char in value)
    )


def _is_worded_by(value: str, said: Sequence[Source]) -> bool:
    """Return whether each word of a field is one of the user's."""
    theirs = {word for each in said for word in _WORDS.findall(composed(each.text).casefold())}
    return theirs.issuperset(_WORDS.findall(value.casefold()))


def stands(value: str, sources: Sequence[Source]) -> bool:
    """Return whether each number of a text stands in one of the sources, each run of its digits too."""
    found = tokens(value)
    if not all(any(source.given.holds(token) for source in sources) for token in found):
        return False
    runs = {*_RUNS.findall(_in_digits(value)), *_in_a_row(value, found)}
    symbols = {char for char in value if char.isnumeric() and not char.isdecimal()}
    texts = [_in_digits(each.text) for each in sources] if runs or symbols else []
    return all(any(_holds(text, run) for text in texts) for run in runs | symbols)


def _holds(text: str, run: str) -> bool:
    """Return whether a run stands in a text, its digits perhaps in groups, and is no part of a longer one."""
    if run.isdecimal():
        return re.search(rf"(?<!\d){_BETWEEN.join(run)}(?!\d)", text) is not None
    return run in text


def _in_a_row(value: str, found: Sequence[Token]) -> list[str]:
    """Return where single numbers follow each other with no word between ("nine, nine, nine"), as they would stand."""
    rows: list[str] = []
    first = 0
    for at, token in enumerate(found):
        if not _is_single(token):
            first = at + 1
        elif at and _WORDS.search(value, found[at - 1].end, token.start):
            first = at
        if at - first + 1 >= _RUN:
            rows.append(_in_digits(value[found[first].start : token.end]))
    return rows


def _is_single(token: Token) -> bool:
    return len(token.value) == 1 or token.kind in (Kind.ROMAN, Kind.SYMBOL)


def _in_digits(text: str) -> str:
    """Return a text folded, its digits those of the usual script."""
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text.casefold())
