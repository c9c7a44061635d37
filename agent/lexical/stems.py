"""Stems words, with one stemmer for each language (Snowball, in tantivy), named by `agent.lang`."""

from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock
from typing import cast

import tantivy

from agent.lang import LANGUAGES, Lang

_KEPT = 20_000  # cached stems
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


def stem_keys(word: str) -> tuple[str, ...]:
    """Return the keys by which a folded word is compared: its stem in each language, after the language's code."""
    return tuple([f"{lang} {stem(lang, word)}" for lang in LANGUAGES])
