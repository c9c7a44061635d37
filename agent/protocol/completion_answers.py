"""Writes the answers to questions over plain HTTP, in OpenAI's form and in that of `/ask`; pure.

    POST /v1/chat/completions
    -> {"id", "object": "chat.completion", "created", "model", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content", "citations", "blocked", "confidence"}}], "usage"}
    -> the finish_reason `tool_calls`, and a message without content whose `tool_calls` holds one call of a tool of the
       request: {"id", "type": "function", "function": {"name", "arguments"}}, and beside them,
       for the caller's user, `risk`, `requires_approval`, `why_approval`, and `sources`, the origin of each argument.
    -> with a `response_format`, a message whose `content` is JSON text, with `sources` as above. Where no such answer
       can be given, `content` is null, and `refusal` has the sentence for the user.
    -> with `"stream": true` events (`data: ` and a JSON object of type `chat.completion.chunk`): a delta with the role;
       deltas with content; one with `citations`, `blocked` and `confidence`, or with `tool_calls`, and the
       finish_reason; with `stream_options.include_usage` one with `usage` and no choice; then `[DONE]`.
       A line that begins with a colon says only that the server is still there.
    GET /v1/models -> {"object": "list", "data": [{"id", "object": "model", "created", "owned_by"}]}
    GET /v1/models/{model} -> one of these
    POST /ask -> {"text", "citations", "confidence", "blocked"}, the last only where the question was refused;
       "without_memory" is true where some memory items could not be read
    an error, of any of these -> {"error": {"message", "type", "param", "code"}}, in a stream as its last event

A refusal is a normal message whose `blocked` has the reason, and its `finish_reason` is `stop`: it was sent to its end.
The other choice, `content_filter`, would say that content was left out, and clients drop such a message, which is the
one that suggests another question to the user.

`usage` holds the tokens that the language model's service counted, for all requests of the answer together. It is left
out where no model was asked, and where its service counts none: an estimate would look like a count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from ..ports.brain import Blocked, Confidence, Proposal
from ..ports.model import Usage
from ..ports.tools import Risk
from .outbound import Response
from .outbound_frame import Citation

NO_USAGE = Usage()
_encode = msgspec.json.Encoder().encode


class CalledFunction(msgspec.Struct, frozen=True):
    """The tool of a call. `arguments` is JSON text."""

    name: str
    arguments: str


class CompletionCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool that the caller runs.

    `sources` names the origin of each argument, by JSON Pointer. `why_approval` lists the reasons to ask the user
    first. Where a call comes back in a request, everything but `id` and `function` is ignored.
    """

    id: str
    function: CalledFunction
    type: str = "function"
    index: int | UnsetType = UNSET
    risk: Risk | UnsetType | None = UNSET
    requires_approval: bool | UnsetType = UNSET
    why_approval: tuple[str, ...] | UnsetType = UNSET
    sources: Mapping[str, str] | UnsetType = UNSET


class CompletionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the server: a text with its sources, or a call.

    `content` is null beside a call, and beside a `refusal`, which takes the place of an answer in JSON. `sources` names
    the origin of each value of an answer in JSON, by JSON Pointer.
    """

    role: Literal["assistant"] = "assistant"
    content: str | None = None
    refusal: str | UnsetType | None = UNSET
    sources: Mapping[str, str] | UnsetType = UNSET
    tool_calls: tuple[CompletionCall, ...] | UnsetType = UNSET
    citations: tuple[Citation, ...] | UnsetType = UNSET
    blocked: Blocked | UnsetType | None = UNSET
    confidence: Confidence | UnsetType | None = UNSET
    without_memory: bool | UnsetType = UNSET


class CompletionChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The one choice of an answer."""

    index: int = 0
    message: CompletionAnswer
    logprobs: None = None
    finish_reason: Literal["stop", "tool_calls"] = "stop"


class CompletionUsage(msgspec.Struct, frozen=True):
    """The tokens of all requests to the language model for one answer, as its service counted them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """An answer in the form of OpenAI's chat completions. `created` is in Unix seconds."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: CompletionUsage | UnsetType = UNSET


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A model. `created` is in Unix seconds."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "agent"


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """The list of models, which holds one."""

    object: Literal["list"] = "list"
    data: tuple[ModelInfo, ...]


class AskAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer of `/ask`."""

    text: str
    citations: tuple[Citation, ...]
    confidence: str | None = None
    blocked: Blocked | None = None
    without_memory: bool = False


class ErrorDetail(msgspec.Struct, frozen=True):
    """An error: `message` says how to mend the request, `type` is OpenAI's, `code` the project's word for it."""

    message: str
    type: str
    param: None
    code: str


class ErrorAnswer(msgspec.Struct, frozen=True):
    """An error in the form of OpenAI's services."""

    error: ErrorDetail


