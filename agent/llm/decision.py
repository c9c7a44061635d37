"""Decodes the text that a model wrote as a decision, strictly; pure.

Strategy: size and nesting are bounded before anything is decoded, since deep nesting ends in `RecursionError`. The text
must then be one JSON object and nothing beside it, with no name twice and only the fields of its mode. One fence around
the object is removed, since most models write one. All problems are reported at once, so that one second try can mend
them. A quotation in a problem holds the model's own words; it goes back to the model only.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import msgspec
from msgspec.structs import fields

from ..config import DRAFT_MAX, PAYLOAD_BYTES, PAYLOAD_NESTING
from ..errors import BadDecision
from ..ports.decide import Act, Ask, Decision, Noop
from ..protocol.payload import is_valid_payload
from .settings import DECISION_MAX

_MODES: Final[dict[str, type[Act | Ask | Noop]]] = {"ACT": Act, "ASK": Ask, "NOOP": Noop}
_QUOTED = 80  # characters of a decision that a problem quotes
_FENCE = re.compile(r"\A(`{3,}|~{3,})[ \t]*+(?:json[ \t]*+)?\n", re.IGNORECASE)
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)  # strings, or brackets; linear
_LONG = f"a decision has at most {DECISION_MAX} characters"
_DEEP = f"arguments are nested at most {PAYLOAD_NESTING} deep"
_LARGE = f"/args: at most {PAYLOAD_BYTES} bytes as JSON, nested at most {PAYLOAD_NESTING} deep, of whole characters"


class _DuplicateName(Exception):
    """A name that an object has twice."""


def decode_decision(text: str) -> Decision:
    """Return the decision in `text`. Raises `agent.errors.BadDecision` with every problem found."""
    if len(text) > DECISION_MAX:
        raise BadDecision((_LONG,))
    text = _strip_fence(text.strip())
    if _is_deeper_than(PAYLOAD_NESTING + 1, text):
        raise BadDecision((_DEEP,))
    given, problem = _parse_json(text)
    if problem:
        raise BadDecision((problem,))
    if not isinstance(given, dict):
        raise BadDecision(("the whole: a JSON object with the field mode",))
    mode = given.pop("mode", None)
    kind = _MODES.get(mode) if isinstance(mode, str) else None
    if kind is None:
        raise BadDecision((f"/mode: found {_shorten(mode)}; one of {', '.join(_MODES)}",))
    problems = tuple(_find_problems(kind, given))
    if problems:
        raise BadDecision(problems)
    return kind(**given)


def _parse_json(text: str) -> tuple[Any, str]:
    """Return the JSON value of `text` and "", or None and the reason that there is none."""
    try:
        return (
            json.loads(
                text,
                object_pairs_hook=_make_object,
                parse_float=_parse_float,
                parse_constant=_refuse_constant,
            ),
            "",
        )
    except _DuplicateName as twice:
        return None, f"the name {_shorten(str(twice))} stands twice in one object"
    except OverflowError:
        return None, "it holds a number that is out of range"
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None, "the whole: one JSON object, and nothing beside it"
        return None, f"it is not JSON at character {error.pos}"
    except ValueError:  # an integer with more digits than Python reads
        return None, "it holds a number that is out of range"


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object = dict(pairs)
    if len(object) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _DuplicateName(name)
            seen.add(name)
    return object


def _parse_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise OverflowError
    return value


def _refuse_constant(constant: str) -> NoReturn:
    raise OverflowError(constant)


def _find_problems(kind: type[Act | Ask | Noop], object_: dict[str, Any]) -> Iterator[str]:
    """Yield the problems of a decision's fields."""
    field_by_name = {field.name: field for field in fields(kind)}
    for name in object_:
        if name not in field_by_name:
            yield f"/{_shorten(name)[1:-1]}: no field of this name is allowed"
    for name, field in field_by_name.items():
        if name not in object_:
            if field.required:
                yield f"/{name}: this field is required"
            continue
        try:
            msgspec.convert(object_[name], field.type)
        except msgspec.ValidationError as error:
            yield f"/{name}: found {_shorten(object_[name])}; {error}"
            continue
        if name == "args" and not is_valid_payload(object_[name]):
            yield _LARGE
        elif isinstance(object_[name], str):
            yield from _find_text_problems(kind, name, object_[name])


def _find_text_problems(kind: type[Act | Ask | Noop], name: str, text: str) -> Iterator[str]:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        yield f"/{name}: whole characters, not one half of a UTF-16 pair"
        return
    if size > DRAFT_MAX:
        yield f"/{name}: at most {DRAFT_MAX} bytes"
    if not text.strip() and (name == "tool" or kind is Ask):
        yield f"/{name}: not empty"


def _strip_fence(text: str) -> str:
    """Return `text` without the one fence around all of it."""
    opening = _FENCE.match(text)
    if opening is None or not text.endswith(opening[1]) or opening.end() > len(text) - len(opening[1]):
        return text
    return text[opening.end() : -len(opening[1])].strip()


def _is_deeper_than(levels: int, text: str) -> bool:
    """Return whether brackets outside strings are nested more than `levels` deep."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for match in _BRACKETS.finditer(text):
        if match[1]:
            depth += 1
            if depth > levels:
                return True
        elif match[2]:
            depth -= 1
    return False


def _shorten(value: Any) -> str:
    """Return the beginning of `value` as ASCII JSON, which every encoder takes."""
    text = json.dumps(value)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
