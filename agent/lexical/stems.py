"""Stems words, with one stemmer for each language (Snowball, in tantivy), named by `agent.lang`.

Strategy: a call of the stemmer takes several times as long as stemming a word, so the words of a file are stemmed
together, as a text. Of words other than plain ones, such as "don't", the stemmer would make two words.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import filterfalse
from threading import Lock
from typing import cast

import tantivy

from agent.lang import LANGUAGES, Lang

_KEPT = 20_000  # cached stems
_TOGETHER = 1_000  # words that are stemmed with one call, well under 1 ms
_NOT_PLAIN = re.compile("[^ 0-9a-zß-öø-ÿ]")
_one_at_a_time = Lock()  # an analyzer is not thread-safe


@cache
def _analyzer(lang: Lang) -> Callable[[str], list[str]]:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    analyzer = builder.filter(tantivy.Filter.stemmer(LANGUAGES[lang].searching.stemmer)).build()
    return cast(Callable[[str], list[str]], analyzer.analyze)


@lru_cache(maxsize=_KEPT)
def stem(lang: Lang, word: str) -> str:
    """Return the stem of a folded word in `lang`, or the word itself where `lang` has no stemmer. Thread-safe."""
    if not LANGUAGES[lang].searching.stemmer:
        return word
    with _one_at_a_time:
        return (_analyzer(lang)(word.removesuffix("'s")) or [word])[0]


def stem_words(lang: Lang, words: Sequence[str]) -> list[str]:
    """Return what `stem` returns for each of `words`, at a fraction of the cost. Thread-safe."""
    if not LANGUAGES[lang].searching.stemmer:
        return list(words)
    stems: list[str] = []
    for at in range(0, len(words), _TOGETHER):
        some = words[at : at + _TOGETHER]
        text = " ".join(some)
        if _NOT_PLAIN.search(text) or "" in some:
            plain = [word for word in some if word and not _NOT_PLAIN.search(word)]
            made = dict(zip(plain, _stem_text(lang, " ".join(plain)), strict=True))
            stems += [made[word] if word in made else stem(lang, word) for word in some]
        else:
            stems += _stem_text(lang, text)
    return stems


def _stem_text(lang: Lang, text: str) -> list[str]:
    with _one_at_a_time:
        return _analyzer(lang)(text)


def stem_keys(word: str) -> tuple[str, ...]:
    """Return the keys by which a folded word is compared: its stem in each language, after the language's code."""
    return tuple([f"{lang} {stem(lang, word)}" for lang in LANGUAGES])


def stem_keys_of(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what `stem_keys` returns for each of `words`."""
    return list(
        zip(*[[f"{lang} {each}" for each in stem_words(lang, words)] for lang in LANGUAGES], strict=True)
    )


class StemTable:
    """The stems of many words in one language, kept for as long as an index is built. For one thread."""

    def __init__(self, lang: Lang) -> None:
        self._lang = lang
        self._stems: dict[str, str] = {}

    def find_stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each of `words`."""
        new = list(filterfalse(self._stems.__contains__, words))
        self._stems.update(zip(new, stem_words(self._lang, new), strict=True))
        return list(map(self._stems.__getitem__, words))
