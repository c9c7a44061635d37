"""Chooses the citations of an answer: the smallest set of snippets that supports every number.

Each snippet is a bit mask of the numbers it supports. With at most `EXACT` useful snippets the choice is exact
(smaller sets first; among equals the better hits). Beyond it the choice is greedy: the snippet that supports most of
the remaining numbers, the better hit first. The snippets that the answer uses are cited even without a number: for each
of its sentences the snippet that says most of it. The best hits fill up until `fill` snippets are cited.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from itertools import combinations
from typing import Final, TypeAlias, TypeVar

import msgspec

from agent.ports.search import Snippet
from agent.text.sentences import find_line_sentences

from .binding import fold_case, fold_sigma, names_of

FILL: Final = 3
"""Citations below which the best hits are added."""
EXACT: Final = 12
"""Snippets up to which every combination is tried: at most 4,095."""


COMPARED: Final = 128
"""Snippets that support a number up to which each is compared with each: more than a search returns; lines of results
may be thousands."""

SAYS: Final = 0.5
"""Share of a sentence's content words that a snippet must hold to be cited for it."""


def source_of(snippet: Snippet) -> tuple[str, str, int, int]:
    """Return the identity of a citation: its file, text and lines, since several statements may share the lines."""
    return snippet.file, snippet.text, snippet.first, snippet.last


Span = tuple[int, int]
"""A part of a text: the offset of its first character and the offset after its last, in Unicode code points."""


class SnippetUses(msgspec.Struct, frozen=True):
    """The snippets that an answer may use, before the numbers that they support are known.

    `quoted`: the part of the answer that quotes a snippet, by index. `fits`: for each other sentence, its part, and by
    the index of each snippet that says at least `SAYS` of it the number of its content words that the snippet says.
    """

    quoted: dict[int, Span]
    fits: list[tuple[Span, dict[int, int]]]


NO_USES: Final = SnippetUses({}, [])


def find_uses(said: str, snippets: Sequence[Snippet]) -> SnippetUses:
    """Return the snippets that an answer may use, and for which parts, without reading a number.

    `snippets`: best first, which decides among equals. A snippet is quoted when its words stand in the answer one for
    one, from the beginning of a sentence or a line on. Each sentence of the rest may use the snippets that say at least
    `SAYS` of it. A sentence that no snippet says, such as a greeting, uses none, and neither does one that ends in a
    colon, since it only leads into the next part. A part ends where a sentence or a line ends, and so never within a
    number.
    """
    quoted: dict[int, Span] = {}
    rest = said
    quotable = [
        (-len(text), index, text)
        for index, each in enumerate(snippets)
        if (text := each.plain_text) and text in said
    ]
    for _, index, text in sorted(quotable):
        at = _find_quotation(rest, text)
        if at >= 0:
            end = at + len(text)
            quoted[index] = (at, _find_sentence_end(said, end))
            rest = f"{rest[:at]}{_QUOTED * len(text)}{rest[end:]}"
    rest = rest.replace(_QUOTED, "\n")
    texts: list[str] = []
    every: list[tuple[Span, dict[int, int]]] = []
    for start, end in find_line_sentences(rest):
        wanted = frozenset() if rest[end - 1] == ":" else names_of(rest[start:end])
        if not wanted:
            continue
        texts = texts or [fold_case(snippet.text) for snippet in snippets]
        fits = _count_shared_names(wanted, snippets, texts)
        if fits:
            every.append(((start, end), fits))
    return SnippetUses(quoted, every)


def _count_shared_names(
    wanted: frozenset[str], snippets: Sequence[Snippet], texts: Sequence[str]
) -> dict[int, int]:
    """Return how many of the stems `wanted` each snippet says, by index, of those that say at least `SAYS` of them.

    `texts`: those of the snippets in small letters (`fold_case`). A text that holds fewer of the stems, even within its
    words, has fewer of them as names; so the words of most snippets, which are beside the sentence, are never read.
    """
    least = SAYS * len(wanted)
    stems = [fold_sigma(stem) for stem in wanted]
    found: dict[int, int] = {}
    for index, text in enumerate(texts):
        left = len(stems)
        for stem in stems:
            if stem not in text:
                left -= 1
                if left < least:
                    break
        else:
            size = len(wanted & names_of(snippets[index].text))
            if size >= least:
                found[index] = size
    return found


Result = TypeVar("Result")
Steps: TypeAlias = Generator[int, None, Result]
"""Work that may pause after each snippet that it reads: yields the characters of the snippet."""

MaskReader: TypeAlias = Callable[[int], Steps[int]]
"""Reads the numbers of an answer that the snippet at an index supports, as bits."""


