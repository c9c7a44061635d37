"""What a model answered in one round, complete and read; pure."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import msgspec

from ..errors import ModelFault
from ..ports.model import Reason, Usage
from .decode import Read, Unread, strict
from .outcome import NO_USAGE
from .pointer import Json

Bare: TypeAlias = Callable[[Json], Sequence[tuple[str, Json]]]

_ARGUMENTS = ("arguments", "parameters")  # what models call them in text
_BESIDE = frozenset({"name", "id", "type", *_ARGUMENTS})


class Written(msgspec.Struct, frozen=True):
    """A call as it came. id: its service's, not always unique. read: its arguments."""

    id: str
    name: str
    arguments: str
    read: Read | Unread


class Failed(msgspec.Struct, frozen=True):
    """Why there is no whole answer: what `agent.errors.ModelFailed` said."""

    message: str
    fault: ModelFault
    retry_after: float | None = None


class Reply(msgspec.Struct, frozen=True):
    """One answer. calls: in the order of their beginnings. reason: why it ended. read: the JSON in its text, if any.

    failed: it has no end; the calls are what came before that.
    """

    text: str = ""
    calls: tuple[Written, ...] = ()
    reason: Reason = "stop"
    usage: Usage = NO_USAGE
    read: Read | Unread | None = None
    failed: Failed | None = None


def in_text(read: Read | Unread | None, names: Collection[str] | None, bare: Bare) -> tuple[Written, ...]:
    """Return the calls in the one JSON value of a text: `{"name", "arguments"}`, or an array of such.

    names: what such an object may name; None is anything. bare: what a value is that names no tool.
    """
    if not isinstance(read, Read):
        return ()
    document = read.document
    listed = document if isinstance(document, list) else [document]
    named = [_named(each, names) for each in listed]
    pairs: Sequence[tuple[str, Json]] = [pair for pair in named if pair is not None]
    if not pairs or len(pairs) < len(named):
        pairs = bare(document)
    return tuple(_written(*pair, read.repaired) for pair in pairs)


def _named(given: Json, names: Collection[str] | None) -> tuple[str, Json] | None:
    if not isinstance(given, dict) or not given.keys() <= _BESIDE:
        return None
    name = given.get("name")
    key = next((key for key in _ARGUMENTS if key in given), None)
    if key is None or not isinstance(name, str) or (names is not None and name not in names):
        return None
    return name, given[key]


def _written(name: str, arguments: Json, repaired: bool) -> Written:
    if isinstance(arguments, str):  # JSON within JSON, as the services' own interfaces have it
        return Written("", name, arguments, strict(arguments))
    return Written("", name, msgspec.json.encode(arguments).decode(), Read(arguments, repaired))
