"""Questions that go on from the one before them ("and the large one?"), and what is looked for then.

Strategy: a question that begins as one that goes on, or that stands on a word for something named before and says
little else, is looked for together with the one before it; what holds its own words comes first, since they are what
is new. Any other question is looked for alone, so that a change of subject is none of the old one's.
"""

import re
from collections.abc import Sequence
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.lexical.stems import stem
from agent.lexical.subject import subject_stems
from agent.ports.search import Hit
from agent.text.words import fold, words

MOST = 2  # words of its own of a question that goes on from another
_READ = 500  # characters of a question that are looked at

_ASKING: Final = {
    lang: re.compile(rf"\b(?:{'|'.join(table(each.searching.asking).values())})\b")
    for lang, each in LANGUAGES.items()
}
_JOINING: Final = {
    lang: re.compile(rf"\W*(?:{each.searching.joining})\b") for lang, each in LANGUAGES.items()
}


def follows(question: str, lang: Lang) -> bool:
    """Return whether a question says too little to be looked for without the one before it.

    What asks nothing at all, such as what is left of "please call me", goes on from nothing.
    """
    text = question[:_READ]
    own = own_words(text, lang)
    if len(own) > MOST:
        return False
    if _JOINING[lang].match(fold(text)):
        return True
    if not own and ("?" in text or _ASKING[lang].search(fold(text))):
        return True
    return not LANGUAGES[lang].searching.referring.isdisjoint(words(text))


def own_words(question: str, lang: Lang) -> frozenset[str]:
    """Return the stems of what a question names, but for the words by which it asks ("what does ... cost")."""
    return subject_stems(content(question[:_READ], lang), lang)


def content(text: str, lang: Lang) -> str:
    """Return a folded text without the words by which it asks."""
    return _ASKING[lang].sub(" ", fold(text))


def newest_first(hits: Sequence[Hit], question: str, lang: Lang) -> tuple[Hit, ...]:
    """Return the hits with those first that hold most of the question's own words, otherwise in their order.

    () when it has such words and no hit holds one: then the hits are about the question before it only. Each place
    keeps its score: how sure the best one is, is how sure the two questions together are.
    """
    own = own_words(question, lang)
    held = [len(own & _stems_of(hit)) for hit in hits]
    if own and not any(held):
        return ()
    order = sorted(range(len(hits)), key=lambda at: -held[at])
    return tuple(
        [Hit(hits[at].snippet, hits[at].passage, place.score) for at, place in zip(order, hits, strict=True)]
    )


def _stems_of(hit: Hit) -> set[str]:
    snippet = hit.snippet
    text = " ".join((snippet.said or snippet.text, snippet.lead, *hit.passage.headings))
    return {stem(hit.passage.lang, word) for word in words(text)}
