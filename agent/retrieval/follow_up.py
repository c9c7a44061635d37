"""Recognises questions that go on from the one before them ("and the large one?"), and orders their hits.

Strategy: a question that begins as a continuation, or that stands on a word for something named before and says
little else, is searched together with the question before it. Hits that hold its own words come first, since those
are what is new. Any other question is searched alone, so that a change of subject keeps nothing of the old one.
"""

import re
from collections.abc import Sequence
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.lexical.stems import stem
from agent.lexical.subject import subject_stems
from agent.ports.search import Hit
from agent.text.words import fold, split_words

MOST = 2  # most words of its own in a question that goes on from another
_READ = 500  # characters of a question that are read

_ASKING: Final = {
    lang: re.compile(rf"\b(?:{'|'.join(table(each.searching.asking).values())})\b")
    for lang, each in LANGUAGES.items()
}
_JOINING: Final = {
    lang: re.compile(rf"\W*(?:{each.searching.joining})\b") for lang, each in LANGUAGES.items()
}


def follows(question: str, lang: Lang) -> bool:
    """Tell whether a question says too little to be searched without the question before it.

    A text that asks nothing at all, such as the rest of "please call me", goes on from nothing.
    """
    text = question[:_READ]
    own = own_words(text, lang)
    if len(own) > MOST:
        return False
    if _JOINING[lang].match(fold(text)):
        return True
    if not own and ("?" in text or _ASKING[lang].search(fold(text))):
        return True
    return not LANGUAGES[lang].searching.referring.isdisjoint(split_words(text))


def own_words(question: str, lang: Lang) -> frozenset[str]:
    """Return the stems of the subject of a question, without its question words ("how much does ... cost")."""
    return subject_stems(strip_asking(question[:_READ], lang), lang)


def strip_asking(text: str, lang: Lang) -> str:
    """Return `text` folded, without the words by which it asks."""
    return _ASKING[lang].sub(" ", fold(text))


def newest_first(hits: Sequence[Hit], question: str, lang: Lang) -> tuple[Hit, ...]:
    """Return the hits ordered by how many of the question's own words they hold, otherwise in their order.

    Returns () when the question has such words and no hit holds one: then the hits are about the question before it
    only. The score stays with the place in the order: how sure the best hit is depends on the two questions together.
    """
    own = own_words(question, lang)
    own_words_held = [len(own & _stems_of(hit)) for hit in hits]
    if own and not any(own_words_held):
        return ()
    order = sorted(range(len(hits)), key=lambda at: -own_words_held[at])
    return tuple(
        [Hit(hits[at].snippet, hits[at].passage, place.score) for at, place in zip(order, hits, strict=True)]
    )


def _stems_of(hit: Hit) -> set[str]:
    snippet = hit.snippet
    text = " ".join((snippet.plain_text or snippet.text, snippet.lead, *hit.passage.headings))
    return {stem(hit.passage.lang, word) for word in split_words(text)}
