"""Packs the whole index of a folder as bytes for the next start, apart from tantivy's files, and unpacks it.

Strategy: MessagePack by schema. The tables are stored as they are in memory, so that a start with the same documents
reads no file's entry and builds no table: it hashes the documents, and looks at each section once. A start for which
some documents have changed takes over all others, as a running server does. Parts that do not fit together give None:
the index is then built anew from the entries of the files.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence

import msgspec
import tantivy

from agent.lexical.lexicon import Lexicon
from agent.lexical.postings import NUMBERS, PackedHolders
from agent.lexical.vocabulary import PackedWords
from agent.ports.search import Lang, Passage

from .base import IndexData, IndexedSection, IndexPlace, leads_of
from .packed_sections import ShelvedStatements, shelve


class IndexedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of the folder with sections in the index. `name`: as it is cited."""

    path: str
    digest: bytes
    name: str


class _StoredSection(msgspec.Struct, frozen=True, array_like=True, gc=False, kw_only=True):
    """A section. `file`: its number in `_StoredIndex.names`. `path`: its place in `_StoredIndex.paths`.

    `kinds`, `content`: as in `kept`. `led`: the place in `leads` for each statement. The others are as in
    `base.IndexedSection`.
    """

    file: int
    path: int
    lang: Lang
    kinds: bytes
    content: bytes
    headings: bytes
    own: bytes
    ends: bytes
    leads: list[bytes]
    led: bytes
    marks: bytes


class _StoredIndex(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A saved index. `vectors`: one row for each living section, as bytes; `tokens`: of the words. b"" without them."""

    files: list[IndexedFile]
    names: dict[str, int]
    paths: list[tuple[str, ...]]
    sections: list[_StoredSection | None]
    counts: bytes
    holders: PackedHolders
    words: PackedWords
    vectors: bytes
    tokens: bytes


class SavedIndex(msgspec.Struct, frozen=True):
    """An index that was loaded.

    `files`: those that it holds. `passages`: the sections of each, by its path. `vectors`, `tokens`: as they were given
    to `pack_index`.
    """

    files: list[IndexedFile]
    passages: Mapping[str, tuple[Passage, ...]]
    base: IndexData
    vectors: bytes
    tokens: bytes


_decoder = msgspec.msgpack.Decoder(_StoredIndex)


def pack_index(
    files: Sequence[IndexedFile],
    base: IndexData,
    vectors: bytes,
    tokens: bytes,
    look: Callable[[], None],
) -> bytes | None:
    """Return an index as bytes; None when it cannot be encoded.

    `vectors`: of its sections. `tokens`: of its words (`KnowledgeEmbedder.pack_words`).
    `look`: called for each section; may raise to end the work early.
    """
    paths: dict[tuple[str, ...], int] = {}
    sections: list[_StoredSection | None] = []
    for section in base.sections:
        look()
        if section is None:
            sections.append(None)
            continue
        passage = shelve(section.passage)
        held = passage.held
        if not isinstance(held, ShelvedStatements):
            return None
        leads: dict[int, int] = {}
        led = array(NUMBERS, [leads.setdefault(id(lead), len(leads)) for lead in section.leads])
        by_id = {id(lead): lead for lead in section.leads}
        sections.append(
            _StoredSection(
                file=section.file,
                path=paths.setdefault(passage.headings, len(paths)),
                lang=passage.lang,
                kinds=held.kinds,
                content=held.content,
                headings=section.headings_held,
                own=section.own_held,
                ends=section.ends_held,
                leads=[by_id[lead].tobytes() for lead in leads],
                led=led.tobytes(),
                marks=section.marks,
            )
        )
    counts, holders, words = base.lexicon.pack()
    whole = _StoredIndex(
        files=list(files),
        names=base.files,
        paths=list(paths),
        sections=sections,
        counts=counts,
        holders=holders,
        words=words,
        vectors=vectors,
        tokens=tokens,
    )
    try:
        return msgspec.msgpack.encode(whole)
    except UnicodeEncodeError:  # a lone surrogate, in the name of a file too
        return None


def unpack_index(content: bytes, place: IndexPlace, index: tantivy.Index) -> SavedIndex | None:
    """Return the index that `pack_index` wrote, or None when `content` does not fit. `index`: tantivy's, in `place`."""
    try:
        stored = _decoder.decode(content)
        names = {number: name for name, number in stored.names.items()}
        sections = [
            None if each is None else _restore_section(each, names, stored.paths) for each in stored.sections
        ]
        living = [section for section in sections if section is not None]
        lexicon = Lexicon.unpack(stored.counts, stored.holders, stored.words, len(living))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, ValueError):
        return None
    passages: dict[str, list[Passage]] = {each.name: [] for each in stored.files}
    for section in living:
        passages.setdefault(section.passage.file, []).append(section.passage)
    if len(passages) != len(stored.files) or not all(passages.values()):
        return None
    base = IndexData(index, sections, lexicon, stored.names, place)
    by_path = {each.path: tuple(passages[each.name]) for each in stored.files}
    return SavedIndex(stored.files, by_path, base, stored.vectors, stored.tokens)


def _restore_section(
    stored: _StoredSection, names: Mapping[int, str], paths: Sequence[tuple[str, ...]]
) -> IndexedSection:
    """Return a stored section as an `IndexedSection`. Raises ValueError when its parts do not fit together."""
    file, path = names[stored.file], paths[stored.path]
    if len(stored.kinds) != len(stored.marks):
        raise ValueError("statements without marks")
    return IndexedSection(
        passage=Passage(file, path, stored.lang, ShelvedStatements(file, path, stored.kinds, stored.content)),
        file=stored.file,
        headings_held=stored.headings,
        own_held=stored.own,
        ends_held=stored.ends,
        leads=leads_of(stored.leads, stored.led),
        marks=stored.marks,
    )
