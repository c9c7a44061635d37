"""Frames to messages and back; pure.

Strategy: the common case is one strict msgspec call. Only when it fails is the frame read a second time,
field by field and without interpreting any value, to say in one sentence what to change. A sentence never
repeats what the client sent. Nesting is bounded before msgspec sees the frame, because deep nesting ends
there in `RecursionError`.

Unknown fields are skipped unread, so a huge number in one costs nothing. Of a field that is given twice
the last one counts, as in most JSON readers; a `type` given twice with different values is refused.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ..config import (
    ITEM_REPLACES,
    ITEM_TEXT,
    MAX_ID,
    MAX_NESTING,
    MAX_TEXT,
    RECALL_MOST,
    RECALL_TEXT,
    TOOLS_REQUEST,
)
from ..errors import BadFrame
from ..lang import LANGUAGES, either
from ..ports.memory import Decision, ItemStatus
from .inbound import Inbound
from .nul import json_without_nul
from .outbound import Outbound

_decoder: msgspec.json.Decoder[Inbound] = msgspec.json.Decoder(Inbound, strict=True)
_encoder = msgspec.json.Encoder()
_string = msgspec.json.Decoder(str)
_object = msgspec.json.Decoder(dict[str, Any])
_objects = msgspec.json.Decoder(list[dict[str, Any]])
_whole = msgspec.json.Decoder(int)
_strings = msgspec.json.Decoder(list[str])

# A whole JSON string, or what is left of the text when it does not end. Possessive, hence linear.
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
_NOT_AN_OBJECT = "Send a JSON object with a field type; this frame holds another JSON value."
_TYPES = (
    "message, cancel, confirm_action, reject_action, open_thread, recall, memory_list, memory_decide, memory_edit or "
    "memory_forget"
)
_NO_TYPE = f"Add the field type: {_TYPES}."
_TYPE_NOT_STRING = f"Make the field type a string: {_TYPES}."
_UNKNOWN_TYPE = f"Use a type that exists: {_TYPES}."
_TWO_TYPES = "Give the field type once."


class _Fields(msgspec.Struct, rename="camel"):
    """Every field of every inbound message, left as it was sent."""

    type: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    text: Raw | UnsetType = UNSET
    lang: Raw | UnsetType = UNSET
    suggestion_id: Raw | UnsetType = UNSET
    payload: Raw | UnsetType = UNSET
    tools: Raw | UnsetType = UNSET
    thread: Raw | UnsetType = UNSET
    query: Raw | UnsetType = UNSET
    limit: Raw | UnsetType = UNSET
    status: Raw | UnsetType = UNSET
    after: Raw | UnsetType = UNSET
    item: Raw | UnsetType = UNSET
    decision: Raw | UnsetType = UNSET
    revision: Raw | UnsetType = UNSET
    replaces: Raw | UnsetType = UNSET


_fields = msgspec.json.Decoder(_Fields)
_LAST = (1 << 53) - 1  # of the whole numbers that every reader of JSON takes

Check: TypeAlias = Callable[[_Fields], str | None]
"""Says what is wrong with a field of a frame, as a sentence, if anything is."""


def decode(frame: str | bytes) -> Inbound:
    """Return the message in one whole WebSocket message, a U+FFFD for each U+0000 of it.

    frame: text as str, or a binary message as bytes.
    Raises `agent.errors.BadFrame`: code `bad_json` for what is not JSON, `bad_message` for everything else,
    and as `ref` the frame's `id` where it is a string of 1 to MAX_ID characters.
    """
    if isinstance(frame, bytes):
        raise BadFrame("bad_message", _BINARY)
    frame = json_without_nul(frame)
    if frame.count("[") + frame.count("{") > MAX_NESTING:
        _check_nesting(frame)
    try:
        return _decoder.decode(frame)
    except UnicodeEncodeError:
        problem = BadFrame("bad_message", _SURROGATE)
    except msgspec.ValidationError:
        problem = _diagnose(frame)
    except msgspec.DecodeError:
        problem = _diagnose_text(frame)
    # Raised out here so that msgspec's exception, which quotes the frame, does not travel along as context.
    raise problem


def encode(frame: Outbound) -> bytes:
    """Return `frame` as UTF-8 JSON, without the fields that are unset."""
    return _encoder.encode(frame)


def _check_nesting(frame: str) -> None:
    """Raise `BadFrame` when brackets outside strings stand more than MAX_NESTING deep; linear."""
    depth = 0
    for match in _BRACKETS.finditer(frame):
        if match[1]:
            depth += 1
            if depth > MAX_NESTING:
                raise BadFrame("bad_message", _NESTING)
        elif match[2]:
            depth -= 1


def _diagnose_text(frame: str) -> BadFrame:
    """Say why `frame` is not JSON that can be read."""
    if any(match[1] for match in _ESCAPES.finditer(frame)):
        return BadFrame("bad_message", _SURROGATE)
    if any(match[1] for match in _NOT_NUMBERS.finditer(frame)):
        return BadFrame("bad_json", _NOT_A_NUMBER)
    return BadFrame("bad_json", _NOT_JSON)


def _diagnose(frame: str) -> BadFrame:
    """Say which field of a JSON text does not fit, and how to mend it."""
    try:
        fields = _fields.decode(frame)
    except msgspec.ValidationError:
        return BadFrame("bad_message", _NOT_AN_OBJECT)
    except (
        msgspec.DecodeError
    ):  # the first reading stopped at a wrong field, before the place that is not JSON
        return _diagnose_text(frame)
    ref = _as_string(fields.id)
    if ref is not None and not 1 <= len(ref) <= MAX_ID:
        ref = None
    return BadFrame("bad_message", _sentence(fields), ref)


def _sentence(fields: _Fields) -> str:
    kind = _as_string(fields.type)
    if fields.type is UNSET:
        return _NO_TYPE
    if kind is None:
        return _TYPE_NOT_STRING
    if kind not in _CHECKS:
        return _UNKNOWN_TYPE
    for check in _CHECKS[kind]:
        sentence = check(fields)
        if sentence:
            return sentence
    return _TWO_TYPES


def _as_string(value: Raw | UnsetType) -> str | None:
    """Return a field's value where it is a JSON string, else None."""
    if isinstance(value, Raw):
        try:
            return _string.decode(value)
        except msgspec.ValidationError:
            return None
    return None


