"""Reads questions in the form of OpenAI's Responses API, and writes their answers; pure.

    POST /v1/responses  {"input": "..." or [...], "instructions": "...", "stream": false, "lang": "en"}
      `input` is the question, or a list of items: messages of the roles `user`, `assistant`, `system` and `developer`,
      and, behind the question, each `function_call` with its `function_call_output`. They are read as the messages of a
      chat completion are, and so are `tools`, all of the type `function`, `tool_choice`, and `text.format`.
    -> {"id", "object": "response", "status": "completed", "output": [item], "usage", ...}
      The item is a `message` with `citations`, `blocked` and `confidence`; its content is an `output_text` or, in the
      place of an answer in JSON, a `refusal`. Or the item is a `function_call` of a tool of the request.
    -> with `"stream": true` events, each with its `type` and a `sequence_number`, from `response.created` to
       `response.completed`; a stream that broke ends with `response.failed`.

Strategy: a request becomes the request for a chat completion that means the same, so both are checked by the same code.
Nothing is stored, so the fields that refer to stored things are refused. Fields that only tune a model are ignored. An
answer repeats no field of its request: `instructions` is null, and `tools` is empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ..errors import BadRequest
from ..ports.brain import Blocked, Confidence
from ..ports.model import Usage
from ..ports.tools import Risk
from .completion_answers import (
    NO_USAGE,
    CalledFunction,
    CompletionCall,
    ErrorDetail,
    HandedCall,
    WrittenAnswer,
    describe_message,
)
from .completions import (
    AnswerFormat,
    CompletionMessage,
    CompletionRequest,
    HttpQuestion,
    NamedFunction,
    StreamOptions,
    TextPart,
    decode_request,
    read_question,
)
from .outbound_frame import Citation

_STORED = "Send instructions and the whole conversation with each request: nothing is stored here."
_WAIT = "Leave out background: an answer is made while its client waits for it."
_TOOLS = "Offer tools of the type function only: the server runs no tool for this request."
_ITEMS = "Send items of the types message, function_call and function_call_output only, with their fields."
_Status: TypeAlias = Literal["in_progress", "completed", "failed"]
_encode = msgspec.json.Encoder().encode


class InputItem(msgspec.Struct, frozen=True, kw_only=True):
    """A message, a `function_call`, or the `function_call_output` with the result of the call of the same `call_id`."""

    type: str = "message"
    role: str | None = None
    content: str | list[TextPart] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | list[TextPart] | None = None
    blocked: Any = None  # of an answer of ours that comes back


class TextOptions(msgspec.Struct, frozen=True):
    """Options of the text of an answer."""

    format: AnswerFormat | None = None


class ResponseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question in the form of OpenAI's Responses API. Fields that tune a model are taken, and ignored.

    `background`, `previous_response_id`, `conversation` and `prompt` are refused.
    """

    input: str | list[InputItem]
    instructions: str | None = None
    stream: bool | None = None
    lang: str | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | NamedFunction | None = None
    text: TextOptions | None = None
    background: bool | None = None
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None


class OutputText(msgspec.Struct, frozen=True, tag="output_text"):
    """The text of an answer. Its sources stand in the message, as `citations`."""

    text: str
    annotations: tuple[dict[str, Any], ...] = ()
    logprobs: tuple[dict[str, Any], ...] = ()


class OutputRefusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The sentence for the user in the place of an answer in JSON."""

    refusal: str


class OutputMessage(msgspec.Struct, frozen=True, kw_only=True, tag="message"):
    """An answer. `sources` names the origin of each value of an answer in JSON, by JSON Pointer."""

    id: str
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed"] = "completed"
    content: tuple[OutputText | OutputRefusal, ...] = ()
    sources: Mapping[str, str] | UnsetType = UNSET
    citations: tuple[Citation, ...] | UnsetType = UNSET
    blocked: Blocked | UnsetType | None = UNSET
    confidence: Confidence | UnsetType | None = UNSET
    without_memory: bool | UnsetType = UNSET


class OutputCall(msgspec.Struct, frozen=True, kw_only=True, tag="function_call"):
    """A call of a tool that the caller runs: a `CompletionCall` in other words. `arguments` is JSON text."""

    id: str
    call_id: str
    name: str
    arguments: str
    status: Literal["in_progress", "completed"] = "completed"
    risk: Risk | UnsetType | None = UNSET
    requires_approval: bool | UnsetType = UNSET
    why_approval: tuple[str, ...] | UnsetType = UNSET
    sources: Mapping[str, str] | UnsetType = UNSET


class ResponseUsage(msgspec.Struct, frozen=True):
    """The tokens of all requests to the language model for one answer, as its service counted them.

    The details stand there for clients that need them. They are not counted, and so 0.
    """

    input_tokens: int
    input_tokens_details: Mapping[str, int]
    output_tokens: int
    output_tokens_details: Mapping[str, int]
    total_tokens: int


class ResponseObject(msgspec.Struct, frozen=True, kw_only=True):
    """An answer in the form of OpenAI's Responses API. `created_at` is in Unix seconds."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: _Status
    model: str
    output: tuple[OutputMessage | OutputCall, ...] = ()
    usage: ResponseUsage | None = None
    error: ErrorDetail | None = None
    incomplete_details: None = None
    instructions: None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: bool = False
    previous_response_id: None = None
    store: bool = False
    temperature: None = None
    tool_choice: Literal["auto"] = "auto"
    tools: tuple[dict[str, Any], ...] = ()
    top_p: None = None


_decoder = msgspec.json.Decoder(ResponseRequest, strict=True)


def decode_response_request(body: bytes) -> HttpQuestion:
    """Return the question of a request. Raises `agent.errors.BadRequest`, which never repeats a value of `body`."""
    sent: ResponseRequest = decode_request(_decoder, body)
    if any(each is not None for each in (sent.previous_response_id, sent.conversation, sent.prompt)):
        raise BadRequest("unsupported_state", _STORED)
    if sent.background:
        raise BadRequest("unsupported_background", _WAIT)
    if any(tool.get("type") != "function" for tool in sent.tools or ()):
        raise BadRequest("unsupported_tools", _TOOLS)
    items = [InputItem(role="user", content=sent.input)] if isinstance(sent.input, str) else sent.input
    instructions = InputItem(role="system", content=sent.instructions)
    return read_question(
        CompletionRequest(
            messages=[_read_item(item) for item in (instructions, *items)],
            stream=sent.stream,
            stream_options=StreamOptions(include_usage=True),
            lang=sent.lang,
            tools=sent.tools,
            tool_choice=sent.tool_choice,
            response_format=None if sent.text is None else sent.text.format,
        )
    )


def _read_item(item: InputItem) -> CompletionMessage:
    if item.type == "message" and item.role is not None:
        return CompletionMessage(item.role, item.content, blocked=item.blocked)
    if item.type == "function_call" and None not in (item.call_id, item.name, item.arguments):
        function = CalledFunction(item.name or "", item.arguments or "")
        return CompletionMessage(
            "assistant", tool_calls=[CompletionCall(id=item.call_id or "", function=function)]
        )
    if item.type == "function_call_output":
        return CompletionMessage("tool", item.output, tool_call_id=item.call_id)
    raise BadRequest("unsupported_item", _ITEMS)


