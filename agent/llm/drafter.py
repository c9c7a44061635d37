"""Makes a drafter of a language model: a prompt and its evidence become messages, and what the model says a draft.

Strategy: what stays the same from turn to turn comes first, so that a service can keep its work on it (`assembling`).

A draft that the model could not end, since its tokens were spent, is cut back to its last whole sentence or line: what
stands after that may be half a number.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from ..config import ANSWER_TOKENS
from ..errors import ModelFailed
from ..ports.draft import Delta, Prompt
from ..ports.model import Finished, LanguageModel, Request, TextDelta
from ..ports.search import Hit
from .assembling import draft

_END = re.compile(r"[.!?…][\"'”’»)\]*_]*[ \t\n]+|\n")  # of a sentence or a line, with the space after it
_MARKER = re.compile(r"(?:\A|\n)[ \t]*(?:\d{1,3}|[^\W\d_])[.][ \t]+\Z")  # begins a list item


class ModelDrafter:
    """Drafts texts with a language model (implements `agent.ports.draft.Drafter`). max_tokens: of a draft."""

    def __init__(self, model: LanguageModel, max_tokens: int = ANSWER_TOKENS) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft in pieces that end with a sentence or a line, but for the last.

        Raises `ModelFailed` as the model does; when it declines, calls a tool instead, or spends its tokens before the
        first sentence. Closed or cancelled, the model's stream is closed before it returns.
        """
        held = ""
        said = False
        async with aclosing(self._model.stream(request(prompt, evidence, self._max_tokens))) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextDelta):
                    held += piece.text
                    whole = _whole(held)
                    if whole:
                        said = True
                        yield Delta(held[:whole])
                        held = held[whole:]
                elif isinstance(piece, Finished):
                    _check(piece, said)
                    if piece.reason != "length" and held:
                        yield Delta(held)


def request(prompt: Prompt, evidence: Sequence[Hit], max_tokens: int) -> Request:
    """Return what a language model is asked for a draft. Raises `ModelFailed` for a prompt over its budget."""
    return Request(draft(prompt, evidence).messages, max_tokens=max_tokens, stable=1)


def _whole(text: str) -> int:
    """Return where the last sentence or line that has ended ends, or 0. The number of a list item ends none."""
    ends = (match.end() for match in _END.finditer(text) if not _MARKER.search(text, 0, match.end()))
    return max(ends, default=0)


def _check(end: Finished, said: bool) -> None:
    """Raise `ModelFailed` for an end that leaves no draft."""
    if end.reason in ("refusal", "filtered"):
        raise ModelFailed("the model declined to answer", "request")
    if end.reason == "calls":
        raise ModelFailed("the model called a tool where none was offered")
    if end.reason == "length" and not said:
        raise ModelFailed("the model's tokens were spent before its first sentence", "cut")
