"""Counts the files that were read and left out, and describes the counts in words.

Strategy: files that are left out are counted by their reason, and files of unsupported kinds by their suffix, so that
one line shows when only a small part of a folder is served. Reasons are shortened to their common part, without the
detail of each file. Names and contents of files never appear here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from agent.ports.search import Passage

from .load import Skipped
from .packed_sections import kinds_of as kinds_of

EMPTY = "has nothing in it that can be cited"

_KINDS = {
    "paragraph": "of paragraphs",
    "item": "items",
    "row": "rows",
    "code": "of code",
    "quote": "of quotes",
}
_TOLD = 8  # reasons or suffixes that are listed one by one
_DETAIL = re.compile(r" \(.*|: .*|; .*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReadingSummary:
    """The counts of the files of a folder.

    `files`, `sections`: how many were read. `statements`: how many of each kind can be found. `left_out`: how many
    files for each reason. `others`: how many files of each suffix are of unsupported kinds ("" for no suffix).
    """

    files: int
    sections: int
    statements: Mapping[str, int]
    left_out: Mapping[str, int]
    others: Mapping[str, int]

    def to_lines(self) -> tuple[str, ...]:
        """Return the counts for people, in one to three lines."""
        statements = [f"{self.statements.get(kind, 0):,} {words}" for kind, words in _KINDS.items()]
        lines = [
            f"read: {_count_of(self.files, 'file')}, {_count_of(self.sections, 'section')}, "
            f"{_count_of(sum(self.statements.values()), 'statement')} ({', '.join(statements)})"
        ]
        if self.left_out:
            reasons = _list_most(self.left_out, "{name} ({count:,})")
            lines.append(f"left out: {_count_of(sum(self.left_out.values()), 'file')}: {reasons}")
        if self.others:
            suffixes = _list_most(
                {suffix or "without a suffix": count for suffix, count in self.others.items()},
                "{count:,} {name}",
            )
            lines.append(
                f"left out: {_count_of(sum(self.others.values()), 'file')} of kinds that are not read: {suffixes}"
            )
        return tuple(lines)


def summarize(
    files: Iterable[tuple[Passage, ...]], skipped: Iterable[Skipped], others: Mapping[str, int]
) -> ReadingSummary:
    """Count the files that were read and left out.

    `files`: the sections of each file that is not skipped; a file without sections is left out as empty. `skipped`:
    the files left out, with the reason. `others`: how many files of each suffix are of unsupported kinds.
    """
    cut = list(files)
    read = [passages for passages in cut if passages]
    kinds = Counter(chain.from_iterable(map(kinds_of, chain.from_iterable(read))))
    left_out = Counter(_DETAIL.sub("", each.reason) for each in skipped)
    if len(read) < len(cut):
        left_out[EMPTY] += len(cut) - len(read)
    sections = sum(len(passages) for passages in read)
    return ReadingSummary(len(read), sections, dict(kinds), dict(left_out), dict(others))


def _count_of(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _list_most(counts: Mapping[str, int], form: str) -> str:
    """Return the counts with their names, the highest first, and a sum of those after the first `_TOLD`."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    labels = [form.format(name=name, count=count) for name, count in ordered[:_TOLD]]
    rest = sum(count for _, count in ordered[_TOLD:])
    return ", ".join([*labels, f"{rest:,} others"] if rest else labels)
