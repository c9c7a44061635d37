"""Streams from language models: messages go in; text, tool calls and one end come out.

The records are the common part of the common chat services. A service may leave out features: it may ignore `tools`,
`choice` and `form`, so every caller checks the answer. The records are structs, since one is made for every piece of an
answer, and making a frozen dataclass takes several times as long.
"""

from collections.abc import AsyncGenerator, Mapping
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

ModelRole: TypeAlias = Literal["system", "user", "assistant", "tool"]

FinishReason: TypeAlias = Literal["stop", "calls", "length", "refusal", "filtered"]
"""The reason for a model's end: the answer is complete; it calls tools; `max_tokens` were spent (the answer may be cut
anywhere, in the middle of an argument too); the model declined; its service kept the rest back.
"""


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it. `id` is its service's, not always unique. `arguments` is JSON text, not parsed
    yet.
    """

    id: str
    name: str
    arguments: str


class ModelMessage(msgspec.Struct, frozen=True):
    """One message of a conversation. `calls` are an assistant's tool calls. `call_id` is the call that a tool's message
    answers.
    """

    role: ModelRole
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


class Tool(msgspec.Struct, frozen=True):
    """A tool that a model may call. `schema` is the JSON Schema of its arguments, an object."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ToolChoice(Enum):
    """The freedom of a model to call tools: as it likes, never, or at least one."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


class NamedTool(msgspec.Struct, frozen=True):
    """The choice of one tool, which the model then calls."""

    name: str


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a language model.

    `form` is a JSON Schema that the text must follow, or None. `max_tokens` limits the answer. `stable` is the number
    of first messages that the next request repeats unchanged; a service may keep its work on them.
    """

    messages: tuple[ModelMessage, ...]
    tools: tuple[Tool, ...] = ()
    choice: ToolChoice | NamedTool = ToolChoice.AUTO
    form: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    stable: int = 0


class Usage(msgspec.Struct, frozen=True):
    """Tokens read and written, as the service counts them; 0 where it gives no count."""

    read: int = 0
    written: int = 0


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer's text: not verified, not for a client."""

    text: str


class CallDelta(msgspec.Struct, frozen=True):
    """A piece of a call. `index` numbers the calls of one answer from 0; pieces of several calls may alternate.

    `id` and `name` are "" in the pieces after a call's first. `arguments` is the next piece of its JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Finish(msgspec.Struct, frozen=True):
    """The end of a complete answer, with its `reason`. Nothing comes after it."""

    reason: FinishReason
    usage: Usage = Usage()


Piece: TypeAlias = TextDelta | CallDelta | Finish


class LanguageModel(Protocol):
    """A language model, in this process or on a server."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer piece by piece; exactly one `Finish`, last.

        Raises `agent.errors.ModelFailed` for every failure, and no other error: a stream without its service's end
        marker was cut, and fails as `cut`. The caller closes the generator (`contextlib.aclosing`); when it is closed
        or cancelled, the other side learns of it within 100 ms (its connection is closed, its process ended) before the
        generator returns.
        """
        ...
