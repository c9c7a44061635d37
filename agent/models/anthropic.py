"""Anthropic's messages: blocks of content, each with a beginning, its deltas and an end.

An answer is whole when its `stop_reason` was given and `message_stop` came after it. A tool without arguments has no
delta at all, so what its block began with is given at its end.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec

from ..config import MODEL_CALLS
from ..errors import ModelFailed, ModelFault
from ..ports.model import (
    CallDelta,
    Choice,
    Finished,
    Message,
    Named,
    Piece,
    Reason,
    Request,
    TextDelta,
    Usage,
)
from .encoding import decoded, encoded
from .shape import REASONS, Place

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
    """The protocol of one model (a `Shape`).

    name: the model's. base_url: with or without `/v1`, or the whole address. key: sent as `x-api-key`.
    key_name: the environment variable that it comes from.
    """

    def __init__(self, name: str, base_url: str = HOME, key: str | None = None, key_name: str = KEY) -> None:
        self._name = name
        base = base_url.rstrip("/").removesuffix("/messages").removesuffix("/v1")
        headers = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
        self.place = Place(base + _PATH, headers, key_name)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request: system texts apart, and neighbours of one role as one message."""
        stable = request.messages[request.stable - 1] if 0 < request.stable <= len(request.messages) else None
        system = [message for message in request.messages if message.role == "system"]
        spoken = [message for message in request.messages if message.role != "system"]
        body: dict[str, Any] = {
            "model": self._name,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": role, "content": blocks}
                for role, group in groupby(spoken, _role)
                if (blocks := _all_blocks(group, stable))
            ],
            "stream": True,
        }
        if blocks := _all_blocks(system, stable):
            body["system"] = blocks
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
                for tool in request.tools
            ]
            body["tool_choice"] = _choice(request.choice)
        if request.form is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": request.form}}
        return body

    def answer(self) -> "MessageAnswer":
        """Return a reader for one answer."""
        return MessageAnswer()


def _role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"  # what a tool gave is the user's to say


def _all_blocks(messages: Any, stable: Message | None) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for message in messages:
        blocks += _blocks(message)
        if message is stable and blocks:
            blocks[-1] = blocks[-1] | _CACHED
    return blocks


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id or "", "content": message.text}]
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []  # a blank one is refused
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call.arguments)}
        for call in message.calls
    ]
    return text + calls


def _arguments(written: str) -> dict[str, Any]:
    """Return arguments as the object that this service wants to see of earlier calls, whatever they were."""
    try:
        value = msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = written
    return value if isinstance(value, dict) else {"not_an_object": value}


def _choice(choice: Choice | Named) -> dict[str, str]:
    if isinstance(choice, Named):
        return {"type": "tool", "name": choice.name}
    return {"type": "any" if choice is Choice.REQUIRED else choice.value}


class _Block(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    input: Any = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Counted(msgspec.Struct):
    """Tokens as this service counts them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    def usage(self, before: Usage) -> Usage:
        """Return what it says, and of what it leaves out what was known before."""
        read = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        return Usage(
            before.read if self.input_tokens is None else max(sum(part or 0 for part in read), 0),
            before.written if self.output_tokens is None else max(self.output_tokens, 0),
        )


class _Started(msgspec.Struct):
    usage: Counted | None = None


class _Told(msgspec.Struct):
    type: str = ""


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    message: _Started | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: Counted | None = None
    error: _Told | None = None


class _Called:
    """A call that has begun. input: what its block began with."""

    def __init__(self, index: int, given: Any) -> None:
        self.index = index
        self.input = given
        self.written = False


class MessageAnswer:
    """Reads one answer (an `Answer`)."""

    def __init__(self) -> None:
        self._calls: dict[int, _Called] = {}  # by their block's number
        self._begun = 0
        self.reason: Reason | None = None
        self.usage = Usage()

    def take(self, data: str | bytes) -> Iterator[Piece]:
        """Yield what the next event says. Kinds of events, blocks and deltas that are not known are read over."""
        event = decoded(data, _Event)
        delta = event.delta or _Delta()
        counted = event.usage or (event.message.usage if event.message else None)
        if counted is not None:
            self.usage = counted.usage(self.usage)
        match event.type:
            case "content_block_start":
                yield from self._start(event.index, event.content_block or _Block())
            case "content_block_delta":
                yield from self._delta(event.index, delta)
            case "content_block_stop":
                yield from self._stop(event.index)
            case "message_delta" if delta.stop_reason:
                # A pause is for tools that the service runs itself, and none is offered.
                self.reason = REASONS.get(delta.stop_reason)
                if self.reason is None:
                    raise ModelFailed("the model ended for a reason that is not known", "protocol")
            case "message_stop":
                yield self._finished()
            case "error":
                kind = _FAULTS.get((event.error or _Told()).type, "server")
                raise ModelFailed("the model's server failed while it answered", kind)

    def _start(self, at: int, block: _Block) -> Iterator[Piece]:
        if block.type == "text" and block.text:
            yield TextDelta(block.text)
        elif block.type == "tool_use":
            if self._begun == MODEL_CALLS:
                raise ModelFailed(f"the model called tools over {MODEL_CALLS} times", "protocol")
            self._calls[at] = _Called(self._begun, block.input)
            yield CallDelta(self._begun, block.id or "", block.name or "")
            self._begun += 1

    def _delta(self, at: int, delta: _Delta) -> Iterator[Piece]:
        if delta.type == "text_delta" and delta.text:
            yield TextDelta(delta.text)
        elif delta.type == "input_json_delta" and delta.partial_json:
            call = self._calls.get(at)
            if call is None:
                raise ModelFailed("the model gives arguments to a call that has not begun", "protocol")
            call.written = True
            yield CallDelta(call.index, arguments=delta.partial_json)

    def _stop(self, at: int) -> Iterator[Piece]:
        call = self._calls.pop(at, None)
        if call is not None and not call.written:
            yield CallDelta(call.index, arguments=encoded({} if call.input is None else call.input).decode())

    def _finished(self) -> Finished:
        if self.reason is None:
            raise ModelFailed("the model's answer ended without saying why", "cut")
        return Finished(self.reason, self.usage)
