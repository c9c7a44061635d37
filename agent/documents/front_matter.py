"""Reads front matter: the fields before a page's text (YAML between ---, TOML between +++).

Strategy: only a title, a description and a language are looked for, and only as texts of the outermost level. Of
YAML, the lines of those keys alone are parsed, so that no other content can break or burden the reading. Front matter
that cannot be parsed is skipped; it never becomes text.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from agent.lang import LANGUAGES

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TITLE = tuple(dict.fromkeys(key for each in LANGUAGES.values() for key in each.filing.title))
_DESCRIPTION = tuple(dict.fromkeys(key for each in LANGUAGES.values() for key in each.filing.description))
_LANG = tuple(dict.fromkeys(key for each in LANGUAGES.values() for key in each.filing.lang))
_LINES = 500  # of a front matter; a longer block is text
_VALUE = 4_096  # characters of one key's lines
_TOML = 32_768
_NESTING = 32
_KEY = re.compile(r"[\"']?([^\W\d_][\w .-]{0,60}?)[\"']?[ \t]*:(?:[ \t]+(.*))?$")
_PLAIN = re.compile(r"[^\W_][^:#\[\]{}&*!|>'\"%@`\\]*")
_QUOTED = re.compile(r'"([^"\\]*)"|\'([^\']*)\'')
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")


@dataclass(frozen=True, slots=True)
class Front:
    """The fields that were found, "" for a missing one. `after`: the number of lines that the front matter takes."""

    title: str = ""
    description: str = ""
    lang: str = ""
    after: int = 0


def front_matter(lines: Sequence[str]) -> Front:
    """Read the front matter at the beginning of `lines`; `Front()` when there is none. Never raises."""
    fence = lines[0].rstrip() if lines else ""
    if fence not in ("---", "+++"):
        return Front()
    ends = ("---", "...") if fence == "---" else ("+++",)
    end = next((at for at in range(1, min(len(lines), _LINES)) if lines[at].rstrip() in ends), 0)
    inside = lines[1:end]
    if not end or not _looks_like_one(inside, fence):
        return Front()
    found = _yaml(inside) if fence == "---" else _toml(inside)
    return Front(
        _first(found, _TITLE),
        _first(found, _DESCRIPTION),
        language_of(_first(found, _LANG)),
        end + 1,
    )


def language_of(tag: str) -> str:
    """Return the language of a tag such as "sv-SE" in lower case, "" for an invalid tag."""
    match = _LANGUAGE.match(tag.strip())
    return match.group().lower() if match else ""


def _looks_like_one(inside: Sequence[str], fence: str) -> bool:
    """Return whether the lines between two fences are data rather than text between two rules."""
    for line in inside:
        if line.strip() and not line.lstrip().startswith("#"):
            return bool(_KEY.match(line)) if fence == "---" else "=" in line or line.startswith("[")
    return True


def _yaml(inside: Sequence[str]) -> dict[str, str]:
    """Return the texts of the wanted keys of the outermost level."""
    found: dict[str, str] = {}
    at = 0
    while at < len(inside):
        match = _KEY.match(inside[at])
        begin, at = at, at + 1
        while at < len(inside) and (not inside[at].strip() or inside[at][0] in " \t"):
            at += 1
        if match:
            key = match[1].lower()
            if key in (*_TITLE, *_DESCRIPTION, *_LANG) and key not in found:
                found[key] = _value((match[2] or "").strip(), inside[begin + 1 : at])
    return found


def _value(rest: str, more: Sequence[str]) -> str:
    """Return the text of one key's value, "" when it is not a text."""
    source = "\n".join([f"k: {rest}", *more])
    if len(source) > _VALUE or sum(map(source.count, "[{-?")) > _NESTING * 4:
        return ""
    if not any(line.strip() for line in more):  # nearly all values are on one line and need no YAML parser
        if _PLAIN.fullmatch(rest):
            return rest
        quoted = _QUOTED.fullmatch(rest)
        if quoted:
            return quoted[1] or quoted[2] or ""
    try:
        read = yaml.load(source, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return ""
    value = read.get("k") if isinstance(read, dict) else None
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _toml(inside: Sequence[str]) -> Mapping[str, object]:
    source = "\n".join(inside)
    if len(source) > _TOML or any(source.count(mark) > _NESTING * 16 for mark in "[{."):
        return {}
    try:
        read = tomllib.loads(source)
    except (ValueError, RecursionError):
        return {}
    return {key.lower(): value for key, value in read.items()}


def _first(found: Mapping[str, object], keys: Sequence[str]) -> str:
    """Return the text of the first of `keys` that has one, on one line."""
    texts = (found.get(key) for key in keys)
    return next((" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()), "")
