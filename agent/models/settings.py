"""The operator's choice of models and their time limits, checked when it is made.

Above it, the limits that modules of this room share.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from ..config import ANSWER_TOKENS, check, finite
from ..errors import UsageError

MODEL_EVENT_MAX = 1024 * 1024  # of one event, or line, of an answer: a whole answer may come as one
MODEL_ANSWER_MAX = 8 * 1024 * 1024  # of an answer as it is sent; a token takes some 300
MODEL_CALLS = 128  # calls of tools in one answer

KINDS = "openai:NAME, anthropic:NAME, claude-cli[:NAME], package.module:Class, record:DIR:MODEL or replay:DIR"
_SERVED = ("openai", "anthropic")
_RESERVED = (*_SERVED, "claude-cli", "record", "replay", "mock", "script")
_NAME_MAX = 200  # characters


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name: its `kind`, its `name` there ("" for none), and the `folder` of recordings.

    `is_recorded`: the answers are recorded in `folder`.
    """

    kind: str
    name: str = ""
    folder: str = ""
    is_recorded: bool = False

    @property
    def is_served(self) -> bool:
        """Whether the model is asked over HTTP."""
        return self.kind in _SERVED

    @property
    def provider(self) -> str:
        """The service behind the model, as the GenAI conventions of OpenTelemetry name it; else its kind."""
        return "anthropic" if self.kind == "claude-cli" else self.kind


def is_model_name(model: str) -> bool:
    """Return whether `model` begins with a kind of this room; `parse_model_name` checks the rest."""
    return model.partition(":")[0] in (*_SERVED, "claude-cli", "record", "replay") or _is_class(model)


def parse_model_name(model: str, setting: str = "model") -> ModelName:
    """Return the parsed name of a model. Raises `agent.errors.UsageError`, one line, when it is none of `KINDS`."""
    kind, colon, name = model.partition(":")
    if kind == "record":
        folder, _, inner = name.partition(":")
        recorded = parse_model_name(inner, setting) if folder.strip() and is_model_name(inner) else None
        if recorded is None or recorded.folder:
            raise UsageError(f"{setting} record needs a folder and a model, such as record:DIR:openai:NAME")
        return ModelName(recorded.kind, recorded.name, folder, is_recorded=True)
    if kind == "replay" and name.strip():
        return ModelName(kind, folder=name)
    if kind in _SERVED and _is_name(name):
        return ModelName(kind, name)
    if kind == "claude-cli" and (not colon or (_is_name(name) and not name.startswith("-"))):
        return ModelName(kind, name)
    if _is_class(model):
        return ModelName("custom", model)
    raise UsageError(f"{setting} must be {KINDS}")


def _is_class(model: str) -> bool:
    """Return whether `model` is the place of a class of the operator's own, such as my_models:Parrot."""
    module, _, name = model.partition(":")
    words = (*module.split("."), name)
    return module not in _RESERVED and all(word.isidentifier() for word in words)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _NAME_MAX and name.isprintable() and name == name.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The operator's choice of models. Raises `agent.errors.UsageError`, one line that names the setting.

    Args:
        model: Model that drafts answers: openai:NAME (any compatible server, with base-url), anthropic:NAME,
            claude-cli[:NAME], package.module:Class (a class of your own), mock, script:FILE (a JSON array of drafts),
            record:DIR:MODEL (keeps the output of a model) or replay:DIR (plays it again). Set keys as OPENAI_API_KEY
            or ANTHROPIC_API_KEY, and AGENT_MODEL_KEY for a base-url.
        base_url: URL of the server for openai:NAME or anthropic:NAME, such as http://127.0.0.1:11434/v1.
        fallback_model: Model that answers when the first model fails before its first word.
        fallback_base_url: URL of the fallback model's server.
        memory_model: Model that also looks for facts to remember in messages; without it only rules do. Its findings
            are proposed to the user.
        memory_base_url: URL of the memory model's server. Default: base-url, when both models are of one kind.
        answer_tokens: Most tokens of a draft. A draft that is cut off ends with its last whole sentence.
        first_call_timeout: Seconds until the first piece while the model has never answered, for its server may be
            loading it.
        first_token_timeout: Seconds until the first piece of a model's later answers.
        token_timeout: Seconds from one piece of a model's answer to the next.
    """

    model: str = "mock"
    base_url: str | None = None
    fallback_model: str | None = None
    fallback_base_url: str | None = None
    memory_model: str | None = None
    memory_base_url: str | None = None
    answer_tokens: int = ANSWER_TOKENS
    first_call_timeout: float = 120.0
    first_token_timeout: float = 30.0
    token_timeout: float = 10.0

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        if self.uses_no_model:
            check(
                (self.base_url is not None, "base-url is for model openai:NAME and anthropic:NAME"),
                (self.fallback_model is not None, f"fallback-model is for a model that can fail: {KINDS}"),
            )
        elif is_model_name(self.model):
            _check_url(parse_model_name(self.model), self.base_url, "base-url", "model")
        else:
            raise UsageError(f"model must be mock, script:FILE, {KINDS}")
        if self.fallback_model is not None:
            fallback = parse_model_name(self.fallback_model, "fallback-model")
            _check_url(fallback, self.fallback_base_url, "fallback-base-url", "fallback-model")
        elif self.fallback_base_url is not None:
            raise UsageError("fallback-base-url is for a fallback-model")
        if self.memory_model is not None:
            _check_url(
                parse_model_name(self.memory_model, "memory-model"),
                self.memory_base_url,
                "memory-base-url",
                "memory-model",
            )
        elif self.memory_base_url is not None:
            raise UsageError("memory-base-url is for a memory-model")
        check(
            finite(self.first_call_timeout, self.first_token_timeout, self.token_timeout),
            (self.first_call_timeout <= 0, "first-call-timeout must be positive"),
            (self.answer_tokens < 1, "answer-tokens must be at least 1"),
            (self.first_token_timeout <= 0, "first-token-timeout must be positive"),
            (self.token_timeout <= 0, "token-timeout must be positive"),
        )

    @property
    def uses_no_model(self) -> bool:
        """Whether drafts come from the mock or a script, and not from a language model."""
        return self.model == "mock" or self.model.startswith("script:")

    @property
    def quotes(self) -> bool:
        """Whether answers are quotations, because no language model is set."""
        return self.model == "mock"

    @property
    def first_wait(self) -> float:
        """Seconds that the first piece of a language model may take; 0 where no language model is asked."""
        return 0.0 if self.uses_no_model else max(self.first_token_timeout, self.first_call_timeout)

    @property
    def is_probed(self) -> bool:
        """Whether a server asks its model for one token at its start: not where answers are recorded or replayed."""
        if self.uses_no_model:
            return False
        name = parse_model_name(self.model)
        return name.is_served and not name.is_recorded

    @property
    def memory_url(self) -> str | None:
        """The address of the memory model's server; None for its service's own address."""
        if self.memory_base_url is not None or self.memory_model is None or self.uses_no_model:
            return self.memory_base_url
        return (
            self.base_url
            if parse_model_name(self.memory_model).kind == parse_model_name(self.model).kind
            else None
        )


def _check_url(model: ModelName, url: str | None, setting: str, of: str) -> None:
    """Raise `UsageError` unless the model can be asked at `url`. The message does not hold the address."""
    if url is None:
        return
    if not model.is_served:
        raise UsageError(f"{setting} is for {of} openai:NAME and anthropic:NAME")
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not (url.isascii() and url.isprintable()) or " " in url or parts.query or parts.fragment:
        raise UsageError(f"{setting} must be a URL like http://127.0.0.1:11434/v1")