def choose_places(
    uses: SnippetUses, numbers: Sequence[int], read_mask: MaskReader
) -> Steps[dict[int, tuple[Span, ...]]]:
    """Return the parts of an answer that each snippet holds, by index: quoted ones, and one for each other sentence.

    `numbers`: the offset of each number of the answer, in rising order. A sentence uses the snippet that supports most
    of its numbers, and of these the one that says most.
    """
    found: dict[int, list[Span]] = {index: [span] for index, span in uses.quoted.items()}
    for (start, end), sizes in uses.fits:
        bits = (1 << bisect_left(numbers, end)) - (1 << bisect_left(numbers, start))
        best = yield from _choose_snippet(sizes, bits, found, read_mask)
        found.setdefault(best, []).append((start, end))
    return {index: tuple(sorted(spans)) for index, spans in found.items()}


def _choose_snippet(
    sizes: Mapping[int, int], bits: int, used: Collection[int], read_mask: MaskReader
) -> Steps[int]:
    """Return the index of the snippet that a sentence uses, of those in `sizes`.

    `sizes`: by index, the number of the sentence's content words that the snippet says. `bits`: the sentence's numbers.
    Among equals the first one of `used` is chosen, else the best hit. Snippets are read in the order of this choice,
    up to the first that supports all numbers, since no other is better.
    """
    order = sorted(sizes, key=lambda index: (-sizes[index], index not in used, index))
    chosen, most = order[0], 0
    for index in order if bits else ():
        held = (yield from read_mask(index)) & bits
        if held.bit_count() > most:
            chosen, most = index, held.bit_count()
        if held == bits:
            break
    return chosen


_QUOTED: Final = "\0"  # stands for a quotation that is accounted for
_LINES: Final = "\n\0"
_BEGIN: Final = re.compile(r"\A|(?<=[\n\0])|(?<=[.!?…:•\0-] )")
_ENDED: Final = re.compile(r"[.!?…:][\"'”’»)\]*_]*\Z")
_CLOSING: Final = 8  # characters at the end of a sentence that are looked at


def _find_quotation(text: str, quoted: str) -> int:
    """Return the offset of `quoted` at the beginning of a sentence, a line or a list item; -1 when there is none."""
    first = text.find(quoted)
    if first <= 0 or text[first - 1] in _LINES:  # most quotations begin a line
        return first
    places = (found.end() for found in _BEGIN.finditer(text, max(0, first - 2)))
    return next((at for at in places if text.startswith(quoted, at)), -1)


def _find_sentence_end(text: str, end: int) -> int:
    """Return `end` where a sentence or a line of `text` ends there, else the end of that line."""
    if text[end : end + 1].isspace() and _ENDED.search(text, max(0, end - _CLOSING), end):
        return end
    line = text.find("\n", end)
    return line if line >= 0 else len(text)


def choose_citations(masks: Sequence[int], fill: int = FILL, also: Collection[int] = ()) -> tuple[int, ...]:
    """Return the indexes of the snippets to cite, best hit first.

    `masks`: for each snippet, best hit first, the numbers it supports as bits. `fill`: the least number of citations,
    if there are as many snippets. `also`: indexes to cite anyhow. Numbers that no snippet supports do not count.
    """
    needed = held = 0
    for mask in masks:
        needed |= mask
    for index in also:
        held |= masks[index]
    missing = needed & ~held
    chosen = {*also, *(_find_cover([mask & ~held for mask in masks], missing) if missing else ())}
    for index in range(len(masks)):
        if len(chosen) >= fill:
            break
        chosen.add(index)
    return tuple(sorted(chosen))


def _find_cover(masks: Sequence[int], needed: int) -> tuple[int, ...]:
    """Return the smallest set whose masks cover `needed`."""
    for index, mask in enumerate(masks):
        if mask == needed:  # also when nothing is needed
            return (index,) if needed else ()
    if not needed:
        return ()
    useful = [index for index, mask in enumerate(masks) if mask]
    if len(useful) <= COMPARED:
        useful = [i for i in useful if not any(_is_better(masks, j, i) for j in useful)]
    if len(useful) > EXACT:
        return _cover_greedily(masks, useful, needed)
    for size in range(1, len(useful) + 1):
        for group in combinations(useful, size):
            covered = 0
            for index in group:
                covered |= masks[index]
            if covered == needed:
                return group
    return tuple(useful)


def _is_better(masks: Sequence[int], one: int, other: int) -> bool:
    """Tell whether `one` makes `other` useless: it supports the same numbers and more, or the same and ranks higher."""
    return (
        one != other
        and masks[one] | masks[other] == masks[one]
        and (masks[one] != masks[other] or one < other)
    )


def _cover_greedily(masks: Sequence[int], useful: Sequence[int], needed: int) -> tuple[int, ...]:
    chosen: list[int] = []
    while needed:
        best = max(useful, key=lambda index: ((masks[index] & needed).bit_count(), -index))
        chosen.append(best)
        needed &= ~masks[best]
    return tuple(chosen)
