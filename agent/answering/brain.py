"""One turn from question to verified answer: rewrite, retrieve, draft, verify, once more if need be, or refuse.

The evidence is fetched first, and a question without any is refused before a model is asked. A draft is held back
whole and shown to nobody; only what `grounding.verify` makes of it, or a refusal, is emitted. The user's words choose
the actions to propose and the evidence to look for, and are never a source.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import structlog
import trio

from ..actions.triggers import asked, proposals
from ..config import DRAFT_MAX, UNWIND_TIMEOUT, Settings
from ..errors import ModelFailed
from ..grounding import refusals
from ..grounding.verify import verify
from ..ports.brain import Drafted, Question, Redraft, Refused, TurnEvent, Verified
from ..ports.model import ChatModel, Delta, Prompt
from ..ports.search import Hit, Lang, Retriever
from ..text.language import language
from ..text.numbers import Token
from .prompts import INSTRUCTIONS, again

_log = structlog.get_logger("agent.answering")

HITS = 8  # snippets that a model is given
DRAFTS = 2  # the first and one redraft


class GroundedBrain:
    """Answers from a knowledge base, and refuses what it cannot show: implements `agent.ports.brain.Brain`.

    rewrite: makes a search query of a question and its language. It keeps nothing between turns, so one serves
    every session at once.
    """

    def __init__(
        self,
        retriever: Retriever,
        model: ChatModel,
        settings: Settings,
        rewrite: Callable[[str, Lang], str],
    ) -> None:
        self._retriever = retriever
        self._model = model
        self._settings = settings
        self._rewrite = rewrite

    async def answer(self, question: Question, emit: Callable[[TurnEvent], None]) -> None:
        """Answer one question; the last event, answer or refusal, carries the proposals.

        Cancelled, nothing more is emitted and the model's stream is closed before it returns (its closing is
        shielded for UNWIND_TIMEOUT seconds at most).
        """
        lang = question.lang or language(question.text) or self._settings.lang
        asked_for = proposals(question.text)
        hits = await self._retriever.search(self._rewrite(asked(question.text), lang), lang, HITS)
        if not hits:
            emit(Refused(refusals.no_sources(lang), asked_for))
            return
        instructions = INSTRUCTIONS[lang]
        refused: list[Token] = []
        for attempt in range(DRAFTS):
            if attempt:
                emit(Redraft())
            try:
                draft = await self._draft(Prompt(instructions, question.text, lang, attempt), hits)
            except ModelFailed as error:
                _log.warning("model failed", exc_info=error)
                emit(Refused(refusals.model_failed(lang), asked_for))
                return
            emit(Drafted())
            verdict = verify(draft, hits)
            if verdict.text is not None:
                emit(Verified(verdict.text, proposals=asked_for))
                return
            refused += verdict.refused
            instructions = again(lang, verdict.said, verdict.refused)
        emit(Refused(refusals.number_mismatch(lang, hits, refused), asked_for))

    async def _draft(self, prompt: Prompt, hits: Sequence[Hit]) -> str:
        """Return the model's whole draft.

        Raises `ModelFailed` when it fails, takes longer than the settings' turn_timeout, is over DRAFT_MAX bytes,
        is no text, or says nothing.
        """
        pieces: list[str] = []
        size = 0
        with trio.move_on_after(self._settings.turn_timeout) as deadline:
            async with _closed(self._model.stream(prompt, hits)) as deltas:
                async for delta in deltas:
                    try:
                        size += len(delta.text.encode())
                    except UnicodeEncodeError:
                        raise ModelFailed("the draft is not text") from None
                    if size > DRAFT_MAX:
                        raise ModelFailed("the draft is too long")
                    pieces.append(delta.text)
        if deadline.cancelled_caught:
            raise ModelFailed("the draft took too long")
        draft = "".join(pieces)
        if not draft.strip():
            raise ModelFailed("the draft is empty")
        return draft


@asynccontextmanager
async def _closed(deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[AsyncGenerator[Delta, None], None]:
    """Close a model's stream when its reader leaves, also on cancel, in UNWIND_TIMEOUT seconds at most."""
    try:
        yield deltas
    finally:
        with trio.move_on_after(UNWIND_TIMEOUT, shield=True):
            await deltas.aclose()
