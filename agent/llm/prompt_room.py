"""Fits prompts into a model's context, whose size is learnt from the server's refusals.

A server that refuses a prompt for its length is asked again with less: half of the statements each time, the least
relevant first; then, with one statement left, half of the conversation. The rules, the question and the tools are never
cut. What fitted after a refusal bounds the evidence of later prompts, so that each of them is not refused first.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import structlog

from ..errors import ModelFailed
from ..ports.conversation import Exchange
from ..ports.model import LanguageModel, ModelRequest, Piece
from ..ports.search import Hit

_log = structlog.get_logger(__name__)

MakeRequest = Callable[[Sequence[Exchange], Sequence[Hit]], ModelRequest]


class PromptRoom:
    """The room that a model has for evidence. One instance serves all requests of a model."""

    def __init__(self) -> None:
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
            try:
                async with aclosing(model.stream(make_request(history, evidence))) as pieces:
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
            if len(evidence) > 1:
                evidence = evidence[: len(evidence) // 2]
            else:
                history = history[len(history) // 2 + 1 :]

    def _fit(self, evidence: Sequence[Hit]) -> Sequence[Hit]:
        """Return the first statements that fit in the room; at least one."""
        if self._characters is None:
            return evidence
        count = len(evidence)
        while count > 1 and _measure(evidence[:count]) > self._characters:
            count -= 1
        return evidence[:count]


def _measure(evidence: Sequence[Hit]) -> int:
    return sum(len(hit.snippet.text) + len(hit.snippet.lead) for hit in evidence)
