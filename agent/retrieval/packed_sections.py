"""Packs the sections of a file and their words as bytes for the cache, and unpacks them.

Strategy: MessagePack by schema, nothing that can run code. The statements of a section are bytes of their own, in
memory too: they take a third of the space of objects, the garbage collector does not visit them, and few are ever
needed. So a start only splits the bytes of a file, and a statement is made when it is first read. A text that many
statements of a section share (the line that leads into a list) is stored once, and so is the text of a statement that
is shown exactly as it is said. Bytes that cannot be unpacked, or whose parts do not fit together, give None: the file
is then read anew.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import get_args

import msgspec

from agent.documents.blocks import Kind
from agent.ports.search import Lang, Passage, Snippet

from .terms import FileTerms

KINDS: tuple[str, ...] = get_args(Kind)

_LOADED = 256  # sections whose statements are cached as objects


class _PackedStatement(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A statement. `text`, `lead`: places in `_PackedStatements.texts`; -1 for a text that equals `said`."""

    text: int
    first: int
    last: int
    said: str
    lead: int


class _PackedStatements(msgspec.Struct, frozen=True, array_like=True):
    """The statements of one section, and the texts that they refer to."""

    texts: list[str]
    statements: list[_PackedStatement]


class _PackedSection(msgspec.Struct, frozen=True, array_like=True):
    """A section. `path`: its place in `_PackedFile.paths`. `content`: a packed `_PackedStatements`.

    `kinds`: the place of each statement's kind in `KINDS`.
    """

    path: int
    lang: Lang
    kinds: bytes
    content: bytes


class _PackedFile(msgspec.Struct, frozen=True, array_like=True):
    """The sections of a file and their words. `paths`: the different heading paths."""

    paths: list[tuple[str, ...]]
    sections: list[_PackedSection]
    terms: FileTerms


_decoder = msgspec.msgpack.Decoder(_PackedFile)
_statements = msgspec.msgpack.Decoder(_PackedStatements)
_encode = msgspec.msgpack.Encoder().encode


class ShelvedStatements(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The statements of one section as bytes (implements `agent.ports.search.SnippetShelf`).

    `kinds`: the place of each statement's kind in `KINDS`. `content`: as `shelve` wrote it.
    """

    file: str
    headings: tuple[str, ...]
    kinds: bytes
    content: bytes

    def __len__(self) -> int:
        return len(self.kinds)

    def load_snippets(self) -> tuple[Snippet, ...]:
        """Return the statements as objects; see `_load_snippets`."""
        return _load_snippets(self)

    def may_hold(self, sign: str) -> bool:
        """Return false where no statement holds `sign`."""
        return sign.encode() in self.content


@lru_cache(maxsize=_LOADED)
def _load_snippets(shelved: ShelvedStatements) -> tuple[Snippet, ...]:
    """Return the statements of a section as objects, the latest of them from a cache."""
    content = _statements.decode(shelved.content)
    texts = content.texts
    return tuple(
        [
            Snippet(
                file=shelved.file,
                text=each.said if each.text < 0 else texts[each.text],
                first=each.first,
                last=each.last,
                plain_text=each.said,
                kind=KINDS[kind],
                lead=texts[each.lead],
                headings=shelved.headings,
            )
            for kind, each in zip(shelved.kinds, content.statements, strict=True)
        ]
    )


def shelve(passage: Passage) -> Passage:
    """Return a section with its statements as bytes, or as it is where they cannot be encoded or are bytes already."""
    if isinstance(passage.held, ShelvedStatements):
        return passage
    texts: dict[str, int] = {}
    statements = [
        _PackedStatement(
            -1 if each.text == each.plain_text else texts.setdefault(each.text, len(texts)),
            each.first,
            each.last,
            each.plain_text,
            texts.setdefault(each.lead, len(texts)),
        )
        for each in passage.snippets
    ]
    kinds = bytes([KINDS.index(each.kind) for each in passage.snippets])
    try:
        content = _encode(_PackedStatements(list(texts), statements))
    except UnicodeEncodeError:  # a lone surrogate
        return passage
    shelved = ShelvedStatements(passage.file, passage.headings, kinds, content)
    return Passage(passage.file, passage.headings, passage.lang, shelved)


def pack_sections(passages: Sequence[Passage], terms: FileTerms) -> bytes | None:
    """Return the sections of one file and their words as bytes; None when they cannot be encoded."""
    paths: dict[tuple[str, ...], int] = {}
    sections = []
    for passage in map(shelve, passages):
        shelved = passage.held
        if not isinstance(shelved, ShelvedStatements):
            return None
        path = paths.setdefault(passage.headings, len(paths))
        sections.append(_PackedSection(path, passage.lang, shelved.kinds, shelved.content))
    try:
        return _encode(_PackedFile(list(paths), sections, terms))
    except UnicodeEncodeError:
        return None


def unpack_sections(file: str, content: bytes) -> tuple[tuple[Passage, ...], FileTerms] | None:
    """Return the sections of a file and their words; None when `content` is not from `pack_sections`."""
    try:
        file_content = _decoder.decode(content)
        passages = []
        for each, terms in zip(file_content.sections, file_content.terms.sections, strict=True):
            path = file_content.paths[each.path]
            if len(each.kinds) != len(terms.marks):
                return None
            shelved = ShelvedStatements(file, path, each.kinds, each.content)
            passages.append(Passage(file, path, each.lang, shelved))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError, ValueError):
        return None
    return tuple(passages), file_content.terms


def kinds_of(passage: Passage) -> Sequence[str]:
    """Return the kind of each statement of a section, without making snippets of shelved statements."""
    held = passage.held
    if isinstance(held, ShelvedStatements):
        return [KINDS[kind] for kind in held.kinds]
    return [snippet.kind for snippet in passage.snippets]


def statement_texts(passage: Passage) -> Sequence[str]:
    """Return the plain words of each statement of a section, without making snippets of shelved statements."""
    held = passage.held
    if isinstance(held, ShelvedStatements):
        return [each.said for each in _statements.decode(held.content).statements]
    return [snippet.plain_text for snippet in passage.snippets]
