"""The parameters of a tool, as its schema has them: what each is called, and what kind of value it holds; pure.

Strategy: a schema is anybody's, so whatever is not understood in it is read over, and it is followed so far only, since
its references may lead in circles. What a parameter holds is told by its type and format, else by the words of its name
(`agent.lang`): `order_id` is compared letter by letter, `to_email` is an address.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ..lang import LANGUAGES
from ..text.words import FUNCTION_WORDS, words
from .choosing import Stems, name_words, stems

_DEEP = 4  # objects in objects that are filled in
_PARAMETERS = 48  # of one tool that are looked at, with objects that they stand in
_HOPS = 8  # of references in a schema
_ASIDE = re.compile(r"[,;:(\n]|[.!?](?=\s|\Z)|\s[-–—]\s")  # ends what a description says first
_CODE_LEAST = 3  # letters of a word that another may end with ("ordernummer")


def _of_all(pick: Callable[[Any], frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(pick(language) for language in LANGUAGES.values()))


_MAIL = _of_all(lambda each: each.deciding.mail)
_DATES = _of_all(lambda each: each.deciding.dates)
_TIMES = _of_all(lambda each: each.deciding.times)
_CODES = _of_all(lambda each: each.deciding.codes)
_PHONES = _of_all(lambda each: each.acting.calling.phones) - _CODES


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. path: the names that lead to it. required: a call must have it.

    form: what it holds: listed, whole, count, yes, mail, link, phone, date, time, code, text or other. meant: the words
    of its name and its description.
    """

    path: tuple[str, ...]
    schema: Mapping[str, Any]
    required: bool
    form: str
    meant: Stems

    @property
    def name(self) -> list[str]:
        """The words of its own name."""
        return name_words(self.path[-1])


def parameters_of(schema: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters of a tool, in the order of its schema, a JSON Schema of an object."""
    return list(_flat(schema, schema, (), True, iter(range(_PARAMETERS))))


def _flat(
    root: Mapping[str, Any],
    schema: Mapping[str, Any],
    path: tuple[str, ...],
    required: bool,
    visits: Iterator[int],
) -> Iterator[Parameter]:
    """Yield the parameters of an object, those of objects in it too. visits: gives out how many are looked at."""
    needed = schema.get("required")
    needed = needed if isinstance(needed, list | tuple) else ()
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(path) >= _DEEP:
        return
    for (name, given), _ in zip(properties.items(), visits, strict=False):
        its = _plain(root, given)
        here = (*path, str(name))
        must = required and name in needed
        if isinstance(its.get("properties"), Mapping):
            yield from _flat(root, its, here, must, visits)
            continue
        description = its.get("description")
        said = [*name_words(here[-1]), *words(description if isinstance(description, str) else "")]
        meant = frozenset().union(
            *(stems(word) for word in said if word not in FUNCTION_WORDS),
            *(stems(word) for word in name_words(here[-1])),
        )
        yield Parameter(here, its, must, _form(here[-1], its), meant)


def _plain(root: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """Return a schema without references within the document, and the first of several that is not null."""
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
def _holds(name: str) -> str:
    """Return what the words of a parameter's name say that it holds."""
    said = name_words(name)
    if not _MAIL.isdisjoint(said):
        return "mail"
    if not _PHONES.isdisjoint(said):
        return "phone"
    if said and any(
        word in _CODES or any(word.endswith(code) for code in _CODES if len(code) >= _CODE_LEAST)
        for word in said[-1:]
    ):
        return "code"
    if not _DATES.isdisjoint(said):
        return "date"
    return "time" if not _TIMES.isdisjoint(said) else "text"


_FORMATS: Final = {
    "email": "mail", "idn-email": "mail", "uri": "link", "url": "link", "date": "date", "date-time": "date",
    "time": "time", "phone": "phone", "uuid": "code",
}  # fmt: skip


def _form(name: str, schema: Mapping[str, Any]) -> str:
    """Return what a parameter holds."""
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
    said = schema.get("description")
    held = _holds(name)
    if held == "text" and isinstance(said, str):
        last = words(said_first(said))[-1:]
        return "code" if last and last[0] in _CODES else held
    return held


def said_first(description: str) -> str:
    """Return what a description says before it goes into detail, on one line."""
    return " ".join(_ASIDE.split(description, maxsplit=1)[0].split())
