"""A server's settings from flags, environment and agent.toml, for every command that needs them."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter, Token
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

CONFIG_FILE = "agent.toml"


class _File(Toml):
    """agent.toml, with errors that name the file."""

    def _load_config(self, path: Path) -> dict[str, Any]:
        try:
            # below the command's own name: else cyclopts skips each key that names another one, as kb does
            return {"serve": tomllib.loads(path.read_text(encoding="utf-8"))}
        except (OSError, ValueError) as error:
            raise CycloptsError(msg=f"{path} cannot be read: {error}") from None


def _delays(type_: Any, tokens: Sequence[Token]) -> tuple[float, float]:
    """Read BEFORE[,AFTER] in milliseconds."""
    values = ",".join(token.value for token in tokens).split(",")
    try:
        before, after = [float(value) for value in values] if len(values) > 1 else [float(values[0]), 0.0]
    except ValueError:
        raise UsageError("action-delay-ms must be BEFORE or BEFORE,AFTER in milliseconds") from None
    return before, after


@dataclass(frozen=True, slots=True)
class _Actions(ActionSettings):
    action_delay_ms: Annotated[tuple[float, float], Parameter(converter=_delays, n_tokens=1)] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Storage(StorageSettings):
    data: str = USER_DATA


@dataclass(frozen=True, slots=True)
class _Memory(MemorySettings):
    memory: Literal["on", "off"] = "on"


_FLAT = Parameter(name="*")


@dataclass(frozen=True, slots=True)
class Flags(Settings):
    """The settings as a command line spells them: without the names of the rooms."""

    server: Annotated[ServerSettings, _FLAT] = field(default_factory=ServerSettings)
    documents: Annotated[DocumentSettings, _FLAT] = field(default_factory=DocumentSettings)
    answers: Annotated[AnswerSettings, _FLAT] = field(default_factory=AnswerSettings)
    model: Annotated[ModelSettings, _FLAT] = field(default_factory=ModelSettings)
    mock: Annotated[MockSettings, _FLAT] = field(default_factory=MockSettings)
    vectors: Annotated[VectorSettings, _FLAT] = field(default_factory=VectorSettings)
    session: Annotated[SessionSettings, _FLAT] = field(default_factory=SessionSettings)
    actions: Annotated[_Actions, _FLAT] = field(default_factory=_Actions)
    tools: Annotated[ToolSettings, _FLAT] = field(default_factory=ToolSettings)
    threads: Annotated[ThreadSettings, _FLAT] = field(default_factory=ThreadSettings)
    memory: Annotated[_Memory, _FLAT] = field(default_factory=_Memory)
    storage: Annotated[_Storage, _FLAT] = field(default_factory=_Storage)
    log: Annotated[LogSettings, _FLAT] = field(default_factory=LogSettings)


DEFAULTS = Flags()


def settings_app() -> App:
    """Return an App whose command, once it is given one, reads settings as `agent serve` does."""
    return App(name="serve", config=[Env("AGENT_", command=False), _File(CONFIG_FILE)])


def read_settings(flags: Sequence[str] = ()) -> Settings:
    """Return the settings that a server started here with these flags would have.

    Raises `agent.errors.UsageError` and `cyclopts.CycloptsError` for what cannot be one.
    """
    app, serve = App(), settings_app()
    serve.default(_given)
    app.command(serve)
    found = app(["serve", *flags], print_error=False, exit_on_error=False, result_action="return_value")
    assert isinstance(found, Settings)
    return found


def _given(*, settings: Annotated[Flags, Parameter(name="*")] = DEFAULTS) -> Settings:
    return settings
