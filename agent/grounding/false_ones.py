"""Finds "one tablet" in an answer whose citations count several tablets and know of no single one.

"One" before a noun is mostly a plain word ("one way is", "one of them"), and a source may say the same without a number
("a tablet"). So the number rule reads no number there, and only a contradiction is refused: the noun's plural stands
behind a number in a citation, and the noun itself in none.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from agent.lang import LANGUAGES
from agent.numbers.number_tokens import Kind, NumberToken, tokens
from agent.ports.search import Snippet
from agent.text.words import FUNCTION_WORDS

from .evidence import citation_text

_SINGLES: Final = sorted(set().union(*[each.counting.cardinals.singles for each in LANGUAGES.values()]))
_PLURALS: Final = {
    pair for language in LANGUAGES.values() for pair in language.counting.cardinals.plural_endings
}
_WORD: Final = re.compile(r"[^\W\d_]+")
_MARKS: Final = "[*_]{0,3}"
_ONE: Final = re.compile(
    rf"(?<![^\W_])(?<!-)({'|'.join(_SINGLES)}){_MARKS}((?:\s{_MARKS}[^\W\d_]+){{1,2}})", re.I
)
_BETWEEN: Final = re.compile(r"[\s-](?:[^\W\d_]+[\s-])?")
_REACH: Final = 48
"""Characters before a counted noun that are searched for its number."""
_PLACES: Final = 16
"""Places of a noun in a citation that are looked at."""


def find_false_ones(
    said: str, found: Sequence[NumberToken], citations: Sequence[Snippet]
) -> tuple[NumberToken, ...]:
    """Return each "one" of an answer that its citations contradict, as a token that nothing supports.

    `found`: the numbers of the answer, among them those of "one week".
    """
    lower = said.lower()
    if not any(map(lower.__contains__, _SINGLES)):
        return ()
    counts: _CountedNouns | None = None
    false: list[NumberToken] = []
    starts = [token.start for token in found]
    for place in _ONE.finditer(said):
        nouns = _WORD.findall(place[2].lower())
        before = bisect_right(starts, place.start()) - 1
        is_read = before >= 0 and place.start() < found[before].end
        if is_read or nouns[0] in FUNCTION_WORDS:
            continue
        counts = counts or _CountedNouns(citations)
        if any(counts.knows_only_several(noun) for noun in nouns):
            start, end = place.span(1)
            false.append(NumberToken(text=place[1], kind=Kind.NUMBER, value="1", start=start, end=end))
    return tuple(false)


class _CountedNouns:
    """The words of some citations, and whether a number other than one counts them there."""

    def __init__(self, citations: Sequence[Snippet]) -> None:
        self._texts = [citation_text(each).lower() for each in citations]
        self._counted: dict[str, bool] = {}  # what was asked before

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset([word for text in self._texts for word in _WORD.findall(text)])

    def knows_only_several(self, noun: str) -> bool:
        """Tell whether the plural of `noun` is counted, and `noun` itself is not there."""
        if noun not in self._counted:
            plurals = [noun.removesuffix(one) + many for one, many in _PLURALS if noun.endswith(one)]
            self._counted[noun] = noun not in self._words and any(
                plural in self._words and self._counts(plural) for plural in plurals
            )
        return self._counted[noun]

    def _counts(self, word: str) -> bool:
        """Tell whether a number stands before `word` in one of its first places, perhaps with an adjective between."""
        places = [
            (text, place.start())
            for text in self._texts
            for place in islice(re.finditer(rf"(?<![^\W_]){word}(?![^\W_])", text), _PLACES)
        ]
        for text, end in places:
            before = text[max(0, end - _REACH) : end]
            numbers = tokens(before, source=True, rates=False)
            if numbers and numbers[-1].value != "1" and _BETWEEN.fullmatch(before, numbers[-1].end):
                return True
        return False
