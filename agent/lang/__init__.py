"""The languages that the server speaks: one folder each, found at import.

To add a language, add a folder: `agent/lang/da/`, named by its two letters (ISO 639-1), whose `__init__.py` builds a
`LANGUAGE = Language(...)` as those of `en` and `sv` do. The record `Language` (`agent.lang.language`) states the fields
it must have, and the type checker reports missing ones. No other module names a language: the wire's values, the
settings, the command line, the page, the index, the language of a text and the numbers in it all follow from
`LANGUAGES`. Number words and units (`agent.lang.counting`) are read in every text of any language, since a
text may quote another language.

Strategy: the folders in this package's path are imported once, in the order of their codes, so that the same folders
give the same patterns and the same wire. They hold data only, and import nothing but the records.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from .language import Language


def load_languages(path: Iterable[str]) -> Mapping[str, Language]:
    """Load the languages with a folder in `path`, by code and in that order.

    Raises `TypeError` for a folder without a `LANGUAGE` of type `Language`, and `ValueError` when its `code` is not the
    folder's name.
    """
    languages: dict[str, Language] = {}
    for module in sorted(pkgutil.iter_modules(path), key=lambda module: module.name):
        if not module.ispkg:
            continue
        folder = importlib.import_module(f"{__name__}.{module.name}")
        language = getattr(folder, "LANGUAGE", None)
        if not isinstance(language, Language):
            raise TypeError(f"agent/lang/{module.name}/__init__.py must say LANGUAGE = Language(...)")
        if language.code != module.name:
            raise ValueError(
                f"agent/lang/{module.name} holds the language {language.code}: give both one name"
            )
        languages[language.code] = language
    return MappingProxyType(languages)


LANGUAGES: Final = load_languages(__path__)
"""All languages, by code."""

DEFAULT: Final = "en"
"""The language of texts that do not show theirs, unless a setting names another."""

if TYPE_CHECKING:
    Lang: TypeAlias = str
else:
    Lang = Literal[tuple(LANGUAGES)]
"""The code of a language. At run time the codes there are, so that the wire and the command line take no other."""


def either() -> str:
    """Return the codes as a sentence offers them: "en or sv"."""
    *others, last = LANGUAGES
    return f"{', '.join(others)} or {last}" if others else last
