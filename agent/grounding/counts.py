"""Counts of an answer's own list, as an option: "two ways: by card and by invoice".

No source says "two"; the answer's list does. A count in words that no snippet supports passes when a colon follows it
in its sentence, and after the colon as many items as it says: parts of the sentence between commas and a last "and" or
"or", or the bullets of a list. Digits never pass this way, nor words with a unit, nor the word "one".
"""

import re
from typing import Final

from agent.numbers.read import Kind, NumberToken
from agent.numbers.spoken import AND, OR, pattern, unite_words

MOST: Final = 20
"""Items of a list that are counted."""
_LEAD: Final = re.compile(r"[^.:!?\n]{0,120}:")
_BULLET: Final = re.compile(r"\n?[ \t]*[-*•+][ \t]+[^\n]+")
_INLINE: Final = re.compile(r"[ \t]+([^.!?:;\n]+)")
_BESIDES: Final = unite_words(lambda each: each.joints.besides)
_BETWEEN: Final = re.compile(rf"(?:, ++|(?<![ ,]) ++)(?:{pattern(AND, OR, _BESIDES)}) +|, +")


def counts_its_list(said: str, token: NumberToken) -> bool:
    """Tell whether `token` is a count in words of the items that the answer `said` lists after it."""
    if not token.words or token.kind is not Kind.NUMBER or token.value not in _COUNTS:
        return False
    lead = _LEAD.match(said, token.end)
    return lead is not None and _count_items(said, lead.end()) == int(token.value)


_COUNTS: Final = frozenset(map(str, range(2, MOST + 1)))


def _count_items(said: str, at: int) -> int:
    """Return the number of items after a colon that ends at offset `at`."""
    found = 0
    bullet = _BULLET.match(said, at) if said[at : at + 1] == "\n" else None
    while bullet is not None and found <= MOST:
        found += 1
        bullet = _BULLET.match(said, bullet.end())
    if found:
        return found
    inline = _INLINE.match(said, at)
    return len(_BETWEEN.split(inline[1].strip())) if inline is not None else 0
