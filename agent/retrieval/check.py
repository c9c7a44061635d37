"""Looks a knowledge base over: files that cannot be used, that are the same, and numbers that do not agree.

Strategy: two files contradict each other when a statement of one and a statement of the other have the same frame (the
same content words, the same kinds and units of numbers), one number differs and every other is the same. Two that
differ in more than one are taken for statements about different cases (two years, two sizes). A statement of few
words depends on its heading: it is left alone when both headings name something that the statement does not. Files are
compared within one language only: words cannot be compared across. What the rule does not see: the same thing said in
other words, and within one file.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent.documents import Document
from agent.ports.search import Lang, Passage

from .load import Skipped, Source, read_folder
from .read import read_whole
from .sections import language_of
from .statements import Reader, Statement
from .summary import EMPTY, Summary, summary

_SAYS_ENOUGH = 2  # words from which a statement says by itself what it is about
_OVER = ("is larger", "has more", "takes more")  # begin the reasons of a file over a bound
_COMPARED = 100  # statements of one frame that each further one is compared with


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at. kind: unreadable, empty, oversized, duplicate or contradiction.

    files: the files it is about, with ":" and a line where it is about one. words: what is wrong, for people.
    """

    kind: str
    files: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a look found. read: what was read and what was left out, which is no finding."""

    findings: tuple[Finding, ...]
    read: Summary


def check(folder: Path) -> Report:
    """Return what is to be looked at in a knowledge base, files first, then contradictions.

    Raises `agent.errors.UsageError` when `folder` is no folder. Blocks.
    """
    loaded = read_folder(folder)
    left_out = list(loaded.skipped)
    empty: list[Finding] = []
    documents: list[Document] = []
    cut: list[tuple[Passage, ...]] = []
    for source in loaded.sources:
        read = read_whole(source)
        if isinstance(read, Skipped):
            left_out.append(read)
            continue
        document, passages = read
        documents.append(document)
        cut.append(passages)
        if not passages:
            empty.append(Finding("empty", (source.file,), EMPTY))
    found = [
        Finding(
            "oversized" if skipped.reason.startswith(_OVER) else "unreadable", (skipped.file,), skipped.reason
        )
        for skipped in left_out
    ]
    findings = (*found, *empty, *_duplicates(loaded.sources), *contradictions(documents))
    return Report(findings, summary(cut, left_out, loaded.others))


def _duplicates(sources: Iterable[Source]) -> Iterator[Finding]:
    """Yield the groups of files with the same text, white space at line ends aside."""
    same: defaultdict[bytes, list[str]] = defaultdict(list)
    for source in sources:
        text = b"\n".join(line.rstrip() for line in source.data.strip().splitlines())
        if text:
            same[hashlib.blake2b(text).digest()].append(source.file)
    for files in same.values():
        if len(files) > 1:
            yield Finding("duplicate", tuple(files), "have the same text")


def contradictions(documents: Iterable[Document]) -> Iterator[Finding]:
    """Yield each statement that says another number than one of another file, with that one."""
    readers: dict[Lang, Reader] = {}
    framed: defaultdict[tuple[Lang, frozenset[str], tuple[str, ...]], list[Statement]] = defaultdict(list)
    for document in documents:
        lang = language_of(document)
        for said in readers.setdefault(lang, Reader(lang)).read(document):
            framed[lang, said.frame, tuple(kind for kind, _ in said.values)].append(said)
    for alike in framed.values():
        yield from _disagreeing(alike)


def _disagreeing(alike: Sequence[Statement]) -> Iterator[Finding]:
    """Yield each of some statements of one frame that contradicts an earlier one."""
    earlier: dict[tuple[object, ...], Statement] = {}
    for said in alike:
        for other in islice(earlier.values(), _COMPARED):
            if said.file != other.file and _same_subject(said, other):
                differing = _differing(said, other)
                if differing is not None:
                    mine, theirs = differing
                    yield Finding(
                        "contradiction",
                        (f"{other.file}:{other.line}", f"{said.file}:{said.line}"),
                        f"{theirs} or {mine}? “{other.text}” and “{said.text}”",
                    )
                    break
        earlier.setdefault((said.file, said.values, said.topic), said)


def _same_subject(one: Statement, other: Statement) -> bool:
    """Tell whether two statements of one frame are about one thing, as far as their headings tell."""
    if one.subjects >= _SAYS_ENOUGH:
        return True
    told = one.frame | (one.topic & other.topic)
    return (one.topic <= told or other.topic <= told) and bool(one.subjects or one.topic & other.topic)


def _differing(one: Statement, other: Statement) -> tuple[str, str] | None:
    """Return the one value that differs, as both say it; None when none does, or more than one."""
    mine, theirs = list(one.values), list(other.values)
    for value in one.values:
        if value in theirs:
            mine.remove(value)
            theirs.remove(value)
    if len(mine) != 1 or _agree(*mine[0], theirs[0][1]):
        return None
    return mine[0][1], theirs[0][1]


def _agree(kind: str, one: str, other: str) -> bool:
    """Tell whether two values can both be right: another reading of the same digits, or a date and a part of it."""
    if kind == "date":
        return one.startswith(other) or other.startswith(one)
    return not set(one.split("|")).isdisjoint(other.split("|"))