@dataclass(slots=True)
class ResponseEncoder:
    """Writes one answer, whole or as events. `id`: of its question. `created` is in Unix seconds."""

    id: str
    model: str
    created: int
    _number: int = 0  # of the next event
    _is_open: bool = False  # the message, whose pieces are sent

    def encode_whole(self, answer: WrittenAnswer, usage: Usage) -> bytes:
        """Return the whole answer."""
        return _encode(self._make_response("completed", self._make_item(answer), usage))

    def encode_start(self) -> bytes:
        """Return the events before the answer."""
        begun = self._make_response("in_progress")
        return self._event("created", response=begun) + self._event("in_progress", response=begun)

    def encode_delta(self, delta: str) -> bytes:
        """Return the event of a piece of the text, behind those that open its message."""
        opened = b"" if self._is_open else self._open_message(OutputText(""))
        return opened + self._event("output_text.delta", **self._place, delta=delta, logprobs=())

    def encode_end(self, answer: WrittenAnswer, usage: Usage) -> bytes:
        """Return the events after the last piece: the end of the message, or the call, and the whole answer."""
        item = self._make_item(answer)
        ended = self._write_call(item) if isinstance(item, OutputCall) else self._close_message(item)
        ended += self._event("output_item.done", output_index=0, item=item)
        return ended + self._event("completed", response=self._make_response("completed", item, usage))

    def encode_failure(self, code: str, message: str) -> bytes:
        """Return the last event of a stream that broke."""
        failed = self._make_response("failed")
        error = ErrorDetail(message, "server_error", None, code)
        return self._event("failed", response=replace(failed, error=error))

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self.id}", "output_index": 0, "content_index": 0}

    def _open_message(self, part: OutputText | OutputRefusal) -> bytes:
        self._is_open = True
        item = OutputMessage(id=f"msg_{self.id}", status="in_progress")
        added = self._event("output_item.added", output_index=0, item=item)
        return added + self._event("content_part.added", **self._place, part=part)

    def _close_message(self, item: OutputMessage) -> bytes:
        (part,) = item.content
        if isinstance(part, OutputRefusal):
            ended = self._open_message(OutputRefusal(""))
            ended += self._event("refusal.delta", **self._place, delta=part.refusal)
            ended += self._event("refusal.done", **self._place, refusal=part.refusal)
        else:
            ended = b"" if self._is_open else self.encode_delta(part.text)
            ended += self._event("output_text.done", **self._place, text=part.text, logprobs=())
        return ended + self._event("content_part.done", **self._place, part=part)

    def _write_call(self, item: OutputCall) -> bytes:
        begun = replace(item, arguments="", status="in_progress")
        place = {"item_id": item.id, "output_index": 0}
        ended = self._event("output_item.added", output_index=0, item=begun)
        ended += self._event("function_call_arguments.delta", **place, delta=item.arguments)
        end = {"name": item.name, "arguments": item.arguments}
        return ended + self._event("function_call_arguments.done", **place, **end)

    def _make_item(self, answer: WrittenAnswer) -> OutputMessage | OutputCall:
        if isinstance(answer, HandedCall):
            return OutputCall(
                id=f"fc_{self.id}",
                call_id=answer.id,
                name=answer.proposal.action,
                arguments=answer.arguments,
                **answer.describe_approval(),
            )
        fields = describe_message(answer)
        text, refusal = fields.pop("content", ""), fields.pop("refusal", None)
        part = OutputText(text) if refusal is None else OutputRefusal(refusal)
        return OutputMessage(id=f"msg_{self.id}", content=(part,), **fields)

    def _make_response(
        self, status: _Status, item: OutputMessage | OutputCall | None = None, usage: Usage = NO_USAGE
    ) -> ResponseObject:
        return ResponseObject(
            id=f"resp_{self.id}",
            created_at=self.created,
            status=status,
            model=self.model,
            output=() if item is None else (item,),
            usage=_describe_usage(usage),
        )

    def _event(self, kind: str, **fields: Any) -> bytes:
        type = f"response.{kind}"
        data = _encode({"type": type, "sequence_number": self._number, **fields})
        self._number += 1
        return b"event: %s\ndata: %s\n\n" % (type.encode(), data)


def _describe_usage(usage: Usage) -> ResponseUsage | None:
    total = usage.read + usage.written
    details = {"cached_tokens": 0}, {"reasoning_tokens": 0}
    return ResponseUsage(usage.read, details[0], usage.written, details[1], total) if total else None
