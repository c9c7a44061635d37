"""Fits prompts into a model's context, whose size the server tells, or is learnt from its refusals.

Where the size is known, the evidence gets a part of it at most (`EVIDENCE_SHARE`), and a prompt that leaves no room
for the answer is cut before it is sent: some servers silently drop the front of a prompt that is too long. Tokens are
estimated from characters.

A server that refuses a prompt for its length is asked again with less: half of the statements each time, the least
relevant first; then, with one statement left, half of the conversation. The rules, the question and the tools are never
cut. The size that fitted after a refusal bounds the evidence of later prompts, so that each of them is not refused
first.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import structlog

from ..config import CHARACTERS_PER_TOKEN
from ..errors import ModelFailed
from ..ports.conversation import Exchange
from ..ports.model import LanguageModel, ModelRequest, Piece
from ..ports.search import Hit

_log = structlog.get_logger(__name__)

EVIDENCE_SHARE = 5  # a fifth of a context, at most, is for evidence: some 400 tokens of a small model's 2,048
_ANSWER_SHARE = 4  # a quarter, at most, is kept for the answer

MakeRequest = Callable[[Sequence[Exchange], Sequence[Hit]], ModelRequest]


class ModelContext:
    """The context of a model. `tokens`: its size; None until the model's server has told it."""

    def __init__(self, tokens: int | None = None) -> None:
        self.tokens = tokens


class PromptRoom:
    """The room that a model has for evidence. One instance serves all requests of one kind.

    `context`: of the model; shared by the rooms of all kinds.
    """

    def __init__(self, context: ModelContext | None = None) -> None:
        self._context = context or ModelContext()
        self._characters: int | None = None  # of evidence that fitted after a refusal

    async def stream(
        self,
        model: LanguageModel,
        make_request: MakeRequest,
        history: Sequence[Exchange],
        evidence: Sequence[Hit],
    ) -> AsyncGenerator[Piece, None]:
        """Yield the answer to `make_request(history, evidence)`, with less of both where that is too long.

        Raises `ModelFailed` as the model does; of kind `length` when nothing is left that could be cut.
        """
        evidence = self._fit(evidence)
        is_cut = False
        while True:
            has_piece = False
            request = make_request(history, evidence)
            if not self._has_room(request) and (len(evidence) > 1 or history):
                history, evidence = _cut(history, evidence)
                continue
            try:
                async with aclosing(model.stream(request)) as pieces:
                    async for piece in pieces:
                        if is_cut and not has_piece:
                            self._characters = _measure(evidence)
                            _log.info("prompt shortened", statements=len(evidence), exchanges=len(history))
                        has_piece = True
                        yield piece
                return
            except ModelFailed as failure:
                if failure.kind != "length" or has_piece or (len(evidence) <= 1 and not history):
                    raise
            is_cut = True
            history, evidence = _cut(history, evidence)

    def _fit(self, evidence: Sequence[Hit]) -> Sequence[Hit]:
        """Return the first statements that fit in the room; at least one."""
        limits = [] if self._characters is None else [self._characters]
        if self._context.tokens is not None:
            limits.append(self._context.tokens // EVIDENCE_SHARE * CHARACTERS_PER_TOKEN)
        count = len(evidence)
        while count > 1 and limits and _measure(evidence[:count]) > min(limits):
            count -= 1
        return evidence[:count]

    def _has_room(self, request: ModelRequest) -> bool:
        """Return whether a prompt leaves room for its answer; True where the size of the context is not known."""
        tokens = self._context.tokens
        if tokens is None:
            return True
        texts = sum(len(message.text) for message in request.messages)
        tools = sum(len(tool.description) + len(str(tool.schema)) for tool in request.tools)
        answer = min(request.max_tokens, tokens // _ANSWER_SHARE)
        return texts + tools <= (tokens - answer) * CHARACTERS_PER_TOKEN


def _cut(history: Sequence[Exchange], evidence: Sequence[Hit]) -> tuple[Sequence[Exchange], Sequence[Hit]]:
    """Return the half of the evidence; with one statement left, the later half of the conversation."""
    if len(evidence) > 1:
        return history, evidence[: len(evidence) // 2]
    return history[len(history) // 2 + 1 :], evidence


def _measure(evidence: Sequence[Hit]) -> int:
    return sum(len(hit.snippet.text) + len(hit.snippet.lead) for hit in evidence)
