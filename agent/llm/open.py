"""Opens drafters and deciders: the mock, the script, or a language model that `agent.models.open` opens.

To add a drafter: write a class with `stream(prompt, evidence)`, an async generator of `Delta` (see `agent.ports.draft`)
that raises `ModelFailed` for everything it cannot do. Name it here and in `agent.models.settings`, and give it a line
in tests/contracts/test_drafter_contract.py. No client sees a draft unverified, so a drafter needs no care of its own
about numbers. A decider (`agent.ports.decide`) is added the same way, beside it; its contract is
test_decider_contract.py. A teller of stories (`agent.ports.teller.Teller`) is added to `make_teller`; its contract is
test_teller_contract.py.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ..ports.decide import Briefing, Decider
from ..ports.draft import Drafter, DraftForm, Prompt, PromptSection
from ..ports.fill import Filler
from ..ports.model import LanguageModel
from ..ports.note import Noter
from ..ports.search import Hit
from ..ports.teller import Teller
from ..ports.work import RunSync
from .drafter import ModelDrafter
from .mock import MockModel
from .mock_decider import MockDecider
from .model_decider import ModelDecider
from .prompt_assembly import assemble_decision, assemble_draft
from .prompt_room import ModelContext
from .script import ScriptDecider, ScriptModel, read_script
from .settings import MockSettings


def make_model_drafter(
    model: LanguageModel, max_tokens: int, form: DraftForm, context: ModelContext | None = None
) -> Drafter:
    """Return the drafter of `form` that asks `model`. `context`: that of `model`, to which texts are fitted."""
    if form == "text":
        return ModelDrafter(model, max_tokens, context)
    from .claims import ClaimsDrafter

    return ClaimsDrafter(model, max_tokens)


def make_model_decider(model: LanguageModel, max_tokens: int, context: ModelContext | None = None) -> Decider:
    """Return the decider that asks `model`. `max_tokens`: of one decision. `context`: that of `model`."""
    return ModelDecider(model, max_tokens, context)


def make_model_filler(model: LanguageModel, run_sync: RunSync) -> Filler:
    """Return the `Filler` that asks `model` for payloads. `run_sync`: mends text that is almost JSON."""
    from .payloads import PayloadFiller

    return PayloadFiller(model, run_sync)


def make_model_noter(model: LanguageModel, run_sync: RunSync) -> Noter:
    """Return the `Noter` that asks `model` for facts to remember. `run_sync`: mends text that is almost JSON."""
    from .note_reader import ModelNoter

    return ModelNoter(model, run_sync)


def make_teller(
    spec: str, model: LanguageModel | None, settings: MockSettings, max_tokens: int | None = None
) -> Teller:
    """Return the teller that goes with the setting `model`: `spec`.

    `model`: the opened language model that `spec` names; `None` for the mock and for `script:FILE`. `max_tokens`: of a
    scene. Raises `agent.errors.UsageError` when the script cannot be read or is no script. Blocks while it reads it.
    """
    from .story_teller import SCENE_TOKENS, ModelTeller, ScriptTeller

    if model is not None:
        return ModelTeller(model, spec, max(max_tokens or 0, SCENE_TOKENS))
    kind, _, path = spec.partition(":")
    if kind == "script":
        return ScriptTeller(read_script(Path(path)))
    from .mock_storyteller import MockTeller

    return MockTeller(settings.mock_seed, settings.mock_delay_ms / 1000)


def draft_sections(prompt: Prompt, evidence: Sequence[Hit]) -> tuple[PromptSection, ...]:
    """Return the parts of the prompt for a draft, in their order."""
    return assemble_draft(prompt, evidence).sections


def decision_sections(briefing: Briefing) -> tuple[PromptSection, ...]:
    """Return the parts of the prompt for a first decision, in their order."""
    return assemble_decision(briefing).sections


@asynccontextmanager
async def open_drafter(
    model: str, settings: MockSettings, elsewhere: Callable[[], Iterable[str]] = tuple
) -> AsyncGenerator[Drafter, None]:
    """Open the drafter `model` (`mock` or `script:FILE`) for the time of a block.

    `elsewhere`: gives texts of the knowledge base, from which the mock takes true numbers to state of the wrong thing.
    Raises `agent.errors.UsageError` when the script cannot be read or is no script. Blocks while it reads the script.
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
async def open_decider(model: str, settings: MockSettings) -> AsyncGenerator[Decider, None]:
    """Open the decider that goes with the drafter `model` (`mock` or `script:FILE`) for the time of a block.

    Raises `agent.errors.UsageError` when the script cannot be read or is no script. Blocks while it reads the script.
    """
    kind, _, path = model.partition(":")
    if kind == "script":
        yield ScriptDecider.load(Path(path))
        return
    yield MockDecider(settings.mock_delay_ms / 1000)
