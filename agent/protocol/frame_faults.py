"""Finds the field of an inbound frame that does not fit, and says in one sentence how to mend it; pure.

The fields are read one by one, and only their types and bounds are interpreted. A sentence never repeats a value that
the client sent.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ..config import ITEM_TEXT, MAX_ID, MAX_TEXT, TOOLS_REQUEST
from ..errors import BadFrame
from ..lang import LANGUAGES, either
from ..ports.feedback import FEEDBACK_TEXT, Verdict
from ..ports.memory import ItemDecision, ItemStatus
from .inbound import ITEM_REPLACES, RECALL_MOST, RECALL_TEXT, THREAD_TITLE

T = TypeVar("T")
_string = msgspec.json.Decoder(str)
_object = msgspec.json.Decoder(dict[str, Any])
_objects = msgspec.json.Decoder(list[dict[str, Any]])
_whole = msgspec.json.Decoder(int)
_strings = msgspec.json.Decoder(list[str])

_NOT_AN_OBJECT = "Send a JSON object with a field type; this frame holds another JSON value."
_TWO_TYPES = "Give the field type once."


class RawFields(msgspec.Struct, rename="camel", kw_only=True):
    """The fields of all inbound messages, each as it was sent."""

    type: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    text: Raw | UnsetType = UNSET
    lang: Raw | UnsetType = UNSET
    suggestion_id: Raw | UnsetType = UNSET
    payload: Raw | UnsetType = UNSET
    tools: Raw | UnsetType = UNSET
    progress: Raw | UnsetType = UNSET
    thread: Raw | UnsetType = UNSET
    query: Raw | UnsetType = UNSET
    limit: Raw | UnsetType = UNSET
    status: Raw | UnsetType = UNSET
    after: Raw | UnsetType = UNSET
    item: Raw | UnsetType = UNSET
    decision: Raw | UnsetType = UNSET
    revision: Raw | UnsetType = UNSET
    replaces: Raw | UnsetType = UNSET
    message: Raw | UnsetType = UNSET
    verdict: Raw | UnsetType = UNSET
    title: Raw | UnsetType = UNSET
    follow: Raw | UnsetType = UNSET
    fresh: Raw | UnsetType = UNSET
    story: Raw | UnsetType = UNSET
    branch: Raw | UnsetType = UNSET
    choice: Raw | UnsetType = UNSET
    retell: Raw | UnsetType = UNSET
    own: Raw | UnsetType = UNSET
    aside: Raw | UnsetType = UNSET
    on: Raw | UnsetType = UNSET
    echo_cancelled: Raw | UnsetType = UNSET
    seq: Raw | UnsetType = UNSET
    heard: Raw | UnsetType = UNSET


_fields = msgspec.json.Decoder(RawFields)
_LAST = (1 << 53) - 1  # of the whole numbers that every reader of JSON takes

Check: TypeAlias = Callable[[RawFields, str], str | None]
"""Returns the fault of a field of a frame as a sentence, or None. The second argument is the frame's type."""


def diagnose_fields(frame: str, checks: Mapping[str, tuple[Check, ...]]) -> BadFrame:
    """Return the first field of a JSON text that does not fit, and how to mend it, as a `BadFrame`.

    `checks`: of the types of frames that the connection takes. Raises `msgspec.DecodeError` for a text that is not
    JSON.
    """
    try:
        fields = _fields.decode(frame)
    except msgspec.ValidationError:
        return BadFrame("bad_message", _NOT_AN_OBJECT)
    ref = as_string(fields.id)
    if ref is not None and not 1 <= len(ref) <= MAX_ID:
        ref = None
    return BadFrame("bad_message", _find_problem(fields, checks), ref)


def _find_problem(fields: RawFields, checks: Mapping[str, tuple[Check, ...]]) -> str:
    kind = as_string(fields.type)
    if fields.type is UNSET:
        return f"Add the field type: {_join(checks)}."
    if kind is None:
        return f"Make the field type a string: {_join(checks)}."
    if kind not in checks:
        return f"Use a type that exists: {_join(checks)}."
    return next(filter(None, (check(fields, kind) for check in checks[kind])), _TWO_TYPES)


# --- values of fields


def as_string(value: Raw | UnsetType) -> str | None:
    """Return the value of a field where it is a JSON string, else None."""
    return _read(_string, value)


