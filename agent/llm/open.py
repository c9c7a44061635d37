"""Opens what drafts and what decides: the mock and the script, or a language model, which `agent.models.open` opens.

To add one: write a class with `stream(prompt, evidence)`, an async generator of `Delta` (see `agent.ports.draft`), that
raises `ModelFailed` for what it cannot do, name it here and in `agent.models.settings`, and give it a line in
tests/contracts/test_drafter_contract.py. A draft is never shown as it is, so it needs no care of its own about numbers.
A decider (`agent.ports.decide`) is added the same way, beside it; its contract is test_decider_contract.py.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from ..errors import UsageError
from ..ports.decide import Briefing, Decider
from ..ports.draft import Drafter, Form, Prompt, Section
from ..ports.fill import Filler
from ..ports.model import LanguageModel
from ..ports.note import Noter
from ..ports.search import Hit
from ..ports.work import RunSync
from .assembling import decision, draft
from .drafter import ModelDrafter
from .mock import MockModel
from .mock_decider import MockDecider
from .model_decider import ModelDecider
from .script import ScriptModel
from .script_decider import ScriptDecider
from .settings import MockSettings


def model_drafter(model: LanguageModel, max_tokens: int, form: Form) -> Drafter:
    """Return what drafts with a language model, of the form that answers are asked for.

    Raises `agent.errors.UsageError` when what reads claims is not installed.
    """
    if form == "text":
        return ModelDrafter(model, max_tokens)
    _check_structured("answer claims of a model")
    from .claims import ClaimsDrafter

    return ClaimsDrafter(model, max_tokens)


def model_decider(model: LanguageModel, max_tokens: int) -> Decider:
    """Return what decides with a language model. max_tokens: of a decision."""
    return ModelDecider(model, max_tokens)


def model_filler(model: LanguageModel, run_sync: RunSync) -> Filler:
    """Return what fills in payloads with a language model. run_sync: mends what it wrote almost as JSON.

    Raises `agent.errors.UsageError` when what reads its values is not installed.
    """
    _check_structured("payloads model")
    from .payloads import PayloadFiller

    return PayloadFiller(model, run_sync)


def model_noter(model: LanguageModel, run_sync: RunSync) -> Noter:
    """Return what finds with a language model what is to be remembered. run_sync: mends what it wrote almost as JSON.

    Raises `agent.errors.UsageError` when what reads its values is not installed.
    """
    _check_structured("memory-model")
    from .noting import ModelNoter

    return ModelNoter(model, run_sync)


def shown_draft(prompt: Prompt, evidence: Sequence[Hit]) -> tuple[Section, ...]:
    """Return the parts of what a language model would be asked for a draft, in their order."""
    return draft(prompt, evidence).sections


def shown_decision(briefing: Briefing) -> tuple[Section, ...]:
    """Return the parts of what a language model would be asked for a first decision, in their order."""
    return decision(briefing).sections


def _check_structured(setting: str) -> None:
    if any(find_spec(package) is None for package in ("jsonschema_rs", "jiter", "json_repair")):
        raise UsageError(f"{setting} needs more: pip install 'agent-server[structured]'")


@asynccontextmanager
async def opened_drafter(
    model: str, settings: MockSettings, elsewhere: Callable[[], Iterable[str]] = tuple
) -> AsyncGenerator[Drafter, None]:
    """Open the drafter `model`, mock or script:FILE, for the time of a block.

    elsewhere: gives texts of the knowledge base, from which the mock takes true numbers to say of the wrong thing.
    Raises `agent.errors.UsageError` when the script cannot be read or is not a script. Blocks while it reads one.
    """
    kind, _, path = model.partition(":")
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


@asynccontextmanager
async def opened_decider(model: str, settings: MockSettings) -> AsyncGenerator[Decider, None]:
    """Open the decider that goes with the drafter `model`, mock or script:FILE, for the time of a block.

    Raises `agent.errors.UsageError` when the script cannot be read or is not a script. Blocks while it reads one.
    """
    kind, _, path = model.partition(":")
    if kind == "script":
        yield ScriptDecider.load(Path(path))
        return
    yield MockDecider(settings.mock_delay_ms / 1000)
