"""What an unknown word may be: another one with a letter wrong, or put together from several.

Strategy: everything at a distance of one from a word (a letter wrong, missing, too many, or two swapped) is generated
and looked up, which does not depend on how many words are known; likewise every way to part it in two. Short words are
left alone: they are near too many others.
"""

from collections.abc import Iterator
from string import ascii_lowercase

from agent.lang import LANGUAGES

SPELLED, SPELLED_MAX = 5, 24
"""Letters of a word that may be misspelt."""
PART = 4
"""Letters of a part of a compound."""

_LETTERS = "".join(
    dict.fromkeys((*ascii_lowercase, *"".join(each.writing.letters for each in LANGUAGES.values()), "é"))
)
"""Those of all languages, and the é of loan words."""


def neighbours(word: str) -> Iterator[str]:
    """Yield what a folded word may be with one letter mistaken; nothing for a short or a very long one."""
    if not SPELLED <= len(word) <= SPELLED_MAX:
        return
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def parts(word: str) -> Iterator[str]:
    """Yield the beginnings and ends that a word may be put together from, also without the s that joins them."""
    for size in range(min(len(word), SPELLED_MAX) - PART, PART - 1, -1):
        yield word[:size]
        if word[size - 1] == "s" and size > PART:
            yield word[: size - 1]
        yield word[-size:]
