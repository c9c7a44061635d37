"""Picks the arguments of a call from a user's words, by the schema of its parameters; pure.

Strategy: the surest evidence goes first, for all parameters, before the next kind is tried: a value behind a
parameter's name ("city: Lund"); words of an enum; values with a form of their own (an address, a link, a phone number,
a date, a time); then numbers and identifiers, each to the parameter whose words stand nearest, and the rest in order.
Last, a required free parameter takes text in quotation marks, an identifier, the text behind a colon, or a name. An
optional parameter takes only values that are surely meant for it. This module does not decide whether the arguments are
valid: their checker does, and `agent.tools.sources` asks where they come from.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..numbers.number_tokens import Kind, NumberToken
from ..text.words import split_words
from .named_tools import name_words, stems
from .parameters import Parameter, find_parameters
from .values import COUNTS, TextValues, number_of

_ENUM = 256  # values of an enum that are looked for ...
_WORDS = 600  # ... in so many words
_NOTHING: Final = object()
_ISO = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class PickedArguments:
    """The arguments that could be picked, and the first required parameter without a value."""

    arguments: Mapping[str, Any]
    missing: Parameter | None


def pick_arguments(parameters: Mapping[str, Any], text: str, lines: Iterable[str] = ()) -> PickedArguments:
    """Return the arguments of a call.

    `parameters`: JSON Schema of an object. `text`: the user's words, composed. `lines`: of results, `path: value`, from
    which a required argument may be taken by its name when the user's words do not hold it.
    """
    return _ArgumentPicker(parameters, text).pick(lines)


class _ArgumentPicker:
    """Picks the arguments of one call."""

    def __init__(self, parameters: Mapping[str, Any], text: str) -> None:
        self._text = TextValues(text)
        self._values: dict[tuple[str, ...], Any] = {}
        self._parameters = find_parameters(parameters)

    def pick(self, lines: Iterable[str]) -> PickedArguments:
        """Return the picked arguments."""
        for step in (self._find_by_name, self._find_enum_value, self._find_by_form):
            for each in self._open_parameters():
                self._set_value(each, step(each))
        self._assign_nearest()
        for each in self._open_parameters(required=True):
            self._set_value(each, self._find_free_text(each))
        for each in self._open_parameters(required=True):
            self._set_value(each, self._schema_value(each))
        if self._open_parameters(required=True):
            self._fill_from_lines(lines)
        missing = next(iter(self._open_parameters(required=True)), None)
        arguments: dict[str, Any] = {}
        for each in self._parameters:
            if each.path in self._values:
                inside = arguments
                for name in each.path[:-1]:
                    inside = inside.setdefault(name, {})
                inside[each.path[-1]] = self._values[each.path]
        return PickedArguments(arguments, missing)

    def _open_parameters(self, required: bool = False) -> list[Parameter]:
        """Return the parameters without a value, required ones first."""
        missing = [each for each in self._parameters if each.path not in self._values]
        return [each for each in missing if each.required] + (
            [] if required else [each for each in missing if not each.required]
        )

    def _set_value(self, parameter: Parameter, value: object) -> None:
        if value is not _NOTHING:
            self._values[parameter.path] = value

    def _find_by_name(self, parameter: Parameter) -> object:
        """Return the value that is said with a parameter's name."""
        place = self._text.find_after_name(parameter.name)
        if place is None or not self._text.is_free(*place):
            return _NOTHING
        if parameter.form in ("count", "whole", "code", "date", "time", "phone"):
            for token in self._text.numbers:
                if place[0] <= token.start and token.end <= place[1]:
                    value = _convert_token(parameter, token)
                    if value is not _NOTHING:
                        self._text.take_span(token.start, token.end)
                        return value
        if parameter.form in ("text", "code"):
            return self._text.take_span(*place) or _NOTHING
        return _NOTHING

    def _find_enum_value(self, parameter: Parameter) -> object:
        """Return the value of an enum that is said; for a yes or no, True when the name is said."""
        values = parameter.schema.get("enum")
        if isinstance(values, list | tuple):
            return _find_first_value(
                [each for each in values[:_ENUM] if isinstance(each, str)], self._text.text
            )
        if (
            parameter.form == "yes"
            and _find_first_value([" ".join(parameter.name)], self._text.text) is not _NOTHING
        ):
            return True
        return _NOTHING

    def _find_by_form(self, parameter: Parameter) -> object:
        """Return a value that has the form of a parameter."""
        matches = {"mail": self._text.mails, "link": self._text.links}.get(parameter.form)
        if matches is not None:
            match = next(self._text.free_matches(matches), None)
            return _NOTHING if match is None else self._text.take_span(*match.span())
        if parameter.form not in ("date", "time", "phone"):
            return _NOTHING
        for token in self._text.numbers:
            value = _convert_token(parameter, token)
            if value is not _NOTHING and self._text.is_free(token.start, token.end):
                self._text.take_span(token.start, token.end)
                return value
        return _NOTHING

    def _assign_nearest(self) -> None:
        """Give each number and identifier to the parameter whose words stand nearest, and then the rest in order."""
        candidates = [each for each in self._open_parameters() if each.form in ("count", "whole", "code")]
        near = [
            (points, -at_token, -at, each, token)
            for at_token, token in enumerate(self._text.numbers)
            for at, each in enumerate(candidates)
            if _convert_token(each, token) is not _NOTHING
            and (points := self._text.score_nearness(token, each.stems))
        ]
        near.sort(key=lambda each: each[:3], reverse=True)
        ordered = [
            (each, token)
            for token in self._text.numbers
            for each in candidates
            if each.required and _convert_token(each, token) is not _NOTHING
        ]
        for each, token in [*((each, token) for *_, each, token in near), *ordered]:
            if each.path not in self._values and self._text.is_free(token.start, token.end):
                self._text.take_span(token.start, token.end)
                self._set_value(each, _convert_token(each, token))

    def _find_free_text(self, parameter: Parameter) -> object:
        """Return words for a parameter that takes any text."""
        if parameter.form not in ("text", "code"):
            return _NOTHING
        quoted = next(self._text.free_matches(self._text.quotes), None)
        if quoted is not None:
            self._text.take_span(*quoted.span())
            return quoted[1].strip() or _NOTHING
        if parameter.form == "code":
            return _NOTHING
        for token in self._text.numbers:
            if token.kind is Kind.IDENTIFIER and self._text.is_free(token.start, token.end):
                return self._text.take_span(token.start, token.end)
        place = self._text.find_after_colon() or self._text.find_name()
        return _NOTHING if place is None else self._text.take_span(*place) or _NOTHING

    def _schema_value(self, parameter: Parameter) -> object:
        """Return the `const` or `default` of the schema."""
        return parameter.schema.get("const", parameter.schema.get("default", _NOTHING))

    def _fill_from_lines(self, lines: Iterable[str]) -> None:
        """Take arguments that are still required from the lines of results, by their names."""
        for line in lines:
            path, colon, value = line.partition(": ")
            last = name_words(re.split(r"[./\[\]]", path.rstrip("]"))[-1])
            for each in self._open_parameters(required=True):
                if colon and last == each.name and each.form in ("text", "code", "mail", "phone", "date"):
                    self._set_value(each, value.strip().strip('"') or _NOTHING)


