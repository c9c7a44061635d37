"""Reads the subject of a statement: its key, by which `agent.memory` knows that two items speak of one thing."""

from collections.abc import Iterable

from ..lang import LANGUAGES, Lang
from ..lexical.stems import stem
from ..numbers.number_tokens import NumberToken, tokens
from ..text.words import split_words

ITEM_KEY = 8  # stems of the key of an item


def clean_line(text: str) -> str:
    """Return `text` on one line, without white space around it, of characters that can be written to a file."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def key_of(subject: str, lang: Lang) -> tuple[str, ...]:
    """Return the key of `subject`: the sorted stems of its first `ITEM_KEY` content words, numbers left out.

    The first words, since the name of a thing stands before everything else that is said of it. `()` where it has none.
    """
    clean = clean_line(subject)
    return stem_key(clean, tokens(clean, source=True), lang)


def stem_key(subject: str, numbers: Iterable[NumberToken], lang: Lang) -> tuple[str, ...]:
    """Return the key of a cleaned `subject`, whose number tokens are `numbers`."""
    empty = LANGUAGES[lang].writing.function_words
    stems = (stem(lang, word) for word in split_words(_cut_numbers(subject, numbers)) if word not in empty)
    return tuple(sorted([*dict.fromkeys(stems)][:ITEM_KEY]))


def remove_numbers(text: str) -> str:
    """Return `text` without its numbers: the subject of a statement that these numbers are said about."""
    return _cut_numbers(text, tokens(text, source=True))


def _cut_numbers(text: str, numbers: Iterable[NumberToken]) -> str:
    rest: list[str] = []
    at = 0
    for token in numbers:
        rest.append(text[at : token.start])
        at = token.end
    return " ".join([*rest, text[at:]])