def _read(decoder: "msgspec.json.Decoder[T]", value: Raw | UnsetType) -> T | None:
    """Return the value of a field where `decoder` takes it, else None."""
    if isinstance(value, Raw):
        with suppress(msgspec.ValidationError):  # also for a number that no reader takes
            return decoder.decode(value)
    return None


def is_absent(value: Raw | UnsetType) -> bool:
    return isinstance(value, UnsetType) or bytes(value).strip() == b"null"


def _is_whole_number(value: Raw | UnsetType, least: int, most: int) -> bool:
    """Return whether a field is a whole number within bounds."""
    number = _read(_whole, value)
    return number is not None and least <= number <= most


def _join_words(words: Any) -> str:
    return _join(get_args(words))


def _join(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


# --- checks that several types of frames have


def _check_text(name: str, value: Raw | UnsetType, meaning: str, most: int, kind: str) -> str | None:
    """Return the fault of a field that must hold 1 to `most` characters, or None. `meaning` describes the field."""
    if value is UNSET:
        return f"Add the field {name} to the {kind}: {meaning}."
    text = as_string(value)
    if text is None:
        return f"Make the field {name} of the {kind} a string."
    if not text:
        return f"Do not leave the field {name} of the {kind} empty."
    if len(text) > most:
        return f"Shorten the field {name} of the {kind} to at most {most} characters."
    return None


def required_text(name: str, meaning: str, most: int = MAX_ID) -> Check:
    return lambda fields, kind: _check_text(name, getattr(fields, name), meaning, most, kind)


def optional_text(name: str, most: int = MAX_ID) -> Check:
    def check(fields: RawFields, kind: str) -> str | None:
        value = getattr(fields, name)
        return None if is_absent(value) else _check_text(name, value, "", most, kind)

    return check


def flag(name: str, wire_name: str = "") -> Check:
    def check(fields: RawFields, kind: str) -> str | None:
        value = getattr(fields, name)
        if value is UNSET or bytes(value).strip() in (b"true", b"false"):
            return None
        return f"Make the field {wire_name or name} of the {kind} true or false, or leave it out."

    return check


def check_lang(fields: RawFields, kind: str) -> str | None:
    if is_absent(fields.lang) or as_string(fields.lang) in LANGUAGES:
        return None
    return f"Set the field lang of the {kind} to {either()}, or leave it out."


def _check_revision(fields: RawFields, kind: str) -> str | None:
    if is_absent(fields.revision) or _is_whole_number(fields.revision, 1, _LAST):
        return None
    return f"Make the field revision of the {kind} the item's, a whole number, or leave it out."


def _check_after(fields: RawFields, kind: str) -> str | None:
    if fields.after is UNSET or _is_whole_number(fields.after, 0, _LAST):
        return None
    return f"Make the field after of the {kind} what an answer to one had, or leave it out."


# --- checks of one type of frames


def _check_tools(fields: RawFields, _: str) -> str | None:
    if is_absent(fields.tools):
        return None
    tools = _read(_objects, fields.tools)
    if tools is None:
        return "Make the field tools of the message an array of objects, or leave it out."
    if len(tools) > TOOLS_REQUEST:
        return f"Give at most {TOOLS_REQUEST} tools with a message."
    return None


def check_cancel_id(fields: RawFields, _: str) -> str | None:
    if is_absent(fields.id) or as_string(fields.id) is not None:
        return None
    return "Make the field id of the cancel a string, or leave it out."


def _check_suggestion_id(fields: RawFields, _: str) -> str | None:
    if fields.suggestion_id is UNSET:
        return "Add the field suggestionId: the one of the suggested action."
    if as_string(fields.suggestion_id) is None:
        return "Make the field suggestionId a string."
    return None


def _check_payload(fields: RawFields, _: str) -> str | None:
    if is_absent(fields.payload) or _read(_object, fields.payload) is not None:
        return None
    return "Make the field payload of the confirm_action an object, or leave it out."


def _check_title(fields: RawFields, _: str) -> str | None:
    title = as_string(fields.title)
    if title is not None and len(title) <= THREAD_TITLE:
        return None
    return f"Make the field title of the thread_rename a string of at most {THREAD_TITLE} characters."


def _check_limit(fields: RawFields, _: str) -> str | None:
    if fields.limit is UNSET or _is_whole_number(fields.limit, 1, RECALL_MOST):
        return None
    return f"Make the field limit of the recall a whole number from 1 to {RECALL_MOST}, or leave it out."


def _check_status(fields: RawFields, _: str) -> str | None:
    if is_absent(fields.status) or as_string(fields.status) in get_args(ItemStatus):
        return None
    return f"Make the field status of the memory_list one of {_join_words(ItemStatus)}, or leave it out."


def _check_decision(fields: RawFields, _: str) -> str | None:
    if as_string(fields.decision) in get_args(ItemDecision):
        return None
    return f"Give the memory_decide the field decision, one of {_join_words(ItemDecision)}."


def _check_replaces(fields: RawFields, _: str) -> str | None:
    if is_absent(fields.replaces):
        return None
    ids = _read(_strings, fields.replaces)
    if ids is not None and len(ids) <= ITEM_REPLACES and all(1 <= len(id) <= MAX_ID for id in ids):
        return None
    return f"Make the field replaces of the memory_decide an array of at most {ITEM_REPLACES} ids, or leave it out."


def _check_verdict(fields: RawFields, _: str) -> str | None:
    if as_string(fields.verdict) in get_args(Verdict):
        return None
    return f"Give the feedback the field verdict, {_join_words(Verdict)}."


def _check_feedback_text(fields: RawFields, kind: str) -> str | None:
    return None if as_string(fields.text) == "" else optional_text("text", FEEDBACK_TEXT)(fields, kind)


def _check_on(fields: RawFields, _: str) -> str | None:
    if fields.on is UNSET:
        return "Add the field on to the listen: true or false."
    return (
        None
        if bytes(fields.on).strip() in (b"true", b"false")
        else "Make the field on of the listen true or false."
    )


def _check_seq(fields: RawFields, _: str) -> str | None:
    if _is_whole_number(fields.seq, 0, _LAST):
        return None
    return "Give the played the field seq: that of the speech frame whose audio was played."


_LABEL = optional_text("id")
_ITEM = required_text("item", "the id of the item")
_THREAD = required_text("thread", "the id of the thread")
CHECKS: Mapping[str, tuple[Check, ...]] = {
    "message": (
        required_text("id", "a label of your own for it"),
        required_text("text", "the question", MAX_TEXT),
        check_lang,
        _check_tools,
        flag("progress"),
        flag("heard"),
    ),
    "cancel": (check_cancel_id,),
    "confirm_action": (_check_suggestion_id, _check_payload),
    "reject_action": (_check_suggestion_id, optional_text("text", MAX_TEXT)),
    "open_thread": (_LABEL, optional_text("thread"), flag("fresh")),
    "recall": (_LABEL, required_text("query", "what to look for", RECALL_TEXT), _check_limit, check_lang),
    "memory_list": (_LABEL, _check_status, _check_after, optional_text("item")),
    "memory_decide": (_LABEL, _ITEM, _check_decision, _check_revision, _check_replaces),
    "memory_edit": (
        _LABEL,
        _ITEM,
        required_text("text", "what the item is to say", ITEM_TEXT),
        _check_revision,
        check_lang,
    ),
    "memory_forget": (_LABEL, _ITEM),
    "thread_list": (_LABEL, _check_after, flag("follow")),
    "thread_messages": (_LABEL, _THREAD, _check_after),
    "thread_rename": (_LABEL, _THREAD, _check_title),
    "thread_delete": (_LABEL, _THREAD),
    "feedback": (
        _LABEL,
        required_text("message", "the id of the message that was answered"),
        _check_verdict,
        _check_feedback_text,
    ),
}
"""The checks of each type of frame of a conversation, in the order of its fields."""
HEARING_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "listen": (_check_on, flag("echo_cancelled", "echoCancelled")),
}
"""The checks of each type of frame of a connection that is only heard."""
_PLAYED: Mapping[str, tuple[Check, ...]] = {"played": (_check_seq,)}
VOICE_CHECKS: Mapping[str, tuple[Check, ...]] = {**CHECKS, **HEARING_CHECKS, **_PLAYED}
"""The checks of each type of frame of a conversation with voice."""
SPEAKING_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "say": (
        required_text("id", "a label of your own for it"),
        required_text("text", "the words to say", MAX_TEXT),
        check_lang,
    ),
    "cancel": (check_cancel_id,),
    **_PLAYED,
}
"""The checks of each type of frame of a connection that only speaks."""