def _convert_token(parameter: Parameter, token: NumberToken) -> object:
    """Return the argument that a number token gives; `_NOTHING` when it does not fit the parameter."""
    form, kind = parameter.form, token.kind
    if form in ("count", "whole"):
        value = number_of(token, form == "whole")
        return value if value is not None and _is_within_bounds(parameter.schema, value) else _NOTHING
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


def _is_within_bounds(schema: Mapping[str, Any], value: float) -> bool:
    least, most = schema.get("minimum"), schema.get("maximum")
    return not (isinstance(least, int | float) and value < least) and not (
        isinstance(most, int | float) and value > most
    )


def _find_first_value(values: Sequence[str], text: str) -> object:
    """Return the value that a text names first, word for word by stems; the longest of several at one place."""
    text_stems = [stems(word) for word in split_words(text)[:_WORDS]]
    all_stems = frozenset().union(*text_stems)
    best: tuple[int, int] | None = None
    first: object = _NOTHING
    for value in values:
        value_stems = [stems(word) for word in name_words(value)]
        if not value_stems or value_stems[0].isdisjoint(all_stems):
            continue
        for at in range(len(text_stems) - len(value_stems) + 1):
            if all(
                not value_stem.isdisjoint(text_stem)
                for value_stem, text_stem in zip(value_stems, text_stems[at:], strict=False)
            ):
                if best is None or (at, -len(value_stems)) < best:
                    best, first = (at, -len(value_stems)), value
                break
    return first
