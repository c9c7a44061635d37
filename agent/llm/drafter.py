"""Drafts with a language model: assembles the messages, and cuts the model's text into whole sentences.

Strategy: the parts that stay the same from turn to turn come first, so that a service can cache them
(`prompt_assembly`). When the model's tokens are spent before the draft ends, the draft is cut back to its last whole
sentence or line: the rest may end in half a number.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from ..config import ANSWER_TOKENS
from ..errors import ModelFailed
from ..ports.conversation import Exchange
from ..ports.draft import Delta, Prompt
from ..ports.model import Finish, LanguageModel, ModelRequest, TextDelta
from ..ports.search import Hit
from .prompt_assembly import assemble_draft
from .prompt_room import ModelContext, PromptRoom

_END = re.compile(r"[.!?…][\"'”’»)\]*_]*[ \t\n]+|\n")  # of a sentence or a line, with the space after it
_MARKER = re.compile(r"(?:\A|\n)[ \t]*(?:\d{1,3}|[^\W\d_])[.][ \t]+\Z")  # begins a list item


class ModelDrafter:
    """Drafts texts with a language model (implements `agent.ports.draft.Drafter`).

    `max_tokens`: of one draft. `context`: that of `model`.
    """

    def __init__(
        self, model: LanguageModel, max_tokens: int = ANSWER_TOKENS, context: ModelContext | None = None
    ) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._room = PromptRoom(context)

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft in pieces that end with a sentence or a line, except the last.

        Raises `ModelFailed` as the model does; when the model declines, calls a tool instead, or spends its tokens
        before the first sentence. When this generator is closed or cancelled, the model's stream is closed first.
        """
        rest = ""
        has_text = False

        def make_request(history: Sequence[Exchange], evidence: Sequence[Hit]) -> ModelRequest:
            shorter = replace(prompt, history=tuple(history))
            return make_draft_request(shorter, evidence, self._max_tokens)

        async with aclosing(self._room.stream(self._model, make_request, prompt.history, evidence)) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextDelta):
                    rest += piece.text
                    end = _find_whole_end(rest)
                    if end:
                        has_text = True
                        yield Delta(rest[:end])
                        rest = rest[end:]
                elif isinstance(piece, Finish):
                    check_end(piece, has_text)
                    if piece.reason != "length" and rest:
                        yield Delta(rest)


def make_draft_request(prompt: Prompt, evidence: Sequence[Hit], max_tokens: int) -> ModelRequest:
    """Return the request for a draft. Raises `ModelFailed` for a prompt over its budget."""
    return ModelRequest(messages=assemble_draft(prompt, evidence).messages, max_tokens=max_tokens, stable=1)


def _find_whole_end(text: str) -> int:
    """Return the end of the last whole sentence or line in `text`, or 0. The number of a list item ends no sentence."""
    ends = (match.end() for match in _END.finditer(text) if not _MARKER.search(text, 0, match.end()))
    return max(ends, default=0)


def check_end(end: Finish, has_text: bool) -> None:
    """Raise `ModelFailed` for an end that leaves no draft. `has_text`: a piece was yielded."""
    if end.reason in ("refusal", "filtered"):
        raise ModelFailed("the model declined to answer", "request")
    if end.reason == "calls":
        raise ModelFailed("the model called a tool where none was offered")
    if end.reason == "length" and not has_text:
        raise ModelFailed("the model's tokens were spent before its first sentence", "cut")
