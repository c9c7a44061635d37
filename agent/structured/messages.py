"""What a caller may ask with, as messages of the model port; pure. What was given is never changed."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, get_args

from ..errors import AgentError
from ..ports.model import Message, Role, ToolCall

Asked: TypeAlias = str | Message | Sequence[Message | Mapping[str, Any]]

_ROLES: dict[object, Role] = {**{role: role for role in get_args(Role)}, "developer": "system"}


class BadInput(AgentError):
    """What was given is no conversation; the message says which part."""


def messages_of(asked: Asked) -> tuple[Message, ...]:
    """Return a text (as a user's), one Message, or a list of Messages and OpenAI-style dicts. Raises `BadInput`."""
    if isinstance(asked, str):
        return (Message("user", asked),)
    if isinstance(asked, Message):
        return (asked,)
    if not isinstance(asked, Sequence) or isinstance(asked, bytes):
        raise BadInput("ask with a text, a Message, or a list of messages")
    if not asked:
        raise BadInput("there is no message")
    return tuple(each if isinstance(each, Message) else _message(each, at) for at, each in enumerate(asked))


def _message(given: object, at: int) -> Message:
    if not isinstance(given, Mapping):
        raise BadInput(f"message {at} is no mapping")
    role = given.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise BadInput(f"message {at}: role must be one of {', '.join(map(str, _ROLES))}")
    call_id = given.get("tool_call_id")
    if call_id is not None and not isinstance(call_id, str):
        raise BadInput(f"message {at}: tool_call_id must be a string")
    calls = given.get("tool_calls") or ()
    if not isinstance(calls, Sequence):
        raise BadInput(f"message {at}: tool_calls must be a list")
    return Message(
        _ROLES[role], _text(given.get("content"), at), tuple(_call(each, at) for each in calls), call_id
    )


def _text(content: object, at: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    raise BadInput(f"message {at}: content must be a text, or a list of text parts")


def _call(given: object, at: int) -> ToolCall:
    inner = given.get("function") if isinstance(given, Mapping) else None
    if isinstance(given, Mapping) and isinstance(inner, Mapping):
        parts = (given.get("id", ""), inner.get("name"), inner.get("arguments", ""))
        if all(isinstance(part, str) for part in parts):
            return ToolCall(*map(str, parts))
    raise BadInput(
        f"message {at}: a tool call has an id, and a function with its name and its arguments as text"
    )
