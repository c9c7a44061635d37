"""From what a model wrote to a decision, strictly; pure.

Strategy: size and nesting are bounded before anything is decoded, since deep nesting ends in RecursionError. The text
is then one JSON object and nothing beside it, of which no name is said twice, with the fields of its mode and no other.
One fence around it is taken off, as most models write one. Everything that is wrong is told at once, so that one second
try can mend it; what it quotes is the model's own and for nobody else.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import msgspec
from msgspec.structs import fields

from ..config import DECISION_MAX, DRAFT_MAX, PAYLOAD_BYTES, PAYLOAD_NESTING
from ..errors import BadDecision
from ..ports.decide import Act, Ask, Decision, Noop
from ..protocol.payload import fits

_MODES: Final[dict[str, type[Act | Ask | Noop]]] = {"ACT": Act, "ASK": Ask, "NOOP": Noop}
_NAMED = 80  # characters of what is quoted of a decision
_FENCE = re.compile(r"\A(`{3,}|~{3,})[ \t]*+(?:json[ \t]*+)?\n", re.IGNORECASE)
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)  # strings, or brackets; linear
_LONG = f"a decision has at most {DECISION_MAX} characters"
_DEEP = f"arguments are nested at most {PAYLOAD_NESTING} deep"
_LARGE = f"/args: at most {PAYLOAD_BYTES} bytes as JSON, nested at most {PAYLOAD_NESTING} deep, of whole characters"


class _Twice(Exception):
    """A name that an object has twice."""


def decode(text: str) -> Decision:
    """Return the decision that a text is. Raises `agent.errors.BadDecision` with everything that is wrong with it."""
    if len(text) > DECISION_MAX:
        raise BadDecision((_LONG,))
    text = _unfenced(text.strip())
    if _deeper_than(PAYLOAD_NESTING + 1, text):
        raise BadDecision((_DEEP,))
    given, problem = _read(text)
    if problem:
        raise BadDecision((problem,))
    if not isinstance(given, dict):
        raise BadDecision(("the whole: a JSON object with the field mode",))
    mode = given.pop("mode", None)
    kind = _MODES.get(mode) if isinstance(mode, str) else None
    if kind is None:
        raise BadDecision((f"/mode: found {_brief(mode)}; one of {', '.join(_MODES)}",))
    problems = tuple(_problems(kind, given))
    if problems:
        raise BadDecision(problems)
    return kind(**given)


def _read(text: str) -> tuple[Any, str]:
    """Return a JSON value, and "" or why there is none."""
    try:
        return (
            json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_number),
            "",
        )
    except _Twice as twice:
        return None, f"the name {_brief(str(twice))} stands twice in one object"
    except OverflowError:
        return None, "it holds a number that is out of range"
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None, "the whole: one JSON object, and nothing beside it"
        return None, f"it is not JSON at character {error.pos}"
    except ValueError:  # an integer with more digits than Python reads
        return None, "it holds a number that is out of range"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Twice(name)
            seen.add(name)
    return made


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise OverflowError
    return value


def _no_number(constant: str) -> NoReturn:
    raise OverflowError(constant)


def _problems(kind: type[Act | Ask | Noop], given: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the fields of a decision."""
    known = {field.name: field for field in fields(kind)}
    for name in given:
        if name not in known:
            yield f"/{_brief(name)[1:-1]}: no field of this name is allowed"
    for name, field in known.items():
        if name not in given:
            if field.required:
                yield f"/{name}: this field is required"
            continue
        try:
            msgspec.convert(given[name], field.type)
        except msgspec.ValidationError as error:
            yield f"/{name}: found {_brief(given[name])}; {error}"
            continue
        if name == "args" and not fits(given[name]):
            yield _LARGE
        elif isinstance(given[name], str):
            yield from _text_problems(kind, name, given[name])


def _text_problems(kind: type[Act | Ask | Noop], name: str, text: str) -> Iterator[str]:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        yield f"/{name}: whole characters, not one half of a UTF-16 pair"
        return
    if size > DRAFT_MAX:
        yield f"/{name}: at most {DRAFT_MAX} bytes"
    if not text.strip() and (name == "tool" or kind is Ask):
        yield f"/{name}: not empty"


def _unfenced(text: str) -> str:
    """Return a text without the one fence that is around all of it."""
    begun = _FENCE.match(text)
    if begun is None or not text.endswith(begun[1]) or begun.end() > len(text) - len(begun[1]):
        return text
    return text[begun.end() : -len(begun[1])].strip()


def _deeper_than(levels: int, text: str) -> bool:
    """Return whether brackets outside strings stand more than `levels` deep."""
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


def _brief(value: Any) -> str:
    """Return the beginning of a value, written as JSON in characters that any encoder takes."""
    text = json.dumps(value)
    return text if len(text) <= _NAMED else f"{text[: _NAMED - 1]}…"
