"""Looks a knowledge base over: files that cannot be used, that are the same, and numbers that do not agree.

Strategy: two files contradict each other when a statement of one and a statement of the other have the same frame (the
same content words, the same kinds and units of numbers), one number differs and every other is the same. Two that
differ in more than one are taken for statements about different cases (two years, two sizes). A statement of few
words depends on its heading: it is left alone when both headings name something that the statement does not; so is a
date of few words, since every page has its own. Of pages that were made from one another (they share many sentences),
every statement depends on its heading, and on what the page is called. Files are compared within one language only:
words cannot be compared across. What the rule does not see: the same thing said in other words, and within one file.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from agent.documents import Document
from agent.ports.search import Lang, Passage
from agent.text.sentences import sentences

from .load import Skipped, Source, read_folder
from .read import read_whole
from .sections import language_of
from .statements import Reader, Statement
from .summary import EMPTY, Summary, summary
from .synonyms import read_synonyms

_SAYS_ENOUGH = 2  # words from which a statement says by itself what it is about
_DATE_SAYS_ENOUGH = 4  # such words, where a date is what differs
_SHARED = 3  # sentences that pages made from one another have in common, at least
_SHARE = 0.15  # and of the longer one's
_SENTENCE = 4  # words of the shortest sentence that tells so
_WORD = re.compile(r"[^\W\d_]+")
_OVER = ("is larger", "has more", "takes more")  # begin the reasons of a file over a bound
_COMPARED = 100  # statements of one frame that each further one is compared with


ReadSource: TypeAlias = Callable[[Source], tuple[Document, tuple[Passage, ...]] | Skipped]


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


def check(folder: Path, read: ReadSource = read_whole) -> Report:
    """Return what is to be looked at in a knowledge base, files first, then contradictions.

    read: returns a file as blocks and its sections, or why it is left out.
    Raises `agent.errors.UsageError` when `folder` is no folder. Blocks.
    """
    loaded = read_folder(folder)
    left_out = [*loaded.skipped, *read_synonyms(folder)[1]]
    empty: list[Finding] = []
    documents: list[Document] = []
    cut: list[tuple[Passage, ...]] = []
    for source in loaded.sources:
        whole = read(source)
        if isinstance(whole, Skipped):
            left_out.append(whole)
            continue
        document, passages = whole
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
    pages = Pages()
    for document in documents:
        lang = language_of(document)
        reader = readers.setdefault(lang, Reader(lang))
        pages.add(document, reader.title(document))
        for said in reader.read(document):
            framed[lang, said.frame, tuple(kind for kind, _ in said.values)].append(said)
    for alike in framed.values():
        yield from _disagreeing(alike, pages)


class Pages:
    """Which pages were made from one another. A page is looked at once it is asked about, and then once."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[Document, frozenset[str]]] = {}
        self._sentences: dict[str, frozenset[int]] = {}
        self._alike: dict[tuple[str, str], bool] = {}

    def add(self, document: Document, title: frozenset[str]) -> None:
        """Know a page and the stems of its title."""
        self._pages[document.file] = document, title

    def other_cases(self, one: Statement, other: Statement) -> bool:
        """Tell whether two statements are each about a thing of its page's own.

        They are where the pages were made from one another, or where nothing but numbers names what they are said of,
        as the rows of a page's history.
        """
        mine, theirs = (each.topic | self._pages[each.file][1] for each in (one, other))
        told = one.frame | (mine & theirs)
        if mine <= told or theirs <= told:
            return False
        return not (one.named and other.named) or self._made_alike(one.file, other.file)

    def _made_alike(self, one: str, other: str) -> bool:
        known = self._alike.get((one, other))
        if known is None:
            mine, theirs = self._said(one), self._said(other)
            shared = len(mine & theirs)
            known = shared >= max(_SHARED, _SHARE * max(len(mine), len(theirs)))
            self._alike[one, other] = known
        return known

    def _said(self, file: str) -> frozenset[int]:
        """Return a mark for each sentence of a page, its numbers aside."""
        if file not in self._sentences:
            said = (
                _WORD.findall(block.text[start:end].casefold())
                for block in self._pages[file][0].blocks
                if block.kind != "code"
                for start, end in sentences(block.text)
            )
            self._sentences[file] = frozenset(hash(tuple(words)) for words in said if len(words) >= _SENTENCE)
        return self._sentences[file]


def _disagreeing(alike: Sequence[Statement], pages: Pages) -> Iterator[Finding]:
    """Yield each of some statements of one frame that contradicts an earlier one."""
    earlier: dict[tuple[object, ...], Statement] = {}
    for said in alike:
        for other in islice(earlier.values(), _COMPARED):
            if said.file == other.file or {said.limits, other.limits} == {"<", ">"}:
                continue
            differing = _differing(said, other)
            if differing is None or not _same_subject(said, other, differing[0]):
                continue
            if pages.other_cases(said, other):
                continue
            _, mine, theirs = differing
            yield Finding(
                "contradiction",
                (f"{other.file}:{other.line}", f"{said.file}:{said.line}"),
                f"{theirs} or {mine}? “{other.text}” and “{said.text}”",
            )
            break
        earlier.setdefault((said.file, said.values, said.topic), said)


def _same_subject(one: Statement, other: Statement, kind: str) -> bool:
    """Tell whether two statements of one frame are about one thing, as far as their headings tell.

    kind: of the value that differs.
    """
    subjects = min(one.subjects, other.subjects)
    if subjects >= (_DATE_SAYS_ENOUGH if kind == "date" else _SAYS_ENOUGH):
        return True
    told = one.frame | (one.topic & other.topic)
    return (one.topic <= told or other.topic <= told) and bool(subjects or one.topic & other.topic)


def _differing(one: Statement, other: Statement) -> tuple[str, str, str] | None:
    """Return the kind of the one value that differs, and what both say; None when none does, or more than one."""
    mine, theirs = list(one.values), list(other.values)
    for value in one.values:
        if value in theirs:
            mine.remove(value)
            theirs.remove(value)
    if len(mine) != 1 or _agree(*mine[0], theirs[0][1]):
        return None
    return mine[0][0], mine[0][1], theirs[0][1]


def _agree(kind: str, one: str, other: str) -> bool:
    """Tell whether two values can both be right: another reading of the same digits, or a date and a part of it."""
    if kind == "date":
        return one.startswith(other) or other.startswith(one)
    return not set(one.split("|")).isdisjoint(other.split("|"))
