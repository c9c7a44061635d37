"""Writes and reads OpenAI's chat completions, as the cloud and most servers of open models speak them.

Such servers are vLLM, llama.cpp and Ollama. An answer is whole when it had a `finish_reason` and then `[DONE]`;
anything less was cut. Servers number tool calls differently: some give every call the number 0, some leave it out, some
repeat the id in each piece. So a call is identified by its number and its id together, and numbered anew.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ..errors import ModelFailed
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
from .encoding import decode
from .settings import MODEL_CALLS
from .shape import REASONS, ServiceAddress, fault_of

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
_PATH = "/chat/completions"


class OpenAI:
    """The protocol of one model (a `ServiceProtocol`).

    `name`: of the model, as the server knows it. `base_url`: up to `/v1`, or the whole address. `key`: sent as a bearer
    token. `key_name`: the environment variable of the key.
    """

    def __init__(self, name: str, base_url: str = HOME, key: str | None = None, key_name: str = KEY) -> None:
        self._name = name
        base = base_url.rstrip("/")
        self._at_home = base == HOME
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.address = ServiceAddress(base if base.endswith(_PATH) else base + _PATH, headers, key_name)

    def make_body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body of a request.

        The cloud's newest models know only the newer name of `max_tokens`; other servers know the older one.
        """
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [_make_message(message) for message in request.messages],
            "max_completion_tokens" if self._at_home else "max_tokens": request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.schema,
                    },
                }
                for tool in request.tools
            ]
            body["tool_choice"] = _make_choice(request.choice)
        if request.form is not None:
            form = {"name": "answer", "schema": request.form}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def make_reader(self) -> "ChatAnswerReader":
        """Return a reader for one answer."""
        return ChatAnswerReader()


def _make_message(message: ModelMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id or "", "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def _make_choice(choice: ToolChoice | NamedTool) -> Any:
    if isinstance(choice, NamedTool):
        return {"type": "function", "function": {"name": choice.name}}
    return choice.value


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallPart(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _ChoiceDelta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPart] | None = None


class _ChoicePart(msgspec.Struct):
    index: int = 0
    delta: _ChoiceDelta | None = None
    finish_reason: str | None = None


class _ChatUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _ChatChunk(msgspec.Struct):
    choices: list[_ChoicePart] | None = None
    usage: _ChatUsage | None = None
    error: Any = None


class _OpenChatCall:
    """A call of which at least one piece has come."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.named = False


class ChatAnswerReader:
    """Reads one answer (an `AnswerReader`)."""

    def __init__(self) -> None:
        self._calls: dict[int, _OpenChatCall] = {}  # by the server's number: the last call that had it
        self._call_count = 0
        self._last = 0
        self._reason: FinishReason | None = None
        self._refused = False
        self._usage = Usage()

    def read_event(self, data: str) -> Iterator[Piece]:
        """Yield the pieces of the next event."""
        if data.startswith("[DONE]"):
            yield self._finish()
            return
        chunk = decode(data, _ChatChunk)
        if chunk.error is not None:
            raise _make_failure(chunk.error)
        if chunk.usage is not None:
            counted = chunk.usage
            self._usage = Usage(max(counted.prompt_tokens or 0, 0), max(counted.completion_tokens or 0, 0))
        for choice in chunk.choices or ():
            if choice.index == 0:
                yield from self._read_choice(choice)

    def _read_choice(self, choice: _ChoicePart) -> Iterator[Piece]:
        delta = choice.delta or _ChoiceDelta()
        if delta.refusal:
            self._refused = True
        for text in (delta.content, delta.refusal):
            if text:
                yield TextDelta(text)
        for call in delta.tool_calls or ():
            yield from self._read_call(call)
        if choice.finish_reason:
            self._reason = REASONS.get(choice.finish_reason)
            if self._reason is None:
                raise ModelFailed("the model ended for an unknown reason: check base-url", "protocol")

    def _read_call(self, call: _CallPart) -> Iterator[CallDelta]:
        function = call.function or _Function()
        at = call.index
        if at is None:  # a new number for each id
            last = self._calls.get(self._last)
            at = self._last if last is None or call.id in (None, "", last.id) else max(self._calls) + 1
        open_call = self._calls.get(at)
        first = open_call is None or bool(call.id and open_call.id and call.id != open_call.id)
        if open_call is None or first:
            if self._call_count == MODEL_CALLS:
                raise ModelFailed(f"the model called tools over {MODEL_CALLS} times", "protocol")
            open_call = self._calls[at] = _OpenChatCall(self._call_count)
            self._call_count += 1
        self._last = at
        new_id = "" if open_call.id else call.id or ""
        new_name = "" if open_call.named else function.name or ""
        open_call.id = open_call.id or new_id
        open_call.named = open_call.named or bool(new_name)
        if first or new_id or new_name or function.arguments:
            yield CallDelta(open_call.index, new_id, new_name, function.arguments or "")

    def _finish(self) -> Finish:
        if self._reason is None:
            raise ModelFailed("the model's answer ended without a reason", "cut")
        reason = self._reason
        if self._refused:
            reason = "refusal"
        elif reason in ("stop", "calls"):  # servers say "stop" after calls too
            reason = "calls" if self._call_count else "stop"
        return Finish(reason, self._usage)


def _make_failure(error: Any) -> ModelFailed:
    """Return the failure that a server reports in the middle of its answer, without the server's words."""
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isascii() and code.isdigit() else code
    return ModelFailed("the model's server failed while it answered", fault_of(code))
