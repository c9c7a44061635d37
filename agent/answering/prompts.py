"""Writes the instructions of a prompt: use only the snippets, the form of the answer, and when to ask back.

A model that lacks information answers with one line that starts with `ASK:`; the mark is removed and the rest is
delivered like any draft, with its numbers verified. The instructions of a redraft quote the failed sentences with every
number in them blanked: a refused number must not come back as a number of the prompt.
"""

import re
from collections.abc import Sequence

from ..config import CHARACTERS_PER_TOKEN
from ..grounding.evidence import citation_text
from ..lang import LANGUAGES, Lang
from ..numbers.number_tokens import NumberToken, tokens
from ..ports.draft import DraftForm
from ..ports.search import Hit
from ..text.fences import fence_text
from ..text.sentences import find_line_sentences

# Characters of the citations of all statements: together with a text they fit into an outbox.
EVIDENCE_CHARACTERS = 80_000

_SENTENCES = 3  # that are quoted
_QUOTED = 300  # characters of each
_SENT = 4_000  # characters of the sent text that a model is shown, from its end
_GAP = "[...]"
_ASK = re.compile(r"\s*ASK:[ \t]*")


def make_instructions(lang: Lang, form: DraftForm = "text", clarify: bool = True) -> str:
    """Return the instructions for a draft. `clarify`: let the model ask back (in the form `text` only)."""
    texts = LANGUAGES[lang].prompting
    lines = [texts.only_snippets, texts.ask_back if clarify and form == "text" else texts.say_so]
    return "\n".join([*lines, texts.claims] if form == "claims" else lines)


def explain_redraft(lang: Lang, draft: str, unsupported: Sequence[NumberToken], sent: str = "") -> str:
    """Return the instructions for a redraft: the sentences of `draft` that failed.

    `unsupported`: the draft's number tokens that no snippet holds, with their offsets in it. `sent`: the beginning of
    the answer that was sent, which the redraft continues.
    """
    numbers = tokens(draft)
    failed: list[str] = []
    for token in unsupported:
        start, end = _find_sentence(draft, token)
        quoted = _blank_numbers(draft, start, end, numbers)[:_QUOTED].strip()
        if quoted not in failed:
            failed.append(quoted)
        if len(failed) == _SENTENCES:
            break
    texts = LANGUAGES[lang].prompting
    lead = [texts.go_on, fence_text(sent[-_SENT:])] if sent else [texts.again]
    return "\n".join([*lead, *(f"- {each}" for each in failed)])


def explain_unparsed(lang: Lang) -> str:
    """Return the instructions for a redraft after claims that could not be parsed."""
    return LANGUAGES[lang].prompting.unread


def asks_back(draft: str) -> bool:
    """Tell whether a draft asks back: it starts with the mark; a mark further on may be part of a quotation."""
    return _ASK.match(draft) is not None


def strip_ask_mark(draft: str) -> str:
    """Return a draft without the mark of asking back."""
    mark = _ASK.match(draft)
    return draft[mark.end() :] if mark else draft


def fit_hits(hits: Sequence[Hit], budget: int) -> tuple[Hit, ...]:
    """Return the best hits whose snippets fit in `budget` tokens (0: all); the best one always stays.

    Hits are given best first, so the lowest-ranked are left out. The size of a snippet is estimated from its characters
    (`CHARACTERS_PER_TOKEN`), rounded up. At any budget, hits beyond `EVIDENCE_CHARACTERS` of citation text are left
    out, since every hit may be cited.
    """
    fitting: list[Hit] = []
    tokens_used = characters = 0
    for hit in hits:
        size = len(hit.snippet.file) + len(citation_text(hit.snippet))
        if characters + size > EVIDENCE_CHARACTERS:
            continue
        characters += size
        tokens_used += -(-len(hit.snippet.text) // CHARACTERS_PER_TOKEN)
        if budget and fitting and tokens_used > budget:
            break
        fitting.append(hit)
    return tuple(fitting)


def _find_sentence(draft: str, token: NumberToken) -> tuple[int, int]:
    """Return the start and end of the sentence that holds `token`."""
    spans = list(find_line_sentences(draft))
    first = max((start for start, _ in spans if start <= token.start), default=0)
    return first, min((end for _, end in spans if end >= token.end), default=len(draft))


def _blank_numbers(draft: str, first: int, last: int, numbers: Sequence[NumberToken]) -> str:
    """Return `draft[first:last]` with the numbers and all other digits blanked."""
    pieces = []
    at = first
    for token in numbers:
        if token.end > first and token.start < last:
            pieces += [draft[at : max(at, token.start)], _GAP]
            at = max(at, token.end)
    pieces.append(draft[at:last])
    return "".join(piece if piece == _GAP else re.sub(r"\d+", _GAP, piece) for piece in pieces)
