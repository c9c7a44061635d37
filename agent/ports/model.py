"""The port behind which every language model stands: messages in; text, calls of tools and one end out.

The values are what the common chat services have in common. What a service can not do it may leave undone: it may
ignore `tools`, `choice` and `form`, so whoever asks checks what comes back. They are structs, since one is made for
every piece that a model says, and making a frozen dataclass takes several times as long.
"""

from collections.abc import AsyncGenerator, Mapping
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

Reason: TypeAlias = Literal["stop", "calls", "length", "refusal", "filtered"]
"""Why a model ended: it had said it all; it calls tools; `max_tokens` were spent (what came may be cut anywhere, in the
middle of an argument too); it declined; its service kept the rest back."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it. id: its service's, not always unique. arguments: JSON text, not parsed yet."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation. calls: what an assistant called. call_id: which call a tool's message answers."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


class Tool(msgspec.Struct, frozen=True):
    """What a model may call. schema: JSON Schema of its arguments, an object."""

    name: str
    description: str
    schema: Mapping[str, Any]


class Choice(Enum):
    """Whether a model calls a tool: as it likes, never, or at least one."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


class Named(msgspec.Struct, frozen=True):
    """The model calls this tool."""

    name: str


class Request(msgspec.Struct, frozen=True):
    """What a model is asked.

    form: JSON Schema that the text must follow, or None. max_tokens: of the answer, at most.
    stable: how many of the first messages the next request repeats as they are; a service may keep its work on them.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    choice: Choice | Named = Choice.AUTO
    form: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    stable: int = 0


class Usage(msgspec.Struct, frozen=True):
    """Tokens read and written, as the service counts them; 0 where it does not say."""

    read: int = 0
    written: int = 0


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer's text: not verified, not for a client."""

    text: str


class CallDelta(msgspec.Struct, frozen=True):
    """A piece of a call. index: which call, counted from 0 in one answer; pieces of several calls may alternate.

    id, name: "" in the pieces after a call's first. arguments: the next piece of its JSON text.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Finished(msgspec.Struct, frozen=True):
    """The answer is complete, for `reason`. Nothing comes after it."""

    reason: Reason
    usage: Usage = Usage()


Piece: TypeAlias = TextDelta | CallDelta | Finished


class LanguageModel(Protocol):
    """A language model, wherever it runs."""

    def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer piece by piece; exactly one `Finished`, last.

        Raises `agent.errors.ModelFailed` for all that goes wrong, and nothing else: a stream that ends without its
        service's word for the end was cut, and fails as `cut`. The caller closes the generator
        (`contextlib.aclosing`); when it is closed or cancelled, the other side learns of it within 100 ms
        (its connection is closed, its process ended) before the generator returns.
        """
        ...
