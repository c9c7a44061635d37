"""Finds the field of a story's frame that does not fit; pure. See `agent.protocol.frame_faults`."""

from collections.abc import Mapping

from msgspec import UNSET, Raw, UnsetType

from ..config import MAX_TEXT
from .frame_faults import (
    Check,
    RawFields,
    as_string,
    check_cancel_id,
    check_lang,
    flag,
    is_absent,
    optional_text,
    required_text,
)

_TWO_WAYS = "Give the message one of choice, retell, own and aside, and leave out the others."


def _check_words(fields: RawFields, kind: str) -> str | None:
    needs_none = not is_absent(fields.choice) or not is_absent(fields.retell)
    if needs_none and (fields.text is UNSET or as_string(fields.text) == ""):
        return None
    return required_text("text", "the directive for the next scene", MAX_TEXT)(fields, kind)


def _check_ways(fields: RawFields, _: str) -> str | None:
    ways = [not is_absent(each) for each in (fields.choice, fields.retell)]
    ways += [_is_true(each) for each in (fields.own, fields.aside)]
    return _TWO_WAYS if sum(ways) > 1 else None


def _is_true(value: Raw | UnsetType) -> bool:
    return isinstance(value, Raw) and bytes(value).strip() == b"true"


STORY_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "open_story": (
        optional_text("id"),
        required_text("story", "the id of the story"),
        optional_text("branch"),
    ),
    "message": (
        required_text("id", "a label of your own for it"),
        optional_text("choice"),
        optional_text("retell"),
        flag("own"),
        flag("aside"),
        _check_ways,
        _check_words,
        check_lang,
    ),
    "cancel": (check_cancel_id,),
}
"""The checks of each type of frame of a story, in the order of its fields."""
