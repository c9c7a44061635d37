"""The answers to courtesies and statements: a language's fixed words, and the topics of the documents.

They cite nothing, so they name no topic with a number in it, in digits or in words.
"""

from collections.abc import Sequence
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.numbers.number_tokens import tokens
from agent.ports.brain import VerifiedText
from agent.text.courtesy import Courtesy

TOPICS: Final = 5
"""Most topics in one answer."""

_TOPIC: Final = 60  # characters of the longest


def answer_courtesy(kind: Courtesy, lang: Lang, topics: Sequence[str] = ()) -> VerifiedText:
    """Return the answer to a courtesy. `topics`: of the documents, the largest first."""
    told = [
        topic for topic in topics if len(topic) <= _TOPIC and topic.isprintable() and not has_number(topic)
    ]
    courtesies = LANGUAGES[lang].courtesies
    said = table(courtesies.replies)[kind]
    if told and kind != "thanks":
        said = "\n".join([f"{said} {courtesies.about}", *(f"• {topic}" for topic in told[:TOPICS])])
    return VerifiedText(text=said, citations=(), confidence=None)


def confirm_order(lang: Lang) -> VerifiedText:
    """Return the answer to an order to remember something; it repeats no word of the order."""
    return VerifiedText(text=LANGUAGES[lang].courtesies.noted, citations=(), confidence=None)


def explain_forgetting(lang: Lang) -> VerifiedText:
    """Return the answer to an order to forget something, which repeats no word of it and forgets nothing."""
    return VerifiedText(text=LANGUAGES[lang].courtesies.forgetting, citations=(), confidence=None)


def acknowledge_statement(lang: Lang) -> VerifiedText:
    """Return the answer to a statement without a question that no document is about; it repeats no word of it."""
    return VerifiedText(text=LANGUAGES[lang].courtesies.stated, citations=(), confidence=None)


def has_number(topic: str) -> bool:
    """Tell whether a topic has a number in it, of any script and in any words."""
    return any(letter.isnumeric() for letter in topic) or bool(tokens(topic))
