"""Reads the parameters of a tool from its schema: their names, and the kind of value that each holds; pure.

Strategy: anyone may write a schema, so unknown parts of it are skipped, and references are followed `_HOPS` times only,
since they may lead in circles. A parameter's kind follows from its type and format, else from the words of its name
(`agent.lang`): `order_id` is compared letter by letter, `to_email` is an address.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ..lang import LANGUAGES
from ..text.words import FUNCTION_WORDS, split_words
from .named_tools import Stems, name_words, stems

_DEEP = 4  # objects in objects that are filled in
_PARAMETERS = 48  # of one tool that are read, with the objects around them
_HOPS = 8  # of references in a schema
_ASIDE = re.compile(r"[,;:(\n]|[.!?](?=\s|\Z)|\s[-–—]\s")  # ends the first phrase of a description
_CODE_LEAST = 3  # letters of a word that another may end with ("ordernummer")


def _join_languages(pick: Callable[[Any], frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(pick(language) for language in LANGUAGES.values()))


_MAIL = _join_languages(lambda each: each.deciding.mail)
_DATES = _join_languages(lambda each: each.deciding.dates)
_TIMES = _join_languages(lambda each: each.deciding.times)
_CODES = _join_languages(lambda each: each.deciding.codes)
_PHONES = _join_languages(lambda each: each.acting.calling.phones) - _CODES


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool.

    `path`: the names that lead to it. `required`: a call must have it. `form`: the kind of its value: `listed`,
    `whole`, `count`, `yes`, `mail`, `link`, `phone`, `date`, `time`, `code`, `text` or `other`. `stems`: of the words
    of its name and description.
    """

    path: tuple[str, ...]
    schema: Mapping[str, Any]
    required: bool
    form: str
    stems: Stems

    @property
    def name(self) -> list[str]:
        """The words of its own name, the last of `path`."""
        return name_words(self.path[-1])


def find_parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters of a tool in the order of `schema`, a JSON Schema of an object."""
    return list(_walk_parameters(schema, schema, (), True, iter(range(_PARAMETERS))))


def _walk_parameters(
    root: Mapping[str, Any],
    schema: Mapping[str, Any],
    path: tuple[str, ...],
    required: bool,
    visits: Iterator[int],
) -> Iterator[Parameter]:
    """Yield the parameters of an object and of the objects in it. `visits`: ends after `_PARAMETERS` steps."""
    needed = schema.get("required")
    needed = needed if isinstance(needed, list | tuple) else ()
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(path) >= _DEEP:
        return
    for (name, given), _ in zip(properties.items(), visits, strict=False):
        resolved = _resolve_schema(root, given)
        here = (*path, str(name))
        must = required and name in needed
        if isinstance(resolved.get("properties"), Mapping):
            yield from _walk_parameters(root, resolved, here, must, visits)
            continue
        description = resolved.get("description")
        name_and_description = [
            *name_words(here[-1]),
            *split_words(description if isinstance(description, str) else ""),
        ]
        all_stems = frozenset().union(
            *(stems(word) for word in name_and_description if word not in FUNCTION_WORDS),
            *(stems(word) for word in name_words(here[-1])),
        )
        yield Parameter(here, resolved, must, _form_of(here[-1], resolved), all_stems)


def _resolve_schema(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Return `schema` with references within the document resolved, and the first alternative that is not null."""
    for _ in range(_HOPS):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        choices = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(reference, str) and reference.startswith("#/"):
            target: Any = root
            for step in reference[2:].split("/"):
                target = target.get(step) if isinstance(target, Mapping) else None
            schema = target
        elif isinstance(choices, list | tuple) and choices:
            beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            first = next(
                (each for each in choices if isinstance(each, Mapping) and each.get("type") != "null"), {}
            )
            schema = {**beside, **first}
        else:
            return schema
    return {}


@lru_cache(maxsize=4096)
def _form_of_name(name: str) -> str:
    """Return the form that the words of a parameter's name suggest."""
    words_of_name = name_words(name)
    if not _MAIL.isdisjoint(words_of_name):
        return "mail"
    if not _PHONES.isdisjoint(words_of_name):
        return "phone"
    if words_of_name and any(
        word in _CODES or any(word.endswith(code) for code in _CODES if len(code) >= _CODE_LEAST)
        for word in words_of_name[-1:]
    ):
        return "code"
    if not _DATES.isdisjoint(words_of_name):
        return "date"
    return "time" if not _TIMES.isdisjoint(words_of_name) else "text"


_FORMATS: Final = {
    "email": "mail", "idn-email": "mail", "uri": "link", "url": "link", "date": "date", "date-time": "date",
    "time": "time", "phone": "phone", "uuid": "code",
}  # fmt: skip


def _form_of(name: str, schema: Mapping[str, Any]) -> str:
    """Return the form of a parameter."""
    kind = schema.get("type", "string")
    if isinstance(kind, list | tuple):
        kind = next((each for each in kind if each != "null"), "string")
    if "enum" in schema or "const" in schema:
        return "listed"
    simple = {"integer": "whole", "number": "count", "boolean": "yes"}
    if kind != "string":
        return simple.get(kind, "other") if isinstance(kind, str) else "other"
    form = schema.get("format")
    if isinstance(form, str) and form in _FORMATS:
        return _FORMATS[form]
    description = schema.get("description")
    suggested = _form_of_name(name)
    if suggested == "text" and isinstance(description, str):
        last = split_words(first_phrase(description))[-1:]
        return "code" if last and last[0] in _CODES else suggested
    return suggested


def first_phrase(description: str) -> str:
    """Return the first phrase of a description, before any detail, on one line."""
    return " ".join(_ASIDE.split(description, maxsplit=1)[0].split())
