"""Finds the words of a text that carry its subject: neither function words nor words listed as empty (`agent.lang`)."""

from agent.lang import LANGUAGES, Lang
from agent.text.words import FUNCTION_WORDS, split_words

from .stems import stem

WORD_MAX = 40
"""Letters of a word that are read; the rest is cut off."""


def is_function_word(word: str) -> bool:
    """Tell whether a folded word carries grammar only, in any language."""
    return word in FUNCTION_WORDS


def stop_words(lang: Lang) -> frozenset[str]:
    """Return the words of `lang` that say nothing about the subject of a question."""
    return LANGUAGES[lang].searching.empty_words


def subject_words(text: str, lang: Lang) -> list[str]:
    """Return the folded words of `text` that carry its subject, each cut to `WORD_MAX` letters.

    Left out are function words, words listed as empty in `lang`, and single letters.
    """
    empty = stop_words(lang)
    return [
        word[:WORD_MAX]
        for word in split_words(text)
        if not (is_function_word(word) or word in empty or (len(word) == 1 and word.isalpha()))
    ]


def subject_stems(text: str, lang: Lang) -> frozenset[str]:
    """Return the stems of the words of `text` that carry its subject."""
    return frozenset(stem(lang, word) for word in subject_words(text, lang))
