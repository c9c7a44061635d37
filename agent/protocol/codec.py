"""Decodes frames to messages and encodes messages to frames; pure.

Strategy: the common case is one strict msgspec call. Only when it fails is the frame read a second time, field by field
(`agent.protocol.frame_faults`), to say in one sentence how to mend it. A sentence never repeats a value that the client
sent. Nesting is bounded before msgspec sees the frame, because deep nesting ends there in `RecursionError`.

Unknown fields are skipped unread, so a huge number in one costs nothing. Of a field that is given twice the last one
counts, as in most JSON readers; a `type` given twice with different values is refused.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ..config import MAX_NESTING
from ..errors import BadFrame
from .audio import VoiceOutbound
from .frame_faults import diagnose_fields
from .halves import HalfOutbound
from .kinds import CONVERSATION, ConnectionKind
from .nul import json_without_nul
from .stories import AnyOutbound

# A whole JSON string, or the rest of the text when it does not end. Possessive, hence linear.
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_BRACKETS = re.compile(_STRING + r"|([\[{])|([\]}])", re.DOTALL)
_NOT_NUMBERS = re.compile(_STRING + r"|(NaN|Infinity)", re.DOTALL)
_ESCAPES = re.compile(
    r"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

_BINARY = "Send text frames only; this frame was binary."
_NOT_JSON = "Send one JSON object per frame; this frame could not be read as JSON."
_NOT_A_NUMBER = "Leave NaN and Infinity out; JSON has no such values."
_SURROGATE = "Send whole characters; this frame holds one half of a UTF-16 surrogate pair."
_NESTING = f"Nest arrays and objects at most {MAX_NESTING} deep."


def decode(frame: str | bytes, kind: ConnectionKind = CONVERSATION) -> Any:
    """Return the message in one whole WebSocket message, with a U+FFFD for each U+0000 in it.

    `frame` is text as `str`, or a binary message as `bytes`. `kind` is of its connection; a frame of another kind is a
    fault. Raises `agent.errors.BadFrame`: code `bad_json` for text that is not JSON, `bad_message` for every other
    fault, and as `ref` the frame's `id` where it is a string of 1 to `MAX_ID` characters.
    """
    if isinstance(frame, bytes):
        raise BadFrame("bad_message", _BINARY)
    frame = json_without_nul(frame)
    if frame.count("[") + frame.count("{") > MAX_NESTING:
        _check_nesting(frame)
    try:
        return kind.decoder.decode(frame)
    except UnicodeEncodeError:
        problem = BadFrame("bad_message", _SURROGATE)
    except msgspec.ValidationError:
        problem = _diagnose(frame, kind)
    except msgspec.DecodeError:
        problem = _diagnose_text(frame)
    # Raised out here so that msgspec's exception, which quotes the frame, does not travel along as context.
    raise problem


encode: Final[Callable[[AnyOutbound | VoiceOutbound | HalfOutbound], bytes]] = msgspec.json.Encoder().encode
"""Return a frame as UTF-8 JSON, without the fields that are unset."""


def _check_nesting(frame: str) -> None:
    """Raise `BadFrame` when brackets outside strings stand more than `MAX_NESTING` deep; linear."""
    depth = 0
    for match in _BRACKETS.finditer(frame):
        if match[1]:
            depth += 1
            if depth > MAX_NESTING:
                raise BadFrame("bad_message", _NESTING)
        elif match[2]:
            depth -= 1


def _diagnose_text(frame: str) -> BadFrame:
    """Return the reason that `frame` is not readable JSON, as a `BadFrame`."""
    if any(match[1] for match in _ESCAPES.finditer(frame)):
        return BadFrame("bad_message", _SURROGATE)
    if any(match[1] for match in _NOT_NUMBERS.finditer(frame)):
        return BadFrame("bad_json", _NOT_A_NUMBER)
    return BadFrame("bad_json", _NOT_JSON)


def _diagnose(frame: str, kind: ConnectionKind) -> BadFrame:
    """Return the fault of a frame that the first reading refused, as a `BadFrame`."""
    try:
        return diagnose_fields(frame, kind.checks)
    except msgspec.DecodeError:
        # The first reading stopped at a wrong field, before the place that is not JSON.
        return _diagnose_text(frame)
