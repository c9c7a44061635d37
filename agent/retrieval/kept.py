"""What reading a file gave, as bytes that can be kept, and back: its sections, and their words.

Strategy: MessagePack by schema, nothing that can run code. The statements of a section are bytes of their own, in
memory too: they are a third of what they take as objects, no garbage collection looks at them, and few are ever asked
for. So a start only parts a file's bytes, and a statement is made when somebody looks at it. What many of a section
share (the line that leads into a list) is written once, and a statement that is shown as it is said is, too. What
cannot be read, or does not fit together, is None: the file is then read anew.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import get_args

import msgspec

from agent.documents.form import Kind
from agent.ports.search import Lang, Passage, Snippet

from .terms import FileTerms

KINDS: tuple[str, ...] = get_args(Kind)

_MADE = 256  # sections whose statements are held as objects


class _Statement(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """text, lead: places in `_Statements.texts`; of a text that is what is said, -1."""

    text: int
    first: int
    last: int
    said: str
    lead: int


class _Statements(msgspec.Struct, frozen=True, array_like=True):
    texts: list[str]
    statements: list[_Statement]


class _Section(msgspec.Struct, frozen=True, array_like=True):
    """path: its place in `_Kept.paths`. kinds: of each statement, its place in KINDS. content: `_Statements`."""

    path: int
    lang: Lang
    kinds: bytes
    content: bytes


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    paths: list[tuple[str, ...]]
    sections: list[_Section]
    terms: FileTerms


_decoder = msgspec.msgpack.Decoder(_Kept)
_statements = msgspec.msgpack.Decoder(_Statements)
_encode = msgspec.msgpack.Encoder().encode


class Shelved(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The statements of one section as bytes (implements `agent.ports.search.Shelf`).

    kinds: of each statement, its place in KINDS. content: what `shelved` wrote.
    """

    file: str
    headings: tuple[str, ...]
    kinds: bytes
    content: bytes

    def __len__(self) -> int:
        return len(self.kinds)

    def made(self) -> tuple[Snippet, ...]:
        """Return them."""
        return _made(self)


@lru_cache(maxsize=_MADE)
def _made(shelved: Shelved) -> tuple[Snippet, ...]:
    """Return the statements of a section."""
    content = _statements.decode(shelved.content)
    texts = content.texts
    return tuple(
        [
            Snippet(
                shelved.file,
                each.said if each.text < 0 else texts[each.text],
                each.first,
                each.last,
                each.said,
                KINDS[kind],
                texts[each.lead],
                shelved.headings,
            )
            for kind, each in zip(shelved.kinds, content.statements, strict=True)
        ]
    )


def shelve(passage: Passage) -> Passage:
    """Return a section with its statements as bytes, or as it is where they cannot be written or are bytes already."""
    if isinstance(passage.held, Shelved):
        return passage
    texts: dict[str, int] = {}
    statements = [
        _Statement(
            -1 if each.text == each.said else texts.setdefault(each.text, len(texts)),
            each.first,
            each.last,
            each.said,
            texts.setdefault(each.lead, len(texts)),
        )
        for each in passage.snippets
    ]
    kinds = bytes([KINDS.index(each.kind) for each in passage.snippets])
    try:
        content = _encode(_Statements(list(texts), statements))
    except UnicodeEncodeError:  # a half of a character
        return passage
    shelved = Shelved(passage.file, passage.headings, kinds, content)
    return Passage(passage.file, passage.headings, passage.lang, shelved)


def packed(passages: Sequence[Passage], terms: FileTerms) -> bytes | None:
    """Return the sections of one file and their words as bytes; None when they cannot be written."""
    paths: dict[tuple[str, ...], int] = {}
    sections = []
    for passage in map(shelve, passages):
        shelved = passage.held
        if not isinstance(shelved, Shelved):
            return None
        path = paths.setdefault(passage.headings, len(paths))
        sections.append(_Section(path, passage.lang, shelved.kinds, shelved.content))
    try:
        return _encode(_Kept(list(paths), sections, terms))
    except UnicodeEncodeError:
        return None


def unpacked(file: str, content: bytes) -> tuple[tuple[Passage, ...], FileTerms] | None:
    """Return the sections of a file and their words; None when they are not what `packed` makes."""
    try:
        kept = _decoder.decode(content)
        passages = []
        for each, terms in zip(kept.sections, kept.terms.sections, strict=True):
            path = kept.paths[each.path]
            if len(each.kinds) != len(terms.marks):
                return None
            shelved = Shelved(file, path, each.kinds, each.content)
            passages.append(Passage(file, path, each.lang, shelved))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError, ValueError):
        return None
    return tuple(passages), kept.terms


def kinds(passage: Passage) -> Sequence[str]:
    """Return the kind of each statement of a section, without making any that is on a shelf."""
    held = passage.held
    if isinstance(held, Shelved):
        return [KINDS[kind] for kind in held.kinds]
    return [snippet.kind for snippet in passage.snippets]


def said(passage: Passage) -> Sequence[str]:
    """Return what each statement of a section says, without making any that is on a shelf."""
    held = passage.held
    if isinstance(held, Shelved):
        return [each.said for each in _statements.decode(held.content).statements]
    return [snippet.said for snippet in passage.snippets]
