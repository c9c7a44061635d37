"""OpenAI's chat completions, as the cloud and most servers of open models (vLLM, llama.cpp, Ollama) speak them.

An answer is whole when a `finish_reason` was given and `[DONE]` came after it; anything less was cut. Servers differ in
how they number the calls of tools, so a call is told by its number and its id together, and numbered anew: some give
every call the number 0, some leave it out, some repeat the id in each piece.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ..config import MODEL_CALLS
from ..errors import ModelFailed
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
from .encoding import decoded
from .shape import REASONS, Place, fault_of

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
_PATH = "/chat/completions"


class OpenAI:
    """The protocol of one model (a `Shape`).

    name: the model's, as the server knows it. base_url: up to `/v1`, or the whole address. key: sent as a bearer token.
    key_name: the environment variable that it comes from.
    """

    def __init__(self, name: str, base_url: str = HOME, key: str | None = None, key_name: str = KEY) -> None:
        self._name = name
        base = base_url.rstrip("/")
        self._at_home = base == HOME
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.place = Place(base if base.endswith(_PATH) else base + _PATH, headers, key_name)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request. The cloud's newest models know only the newer name of `max_tokens`, others the older."""
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [_message(message) for message in request.messages],
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
            body["tool_choice"] = _choice(request.choice)
        if request.form is not None:
            form = {"name": "answer", "schema": request.form}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def answer(self) -> "ChatAnswer":
        """Return a reader for one answer."""
        return ChatAnswer()


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id or "", "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def _choice(choice: Choice | Named) -> Any:
    if isinstance(choice, Named):
        return {"type": "function", "function": {"name": choice.name}}
    return choice.value


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Counted(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Counted | None = None
    error: Any = None


class _Begun:
    """A call of which something has come."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.named = False


class ChatAnswer:
    """Reads one answer (an `Answer`)."""

    def __init__(self) -> None:
        self._calls: dict[int, _Begun] = {}  # by the server's number: the last call that had it
        self._begun = 0
        self._last = 0
        self._reason: Reason | None = None
        self._refused = False
        self._usage = Usage()

    def take(self, data: str) -> Iterator[Piece]:
        """Yield what the next event says."""
        if data.startswith("[DONE]"):
            yield self._finished()
            return
        chunk = decoded(data, _Chunk)
        if chunk.error is not None:
            raise _told(chunk.error)
        if chunk.usage is not None:
            counted = chunk.usage
            self._usage = Usage(max(counted.prompt_tokens or 0, 0), max(counted.completion_tokens or 0, 0))
        for choice in chunk.choices or ():
            if choice.index == 0:
                yield from self._choice(choice)

    def _choice(self, choice: _Choice) -> Iterator[Piece]:
        delta = choice.delta or _Delta()
        if delta.refusal:
            self._refused = True
        for text in (delta.content, delta.refusal):
            if text:
                yield TextDelta(text)
        for call in delta.tool_calls or ():
            yield from self._call(call)
        if choice.finish_reason:
            self._reason = REASONS.get(choice.finish_reason)
            if self._reason is None:
                raise ModelFailed("the model ended for a reason that is not known", "protocol")

    def _call(self, call: _Call) -> Iterator[CallDelta]:
        function = call.function or _Function()
        at = call.index
        if at is None:  # a new number for each id
            last = self._calls.get(self._last)
            at = self._last if last is None or call.id in (None, "", last.id) else max(self._calls) + 1
        begun = self._calls.get(at)
        first = begun is None or bool(call.id and begun.id and call.id != begun.id)
        if begun is None or first:
            if self._begun == MODEL_CALLS:
                raise ModelFailed(f"the model called tools over {MODEL_CALLS} times", "protocol")
            begun = self._calls[at] = _Begun(self._begun)
            self._begun += 1
        self._last = at
        new_id = "" if begun.id else call.id or ""
        new_name = "" if begun.named else function.name or ""
        begun.id = begun.id or new_id
        begun.named = begun.named or bool(new_name)
        if first or new_id or new_name or function.arguments:
            yield CallDelta(begun.index, new_id, new_name, function.arguments or "")

    def _finished(self) -> Finished:
        if self._reason is None:
            raise ModelFailed("the model's answer ended without saying why", "cut")
        reason = self._reason
        if self._refused:
            reason = "refusal"
        elif reason in ("stop", "calls"):  # servers say "stop" after calls too
            reason = "calls" if self._begun else "stop"
        return Finished(reason, self._usage)


def _told(error: Any) -> ModelFailed:
    """Return the failure that a server tells of in the middle of its answer, without its words."""
    code = error.get("code") if isinstance(error, dict) else None
    code = int(code) if isinstance(code, str) and code.isascii() and code.isdigit() else code
    return ModelFailed("the model's server failed while it answered", fault_of(code))
