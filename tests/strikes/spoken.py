"""Answers as services write them: pieces into events of OpenAI's and Anthropic's streams, and the command's lines."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent.ports.model import CallDelta, Finish, FinishReason, Piece, TextDelta, Usage

_CHAT = {
    "stop": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "stop",
    "filtered": "content_filter",
}
_MESSAGES = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def chat(pieces: Iterable[Piece]) -> list[bytes]:
    """Return the events of OpenAI's chat completions, one for each piece and those around them."""
    pieces = tuple(pieces)
    declined = any(isinstance(piece, Finish) and piece.reason == "refusal" for piece in pieces)
    events = [_chunk({"role": "assistant", "content": None if declined else ""})]
    for piece in pieces:
        if isinstance(piece, TextDelta):
            events.append(_chunk({"refusal" if declined else "content": piece.text}))
        elif isinstance(piece, CallDelta):
            events.append(_chunk({"tool_calls": [_chat_call(piece)]}))
        else:
            events.append(_chunk({}, _CHAT[piece.reason]))
            counted = {"prompt_tokens": piece.usage.read, "completion_tokens": piece.usage.written}
            counted["total_tokens"] = sum(counted.values())
            events.append(_event(_HEAD | {"choices": [], "usage": counted}))
            events.append(b"data: [DONE]\n\n")
    return events


_HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}


def _chunk(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return _event(_HEAD | {"choices": [choice], "usage": None})


def _chat_call(piece: CallDelta) -> dict[str, Any]:
    function = ({"name": piece.name} if piece.name else {}) | {"arguments": piece.arguments}
    named = {"id": piece.id, "type": "function"} if piece.id else {}
    return {"index": piece.index, **named, "function": function}


def messages(pieces: Iterable[Piece]) -> list[bytes]:
    """Return the events of Anthropic's messages; each call is a block of its own, open until the end."""
    return [_event(event, event["type"]) for event in _message_events(pieces)]


def _message_events(pieces: Iterable[Piece]) -> list[dict[str, Any]]:
    pieces = tuple(pieces)
    usage = next((piece.usage for piece in pieces if isinstance(piece, Finish)), Usage())
    events: list[dict[str, Any]] = [{"type": "message_start", "message": _message(usage)}, {"type": "ping"}]
    blocks: dict[str, int] = {}  # of the text, and of each call: its number

    def block(key: str, content: dict[str, Any]) -> int:
        if key not in blocks:
            blocks[key] = len(blocks)
            events.append({"type": "content_block_start", "index": blocks[key], "content_block": content})
        return blocks[key]

    for piece in pieces:
        if isinstance(piece, TextDelta):
            at = block("text", {"type": "text", "text": ""})
            events.append(_delta(at, {"type": "text_delta", "text": piece.text}))
        elif isinstance(piece, CallDelta):
            content = {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
            at = block(f"call {piece.index}", content)
            if piece.arguments:
                events.append(_delta(at, {"type": "input_json_delta", "partial_json": piece.arguments}))
        else:
            events += ({"type": "content_block_stop", "index": at} for at in blocks.values())
            ended = {"stop_reason": _MESSAGES[piece.reason], "stop_sequence": None}
            written = {"output_tokens": usage.written}
            events += ({"type": "message_delta", "delta": ended, "usage": written}, {"type": "message_stop"})
    return events


def _message(usage: Usage) -> dict[str, Any]:
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []}
    counted = {"input_tokens": usage.read, "output_tokens": 1}
    return about | {"stop_reason": None, "stop_sequence": None, "usage": counted}


def _delta(at: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": at, "delta": delta}


def printed(pieces: Iterable[Piece]) -> list[bytes]:
    """Return the lines that the claude command prints."""
    pieces = tuple(pieces)
    session = {"session_id": "0", "parent_tool_use_id": None, "uuid": "0"}
    lines: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "tools": [], "session_id": "0"}]
    lines += ({"type": "stream_event", "event": event, **session} for event in _message_events(pieces))
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    lines.append({"type": "assistant", "message": message, **session})
    for piece in pieces:
        if isinstance(piece, Finish):
            counted = {"input_tokens": piece.usage.read, "output_tokens": piece.usage.written}
            result = {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "result": text,
                "num_turns": 1,
            }
            lines.append(
                result | {"stop_reason": _MESSAGES[piece.reason], "usage": counted, "session_id": "0"}
            )
    return [json.dumps(line).encode() + b"\n" for line in lines]


SHAPES: Mapping[str, Callable[[Iterable[Piece]], list[bytes]]] = {"openai": chat, "anthropic": messages}
REASONS: Mapping[str, tuple[FinishReason, ...]] = {
    "openai": ("stop", "calls", "length", "refusal", "filtered"),
    "anthropic": ("stop", "calls", "length", "refusal"),
}
"""The reasons that each service can tell."""
