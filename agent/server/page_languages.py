"""Makes the modules with the languages of the pages and their texts, from `agent.lang`, when the server starts.

Names that come over the wire (codes, actions, fields) keep their spelling; the page's own become camel case, as its
scripts spell theirs.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ..lang import DEFAULT, LANGUAGES
from ..lang.language import Language
from ..lang.page import PageTexts

_STATUSES = {401: "locked", 404: "gone", 503: "unread"}
_CLOSE_CODES = {1001: "gone", 1008: "unwelcome", 1009: "too_long", 1011: "broken", 1012: "restarting"}


def make_script() -> bytes:
    """Return the module `/static/languages.js` as UTF-8: `LANGUAGES` and `DEFAULT`.

    `LANGUAGES` holds, by code, the name of a language, the page's words, and the lines that say where the text below
    them is quoted from.
    """
    languages = {
        code: {
            "name": language.name,
            "words": _words(language.page),
            "origins": [language.quoting.lead, language.quoting.bare_lead, language.quoting.remembered],
        }
        for code, language in LANGUAGES.items()
    }
    return _write_languages(languages)


def make_inbox_script() -> bytes:
    """Return the module `/static/inbox-languages.js`, as `make_script` does for the page of approvers."""
    return _write_words(lambda language: language.inbox)


def make_story_script() -> bytes:
    """Return the module `/static/story-languages.js`, as `make_script` does for the page of stories."""
    return _write_words(lambda language: language.story_page)


def _write_words(pick: Callable[[Language], Any]) -> bytes:
    languages = {
        code: {
            "name": language.name,
            "words": {_to_camel_case(name): value for name, value in asdict(pick(language)).items()},
        }
        for code, language in LANGUAGES.items()
    }
    return _write_languages(languages)


def _write_languages(languages: Mapping[str, Any]) -> bytes:
    text = json.dumps(languages, ensure_ascii=False)
    return f"export const LANGUAGES = {text};\nexport const DEFAULT = {json.dumps(DEFAULT)};\n".encode()


def _words(page: PageTexts) -> dict[str, Any]:
    texts = {_to_camel_case(name): value for name, value in asdict(page).items()}
    texts["close"] = {code: texts["close"][name] for code, name in _CLOSE_CODES.items()}
    texts["source"] |= {status: texts["source"][name] for status, name in _STATUSES.items()}
    return texts


def _to_camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)
