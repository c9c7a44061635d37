"""Recognises courtesies, which are not questions: greetings, thanks, and "what can you do?".

Strategy: a text is a courtesy when it consists only of courtesy phrases of one language (`agent.lang`). Phrases are
matched from the beginning of the text, the longest first. A text that continues after a greeting is a question; its
greeting and its thanks are removed, since they tell nothing about its subject. The patterns are linear in the text, and
a text longer than `_LONGEST` is no courtesy.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table

from .words import SMALL

Courtesy = Literal["greeting", "thanks", "abilities"]

_LONGEST: Final = 120  # characters of a text that can be a courtesy

_PRECEDENCE: Final[tuple[Courtesy, ...]] = ("abilities", "thanks", "greeting")
"""The order of precedence when a text has several courtesies."""

_BETWEEN: Final = r"[\W_]*"


@dataclass(frozen=True, slots=True)
class CourtesyMatch:
    """A recognised courtesy: its `kind`, and the language `lang` of its phrases."""

    kind: Courtesy
    lang: Lang


def _compile_whole(lang: Lang) -> re.Pattern[str]:
    """Return the pattern of a text that consists only of courtesies in `lang`, with a named group for each kind."""
    courtesies = LANGUAGES[lang].courtesies
    named = "|".join(f"(?P<{kind}>{phrases})" for kind, phrases in table(courtesies.heard).items())
    return re.compile(rf"(?:{_BETWEEN}(?:{named}|{courtesies.after})\b)+{_BETWEEN}", re.IGNORECASE)


def _pattern_of(kind: Courtesy) -> str:
    """Return a pattern for the courtesy `kind` in any language, with the words that may follow it."""
    return "|".join(
        f"(?:{table(each.courtesies.heard)[kind]})(?: (?:{each.courtesies.after}))?"
        for each in LANGUAGES.values()
    )


_WHOLE: Final = {lang: _compile_whole(lang) for lang in LANGUAGES}
_BEFORE: Final = re.compile(
    rf"\W*(?:{_pattern_of('greeting')})(?:\s*[,!:;]+\s*|(?:\.+|\s[–-])\s+|\s+(?-i:(?=[{SMALL}])))(?=\S)",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(rf"(?<=[.?!,])\s+(?:{_pattern_of('thanks')})\W*\Z", re.IGNORECASE)


def find_courtesy(text: str) -> CourtesyMatch | None:
    """Return the courtesy that the whole of `text` consists of, or None for a question."""
    if len(text) > _LONGEST:
        return None
    for lang, whole in _WHOLE.items():
        match = whole.fullmatch(text)
        if match is None:
            continue
        for kind in _PRECEDENCE:
            if match[kind] is not None:
                return CourtesyMatch(kind, lang)
    return None


def strip_courtesies(text: str) -> str:
    """Return a question without the greeting before it and the thanks after it."""
    greeting = _BEFORE.match(text)
    rest = text[greeting.end() :] if greeting is not None else text
    ending = max(0, len(rest) - _LONGEST)
    end = _BEHIND.search(rest, ending)
    return (rest[: end.start()] if end is not None else rest).strip() or text
