"""Opens the language models that the settings name, each with its wrappers.

To add a model to the package: write a class with `stream(request)`, an async generator of pieces (see
`agent.ports.model`). Name it in `settings.py` and in `_make_adapter` below, the one place that may import its library
late, and give it a line in tests/contracts/test_model_contract.py. A class of an operator's own needs none of this:
see `custom`.

Every model is wrapped, from the inside, in its recording, its time limits, its breaker and its retries; the fallback is
around both models. So each try counts for the breaker, and a model whose breaker is open is not tried again.

A service's own key goes to that service's own address only. Another address (`base-url`) gets `AGENT_MODEL_KEY`, if it
is set, so that no service sees the key of another.
"""

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..ports.model import LanguageModel
from ..ports.observe import Observer
from ..ports.work import RunSync
from . import anthropic, openai
from .breaker import Breaker, Level
from .cli import COMMAND, ClaudeCli
from .custom import load_model
from .health import WatchedModel
from .model_wrappers import Fallback, RetryingModel, TimedModel, TracedModel
from .record import RecordingModel, ReplayModel
from .settings import ModelName, ModelSettings, parse_model_name
from .shape import ServiceProtocol

KEY = "AGENT_MODEL_KEY"
_SETTINGS: Mapping[Level, str] = {
    "model_open": "model",
    "model_fallback_open": "fallback-model",
    "memory_model_open": "memory-model",
}
_URLS = {"model": "base-url", "fallback-model": "fallback-base-url", "memory-model": "memory-base-url"}
_ROUTES = ("/chat/completions", "/messages", "/v1")  # behind the root of a server, the last one first
_SHAPES = {"openai": (openai.OpenAI, openai.HOME, openai.KEY)} | {
    "anthropic": (anthropic.Anthropic, anthropic.HOME, anthropic.KEY)
}


@asynccontextmanager
async def open_language_model(
    settings: ModelSettings,
    observer: Observer,
    run_sync: RunSync,
    environment: Mapping[str, str] = os.environ,
    on_trouble: Callable[[str], None] = lambda _: None,
    traces: bool = False,
) -> AsyncGenerator[LanguageModel, None]:
    """Open the model that the settings name, and its fallback, for the time of a block.

    `run_sync`: for the files of recordings. `environment`: may hold the keys of services. `on_trouble`: called with a
    sentence when the model does not answer, and with "" when it answers again. `traces`: each request is a step of its
    turn's trace. No request is sent yet. Raises `agent.errors.UsageError`, one line, when something is missing that the
    model needs.
    """
    opened = partial(_open_model, settings, observer, run_sync, environment)
    async with AsyncExitStack() as stack:
        model = await opened(stack, settings.model, settings.base_url, "model_open")
        if traces:
            model = TracedModel(model, parse_model_name(settings.model))
        if settings.fallback_model is not None:
            second = await opened(
                stack, settings.fallback_model, settings.fallback_base_url, "model_fallback_open"
            )
            if traces:
                second = TracedModel(second, parse_model_name(settings.fallback_model))
            model = Fallback(model, second, observer)
        yield WatchedModel(model, on_trouble)


async def ask_context(settings: ModelSettings, environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the tokens of the context that the model of `settings` has; None where its server does not tell.

    Only the server that `settings.base_url` names is asked: a service in the cloud takes long prompts, and refuses
    longer ones. Takes `ASK_SECONDS` at most.
    """
    if settings.base_url is None or not settings.is_probed:
        return None
    shape = _make_shape(parse_model_name(settings.model), settings.base_url, environment, "model")
    from .context_size import ask_context_size

    root = settings.base_url.rstrip("/")
    for route in _ROUTES:
        root = root.removesuffix(route).rstrip("/")
    return await ask_context_size(root, shape.address.headers, parse_model_name(settings.model).name)


@asynccontextmanager
async def open_memory_model(
    settings: ModelSettings,
    observer: Observer,
    run_sync: RunSync,
    environment: Mapping[str, str] = os.environ,
) -> AsyncGenerator[LanguageModel | None, None]:
    """Open the memory model that the settings name, if any, as `open_language_model` does."""
    if settings.memory_model is None:
        yield None
        return
    async with AsyncExitStack() as stack:
        yield await _open_model(
            settings,
            observer,
            run_sync,
            environment,
            stack,
            settings.memory_model,
            settings.memory_url,
            "memory_model_open",
        )


async def _open_model(
    settings: ModelSettings,
    observer: Observer,
    run_sync: RunSync,
    environment: Mapping[str, str],
    stack: AsyncExitStack,
    name: str,
    url: str | None,
    which: Level,
) -> LanguageModel:
    """Return a model with its wrappers. `stack`: releases the resources of the model. `which`: its gauge."""
    model = await _make_adapter(parse_model_name(name), url, run_sync, environment, stack, _SETTINGS[which])
    patient = TimedModel(
        model, settings.first_token_timeout, settings.token_timeout, settings.first_call_timeout
    )
    return RetryingModel(Breaker(patient, observer, which), observer)


async def _make_adapter(
    name: ModelName,
    url: str | None,
    run_sync: RunSync,
    environment: Mapping[str, str],
    stack: AsyncExitStack,
    setting: str,
) -> LanguageModel:
    """Return the bare model with its recording. `stack`: releases its resources.

    `setting`: the one that names the model.
    """
    folder = _folder_of(name.folder)
    if name.kind == "replay":
        if not await run_sync(lambda: any(folder.glob("*.jsonl"))):
            raise UsageError(
                f"{setting} replay: there are no recordings in {folder}: make some with record:DIR:MODEL"
            )
        return ReplayModel(folder, run_sync)
    if name.kind == "claude-cli":
        if not hasattr(os, "killpg"):
            raise UsageError(f"{setting} claude-cli needs a POSIX system")
        if shutil.which(COMMAND, path=environment.get("PATH")) is None:
            raise UsageError(f"{setting} claude-cli needs the {COMMAND} command in PATH")
        empty = stack.enter_context(tempfile.TemporaryDirectory(prefix="agent-model-"))
        model: LanguageModel = ClaudeCli(name.name or None, empty, environment)
    elif name.kind == "custom":
        model = await run_sync(lambda: load_model(name.name, setting))
    else:
        shape = _make_shape(name, url, environment, setting)
        from .http import HttpModel

        model = HttpModel(shape)
    if not name.is_recorded:
        return model
    if wrong := await run_sync(lambda: _make_folder(folder)):
        raise UsageError(f"{setting} record: {folder} cannot be written ({wrong})")
    return RecordingModel(model, folder, run_sync)


def _make_shape(
    name: ModelName, url: str | None, environment: Mapping[str, str], setting: str
) -> ServiceProtocol:
    """Return the protocol of a model's service, with its address and key. Raises `UsageError`."""
    shape, home, own = _SHAPES[name.kind]
    at_home = url is None or url.rstrip("/").removesuffix("/v1") == home.removesuffix("/v1")
    variable = own if at_home else KEY
    key = environment.get(variable) or None
    if key is None and at_home:
        raise UsageError(
            f"{setting} {name.kind} needs {own} in the environment, or {_URLS[setting]} where another server is to be "
            "asked"
        )
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{variable} must be printable ASCII without spaces")
    return shape(name.name, home if url is None or at_home else url, key, variable)


def _folder_of(folder: str) -> Path:
    return Path(folder).expanduser()


def _make_folder(folder: Path) -> str:
    """Make the folder; return the reason that it cannot be written, or ""."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or type(error).__name__
    return "" if os.access(folder, os.W_OK) else "Permission denied"
