"""The answers to what is no question: fixed words, and what the documents are about.

They cite nothing, so no topic with a number in it is told, in digits or in words.
"""

from collections.abc import Sequence
from typing import Final

from agent.numbers.read import tokens
from agent.ports.brain import VerifiedText
from agent.ports.search import Lang
from agent.text.courtesy import Courtesy

TOPICS: Final = 5
"""Topics that are told at most."""

_TOPIC: Final = 60  # characters of the longest

_WORDS: Final[dict[Lang, dict[Courtesy, str]]] = {
    "en": {
        "greeting": "Hello! Ask me about anything that is in the documents here.",
        "thanks": "You are welcome. Ask again whenever you like.",
        "abilities": "I answer questions from the documents here, and show where the answer stands.",
    },
    "sv": {
        "greeting": "Hej! Fråga mig om det som står i dokumenten här.",
        "thanks": "Varsågod. Fråga gärna mer.",
        "abilities": "Jag svarar på frågor ur dokumenten här och visar var svaret står.",
    },
}
_ABOUT: Final[dict[Lang, str]] = {"en": "They are about:", "sv": "De handlar om:"}


def reply(what: Courtesy, lang: Lang, topics: Sequence[str] = ()) -> VerifiedText:
    """Return the answer to a courtesy. topics: what the documents are about, the largest first."""
    told = [topic for topic in topics if len(topic) <= _TOPIC and topic.isprintable() and not _counted(topic)]
    said = _WORDS[lang][what]
    if told and what != "thanks":
        said = "\n".join([f"{said} {_ABOUT[lang]}", *(f"• {topic}" for topic in told[:TOPICS])])
    return VerifiedText(said, (), "low")


def _counted(topic: str) -> bool:
    """Tell whether a topic has a number in it, of any script and in any words."""
    return any(letter.isnumeric() for letter in topic) or bool(tokens(topic))
