"""The word lists of retrieval: `stop_*.txt`, words that say nothing about what a question is about.

Lines that begin with # are comments. A file is read once, when first needed.
"""

from functools import cache
from pathlib import Path

from agent.ports.search import Lang
from agent.text.words import FUNCTION_WORDS, fold, words

from .stems import LANGS

WORD_MAX = 40
"""Letters of a word that are read."""

_HERE = Path(__file__).parent


def is_function_word(word: str) -> bool:
    """Return whether a folded word carries grammar only, in either language."""
    return word in FUNCTION_WORDS["en"] or word in FUNCTION_WORDS["sv"]


@cache
def stop_words(lang: Lang) -> frozenset[str]:
    """Return the words of a language that say nothing about what a question is about."""
    lines = (_HERE / f"stop_{lang}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in fold(line).split())


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


def read_tables() -> None:
    """Read the word lists, where blocking is allowed; a search finds them read."""
    for lang in LANGS:
        stop_words(lang)
