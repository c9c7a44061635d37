"""The arguments of a call, picked from what a user's words hold, by the schema of its parameters; pure.

Strategy: what is surest goes first, for all parameters, before anything is given to the next: what is said with a
parameter's name ("city: Lund"); words of an enum; what has a form of its own (an address, a link, a phone number, a
date, a time); then numbers and identifiers, each to the parameter whose words stand nearest, and the rest in order;
and last, for what is required and free, what stands in quotation marks, an identifier, what follows a colon, a name.
What a call may go without is filled in only by what is surely meant for it. Whether the arguments hold is not decided
here: their checker does, and whoever asks where they come from.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..numbers.read import Kind, Token
from ..text.words import words
from .choosing import name_words, stems
from .parameters import Parameter, parameters_of
from .told import COUNTS, Told, number

_ENUM = 256  # values of one that are looked for ...
_WORDS = 600  # ... in so many words
_NOTHING: Final = object()
_ISO = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Picked:
    """The arguments that could be picked, and the first parameter that is required and was not found."""

    arguments: Mapping[str, Any]
    missing: Parameter | None


def pick(parameters: Mapping[str, Any], text: str, lines: Iterable[str] = ()) -> Picked:
    """Return the arguments of a call.

    parameters: JSON Schema of an object. text: the user's words, composed. lines: of results, `path: value`, from which
    what is required may be taken by its name where the user's words do not hold it.
    """
    return _Picking(parameters, text).picked(lines)


class _Picking:
    """One call's arguments while they are picked."""

    def __init__(self, parameters: Mapping[str, Any], text: str) -> None:
        self._told = Told(text)
        self._found: dict[tuple[str, ...], Any] = {}
        self._parameters = parameters_of(parameters)

    def picked(self, lines: Iterable[str]) -> Picked:
        """Return what was picked."""
        for step in (self._named, self._listed, self._formed):
            for each in self._open():
                self._keep(each, step(each))
        self._nearest()
        for each in self._open(required=True):
            self._keep(each, self._free(each))
        for each in self._open(required=True):
            self._keep(each, self._fixed(each))
        if self._open(required=True):
            self._from_lines(lines)
        missing = next(iter(self._open(required=True)), None)
        arguments: dict[str, Any] = {}
        for each in self._parameters:
            if each.path in self._found:
                inside = arguments
                for name in each.path[:-1]:
                    inside = inside.setdefault(name, {})
                inside[each.path[-1]] = self._found[each.path]
        return Picked(arguments, missing)

    def _open(self, required: bool = False) -> list[Parameter]:
        """Return the parameters that have no value yet, those that are required first."""
        left = [each for each in self._parameters if each.path not in self._found]
        return [each for each in left if each.required] + (
            [] if required else [each for each in left if not each.required]
        )

    def _keep(self, parameter: Parameter, value: object) -> None:
        if value is not _NOTHING:
            self._found[parameter.path] = value

    def _named(self, parameter: Parameter) -> object:
        """Return what is said with a parameter's name."""
        place = self._told.behind(parameter.name)
        if place is None or not self._told.free(*place):
            return _NOTHING
        if parameter.form in ("count", "whole", "code", "date", "time", "phone"):
            for token in self._told.numbers:
                if place[0] <= token.start and token.end <= place[1]:
                    value = _value(parameter, token)
                    if value is not _NOTHING:
                        self._told.take(token.start, token.end)
                        return value
        if parameter.form in ("text", "code"):
            return self._told.take(*place) or _NOTHING
        return _NOTHING

    def _listed(self, parameter: Parameter) -> object:
        """Return the value of an enum that is said; of a yes or no, whether it is said."""
        values = parameter.schema.get("enum")
        if isinstance(values, list | tuple):
            return _said_first([each for each in values[:_ENUM] if isinstance(each, str)], self._told.text)
        if (
            parameter.form == "yes"
            and _said_first([" ".join(parameter.name)], self._told.text) is not _NOTHING
        ):
            return True
        return _NOTHING

    def _formed(self, parameter: Parameter) -> object:
        """Return what has the form that a parameter asks for."""
        found = {"mail": self._told.mails, "link": self._told.links}.get(parameter.form)
        if found is not None:
            match = next(self._told.matches(found), None)
            return _NOTHING if match is None else self._told.take(*match.span())
        if parameter.form not in ("date", "time", "phone"):
            return _NOTHING
        for token in self._told.numbers:
            value = _value(parameter, token)
            if value is not _NOTHING and self._told.free(token.start, token.end):
                self._told.take(token.start, token.end)
                return value
        return _NOTHING

    def _nearest(self) -> None:
        """Give each number and identifier to the parameter whose words stand nearest, and then the rest in order."""
        taking = [each for each in self._open() if each.form in ("count", "whole", "code")]
        near = [
            (points, -at_token, -at, each, token)
            for at_token, token in enumerate(self._told.numbers)
            for at, each in enumerate(taking)
            if _value(each, token) is not _NOTHING and (points := self._told.near(token, each.meant))
        ]
        near.sort(key=lambda each: each[:3], reverse=True)
        ordered = [
            (each, token)
            for token in self._told.numbers
            for each in taking
            if each.required and _value(each, token) is not _NOTHING
        ]
        for each, token in [*((each, token) for *_, each, token in near), *ordered]:
            if each.path not in self._found and self._told.free(token.start, token.end):
                self._told.take(token.start, token.end)
                self._keep(each, _value(each, token))

    def _free(self, parameter: Parameter) -> object:
        """Return words for what may be any."""
        if parameter.form not in ("text", "code"):
            return _NOTHING
        quoted = next(self._told.matches(self._told.quotes), None)
        if quoted is not None:
            self._told.take(*quoted.span())
            return quoted[1].strip() or _NOTHING
        if parameter.form == "code":
            return _NOTHING
        for token in self._told.numbers:
            if token.kind is Kind.IDENTIFIER and self._told.free(token.start, token.end):
                return self._told.take(token.start, token.end)
        place = self._told.after_colon() or self._told.name()
        return _NOTHING if place is None else self._told.take(*place) or _NOTHING

    def _fixed(self, parameter: Parameter) -> object:
        """Return what the schema itself says."""
        return parameter.schema.get("const", parameter.schema.get("default", _NOTHING))

    def _from_lines(self, lines: Iterable[str]) -> None:
        """Take what is still required from results, by its name."""
        for line in lines:
            path, colon, value = line.partition(": ")
            last = name_words(re.split(r"[./\[\]]", path.rstrip("]"))[-1])
            for each in self._open(required=True):
                if colon and last == each.name and each.form in ("text", "code", "mail", "phone", "date"):
                    self._keep(each, value.strip().strip('"') or _NOTHING)


