"""What people say to a server that is no question: greetings, thanks, and what it can do.

Strategy: a text is a courtesy when all of it is made of the phrases below, which are looked for from its beginning,
the longest first. One that goes on is a question, and loses the greeting before it and the thanks after it, which say
nothing of what is looked for. Linear in the text, and a long text is no courtesy.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from agent.ports.search import Lang

Courtesy = Literal["greeting", "thanks", "abilities"]

_LONGEST: Final = 120  # characters of a text that can be a courtesy

_PHRASES: Final[dict[Lang, dict[Courtesy, str]]] = {
    "en": {
        "greeting": "hello|hi|hey|hiya|greetings|good (?:morning|afternoon|evening|day)",
        "thanks": "thanks|thank you|thank u|thx|cheers|many thanks|bye|goodbye",
        "abilities": "what can (?:you|i) (?:do|help (?:me )?with|ask(?: you)?(?: about)?|answer|tell me)"
        "|what do you (?:do|know)(?: about)?|how can you help(?: me)?|who are you|what are you|help(?: me)?",
    },
    "sv": {
        "greeting": "hej|hejsan|hallå|halloj|tja|tjena|tjenare|god(?: )?(?:morgon|dag|kväll|eftermiddag)",
        "thanks": "tack|tackar|hej ?då|adjö",
        "abilities": "vad kan (?:du|jag) (?:göra|hjälpa (?:mig |till )?med|fråga(?: dig)?(?: om)?|svara på|berätta)"
        "|vad kan du|vad vet du|vad gör du|hur kan du hjälpa(?: mig| till)?|vem är du|vad är du|hjälp(?: mig)?",
    },
}
_AFTER: Final[dict[Lang, str]] = {
    "en": "there|again|all|everyone|everybody|very much|so much|a lot|for (?:your|the) help|please|to you",
    "sv": "där|igen|och bockar|alla|allihopa|på dig|på er|så mycket|snälla|för hjälpen|för (?:din|er) hjälp|till dig",
}
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
    named = "|".join(f"(?P<{what}>{phrases})" for what, phrases in _PHRASES[lang].items())
    return re.compile(rf"(?:{_BETWEEN}(?:{named}|{_AFTER[lang]})\b)+{_BETWEEN}", re.IGNORECASE)


def _both(what: Courtesy) -> str:
    return "|".join(f"(?:{phrases[what]})(?: (?:{_AFTER[lang]}))?" for lang, phrases in _PHRASES.items())


_WHOLE: Final = {lang: _whole(lang) for lang in _PHRASES}
_BEFORE: Final = re.compile(
    rf"\W*(?:{_both('greeting')})(?:\s*[,!:;]+\s*|(?:\.+|\s[–-])\s+|\s+(?-i:(?=[a-zåäö])))(?=\S)",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(rf"(?<=[.?!,])\s+(?:{_both('thanks')})\W*\Z", re.IGNORECASE)


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
