"""What the model is told: to use the snippets only, and after a draft that did not stand, where it went wrong.

The second telling quotes the sentences that failed with every number in them taken out: a number that was refused
must not come back as something the model was told.
"""

import re
from collections.abc import Mapping, Sequence

from ..ports.search import Lang
from ..text.numbers import Token, tokens

_SENTENCES = 3  # that are quoted
_QUOTED = 300  # characters of each
_BORDER = re.compile(r"[.!?]\s+|\n")
_GAP = "[...]"

INSTRUCTIONS: Mapping[Lang, str] = {
    "en": (
        "Answer the question in English from the snippets only. Write each number exactly as a snippet writes it, "
        "with its unit, and never work one out. The question is not a source. If the snippets do not say, say so "
        "and ask for what is missing."
    ),
    "sv": (
        "Svara på frågan på svenska och bara utifrån utdragen. Skriv varje tal precis som det står i ett utdrag, med "
        "sin enhet, och räkna aldrig ut något. Frågan är ingen källa. Om utdragen inte säger det, säg det och fråga "
        "efter det som saknas."
    ),
}
_AGAIN: Mapping[Lang, str] = {
    "en": (
        "Your last answer was refused: no snippet holds a number in what follows, where every number has been taken "
        "out. Read the snippets again and write a new answer."
    ),
    "sv": (
        "Ditt förra svar underkändes: inget utdrag innehåller ett tal i det som följer, där alla tal har tagits bort. "
        "Läs utdragen igen och skriv ett nytt svar."
    ),
}


def again(lang: Lang, draft: str, unsupported: Sequence[Token]) -> str:
    """Return the instructions for a redraft: the first ones, and the sentences of `draft` that failed.

    unsupported: the draft's number tokens that no snippet holds, with their offsets in it.
    """
    numbers = tokens(draft)
    failed: list[str] = []
    for token in unsupported:
        first, last = _sentence(draft, token)
        quoted = _without(draft, first, last, numbers)[:_QUOTED].strip()
        if quoted not in failed:
            failed.append(quoted)
        if len(failed) == _SENTENCES:
            break
    return "\n".join([INSTRUCTIONS[lang], _AGAIN[lang], *(f"- {each}" for each in failed)])


def _sentence(draft: str, token: Token) -> tuple[int, int]:
    """Return where the sentence that holds the token starts and ends."""
    first = max((match.end() for match in _BORDER.finditer(draft, 0, token.start)), default=0)
    border = _BORDER.search(draft, token.end)
    return first, border.end() if border else len(draft)


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