def _value(parameter: Parameter, token: Token) -> object:
    """Return the argument that a number token is; _NOTHING where it is none of this parameter's."""
    form, kind = parameter.form, token.kind
    if form in ("count", "whole"):
        value = number(token, form == "whole")
        return value if value is not None and _within(parameter.schema, value) else _NOTHING
    if form == "date" and kind is Kind.DATE:
        return token.value if _ISO.fullmatch(token.value) else token.text
    as_written = {
        "date": (Kind.UNREAD,),
        "time": (Kind.TIME,),
        "phone": (Kind.PHONE,),
        "code": (Kind.IDENTIFIER, Kind.UNREAD, Kind.NUMBER),
    }
    if kind not in as_written.get(form, ()) or (kind in COUNTS and not token.text.isdigit()):
        return _NOTHING
    return token.value if form == "time" else token.text


def _within(schema: Mapping[str, Any], value: float) -> bool:
    least, most = schema.get("minimum"), schema.get("maximum")
    return not (isinstance(least, int | float) and value < least) and not (
        isinstance(most, int | float) and value > most
    )


def _said_first(values: Sequence[str], text: str) -> object:
    """Return the value that a text says first, word for word by their stems; the longest of several there."""
    said = [stems(word) for word in words(text)[:_WORDS]]
    any_of_it = frozenset().union(*said)
    best: tuple[int, int] | None = None
    found: object = _NOTHING
    for value in values:
        its = [stems(word) for word in name_words(value)]
        if not its or its[0].isdisjoint(any_of_it):
            continue
        for at in range(len(said) - len(its) + 1):
            if all(not one.isdisjoint(other) for one, other in zip(its, said[at:], strict=False)):
                if best is None or (at, -len(its)) < best:
                    best, found = (at, -len(its)), value
                break
    return found
