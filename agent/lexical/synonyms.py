"""Words that ask for one thing, as an operator lists them.

Strategy: one group a line, words separated by white space; lines that begin with # are comments. A word in two groups
is a synonym of all their words.
"""

from dataclasses import dataclass, field

from agent.text.words import words


@dataclass(frozen=True, slots=True)
class Synonyms:
    """of: folded word -> the other words that ask for the same thing."""

    of: dict[str, tuple[str, ...]] = field(default_factory=dict)


def parse(content: bytes) -> Synonyms:
    """Return the synonyms that a list holds. Raises UnicodeDecodeError when it is not UTF-8."""
    of: dict[str, tuple[str, ...]] = {}
    for line in content.decode("utf-8-sig").splitlines():
        group = [] if line.lstrip().startswith("#") else words(line)
        for word in group:
            of[word] = tuple(dict.fromkeys([*of.get(word, ()), *(each for each in group if each != word)]))
    return Synonyms(of)
