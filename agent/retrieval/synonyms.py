"""The operator's synonyms: words that ask for one thing in this knowledge base, in a file beside its documents.

Strategy: `synonyms.txt` at the top of the folder, one group a line, words separated by white space; lines that begin
with # are comments. A word in two groups is a synonym of all their words. What is no such file is named like any other
file that cannot be used, and leaves the search without synonyms.
"""

from dataclasses import dataclass, field
from pathlib import Path

from agent.text.words import words

from .load import Skipped, Source, read_file

NAME = "synonyms.txt"
BYTES = 256 * 1024
"""Of the file."""


@dataclass(frozen=True, slots=True)
class Synonyms:
    """of: folded word -> the other words that ask for the same thing."""

    of: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_synonyms(folder: Path) -> tuple[Synonyms, tuple[Skipped, ...]]:
    """Return the synonyms beside the documents in `folder`, none where there is no file; and why it cannot be used."""
    read = read_file(folder, str(folder / NAME), BYTES)
    if read is None:
        return Synonyms(), ()
    if isinstance(read, Skipped):
        return Synonyms(), (read,)
    try:
        return parse(read), ()
    except UnicodeDecodeError as error:
        return Synonyms(), (Skipped(read.file, f"is not UTF-8 (byte {error.start})"),)


def parse(source: Source) -> Synonyms:
    """Return the synonyms of a file. Raises UnicodeDecodeError when it is not UTF-8."""
    of: dict[str, tuple[str, ...]] = {}
    for line in source.data.decode("utf-8-sig").splitlines():
        group = [] if line.lstrip().startswith("#") else words(line)
        for word in group:
            of[word] = tuple(dict.fromkeys([*of.get(word, ()), *(each for each in group if each != word)]))
    return Synonyms(of)
