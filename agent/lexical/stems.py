"""The stems that words are compared by, one stemmer a language (Snowball, as tantivy has it), named by `agent.lang`."""

from collections.abc import Callable
from functools import cache, lru_cache
from threading import Lock
from typing import cast

import tantivy

from agent.lang import LANGUAGES, Lang

_KEPT = 20_000  # words whose stems are kept
_one_at_a_time = Lock()  # an analyzer is for one thread


@cache
def _analyzer(lang: Lang) -> Callable[[str], list[str]]:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    analyzer = builder.filter(tantivy.Filter.stemmer(LANGUAGES[lang].searching.stemmer)).build()
    return cast(Callable[[str], list[str]], analyzer.analyze)


@lru_cache(maxsize=_KEPT)
def stem(lang: Lang, word: str) -> str:
    """Return the stem of a folded word of one language, the word where it has no stemmer. For any thread."""
    if not LANGUAGES[lang].searching.stemmer:
        return word
    with _one_at_a_time:
        return (_analyzer(lang)(word.removesuffix("'s")) or [word])[0]


def stems(word: str) -> tuple[str, ...]:
    """Return what a folded word is compared by: its stem in each language, after the language's name."""
    return tuple([f"{lang} {stem(lang, word)}" for lang in LANGUAGES])
