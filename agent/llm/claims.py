"""Drafts claims with a language model: each is read, checked against its schema and, where it does not hold, repaired.

Strategy: a claim is a value like any other, so `agent.structured` gets them: whatever a model writes around its JSON,
and whatever it gets wrong in it, is its affair. What comes out of it is a draft as any other, to be verified: the
schema has the bounds of what reads it, since one claim beyond them would spoil all others there.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import ModelFailed
from ..grounding.claims import CLAIM, CLAIMS, EVIDENCE
from ..ports.draft import Delta, Prompt
from ..ports.model import LanguageModel, Tool
from ..ports.search import Hit
from ..structured.extract import Extractor
from .drafter import request

ATTEMPTS = 2  # of one draft: the claims, and once more what of them does not hold


class ClaimsDrafter:
    """Drafts claims (implements `agent.ports.draft.Drafter`, for prompts that ask for them). max_tokens: of a draft."""

    def __init__(self, model: LanguageModel, max_tokens: int) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the claims as one piece, a JSON array; the first CLAIMS of more.

        Raises `ModelFailed` when the model fails, declines, or gives none that hold in ATTEMPTS. Closed or cancelled,
        the model's stream is closed before it returns.
        """
        tool = Tool("claim", "One full sentence of the answer.", _schema(len(evidence)))
        extractor = Extractor(
            self._model, [tool], max_attempts=ATTEMPTS, max_tokens=self._max_tokens, native=False
        )
        outcome = await extractor.extract(list(request(prompt, evidence, self._max_tokens).messages))
        if outcome.status == "provider_error":
            raise ModelFailed("the model failed", outcome.fault or "protocol", outcome.retry_after)
        if outcome.status == "refused":
            raise ModelFailed("the model declined to answer", "request")
        if outcome.status == "truncated":
            raise ModelFailed("the model's tokens were spent before its claims were whole", "cut")
        held = [call.value for call in outcome.calls if call.status == "ok"]
        if not held:
            raise ModelFailed("the model made no claims that could be read")
        yield Delta(msgspec.json.encode(held[:CLAIMS]).decode())


def _schema(count: int) -> Mapping[str, Any]:
    """Return the JSON Schema of a claim over so many snippets."""
    return {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": CLAIM},
            "evidence": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1, "maximum": count},
                "maxItems": EVIDENCE,
            },
        },
        "required": ["text", "evidence"],
        "additionalProperties": False,
    }
