"""What was read of a knowledge base, and what was passed over, in numbers and in words.

Strategy: what is left out is counted by its reason, and what is of a kind that is not read by its suffix, so that a
folder of which only a small part is served says so in one line. Reasons are told without what differs from file to
file. Names of files and what stands in them never get here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from agent.ports.search import Passage

from .kept import kinds as kinds_of
from .load import Skipped

EMPTY = "has nothing in it that can be cited"

_KINDS = {
    "paragraph": "of paragraphs",
    "item": "items",
    "row": "rows",
    "code": "of code",
    "quote": "of quotes",
}
_TOLD = 8  # reasons or suffixes that are told one by one
_DETAIL = re.compile(r" \(.*|: .*|; .*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the files of a folder.

    files, sections: how many were read. statements: how many of each kind can be found. left_out: how many files for
    each reason. others: how many of each suffix are of kinds that are not read ("" for none).
    """

    files: int
    sections: int
    statements: Mapping[str, int]
    left_out: Mapping[str, int]
    others: Mapping[str, int]

    def lines(self) -> tuple[str, ...]:
        """Return it for people, in one to three lines."""
        statements = [f"{self.statements.get(kind, 0):,} {words}" for kind, words in _KINDS.items()]
        told = [
            f"read: {_of(self.files, 'file')}, {_of(self.sections, 'section')}, "
            f"{_of(sum(self.statements.values()), 'statement')} ({', '.join(statements)})"
        ]
        if self.left_out:
            reasons = _most(self.left_out, "{what} ({count:,})")
            told.append(f"left out: {_of(sum(self.left_out.values()), 'file')}: {reasons}")
        if self.others:
            suffixes = _most(
                {what or "without a suffix": count for what, count in self.others.items()}, "{count:,} {what}"
            )
            told.append(
                f"left out: {_of(sum(self.others.values()), 'file')} of kinds that are not read: {suffixes}"
            )
        return tuple(told)


def summary(
    files: Iterable[tuple[Passage, ...]], skipped: Iterable[Skipped], others: Mapping[str, int]
) -> Summary:
    """Count what was read.

    files: the sections of each file that is not skipped; one without any is left out as empty. skipped: what is left
    out, with the reason. others: how many files of each suffix are not read.
    """
    cut = list(files)
    read = [passages for passages in cut if passages]
    kinds = Counter(chain.from_iterable(map(kinds_of, chain.from_iterable(read))))
    left_out = Counter(_DETAIL.sub("", each.reason) for each in skipped)
    if len(read) < len(cut):
        left_out[EMPTY] += len(cut) - len(read)
    sections = sum(len(passages) for passages in read)
    return Summary(len(read), sections, dict(kinds), dict(left_out), dict(others))


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _most(counts: Mapping[str, int], form: str) -> str:
    """Return counts with what they count, the most first, a few of them one by one."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    told = [form.format(what=what, count=count) for what, count in ordered[:_TOLD]]
    rest = sum(count for _, count in ordered[_TOLD:])
    return ", ".join([*told, f"{rest:,} others"] if rest else told)
