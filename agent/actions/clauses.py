"""The words around a place in a text, as the rules about keywords and numbers read them: nearest first, bounded.

Strategy: what stands before a place is read backwards, since what is a word backwards is one, and only as many
characters and words of it as a rule may need. A clause ends at a mark of punctuation, at a quotation mark and at a
blank line; a comma ends it unless it belongs to a list ("call, text, or sms").
"""

import re
from collections.abc import Iterator

from ..lang import LANGUAGES

BEFORE_REACHES = 200  # characters read for a clause before a place, and after it ...
AFTER_REACHES = 80
WORDS_READ = 12  # ... and words of them

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:,()\"”“„«»]|\n\s*\n")
_CLAUSE_END = frozenset('.!?;:()"”“„«»\n')
_CARRIES_ON = frozenset().union(*(each.acting.carries_on for each in LANGUAGES.values()))


def words_after(text: str, at: int) -> Iterator[str]:
    """Yield the words and marks that follow a place, folded, of the next AFTER_REACHES characters."""
    for match in _WORD.finditer(text[at : at + AFTER_REACHES].replace("’", "'")):
        yield match.group().casefold()


def words_before(text: str, at: int, since: int = 0) -> Iterator[str]:
    """Yield the words and marks before a place, folded, nearest first, of the last BEFORE_REACHES characters.

    since: where they begin at the earliest.
    """
    before = text[max(since, at - BEFORE_REACHES, 0) : at]
    for match in _WORD.finditer(before.replace("’", "'")[::-1]):
        yield match.group()[::-1].casefold()


def clause_before(text: str, at: int) -> Iterator[str]:
    """Yield the words of the clause that goes on at a place, folded, nearest first."""
    last, words = "", 0  # the last word since a comma, and how many there were
    in_list = False
    for word in words_before(text, at):
        if word[0] in _CLAUSE_END:
            return
        if word != ",":
            last = word
            words += 1
            yield word
            continue
        in_list = words > 0 and (last in _CARRIES_ON or (in_list and words == 1))
        if not in_list:
            return
        words = 0


def clause_after(text: str, at: int) -> Iterator[str]:
    """Yield the words of the clause that stands around a place, folded, from there on."""
    for word in words_after(text, at):
        if word[0] in _CLAUSE_END or word == ",":
            return
        yield word
