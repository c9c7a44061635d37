"""The answers to what is no question: a language's fixed words, and what the documents are about.

They cite nothing, so no topic with a number in it is told, in digits or in words.
"""

from collections.abc import Sequence
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.numbers.read import tokens
from agent.ports.brain import VerifiedText
from agent.text.courtesy import Courtesy

TOPICS: Final = 5
"""Topics that are told at most."""

_TOPIC: Final = 60  # characters of the longest


def reply(what: Courtesy, lang: Lang, topics: Sequence[str] = ()) -> VerifiedText:
    """Return the answer to a courtesy. topics: what the documents are about, the largest first."""
    told = [topic for topic in topics if len(topic) <= _TOPIC and topic.isprintable() and not counted(topic)]
    courtesies = LANGUAGES[lang].courtesies
    said = table(courtesies.replies)[what]
    if told and what != "thanks":
        said = "\n".join([f"{said} {courtesies.about}", *(f"• {topic}" for topic in told[:TOPICS])])
    return VerifiedText(said, (), "low")


def noted(lang: Lang) -> VerifiedText:
    """Return the answer to the order to remember something: it repeats nothing of it."""
    return VerifiedText(LANGUAGES[lang].courtesies.noted, (), "low")


def stated(lang: Lang) -> VerifiedText:
    """Return the answer to what asks nothing, and is in no document: it repeats nothing of it."""
    return VerifiedText(LANGUAGES[lang].courtesies.stated, (), "low")


def counted(topic: str) -> bool:
    """Tell whether a topic has a number in it, of any script and in any words."""
    return any(letter.isnumeric() for letter in topic) or bool(tokens(topic))
