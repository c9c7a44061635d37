"""Binding, as an option: a number must belong to the same thing in the answer as in its source.

A snippet is cut into rows, list items and sentences. A number of the answer is bound when one of them holds it and
shares a content word with the answer's sentence. Headings and a table's header row name what their rows do not:
they count when the sentence shares no word with any row of the snippet. A sentence without a content word, and a
number that only several rows hold together, cannot be judged and are bound.

Content words are compared by their first letters, so that inflections agree; function words, number words, units,
currencies and the words for price say what any row says, and do not count. What is counted does ("5 users"), so a
row about other users of the same number binds it too.

On the labelled answers of the benchmark it refuses 7 more of 391 good ones (1.8 %) and catches 17 of the 84 swaps
of one number for another that the rule lets pass; that is why it is off unless asked for.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

from agent.lang import LANGUAGES
from agent.numbers.number_tokens import NumberToken
from agent.numbers.number_words import classify
from agent.numbers.source_numbers import SourceNumbers
from agent.numbers.units import currency_of, unit_of
from agent.ports.search import Snippet
from agent.text.sentences import find_line_sentences
from agent.text.words import FUNCTION_WORDS

from .evidence import evidence_of

Binding = Literal["off", "strict"]

STEM: Final = 4
"""Letters in which two words must agree."""
CACHED_SNIPPETS: Final = 16_384
"""Size of the caches of names, rows and small letters, in texts."""
CACHED_PIECES: Final = 65_536
"""Size of the cache of stems, in pieces between white space."""

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_RULE: Final = re.compile(r"[ \t:|]*+-[ \t:|-]*")
_SAID_OF_ALL: Final = FUNCTION_WORDS.union(*[each.stating.said_of_all for each in LANGUAGES.values()])


def _stem_of(word: str) -> str:
    """Return the first letters by which a word is compared, "" when it is no content word."""
    lower = word.lower()
    if lower in _SAID_OF_ALL or classify(word) is not None or unit_of(word) or currency_of(word):
        return ""
    return lower[:STEM]


class _Stems(dict[str, frozenset[str]]):
    """The stems of the content words of each piece between white space, made when it is first looked up; a cache."""

    def __missing__(self, piece: str) -> frozenset[str]:
        if len(self) >= CACHED_PIECES:
            self.clear()
        its = self[piece] = frozenset([stem for word in _WORD.findall(piece) if (stem := _stem_of(word))])
        return its


_STEMS: Final = _Stems()


@lru_cache(maxsize=CACHED_SNIPPETS)
def names_of(text: str) -> frozenset[str]:
    """Return the stems of a text's content words."""
    return frozenset().union(*map(_STEMS.__getitem__, text.split()))


@lru_cache(maxsize=CACHED_SNIPPETS)
def fold_case(text: str) -> str:
    """Return `text` in small letters: each stem of its names, folded too, is a part of the result.

    How a capital sigma becomes small depends on the letters around it; so both its small forms are folded into one.
    """
    return fold_sigma(text.lower())


def fold_sigma(lower: str) -> str:
    """Return text in small letters with the small sigma that ends a word as any other."""
    return lower.replace("ς", "σ")


def sentences_of(text: str) -> list[str]:
    """Return the rows, list items and sentences of a text."""
    return [text[start:end] for start, end in find_line_sentences(text)]


class SnippetRows:
    """The rows, list items and sentences of one snippet, each with its numbers and names.

    `headed`: the first line is the header of a table, and its row follows. A line of dashes below it says so too.
    """

    __slots__ = ("header", "names", "rows")

    def __init__(self, text: str, headed: bool) -> None:
        lines = text.split("\n")
        headed = headed or (len(lines) > 1 and "|" in lines[1] and _RULE.fullmatch(lines[1]) is not None)
        self.header = names_of(lines[0]) if headed else frozenset()
        self.rows: list[tuple[SourceNumbers, frozenset[str]]] = [
            (evidence_of(row), names_of(row)) for row in sentences_of(text)
        ]
        below = self.rows[1:] if headed else self.rows
        self.names: frozenset[str] = frozenset().union(*[names for _, names in below])


def rows_of(snippet: Snippet) -> SnippetRows:
    """Return the rows of a snippet, from the cache when it was read before."""
    lines = snippet.text.count("\n") + 1
    return cached_rows(snippet.text, snippet.kind == "row" and lines > snippet.last - snippet.first + 1)


cached_rows = lru_cache(maxsize=CACHED_SNIPPETS)(SnippetRows)


def find_bound(
    said: str, found: Sequence[NumberToken], snippet: Snippet, mask: int, headings: Sequence[str] = ()
) -> int:
    """Return the numbers of `mask` that are also bound in `snippet`, as bits.

    `said`: the answer. `found`: its number tokens. `mask`: the tokens that the snippet supports, as bits.
    `headings`: the headings above the snippet in its file.
    """
    if not mask:
        return 0
    rows = rows_of(snippet)
    cut = list(find_line_sentences(said))
    starts = [start for start, _ in cut]
    context = rows.header.union(*[names_of(heading) for heading in headings])
    read: dict[int, frozenset[str]] = {}
    for number, token in enumerate(found):
        if mask >> number & 1:
            at = bisect_right(starts, token.start) - 1
            names = read[at] if at in read else read.setdefault(at, names_of(said[slice(*cut[at])]))
            holding = [its for evidence, its in rows.rows if evidence.holds(token)]
            if not (
                not names
                or not holding
                or any(not names.isdisjoint(its) for its in holding)
                or (names.isdisjoint(rows.names) and not names.isdisjoint(context))
            ):
                mask &= ~(1 << number)
    return mask
