"""Writes and reads Anthropic's Messages protocol: content blocks, each with a start, deltas and a stop.

An answer is whole when it had a `stop_reason` and then a `message_stop` event. A tool call without arguments has no
delta at all, so at its stop `MessageAnswerReader` yields the input that its block started with.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec

from ..errors import ModelFailed, ModelFault
from ..ports.model import (
    CallDelta,
    Finish,
    FinishReason,
    ModelMessage,
    ModelRequest,
    NamedTool,
    Piece,
    TextDelta,
    ToolChoice,
    Usage,
)
from .encoding import decode, encode
from .settings import MODEL_CALLS
from .shape import REASONS, ServiceAddress

HOME = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
_PATH = "/v1/messages"
_CACHED = {"cache_control": {"type": "ephemeral"}}
_FAULTS: dict[str, ModelFault] = {
    "rate_limit_error": "rate",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "auth",
    "invalid_request_error": "request",
    "not_found_error": "request",
    "request_too_large": "request",
}


class Anthropic:
    """The protocol of one model (a `ServiceProtocol`).

    `name`: of the model. `base_url`: with or without `/v1`, or the whole address. `key`: sent as `x-api-key`.
    `key_name`: the environment variable of the key.
    """

    def __init__(self, name: str, base_url: str = HOME, key: str | None = None, key_name: str = KEY) -> None:
        self._name = name
        base = base_url.rstrip("/").removesuffix("/messages").removesuffix("/v1")
        headers = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
        self.address = ServiceAddress(base + _PATH, headers, key_name)

    def make_body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body of a request: `system` texts apart, and neighbours of one role as one message."""
        stable = request.messages[request.stable - 1] if 0 < request.stable <= len(request.messages) else None
        system = [message for message in request.messages if message.role == "system"]
        spoken = [message for message in request.messages if message.role != "system"]
        body: dict[str, Any] = {
            "model": self._name,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": role, "content": blocks}
                for role, group in groupby(spoken, _role_of)
                if (blocks := _make_all_blocks(group, stable))
            ],
            "stream": True,
        }
        if blocks := _make_all_blocks(system, stable):
            body["system"] = blocks
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
                for tool in request.tools
            ]
            body["tool_choice"] = _make_choice(request.choice)
        if request.form is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": request.form}}
        return body

    def make_reader(self) -> "MessageAnswerReader":
        """Return a reader for one answer."""
        return MessageAnswerReader()


def _role_of(message: ModelMessage) -> str:
    # This service takes results from the user's side.
    return "assistant" if message.role == "assistant" else "user"


def _make_all_blocks(messages: Any, stable: ModelMessage | None) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for message in messages:
        blocks += _make_blocks(message)
        if message is stable and blocks:
            blocks[-1] = blocks[-1] | _CACHED
    return blocks


def _make_blocks(message: ModelMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id or "", "content": message.text}]
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []  # a blank one is refused
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _parse_arguments(call.arguments)}
        for call in message.calls
    ]
    return text + calls


def _parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments of an earlier call as the object that this service requires, whatever they were."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = text
    return value if isinstance(value, dict) else {"not_an_object": value}


def _make_choice(choice: ToolChoice | NamedTool) -> dict[str, str]:
    if isinstance(choice, NamedTool):
        return {"type": "tool", "name": choice.name}
    return {"type": "any" if choice is ToolChoice.REQUIRED else choice.value}


class _ContentBlock(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    input: Any = None


class _BlockDelta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class MessageUsage(msgspec.Struct):
    """The token counts of this service."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    def update_usage(self, before: Usage) -> Usage:
        """Return the counts of this event; a count that it leaves out keeps its value in `before`."""
        input_counts = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        return Usage(
            before.read if self.input_tokens is None else max(sum(part or 0 for part in input_counts), 0),
            before.written if self.output_tokens is None else max(self.output_tokens, 0),
        )


class _MessageStart(msgspec.Struct):
    usage: MessageUsage | None = None


class _ErrorBody(msgspec.Struct):
    type: str = ""


class _MessageEvent(msgspec.Struct, kw_only=True):
    type: str
    index: int = 0
    message: _MessageStart | None = None
    content_block: _ContentBlock | None = None
    delta: _BlockDelta | None = None
    usage: MessageUsage | None = None
    error: _ErrorBody | None = None


class _OpenBlockCall:
    """A call whose block has started. `input`: the input that the block started with."""

    def __init__(self, index: int, input: Any) -> None:
        self.index = index
        self.input = input
        self.has_arguments = False


class MessageAnswerReader:
    """Reads one answer (an `AnswerReader`)."""

    def __init__(self) -> None:
        self._calls: dict[int, _OpenBlockCall] = {}  # by their block's number
        self._call_count = 0
        self.reason: FinishReason | None = None
        self.usage = Usage()

    def read_event(self, data: str | bytes) -> Iterator[Piece]:
        """Yield the pieces of the next event. Unknown kinds of events, blocks and deltas are skipped."""
        event = decode(data, _MessageEvent)
        delta = event.delta or _BlockDelta()
        counted = event.usage or (event.message.usage if event.message else None)
        if counted is not None:
            self.usage = counted.update_usage(self.usage)
        match event.type:
            case "content_block_start":
                yield from self._start_block(event.index, event.content_block or _ContentBlock())
            case "content_block_delta":
                yield from self._read_delta(event.index, delta)
            case "content_block_stop":
                yield from self._stop_block(event.index)
            case "message_delta" if delta.stop_reason:
                # A pause is for tools that the service runs itself, and none is offered.
                self.reason = REASONS.get(delta.stop_reason)
                if self.reason is None:
                    raise ModelFailed("the model ended for an unknown reason: check base-url", "protocol")
            case "message_stop":
                yield self._finish()
            case "error":
                kind = _FAULTS.get((event.error or _ErrorBody()).type, "server")
                raise ModelFailed("the model's server failed while it answered", kind)

    def _start_block(self, at: int, block: _ContentBlock) -> Iterator[Piece]:
        if block.type == "text" and block.text:
            yield TextDelta(block.text)
        elif block.type == "tool_use":
            if self._call_count == MODEL_CALLS:
                raise ModelFailed(f"the model called tools over {MODEL_CALLS} times", "protocol")
            self._calls[at] = _OpenBlockCall(self._call_count, block.input)
            yield CallDelta(self._call_count, block.id or "", block.name or "")
            self._call_count += 1

    def _read_delta(self, at: int, delta: _BlockDelta) -> Iterator[Piece]:
        if delta.type == "text_delta" and delta.text:
            yield TextDelta(delta.text)
        elif delta.type == "input_json_delta" and delta.partial_json:
            call = self._calls.get(at)
            if call is None:
                raise ModelFailed("the model gives arguments to a call that has not begun", "protocol")
            call.has_arguments = True
            yield CallDelta(call.index, arguments=delta.partial_json)

    def _stop_block(self, at: int) -> Iterator[Piece]:
        call = self._calls.pop(at, None)
        if call is not None and not call.has_arguments:
            yield CallDelta(call.index, arguments=encode({} if call.input is None else call.input).decode())

    def _finish(self) -> Finish:
        if self.reason is None:
            raise ModelFailed("the model's answer ended without a reason", "cut")
        return Finish(self.reason, self.usage)