@dataclass(frozen=True, slots=True)
class HandedCall:
    """A call that its caller runs, under the `id` that its result comes back with."""

    id: str
    proposal: Proposal

    def describe(self, index: int | UnsetType = UNSET) -> CompletionCall:
        """Return the call as a client reads it. `index`: its number in a streamed message."""
        function = CalledFunction(self.proposal.action, self.arguments)
        return CompletionCall(id=self.id, function=function, index=index, **self.describe_approval())

    @property
    def arguments(self) -> str:
        """The arguments as JSON text."""
        return _encode(self.proposal.payload).decode()

    def describe_approval(self) -> dict[str, Any]:
        """Return the fields of the call that tell whether its user should be asked first."""
        return {
            "risk": self.proposal.risk,
            "requires_approval": self.proposal.needs_approval,
            "why_approval": self.proposal.why,
            "sources": self.proposal.sources,
        }


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """An answer in the format of its request: the arguments of the `proposal` that was checked, or a `refusal`."""

    outcome: Proposal | Response

    def describe(self) -> dict[str, Any]:
        """Return the fields of a message that hold the answer."""
        if isinstance(self.outcome, Proposal):
            return {"content": _encode(self.outcome.payload).decode(), "sources": self.outcome.sources}
        return {"refusal": self.outcome.text, **_source_fields(self.outcome)}


WrittenAnswer: TypeAlias = Response | HandedCall | JsonAnswer
"""The end of a turn, as a client reads it."""


def describe_message(answer: Response | JsonAnswer) -> dict[str, Any]:
    """Return the fields of a message that hold an answer: `content` or `refusal`, and its sources."""
    if isinstance(answer, JsonAnswer):
        return answer.describe()
    return {"content": answer.text, **_source_fields(answer)}


def encode_completion(
    id: str, model: str, created: int, answer: WrittenAnswer, usage: Usage = NO_USAGE
) -> bytes:
    """Return a whole answer as a `chat.completion`. `created` is in Unix seconds."""
    if isinstance(answer, HandedCall):
        message = CompletionAnswer(tool_calls=(answer.describe(),))
        choice = CompletionChoice(message=message, finish_reason="tool_calls")
    else:
        choice = CompletionChoice(message=CompletionAnswer(**describe_message(answer)))
    whole = Completion(id=id, created=created, model=model, choices=(choice,), usage=_describe_usage(usage))
    return _encode(whole)


def encode_answer(answer: Response) -> bytes:
    """Return a whole answer in the form of `/ask`."""
    return _encode(
        AskAnswer(answer.text, answer.citations, answer.confidence, answer.blocked, answer.without_memory)
    )


def encode_models(model: str, created: int) -> bytes:
    """Return the list of the one model. `created` is in Unix seconds."""
    return _encode(ModelList(data=(ModelInfo(id=model, created=created),)))


def encode_model(model: str, created: int) -> bytes:
    """Return the one model. `created` is in Unix seconds."""
    return _encode(ModelInfo(id=model, created=created))


def encode_error(message: str, kind: str, code: str) -> bytes:
    """Return an error: `message` says how to mend the request, `kind` is OpenAI's type, `code` the project's word for
    it.
    """
    return _encode(ErrorAnswer(ErrorDetail(message, kind, None, code)))


@dataclass(frozen=True, slots=True)
class ChunkEncoder:
    """Makes the events of one streamed answer. `created` is in Unix seconds."""

    id: str
    model: str
    created: int

    def encode_start(self) -> bytes:
        """Return the first event, which names the role of the speaker."""
        return self._event({"role": "assistant", "content": ""})

    def encode_delta(self, delta: str) -> bytes:
        """Return the event of a piece of the text."""
        return self._event({"content": delta})

    def encode_whole(self, answer: WrittenAnswer, usage: Usage) -> bytes:
        """Return the whole answer in place of its events."""
        return encode_completion(self.id, self.model, self.created, answer, usage)

    def encode_end(self, answer: WrittenAnswer, usage: Usage = NO_USAGE) -> bytes:
        """Return the events after the last piece: the sources, the call or the answer in JSON, the tokens if any are
        counted, and the end.
        """
        if isinstance(answer, HandedCall):
            last = self._event({"tool_calls": (answer.describe(0),)}, "tool_calls")
        elif isinstance(answer, JsonAnswer):
            last = self._event(answer.describe(), "stop")
        else:
            last = self._event(_source_fields(answer), "stop")
        counted = _describe_usage(usage)
        if isinstance(counted, CompletionUsage):
            last += _format_event(_encode({**self._make_chunk(), "choices": (), "usage": counted}))
        return last + _format_event(b"[DONE]")

    def encode_failure(self, code: str, message: str) -> bytes:
        """Return the last event of a stream that broke: an error."""
        return _format_event(encode_error(message, "server_error", code))

    def _event(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _format_event(_encode({**self._make_chunk(), "choices": [choice]}))

    def _make_chunk(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
        }


STILL_HERE = b":\n\n"
"""A comment among the events: it keeps proxies from closing a stream in which nothing is sent for a while."""


def _format_event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _source_fields(answer: Response) -> dict[str, Any]:
    unread = {"without_memory": True} if answer.without_memory else {}
    return {
        "citations": answer.citations,
        "blocked": answer.blocked,
        "confidence": answer.confidence,
        **unread,
    }


def _describe_usage(usage: Usage) -> CompletionUsage | UnsetType:
    total = usage.read + usage.written
    return CompletionUsage(usage.read, usage.written, total) if total else UNSET
