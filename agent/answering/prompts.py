"""What the model is told: to use the snippets only, in which form to answer, when to ask back; and after a draft that
did not stand, where it went wrong.

A model that misses something answers with one line that starts with `ASK:`; the mark is taken off and the rest is
delivered like any draft, its numbers verified. The second telling quotes the sentences that failed with every number
in them taken out: a number that was refused must not come back as something the model was told.
"""

import re
from collections.abc import Sequence

from ..config import CHARACTERS_PER_TOKEN, EVIDENCE_CHARACTERS
from ..grounding.evidence import shown
from ..lang import LANGUAGES, Lang
from ..numbers.read import Token, tokens
from ..ports.draft import Form
from ..ports.search import Hit
from ..text.sentences import by_line

_SENTENCES = 3  # that are quoted
_QUOTED = 300  # characters of each
_GAP = "[...]"
_ASK = re.compile(r"\s*ASK:[ \t]*")


def instructions(lang: Lang, form: Form = "text", clarify: bool = True) -> str:
    """Return what a model is told first. clarify: let it ask back (a text only: claims state what is known)."""
    said = LANGUAGES[lang].prompting
    lines = [said.only_snippets, said.ask_back if clarify and form == "text" else said.say_so]
    return "\n".join([*lines, said.claims] if form == "claims" else lines)


def again(lang: Lang, draft: str, unsupported: Sequence[Token]) -> str:
    """Return why there is a redraft: the sentences of `draft` that failed.

    unsupported: the draft's number tokens that no snippet holds, with their offsets in it.
    """
    numbers = tokens(draft)
    failed: list[str] = []
    for token in unsupported:
        start, end = _sentence(draft, token)
        quoted = _without(draft, start, end, numbers)[:_QUOTED].strip()
        if quoted not in failed:
            failed.append(quoted)
        if len(failed) == _SENTENCES:
            break
    return "\n".join([LANGUAGES[lang].prompting.again, *(f"- {each}" for each in failed)])


def unread(lang: Lang) -> str:
    """Return why there is a redraft after claims that could not be parsed."""
    return LANGUAGES[lang].prompting.unread


def asks(draft: str) -> bool:
    """Tell whether a draft asks back: by a mark at its start, since one further on may be quoted from anywhere."""
    return _ASK.match(draft) is not None


def unmarked(draft: str) -> str:
    """Return a draft without the mark of asking back."""
    mark = _ASK.match(draft)
    return draft[mark.end() :] if mark else draft


def within(hits: Sequence[Hit], budget: int) -> tuple[Hit, ...]:
    """Return the best hits whose snippets fit in `budget` tokens (0: all); the best one always stays.

    Hits are given best first, so it is the lowest-ranked that are left out. The size of a snippet is estimated from
    its characters (`CHARACTERS_PER_TOKEN`), rounded up. Whatever the budget, what would take a client more than
    EVIDENCE_CHARACTERS to be shown is left out, since every hit may be cited.
    """
    kept: list[Hit] = []
    spent = told = 0
    for hit in hits:
        size = len(hit.snippet.file) + len(shown(hit.snippet))
        if told + size > EVIDENCE_CHARACTERS:
            continue
        told += size
        spent += -(-len(hit.snippet.text) // CHARACTERS_PER_TOKEN)
        if budget and kept and spent > budget:
            break
        kept.append(hit)
    return tuple(kept)


def _sentence(draft: str, token: Token) -> tuple[int, int]:
    """Return where the sentence that holds the token starts and ends."""
    cut = list(by_line(draft))
    first = max((start for start, _ in cut if start <= token.start), default=0)
    return first, min((end for _, end in cut if end >= token.end), default=len(draft))


def _without(draft: str, first: int, last: int, numbers: Sequence[Token]) -> str:
    """Return `draft[first:last]` with the numbers taken out, and any digit that belongs to none."""
    pieces = []
    at = first
    for token in numbers:
        if token.end > first and token.start < last:
            pieces += [draft[at : max(at, token.start)], _GAP]
            at = max(at, token.end)
    pieces.append(draft[at:last])
    return "".join(piece if piece == _GAP else re.sub(r"\d+", _GAP, piece) for piece in pieces)
