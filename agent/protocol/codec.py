"""Decodes frames to messages and encodes messages to frames; pure.

Strategy: the common case is one strict msgspec call. Only when it fails is the frame read a second time, field by field
and without interpreting any value, to say in one sentence how to mend it. A sentence never repeats a value that the
client sent. Nesting is bounded before msgspec sees the frame, because deep nesting ends there in `RecursionError`.

Unknown fields are skipped unread, so a huge number in one costs nothing. Of a field that is given twice the last one
counts, as in most JSON readers; a `type` given twice with different values is refused.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ..config import ITEM_TEXT, MAX_ID, MAX_NESTING, MAX_TEXT, TOOLS_REQUEST
from ..errors import BadFrame
from ..lang import LANGUAGES, either
from ..ports.memory import ItemDecision, ItemStatus
from .inbound import ITEM_REPLACES, RECALL_MOST, RECALL_TEXT, Inbound
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


class _RawFields(msgspec.Struct, rename="camel", kw_only=True):
    """The fields of all inbound messages, each as it was sent."""

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


_fields = msgspec.json.Decoder(_RawFields)
_LAST = (1 << 53) - 1  # of the whole numbers that every reader of JSON takes

Check: TypeAlias = Callable[[_RawFields], str | None]
"""Returns the fault of a field of a frame as a sentence, or None."""


def decode(frame: str | bytes) -> Inbound:
    """Return the message in one whole WebSocket message, with a U+FFFD for each U+0000 in it.

    `frame` is text as `str`, or a binary message as `bytes`. Raises `agent.errors.BadFrame`: code `bad_json` for text
    that is not JSON, `bad_message` for every other fault, and as `ref` the frame's `id` where it is a string of 1 to
    `MAX_ID` characters.
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


def _diagnose(frame: str) -> BadFrame:
    """Return the first field of a JSON text that does not fit, and how to mend it, as a `BadFrame`."""
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
    return BadFrame("bad_message", _find_problem(fields), ref)


def _find_problem(fields: _RawFields) -> str:
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
    """Return the value of a field where it is a JSON string, else None."""
    if isinstance(value, Raw):
        try:
            return _string.decode(value)
        except msgspec.ValidationError:
            return None
    return None


def _is_null(value: Raw | UnsetType) -> bool:
    return isinstance(value, Raw) and bytes(value).strip() == b"null"


def _check_message_id(fields: _RawFields) -> str | None:
    return _check_text("id", fields.id, "a label of your own for it", MAX_ID)


def _check_message_text(fields: _RawFields) -> str | None:
    return _check_text("text", fields.text, "the question", MAX_TEXT)


def _check_text(
    name: str, raw: Raw | UnsetType, meaning: str, most: int, kind: str = "message"
) -> str | None:
    """Return the fault of a field that must hold 1 to `most` characters, or None. `meaning` describes the field."""
    if raw is UNSET:
        return f"Add the field {name} to the {kind}: {meaning}."
    value = _as_string(raw)
    if value is None:
        return f"Make the field {name} of the {kind} a string."
    if not value:
        return f"Do not leave the field {name} of the {kind} empty."
    if len(value) > most:
        return f"Shorten the field {name} of the {kind} to at most {most} characters."
    return None


def _check_message_lang(fields: _RawFields) -> str | None:
    return _check_lang(fields, "message")


def _check_lang(fields: _RawFields, kind: str) -> str | None:
    if fields.lang is UNSET or _is_null(fields.lang) or _as_string(fields.lang) in LANGUAGES:
        return None
    return f"Set the field lang of the {kind} to {either()}, or leave it out."


def _check_cancel_id(fields: _RawFields) -> str | None:
    if fields.id is UNSET or _is_null(fields.id) or _as_string(fields.id) is not None:
        return None
    return "Make the field id of the cancel a string, or leave it out."


def _check_suggestion_id(fields: _RawFields) -> str | None:
    if fields.suggestion_id is UNSET:
        return "Add the field suggestionId: the one of the suggested action."
    if _as_string(fields.suggestion_id) is None:
        return "Make the field suggestionId a string."
    return None


def _check_payload(fields: _RawFields) -> str | None:
    if fields.payload is UNSET or _is_null(fields.payload):
        return None
    try:
        _object.decode(fields.payload)
    except msgspec.ValidationError:  # also for a number that no reader takes
        return "Make the field payload of the confirm_action an object, or leave it out."
    return None


def _check_tools(fields: _RawFields) -> str | None:
    if fields.tools is UNSET or _is_null(fields.tools):
        return None
    try:
        tools = _objects.decode(fields.tools)
    except msgspec.ValidationError:
        return "Make the field tools of the message an array of objects, or leave it out."
    if len(tools) > TOOLS_REQUEST:
        return f"Give at most {TOOLS_REQUEST} tools with a message."
    return None


