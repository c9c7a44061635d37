"""Names the drafter that the settings ask for.

To add one: write a class with `stream(prompt, evidence)`, an async generator of `Delta` (see `agent.ports.draft`), that
raises `ModelFailed` for what it cannot do, and name it here, the one place that may import its library late. A draft is
never shown as it is, so a drafter needs no care of its own about numbers. tests/llm/ shows what is expected of one.
"""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from ..ports.draft import Drafter
from .mock import MockModel
from .script import ScriptModel
from .settings import ModelSettings


@asynccontextmanager
async def opened_drafter(
    settings: ModelSettings, elsewhere: Callable[[], Iterable[str]] = tuple
) -> AsyncGenerator[Drafter, None]:
    """Open the drafter named by `settings.model` for the time of a block.

    elsewhere: gives texts of the knowledge base, from which the mock takes true numbers to say of the wrong thing.
    Raises `agent.errors.UsageError` when the script cannot be read or is not a script. Blocks while it reads one.
    """
    kind, _, path = settings.model.partition(":")
    if kind == "script":
        yield ScriptModel.load(Path(path))
        return
    yield MockModel(
        settings.mock_seed,
        settings.mock_hallucinate,
        settings.mock_delay_ms / 1000,
        elsewhere=elsewhere,
        ask_below=settings.mock_ask,
    )
