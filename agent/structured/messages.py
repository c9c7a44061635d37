"""Converts a caller's input to messages of the model port; pure. The input is never changed."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, get_args

from ..errors import AgentError
from ..ports.model import ModelMessage, ModelRole, ToolCall

RequestInput: TypeAlias = str | ModelMessage | Sequence[ModelMessage | Mapping[str, Any]] | Mapping[str, Any]
"""The input of a request."""

_ROLES: dict[object, ModelRole] = {**{role: role for role in get_args(ModelRole)}, "developer": "system"}


class BadInput(AgentError):
    """The input is no conversation; the message names the part that is wrong."""


def messages_of(request: RequestInput) -> tuple[ModelMessage, ...]:
    """Return a text (as a user's), one `Message`, or a list of `Message`s and OpenAI-style dicts, also as the value
    `messages` of a mapping. Raises `BadInput`.
    """
    if isinstance(request, Mapping):
        request = request.get("messages", ())
    if isinstance(request, str):
        return (ModelMessage("user", request),)
    if isinstance(request, ModelMessage):
        return (request,)
    if not isinstance(request, Sequence) or isinstance(request, bytes):
        raise BadInput("ask with a text, a Message, or a list of messages")
    if not request:
        raise BadInput("there is no message")
    return tuple(
        each if isinstance(each, ModelMessage) else _convert_message(each, at)
        for at, each in enumerate(request)
    )


def _convert_message(message: object, at: int) -> ModelMessage:
    if not isinstance(message, Mapping):
        raise BadInput(f"message {at} is no mapping")
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadInput(f"message {at}: role must be one of {', '.join(map(str, _ROLES))}")
    call_id = message.get("tool_call_id")
    if call_id is not None and not isinstance(call_id, str):
        raise BadInput(f"message {at}: tool_call_id must be a string")
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, Sequence):
        raise BadInput(f"message {at}: tool_calls must be a list")
    return ModelMessage(
        _ROLES[role],
        _join_text(message.get("content"), at),
        tuple(_convert_call(each, at) for each in calls),
        call_id,
    )


def _join_text(content: object, at: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    raise BadInput(f"message {at}: content must be a text, or a list of text parts")


def _convert_call(given: object, at: int) -> ToolCall:
    inner = given.get("function") if isinstance(given, Mapping) else None
    if isinstance(given, Mapping) and isinstance(inner, Mapping):
        parts = (given.get("id", ""), inner.get("name"), inner.get("arguments", ""))
        if all(isinstance(part, str) for part in parts):
            return ToolCall(*map(str, parts))
    raise BadInput(
        f"message {at}: a tool call has an id, and a function with its name and its arguments as text"
    )
