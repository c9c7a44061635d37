"""Which words of a text carry its subject: neither grammar, nor what its language lists as empty (`agent.lang`)."""

from agent.lang import LANGUAGES, Lang
from agent.text.words import FUNCTION_WORDS, words

from .stems import stem

WORD_MAX = 40
"""Letters of a word that are read."""


def is_function_word(word: str) -> bool:
    """Return whether a folded word carries grammar only, in any language."""
    return word in FUNCTION_WORDS


def stop_words(lang: Lang) -> frozenset[str]:
    """Return the words of a language that say nothing about what a question is about."""
    return LANGUAGES[lang].searching.empty_words


def subject_words(text: str, lang: Lang) -> list[str]:
    """Return the folded words of a text that carry a subject, the beginnings of long ones.

    Those are neither function words, nor listed as empty in this language, nor single letters.
    """
    empty = stop_words(lang)
    return [
        word[:WORD_MAX]
        for word in words(text)
        if not (is_function_word(word) or word in empty or (len(word) == 1 and word.isalpha()))
    ]


def subject_stems(text: str, lang: Lang) -> frozenset[str]:
    """Return the stems of the words of a text that carry a subject."""
    return frozenset(stem(lang, word) for word in subject_words(text, lang))
