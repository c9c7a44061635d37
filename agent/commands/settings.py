"""Reads a server's settings from flags, environment and `agent.toml`, for every command that needs them.

`--help` shows the settings of the first group alone, and `--help all` every group. Every setting can stand in each of
the three places, shown or not.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import App, ArgumentCollection, CycloptsError, Group, Parameter, Token
from cyclopts.config import Env, Toml

from ..actions.settings import ActionSettings
from ..answering.settings import AnswerSettings
from ..config import USER_DATA
from ..embedding.settings import VectorSettings
from ..errors import UsageError
from ..llm.settings import MockSettings
from ..log import LogSettings
from ..memory.settings import MemorySettings
from ..models.settings import ModelSettings
from ..retrieval.settings import DocumentSettings
from ..server.settings import ServerSettings
from ..session.settings import SessionSettings
from ..settings import Settings
from ..storage.settings import StorageSettings
from ..threads.settings import ThreadSettings
from ..tools.settings import ToolSettings
from ..tracing.settings import TraceSettings
from ..voice.settings import VoiceSettings
from .output import SHOWS_ALL

CONFIG_FILE = "agent.toml"

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Settings": (
        "kb",
        "host",
        "port",
        "name",
        "token",
        "users",
        "model",
        "base-url",
        "tools",
        "data",
        "memory",
        "workers",
    ),
    "Access": ("sign-key", "old-sign-key", "guests", "insecure", "allow-host", "allow-origin", "trust-proxy"),
    "Limits": (
        "max-connections",
        "max-per-address",
        "address-rate",
        "rate-limit",
        "api-rate",
        "idle-timeout",
    ),
    "Documents": ("vectors", "vectors-url", "hit-cache"),
    "Answers": (
        "greeting",
        "starters",
        "logo",
        "lang",
        "pace-ms",
        "history-tokens",
        "evidence-tokens",
        "turn-timeout",
        "clarify",
        "verify",
        "answer",
        "binding",
    ),
    "Models": (
        "fallback-model",
        "fallback-base-url",
        "memory-model",
        "memory-base-url",
        "answer-tokens",
        "first-call-timeout",
        "first-token-timeout",
        "token-timeout",
    ),
    "Actions and tools": (
        "action-webhook",
        "payloads",
        "approve-from",
        "client-tools",
        "rounds",
        "confirm-time",
        "approval-time",
        "lease-time",
        "calm-time",
    ),
    "Voice": ("mouth", "ear", "voice-streams", "voice-confirm", "voice-halves"),
    "Storage": ("keep-threads", "keep-audit", "kb-name", "require-sync", "memory-indexes"),
    "Log and traces": ("log-format", "log-level", "otel"),
    "For developers": (
        "action-delay-ms",
        "mock-hallucinate",
        "mock-seed",
        "mock-delay-ms",
        "mock-ask",
    ),
}
"""Each group of settings in the order of the help, and its settings in theirs."""
_USUAL: Final = next(iter(GROUPS))


class _File(Toml):
    """`agent.toml`, with errors that name the file."""

    def _load_config(self, path: Path) -> dict[str, Any]:
        try:
            # below the command's own name: else cyclopts skips each key that names another one, as kb does
            return {"serve": tomllib.loads(path.read_text(encoding="utf-8"))}
        except (OSError, ValueError) as error:
            raise CycloptsError(msg=f"{path} cannot be read: {error}") from None


def _delays(type_: Any, tokens: Sequence[Token]) -> tuple[float, float]:
    """Read `BEFORE[,AFTER]` in milliseconds."""
    values = ",".join(token.value for token in tokens).split(",")
    try:
        before, after = [float(value) for value in values] if len(values) > 1 else [float(values[0]), 0.0]
    except ValueError:
        raise UsageError("action-delay-ms must be BEFORE or BEFORE,AFTER in milliseconds") from None
    return before, after


@dataclass(frozen=True, slots=True)
class _ActionFlags(ActionSettings):
    action_delay_ms: Annotated[tuple[float, float], Parameter(converter=_delays, n_tokens=1)] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _StorageFlags(StorageSettings):
    data: str = USER_DATA


@dataclass(frozen=True, slots=True)
class _MemoryFlags(MemorySettings):
    memory: Literal["on", "off"] = "on"


_FLAT = Parameter(name="*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags(Settings):
    """The settings as flags of a command line, without the names of the rooms."""

    server: Annotated[ServerSettings, _FLAT] = field(default_factory=ServerSettings)
    documents: Annotated[DocumentSettings, _FLAT] = field(default_factory=DocumentSettings)
    answers: Annotated[AnswerSettings, _FLAT] = field(default_factory=AnswerSettings)
    model: Annotated[ModelSettings, _FLAT] = field(default_factory=ModelSettings)
    mock: Annotated[MockSettings, _FLAT] = field(default_factory=MockSettings)
    vectors: Annotated[VectorSettings, _FLAT] = field(default_factory=VectorSettings)
    session: Annotated[SessionSettings, _FLAT] = field(default_factory=SessionSettings)
    actions: Annotated[_ActionFlags, _FLAT] = field(default_factory=_ActionFlags)
    tools: Annotated[ToolSettings, _FLAT] = field(default_factory=ToolSettings)
    threads: Annotated[ThreadSettings, _FLAT] = field(default_factory=ThreadSettings)
    memory: Annotated[_MemoryFlags, _FLAT] = field(default_factory=_MemoryFlags)
    storage: Annotated[_StorageFlags, _FLAT] = field(default_factory=_StorageFlags)
    log: Annotated[LogSettings, _FLAT] = field(default_factory=LogSettings)
    tracing: Annotated[TraceSettings, _FLAT] = field(default_factory=TraceSettings)
    voice: Annotated[VoiceSettings, _FLAT] = field(default_factory=VoiceSettings)


DEFAULTS = Flags()


class _SettingsApp(App):
    """An App that shows its settings in `GROUPS`."""

    def assemble_argument_collection(
        self, *, default_parameter: Parameter | None = None, parse_docstring: bool = False
    ) -> ArgumentCollection:
        """Return the arguments of the command; for the help, when `parse_docstring` is set, in their groups."""
        arguments = super().assemble_argument_collection(
            default_parameter=default_parameter, parse_docstring=parse_docstring
        )
        if parse_docstring:
            _arrange(arguments, shows_all=SHOWS_ALL.get())
        return arguments


def _arrange(arguments: ArgumentCollection, shows_all: bool) -> None:
    """Put `arguments` in the groups and the order of `GROUPS`. `shows_all`: show every group, not only the first."""
    groups = {name: Group(name, sort_key=place) for place, name in enumerate(GROUPS)}
    places = {f"--{flag}": (name, place) for name in GROUPS for place, flag in enumerate(GROUPS[name])}
    last = len(places)
    arguments.sort(key=lambda each: places.get(each.name, ("", last))[1])
    for argument in arguments:
        if argument.name not in places:
            continue
        name, _ = places[argument.name]
        help = " ".join((argument.parameter.help or "").split())  # without the docstring's own line breaks
        shown = Parameter(group=groups[name], show=shows_all or name == _USUAL, help=help)
        argument.parameter = Parameter.combine(argument.parameter, shown)


def settings_app(name: str = "serve") -> App:
    """Return an `App` that gives its command, set as `default`, the settings that `agent serve` reads."""
    return _SettingsApp(name=name, config=[Env("AGENT_", command=False), _File(CONFIG_FILE)])


def read_settings(flags: Sequence[str] = ()) -> Settings:
    """Return the settings that a server started here with `flags` would have.

    Raises `agent.errors.UsageError` and `cyclopts.CycloptsError` for settings that cannot work.
    """
    app, serve = App(), settings_app()
    serve.default(_return_settings)
    app.command(serve)
    found = app(["serve", *flags], print_error=False, exit_on_error=False, result_action="return_value")
    assert isinstance(found, Settings)
    return found


def _return_settings(*, settings: Annotated[Flags, Parameter(name="*")] = DEFAULTS) -> Settings:
    return settings
