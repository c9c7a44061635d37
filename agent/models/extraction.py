"""Opens models for programs that ask for values outside a server: `agent.structured` gives its names away.

A program runs a model under Trio: `open_model` is for programs that do, and `extract_values` for all others.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import trio

from ..host import WorkerThreads
from ..ports.model import LanguageModel, NamedTool, ToolChoice
from ..structured.extract import Extractor
from ..structured.messages import RequestInput
from ..structured.outcome import Extraction
from ..structured.schema import GivenTool
from .open import open_language_model
from .settings import ModelSettings


class SilentObserver:
    """Drops all figures (implements `agent.ports.observe.Observer`)."""

    def count(self, metric: str, label: str = "") -> None:
        """Drop a count."""

    def measure(self, metric: str, seconds: float) -> None:
        """Drop a duration."""

    def gauge(self, metric: str, change: int) -> None:
        """Drop a change."""


@asynccontextmanager
async def open_model(model: str, base_url: str | None = None) -> AsyncGenerator[LanguageModel, None]:
    """Open a model by the words of `--model` and `--base-url`, for the time of a block under Trio.

    No request is sent yet. Raises `agent.errors.UsageError`, one line, when something that the model needs is missing.
    """
    settings = ModelSettings(model=model, base_url=base_url)
    async with open_language_model(settings, SilentObserver(), WorkerThreads(1)) as opened:
        yield opened


def extract_values(
    request: RequestInput,
    tools: Sequence[GivenTool],
    *,
    model: str,
    base_url: str | None = None,
    choice: ToolChoice | NamedTool = ToolChoice.REQUIRED,
) -> Extraction:
    """Return as `Extractor.extract` does, in a program without an event loop; in asyncio, call it in a thread.

    `model`, `base_url`: as for `open_model`. Blocks until the outcome is there. Raises as `open_model` does.
    """

    async def run() -> Extraction:
        async with open_model(model, base_url) as opened:
            return await Extractor(opened, tools).extract(request, choice)

    return trio.run(run)
