"""Checks a knowledge base: unusable files, duplicates, and numbers that contradict each other.

Strategy: two files contradict each other when a statement of one and a statement of the other have the same frame
(the same content words, the same kinds and units of numbers), one number differs and all others are equal. Statements
that differ in more than one number are taken to be about different cases (two years, two sizes). A statement of few
words depends on its heading: it is left alone when each of the two headings names something that the statement does
not. So is a date of few words, since every page has its own.

Among pages that were made from one another (they share many sentences), every statement depends on its heading and on
the title of its page. Files are compared within one language only, since words cannot be compared across languages.
The rule does not see the same thing said in other words, nor contradictions within one file.
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
from agent.text.sentences import find_sentences

from .load import Skipped, SourceFile, read_folder
from .read import read_whole
from .sections import language_of
from .statements import NumericStatement, StatementReader
from .summary import EMPTY, ReadingSummary, summarize
from .synonyms import read_synonyms

_SAYS_ENOUGH = 2  # words from which a statement shows its subject without its heading
_DATE_SAYS_ENOUGH = 4  # such words, where a date differs
_SHARED = 3  # sentences that related pages have in common, at least ...
_SHARE = 0.15  # ... and their share of the longer page's sentences
_SENTENCE = 4  # words of the shortest sentence that counts for it
_WORD = re.compile(r"[^\W\d_]+")
_OVER = ("is larger", "has more", "takes more")  # beginnings of the reasons for a file over a bound
_COMPARED = 100  # earlier statements of its frame that each statement is compared with


ReadSource: TypeAlias = Callable[[SourceFile], tuple[Document, tuple[Passage, ...]] | Skipped]


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a knowledge base. `kind`: unreadable, empty, oversized, duplicate or contradiction.

    `files`: the files concerned, with ":" and a line number for a contradiction. `words`: the problem, for people.
    """

    kind: str
    files: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check. `read`: the counts of files that were read and left out."""

    findings: tuple[Finding, ...]
    read: ReadingSummary


def check_knowledge(folder: Path, read: ReadSource = read_whole) -> CheckReport:
    """Return the problems of a knowledge base: first those of files, then contradictions.

    `read`: returns a file as blocks with its sections, or the reason why it is left out.
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
    findings = (*found, *empty, *_find_duplicates(loaded.sources), *find_contradictions(documents))
    return CheckReport(findings, summarize(cut, left_out, loaded.others))


def _find_duplicates(sources: Iterable[SourceFile]) -> Iterator[Finding]:
    """Yield the groups of files with the same text, apart from white space at line ends."""
    same: defaultdict[bytes, list[str]] = defaultdict(list)
    for source in sources:
        text = b"\n".join(line.rstrip() for line in source.data.strip().splitlines())
        if text:
            same[hashlib.blake2b(text).digest()].append(source.file)
    for files in same.values():
        if len(files) > 1:
            yield Finding("duplicate", tuple(files), "have the same text")


def find_contradictions(documents: Iterable[Document]) -> Iterator[Finding]:
    """Yield each statement with another number than a statement in another file, together with that statement."""
    readers: dict[Lang, StatementReader] = {}
    framed: defaultdict[tuple[Lang, frozenset[str], tuple[str, ...]], list[NumericStatement]] = defaultdict(
        list
    )
    pages = RelatedPages()
    for document in documents:
        lang = language_of(document)
        reader = readers.setdefault(lang, StatementReader(lang))
        pages.add_page(document, reader.title_stems(document))
        for statement in reader.read_statements(document):
            framed[lang, statement.frame, tuple(kind for kind, _ in statement.values)].append(statement)
    for alike in framed.values():
        yield from _find_disagreements(alike, pages)


class RelatedPages:
    """Tells which pages were made from one another. Each page and pair of pages is examined once, when first needed."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[Document, frozenset[str]]] = {}
        self._sentences: dict[str, frozenset[int]] = {}
        self._alike: dict[tuple[str, str], bool] = {}

    def add_page(self, document: Document, title: frozenset[str]) -> None:
        """Add a page with the stems of its `title`."""
        self._pages[document.file] = document, title

    def are_other_cases(self, one: NumericStatement, other: NumericStatement) -> bool:
        """Tell whether two statements are each about a subject of their own page.

        They are where the pages were made from one another, or where only numbers name the subject, as in the rows of
        a page's history.
        """
        own, others = (each.topic | self._pages[each.file][1] for each in (one, other))
        common = one.frame | (own & others)
        if own <= common or others <= common:
            return False
        return not (one.named and other.named) or self._are_related(one.file, other.file)

    def _are_related(self, one: str, other: str) -> bool:
        known = self._alike.get((one, other))
        if known is None:
            own, others = self._sentence_hashes(one), self._sentence_hashes(other)
            shared = len(own & others)
            known = shared >= max(_SHARED, _SHARE * max(len(own), len(others)))
            self._alike[one, other] = known
        return known

    def _sentence_hashes(self, file: str) -> frozenset[int]:
        """Return a hash of each sentence of a page, without its numbers."""
        if file not in self._sentences:
            texts = (
                _WORD.findall(block.text[start:end].casefold())
                for block in self._pages[file][0].blocks
                if block.kind != "code"
                for start, end in find_sentences(block.text)
            )
            self._sentences[file] = frozenset(
                hash(tuple(words)) for words in texts if len(words) >= _SENTENCE
            )
        return self._sentences[file]


def _find_disagreements(alike: Sequence[NumericStatement], pages: RelatedPages) -> Iterator[Finding]:
    """Yield a finding for each statement that contradicts an earlier one; all of `alike` have one frame."""
    earlier: dict[tuple[object, ...], NumericStatement] = {}
    for statement in alike:
        for other in islice(earlier.values(), _COMPARED):
            if statement.file == other.file or {statement.limits, other.limits} == {"<", ">"}:
                continue
            differing = _find_difference(statement, other)
            if differing is None or not _have_same_subject(statement, other, differing[0]):
                continue
            if pages.are_other_cases(statement, other):
                continue
            _, own, earlier_value = differing
            yield Finding(
                "contradiction",
                (f"{other.file}:{other.line}", f"{statement.file}:{statement.line}"),
                f"{earlier_value} or {own}? “{other.text}” and “{statement.text}”",
            )
            break
        earlier.setdefault((statement.file, statement.values, statement.topic), statement)


def _have_same_subject(one: NumericStatement, other: NumericStatement, kind: str) -> bool:
    """Tell whether two statements of one frame are about one subject, as far as their headings show.

    `kind`: of the value that differs.
    """
    subjects = min(one.subjects, other.subjects)
    if subjects >= (_DATE_SAYS_ENOUGH if kind == "date" else _SAYS_ENOUGH):
        return True
    common = one.frame | (one.topic & other.topic)
    return (one.topic <= common or other.topic <= common) and bool(subjects or one.topic & other.topic)


def _find_difference(one: NumericStatement, other: NumericStatement) -> tuple[str, str, str] | None:
    """Return the kind of the only value that differs, and both values; None when not exactly one differs."""
    own, others = list(one.values), list(other.values)
    for value in one.values:
        if value in others:
            own.remove(value)
            others.remove(value)
    if len(own) != 1 or _agree(*own[0], others[0][1]):
        return None
    return own[0][0], own[0][1], others[0][1]


def _agree(kind: str, one: str, other: str) -> bool:
    """Tell whether two values can both be right: readings of the same digits, or a date and a part of it."""
    if kind == "date":
        return one.startswith(other) or other.startswith(one)
    return not set(one.split("|")).isdisjoint(other.split("|"))
