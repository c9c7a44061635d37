"""The script that gives the page its languages and their words, made from `agent.lang` when the server starts.

Strategy: names that come over the wire stay as they are (codes, actions, fields); the page's own are spelled as its
scripts spell theirs.
"""

import json
import re
from dataclasses import asdict
from typing import Any

from ..lang import DEFAULT, LANGUAGES
from ..lang.page import Page

_STATUSES = {401: "locked", 404: "gone", 503: "unread"}
_CLOSE_CODES = {1001: "gone", 1008: "unwelcome", 1009: "too_long", 1011: "broken", 1012: "restarting"}


def script() -> bytes:
    """Return the module `/static/languages.js`: LANGUAGES (a name and words by code) and DEFAULT, as UTF-8."""
    languages = {
        code: {"name": language.name, "words": _words(language.page)} for code, language in LANGUAGES.items()
    }
    text = json.dumps(languages, ensure_ascii=False)
    return f"export const LANGUAGES = {text};\nexport const DEFAULT = {json.dumps(DEFAULT)};\n".encode()


def _words(page: Page) -> dict[str, Any]:
    said = {_camel(name): value for name, value in asdict(page).items()}
    said["close"] = {code: said["close"][name] for code, name in _CLOSE_CODES.items()}
    said["source"] |= {status: said["source"][name] for status, name in _STATUSES.items()}
    return said


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)
