"""Reads an operator's list of synonyms: words that ask for one thing.

Strategy: each line is one group, its words separated by white space; lines that begin with # are comments. A word in
two groups is a synonym of all their words.
"""

from dataclasses import dataclass, field

from agent.text.words import split_words


@dataclass(frozen=True, slots=True)
class Synonyms:
    """An operator's synonyms. `of`: folded word -> the other words that ask for the same thing."""

    of: dict[str, tuple[str, ...]] = field(default_factory=dict)


def parse_synonyms(content: bytes) -> Synonyms:
    """Return the synonyms that a list holds. Raises UnicodeDecodeError when `content` is not UTF-8."""
    of: dict[str, tuple[str, ...]] = {}
    for line in content.decode("utf-8-sig").splitlines():
        group = [] if line.lstrip().startswith("#") else split_words(line)
        for word in group:
            of[word] = tuple(dict.fromkeys([*of.get(word, ()), *(each for each in group if each != word)]))
    return Synonyms(of)
