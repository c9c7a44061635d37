"""Fills in payloads with a language model: a payload is a value like any other, so `agent.structured` obtains it.

Strategy: one action is one request, in which only that action can be called; the schema is the action's own. The result
has that form and no more is known of it: the caller checks whether its numbers and names are the user's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ModelFailed
from ..intents.fields import describe_action
from ..ports.draft import Prompt
from ..ports.model import LanguageModel, Tool
from ..ports.search import Hit
from ..ports.work import RunSync
from ..structured.extract import Extractor
from .drafter import make_draft_request

PAYLOAD_TOKENS = 400  # of a payload that a language model writes

ATTEMPTS = 2  # for one payload: the fields, then once a repair of the invalid ones


class PayloadFiller:
    """Fills in payloads (implements `agent.ports.fill.Filler`).

    `run_sync`: mends text that is almost JSON, off the event loop.
    """

    def __init__(self, model: LanguageModel, run_sync: RunSync) -> None:
        self._model = model
        self._run_sync = run_sync

    async def fill(self, action: str, prompt: Prompt, evidence: Sequence[Hit]) -> Mapping[str, Any]:
        """Return the fields that the model gave, without those that it left empty.

        Raises `ModelFailed` when the model fails, declines, or gives no valid payload in `ATTEMPTS`. When it is
        cancelled, the model's stream is closed first.
        """
        description, schema = describe_action(action)
        extractor = Extractor(
            self._model,
            [Tool(action, description, schema)],
            max_attempts=ATTEMPTS,
            max_tokens=PAYLOAD_TOKENS,
            native=False,
            run_sync=self._run_sync,
        )
        outcome = await extractor.extract(list(make_draft_request(prompt, evidence, PAYLOAD_TOKENS).messages))
        if outcome.status == "provider_error":
            raise ModelFailed("the model failed", outcome.fault or "protocol", outcome.retry_after)
        if outcome.status == "refused":
            raise ModelFailed("the model declined to fill it in", "request")
        if outcome.status != "ok":
            raise ModelFailed("the model filled in nothing that holds")
        return {key: value for key, value in outcome.values[0].items() if value is not None}
