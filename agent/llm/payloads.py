"""Fills in payloads with a language model: a payload is a value like any other, so `agent.structured` gets it.

Strategy: one action is one request, in which only that action can be called; the schema is the action's own. What comes
back has that form and nothing more is known of it: whether its numbers and names are the user's is for the caller.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..actions.fields import written
from ..config import PAYLOAD_TOKENS
from ..errors import ModelFailed
from ..ports.draft import Prompt
from ..ports.model import LanguageModel, Tool
from ..ports.search import Hit
from ..ports.work import RunSync
from ..structured.extract import Extractor
from .drafter import request

ATTEMPTS = 2  # of one payload: the fields, and once more what of them does not hold


class PayloadFiller:
    """Fills in payloads (implements `agent.ports.fill.Filler`). run_sync: mends what is almost JSON, off the loop."""

    def __init__(self, model: LanguageModel, run_sync: RunSync) -> None:
        self._model = model
        self._run_sync = run_sync

    async def fill(self, action: str, prompt: Prompt, evidence: Sequence[Hit]) -> Mapping[str, Any]:
        """Return the fields that the model gave, without those that it left empty.

        Raises `ModelFailed` when the model fails, declines, or gives none that hold in ATTEMPTS. Cancelled, the
        model's stream is closed before it returns.
        """
        description, schema = written(action)
        extractor = Extractor(
            self._model,
            [Tool(action, description, schema)],
            max_attempts=ATTEMPTS,
            max_tokens=PAYLOAD_TOKENS,
            native=False,
            run_sync=self._run_sync,
        )
        outcome = await extractor.extract(list(request(prompt, evidence, PAYLOAD_TOKENS).messages))
        if outcome.status == "provider_error":
            raise ModelFailed("the model failed", outcome.fault or "protocol", outcome.retry_after)
        if outcome.status == "refused":
            raise ModelFailed("the model declined to fill it in", "request")
        if outcome.status != "ok":
            raise ModelFailed("the model filled in nothing that holds")
        return {key: value for key, value in outcome.values[0].items() if value is not None}
