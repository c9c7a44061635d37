"""A model's answer in one round, whole and parsed; pure."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import msgspec

from ..errors import ModelFault
from ..ports.model import FinishReason, Usage
from .decode import ParsedJson, UnparsedJson, parse_strictly
from .outcome import NO_USAGE
from .pointer import Json

Bare: TypeAlias = Callable[[Json], Sequence[tuple[str, Json]]]
"""Reads a JSON value that names no tool, as pairs of a tool's name and its arguments."""

_ARGUMENTS = ("arguments", "parameters")  # their names in models' texts
_BESIDE = frozenset({"name", "id", "type", *_ARGUMENTS})


class WrittenCall(msgspec.Struct, frozen=True):
    """A call as it came. `id`: of its service, not always unique. `arguments`: as text; `parsed`: as a value."""

    id: str
    name: str
    arguments: str
    parsed: ParsedJson | UnparsedJson


class ReplyFailure(msgspec.Struct, frozen=True):
    """The reason that there is no whole answer, from `agent.errors.ModelFailed`."""

    message: str
    fault: ModelFault
    retry_after: float | None = None


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer.

    `calls`: in the order of their beginnings. `reason`: for its end. `parsed`: the JSON in its text, if any. `failure`:
    the reason that the answer has no end; `calls` are those that came before the failure.
    """

    text: str = ""
    calls: tuple[WrittenCall, ...] = ()
    reason: FinishReason = "stop"
    usage: Usage = NO_USAGE
    parsed: ParsedJson | UnparsedJson | None = None
    failure: ReplyFailure | None = None


def find_calls(
    read: ParsedJson | UnparsedJson | None, names: Collection[str] | None, bare: Bare
) -> tuple[WrittenCall, ...]:
    """Return the calls in the one JSON value of a text: `{"name", "arguments"}`, or an array of such objects.

    `names`: the names that such an object may have; None for any. `bare`: reads a value that names no tool.
    """
    if not isinstance(read, ParsedJson):
        return ()
    document = read.document
    listed = document if isinstance(document, list) else [document]
    named = [_parse_call(each, names) for each in listed]
    pairs: Sequence[tuple[str, Json]] = [pair for pair in named if pair is not None]
    if not pairs or len(pairs) < len(named):
        pairs = bare(document)
    return tuple(_make_call(*pair, read.repaired) for pair in pairs)


def _parse_call(given: Json, names: Collection[str] | None) -> tuple[str, Json] | None:
    if not isinstance(given, dict) or not given.keys() <= _BESIDE:
        return None
    name = given.get("name")
    key = next((key for key in _ARGUMENTS if key in given), None)
    if key is None or not isinstance(name, str) or (names is not None and name not in names):
        return None
    return name, given[key]


def _make_call(name: str, arguments: Json, repaired: bool) -> WrittenCall:
    if isinstance(arguments, str):  # JSON within JSON, as the services' own interfaces have it
        return WrittenCall("", name, arguments, parse_strictly(arguments))
    return WrittenCall("", name, msgspec.json.encode(arguments).decode(), ParsedJson(arguments, repaired))