def _check_reject_text(fields: _RawFields) -> str | None:
    if fields.text is UNSET or _is_null(fields.text):
        return None
    return _check_text("text", fields.text, "what you say in place of a yes", MAX_TEXT, "reject_action")


# --- requests to memory


def _label_check(kind: str) -> Check:
    """Return the check of the optional label `id` of a frame."""

    def check(fields: _RawFields) -> str | None:
        return None if _is_absent(fields.id) else _check_text("id", fields.id, "", MAX_ID, kind)

    return check


def _item_check(kind: str) -> Check:
    return lambda fields: _check_text("item", fields.item, "the id of the item", MAX_ID, kind)


def _check_listed_item(fields: _RawFields) -> str | None:
    return None if _is_absent(fields.item) else _check_text("item", fields.item, "", MAX_ID, "memory_list")


def _revision_check(kind: str) -> Check:
    def check(fields: _RawFields) -> str | None:
        if _is_absent(fields.revision) or _is_whole_number(fields.revision, 1, _LAST):
            return None
        return f"Make the field revision of the {kind} the item's, a whole number, or leave it out."

    return check


def _check_thread(fields: _RawFields) -> str | None:
    if _is_absent(fields.thread):
        return None
    return _check_text("thread", fields.thread, "", MAX_ID, "open_thread")


def _check_query(fields: _RawFields) -> str | None:
    return _check_text("query", fields.query, "what to look for", RECALL_TEXT, "recall")


def _check_limit(fields: _RawFields) -> str | None:
    if fields.limit is UNSET or _is_whole_number(fields.limit, 1, RECALL_MOST):
        return None
    return f"Make the field limit of the recall a whole number from 1 to {RECALL_MOST}, or leave it out."


def _check_status(fields: _RawFields) -> str | None:
    if _is_absent(fields.status) or _as_string(fields.status) in get_args(ItemStatus):
        return None
    return f"Make the field status of the memory_list one of {_join_words(ItemStatus)}, or leave it out."


def _check_after(fields: _RawFields) -> str | None:
    if fields.after is UNSET or _is_whole_number(fields.after, 0, _LAST):
        return None
    return "Make the field after of the memory_list what an answer to one had, or leave it out."


def _check_decision(fields: _RawFields) -> str | None:
    if _as_string(fields.decision) in get_args(ItemDecision):
        return None
    return f"Give the memory_decide the field decision, one of {_join_words(ItemDecision)}."


def _check_replaces(fields: _RawFields) -> str | None:
    if fields.replaces is UNSET or _is_null(fields.replaces):
        return None
    try:
        ids = _strings.decode(fields.replaces)
    except msgspec.ValidationError:
        ids = [""]
    if len(ids) <= ITEM_REPLACES and all(1 <= len(id) <= MAX_ID for id in ids):
        return None
    return f"Make the field replaces of the memory_decide an array of at most {ITEM_REPLACES} ids, or leave it out."


def _check_edit_text(fields: _RawFields) -> str | None:
    return _check_text("text", fields.text, "what the item is to say", ITEM_TEXT, "memory_edit")


def _is_absent(raw: Raw | UnsetType) -> bool:
    return raw is UNSET or _is_null(raw)


def _is_whole_number(raw: Raw | UnsetType, least: int, most: int) -> bool:
    """Return whether a field is a whole number within bounds."""
    try:
        return not isinstance(raw, UnsetType) and least <= _whole.decode(raw) <= most
    except msgspec.ValidationError:
        return False


def _join_words(words: Any) -> str:
    *most, last = get_args(words)
    return f"{', '.join(most)} or {last}"


_CHECKS: dict[str, tuple[Check, ...]] = {
    "message": (_check_message_id, _check_message_text, _check_message_lang, _check_tools),
    "cancel": (_check_cancel_id,),
    "confirm_action": (_check_suggestion_id, _check_payload),
    "reject_action": (_check_suggestion_id, _check_reject_text),
    "open_thread": (_label_check("open_thread"), _check_thread),
    "recall": (
        _label_check("recall"),
        _check_query,
        _check_limit,
        lambda fields: _check_lang(fields, "recall"),
    ),
    "memory_list": (_label_check("memory_list"), _check_status, _check_after, _check_listed_item),
    "memory_decide": (
        _label_check("memory_decide"),
        _item_check("memory_decide"),
        _check_decision,
        _revision_check("memory_decide"),
        _check_replaces,
    ),
    "memory_edit": (
        _label_check("memory_edit"),
        _item_check("memory_edit"),
        _check_edit_text,
        _revision_check("memory_edit"),
        lambda fields: _check_lang(fields, "memory_edit"),
    ),
    "memory_forget": (_label_check("memory_forget"), _item_check("memory_forget")),
}