def _is_null(value: Raw | UnsetType) -> bool:
    return isinstance(value, Raw) and bytes(value).strip() == b"null"


def _message_id(fields: _Fields) -> str | None:
    return _filled("id", fields.id, "a label of your own for it", MAX_ID)


def _message_text(fields: _Fields) -> str | None:
    return _filled("text", fields.text, "the question", MAX_TEXT)


def _filled(name: str, raw: Raw | UnsetType, what: str, most: int, kind: str = "message") -> str | None:
    """Say what is wrong with a field that must hold 1 to `most` characters, if anything is."""
    if raw is UNSET:
        return f"Add the field {name} to the {kind}: {what}."
    value = _as_string(raw)
    if value is None:
        return f"Make the field {name} of the {kind} a string."
    if not value:
        return f"Do not leave the field {name} of the {kind} empty."
    if len(value) > most:
        return f"Shorten the field {name} of the {kind} to at most {most} characters."
    return None


def _message_lang(fields: _Fields) -> str | None:
    return _lang(fields, "message")


def _lang(fields: _Fields, kind: str) -> str | None:
    if fields.lang is UNSET or _is_null(fields.lang) or _as_string(fields.lang) in LANGUAGES:
        return None
    return f"Set the field lang of the {kind} to {either()}, or leave it out."


def _cancel_id(fields: _Fields) -> str | None:
    if fields.id is UNSET or _is_null(fields.id) or _as_string(fields.id) is not None:
        return None
    return "Make the field id of the cancel a string, or leave it out."


def _suggestion_id(fields: _Fields) -> str | None:
    if fields.suggestion_id is UNSET:
        return "Add the field suggestionId: the one of the suggested action."
    if _as_string(fields.suggestion_id) is None:
        return "Make the field suggestionId a string."
    return None


def _confirm_payload(fields: _Fields) -> str | None:
    if fields.payload is UNSET or _is_null(fields.payload):
        return None
    try:
        _object.decode(fields.payload)
    except msgspec.ValidationError:  # also for a number that no reader takes
        return "Make the field payload of the confirm_action an object, or leave it out."
    return None


def _message_tools(fields: _Fields) -> str | None:
    if fields.tools is UNSET or _is_null(fields.tools):
        return None
    try:
        given = _objects.decode(fields.tools)
    except msgspec.ValidationError:
        return "Make the field tools of the message an array of objects, or leave it out."
    if len(given) > TOOLS_REQUEST:
        return f"Give at most {TOOLS_REQUEST} tools with a message."
    return None


