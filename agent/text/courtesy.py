"""What people say to a server that is no question: greetings, thanks, and what it can do.

Strategy: a text is a courtesy when all of it is made of the phrases of one language (`agent.lang`), which are looked
for from its beginning, the longest first. One that goes on is a question, and loses the greeting before it and the
thanks after it, which say nothing of what is looked for. Linear in the text, and a long text is no courtesy.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table

from .words import SMALL

Courtesy = Literal["greeting", "thanks", "abilities"]

_LONGEST: Final = 120  # characters of a text that can be a courtesy

_LAST: Final[tuple[Courtesy, ...]] = ("abilities", "thanks", "greeting")
"""Which one counts when a text has several."""

_BETWEEN: Final = r"[\W_]*"


@dataclass(frozen=True, slots=True)
class Said:
    """A courtesy, and the language it was said in."""

    what: Courtesy
    lang: Lang


def _whole(lang: Lang) -> re.Pattern[str]:
    """Return what matches a text that is nothing but courtesies in one language."""
    courtesies = LANGUAGES[lang].courtesies
    named = "|".join(f"(?P<{what}>{phrases})" for what, phrases in table(courtesies.heard).items())
    return re.compile(rf"(?:{_BETWEEN}(?:{named}|{courtesies.after})\b)+{_BETWEEN}", re.IGNORECASE)


def _any(what: Courtesy) -> str:
    """Return what matches a courtesy of one kind in any language, and what may follow it."""
    return "|".join(
        f"(?:{table(each.courtesies.heard)[what]})(?: (?:{each.courtesies.after}))?"
        for each in LANGUAGES.values()
    )


_WHOLE: Final = {lang: _whole(lang) for lang in LANGUAGES}
_BEFORE: Final = re.compile(
    rf"\W*(?:{_any('greeting')})(?:\s*[,!:;]+\s*|(?:\.+|\s[–-])\s+|\s+(?-i:(?=[{SMALL}])))(?=\S)",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(rf"(?<=[.?!,])\s+(?:{_any('thanks')})\W*\Z", re.IGNORECASE)


def courtesy(text: str) -> Said | None:
    """Return which courtesy a text is; None for a question."""
    if len(text) > _LONGEST:
        return None
    for lang, whole in _WHOLE.items():
        match = whole.fullmatch(text)
        for what in _LAST if match is not None else ():
            if match is not None and match[what] is not None:
                return Said(what, lang)
    return None


def without(text: str) -> str:
    """Return a question without the greeting before it and the thanks after it."""
    begun = _BEFORE.match(text)
    rest = text[begun.end() :] if begun is not None else text
    ending = max(0, len(rest) - _LONGEST)
    end = _BEHIND.search(rest, ending)
    return (rest[: end.start()] if end is not None else rest).strip() or text
