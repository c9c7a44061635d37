"""Drafts claims with a language model; claims that do not match their schema are repaired.

Strategy: a claim is a value like any other, so `agent.structured` obtains it, handles text around the JSON, and repairs
faults in it. The result is a draft like any other and is verified later. The schema has the bounds of
`agent.grounding.claims`, which reads the draft: one claim beyond them would spoil all others there.
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
from .drafter import make_draft_request

ATTEMPTS = 2  # for one draft: the claims, then once a repair of the invalid ones


class ClaimsDrafter:
    """Drafts claims (implements `agent.ports.draft.Drafter`, for prompts with the form `claims`).

    `max_tokens`: of one draft.
    """

    def __init__(self, model: LanguageModel, max_tokens: int) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the claims as one piece, a JSON array of at most `CLAIMS` claims.

        Raises `ModelFailed` when the model fails, declines, or gives no valid claim in `ATTEMPTS`. When this generator
        is closed or cancelled, the model's stream is closed first.
        """
        tool = Tool("claim", "One full sentence of the answer.", _claim_schema(len(evidence)))
        extractor = Extractor(
            self._model, [tool], max_attempts=ATTEMPTS, max_tokens=self._max_tokens, native=False
        )
        outcome = await extractor.extract(
            list(make_draft_request(prompt, evidence, self._max_tokens).messages)
        )
        if outcome.status == "provider_error":
            raise ModelFailed("the model failed", outcome.fault or "protocol", outcome.retry_after)
        if outcome.status == "refused":
            raise ModelFailed("the model declined to answer", "request")
        if outcome.status == "truncated":
            raise ModelFailed("the model's tokens were spent before its claims were whole", "cut")
        claims = [call.value for call in outcome.calls if call.status == "ok"]
        if not claims:
            raise ModelFailed("the model made no claims that could be read")
        yield Delta(msgspec.json.encode(claims[:CLAIMS]).decode())


def _claim_schema(count: int) -> Mapping[str, Any]:
    """Return the JSON Schema of a claim over `count` snippets."""
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