def _reject_text(fields: _Fields) -> str | None:
    if fields.text is UNSET or _is_null(fields.text):
        return None
    return _filled("text", fields.text, "what you say in place of a yes", MAX_TEXT, "reject_action")


# --- what is asked of what is remembered


def _label(kind: str) -> Check:
    """Return what checks the label of a frame, which it may leave out."""

    def check(fields: _Fields) -> str | None:
        return None if _left_out(fields.id) else _filled("id", fields.id, "", MAX_ID, kind)

    return check


def _item(kind: str) -> Check:
    return lambda fields: _filled("item", fields.item, "the id of the item", MAX_ID, kind)


def _one_item(fields: _Fields) -> str | None:
    return None if _left_out(fields.item) else _filled("item", fields.item, "", MAX_ID, "memory_list")


def _revision(kind: str) -> Check:
    def check(fields: _Fields) -> str | None:
        if _left_out(fields.revision) or _number(fields.revision, 1, _LAST):
            return None
        return f"Make the field revision of the {kind} the item's, a whole number, or leave it out."

    return check


def _thread(fields: _Fields) -> str | None:
    if _left_out(fields.thread):
        return None
    return _filled("thread", fields.thread, "", MAX_ID, "open_thread")


def _query(fields: _Fields) -> str | None:
    return _filled("query", fields.query, "what to look for", RECALL_TEXT, "recall")


def _limit(fields: _Fields) -> str | None:
    if fields.limit is UNSET or _number(fields.limit, 1, RECALL_MOST):
        return None
    return f"Make the field limit of the recall a whole number from 1 to {RECALL_MOST}, or leave it out."


def _status(fields: _Fields) -> str | None:
    if _left_out(fields.status) or _as_string(fields.status) in get_args(ItemStatus):
        return None
    return f"Make the field status of the memory_list one of {_one_of(ItemStatus)}, or leave it out."


def _after(fields: _Fields) -> str | None:
    if fields.after is UNSET or _number(fields.after, 0, _LAST):
        return None
    return "Make the field after of the memory_list what an answer to one had, or leave it out."


def _decision(fields: _Fields) -> str | None:
    if _as_string(fields.decision) in get_args(Decision):
        return None
    return f"Give the memory_decide the field decision, one of {_one_of(Decision)}."


def _replaces(fields: _Fields) -> str | None:
    if fields.replaces is UNSET or _is_null(fields.replaces):
        return None
    try:
        given = _strings.decode(fields.replaces)
    except msgspec.ValidationError:
        given = [""]
    if len(given) <= ITEM_REPLACES and all(1 <= len(each) <= MAX_ID for each in given):
        return None
    return f"Make the field replaces of the memory_decide an array of at most {ITEM_REPLACES} ids, or leave it out."


def _edit_text(fields: _Fields) -> str | None:
    return _filled("text", fields.text, "what the item is to say", ITEM_TEXT, "memory_edit")


def _left_out(raw: Raw | UnsetType) -> bool:
    return raw is UNSET or _is_null(raw)


def _number(raw: Raw | UnsetType, least: int, most: int) -> bool:
    """Whether a field is a whole number within bounds."""
    try:
        return not isinstance(raw, UnsetType) and least <= _whole.decode(raw) <= most
    except msgspec.ValidationError:
        return False


def _one_of(words: Any) -> str:
    *most, last = get_args(words)
    return f"{', '.join(most)} or {last}"


_CHECKS: dict[str, tuple[Check, ...]] = {
    "message": (_message_id, _message_text, _message_lang, _message_tools),
    "cancel": (_cancel_id,),
    "confirm_action": (_suggestion_id, _confirm_payload),
    "reject_action": (_suggestion_id, _reject_text),
    "open_thread": (_label("open_thread"), _thread),
    "recall": (_label("recall"), _query, _limit, lambda fields: _lang(fields, "recall")),
    "memory_list": (_label("memory_list"), _status, _after, _one_item),
    "memory_decide": (
        _label("memory_decide"),
        _item("memory_decide"),
        _decision,
        _revision("memory_decide"),
        _replaces,
    ),
    "memory_edit": (
        _label("memory_edit"),
        _item("memory_edit"),
        _edit_text,
        _revision("memory_edit"),
        lambda fields: _lang(fields, "memory_edit"),
    ),
    "memory_forget": (_label("memory_forget"), _item("memory_forget")),
}
