"""The index of a folder as it was, as bytes that can be kept, and back: what `tantivy` does not hold of it.

Strategy: MessagePack by schema. The tables are there as they are in memory, so that a start with the same documents
reads no file's entry and makes no table: it hashes the documents, and looks at each section once. A start for which
some have changed takes all others over, as when they change under a running server. What does not fit together is
None: the index is then built anew, of the entries of the files.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence

import msgspec
import tantivy

from agent.lexical.lexicon import Lexicon
from agent.lexical.postings import NUMBERS, PackedHolders
from agent.lexical.vocabulary import PackedWords
from agent.ports.search import Lang, Passage

from .base import Base, Place, Section, leads_of
from .kept import Shelved, shelve


class KeptFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file of the folder that gives something to the index. name: as it is cited."""

    path: str
    digest: bytes
    name: str


class _Section(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """file, path: places in `_Whole`. kinds, content: as in `kept`. led: the place in `leads` for each statement."""

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


class _Whole(msgspec.Struct, frozen=True, array_like=True):
    """vectors: one row for each section that is there, as bytes; b"" where there are none."""

    files: list[KeptFile]
    names: dict[str, int]
    paths: list[tuple[str, ...]]
    sections: list[_Section | None]
    counts: bytes
    holders: PackedHolders
    words: PackedWords
    vectors: bytes


class Whole(msgspec.Struct, frozen=True):
    """files: those that the index is of. passages: of each, by its path. vectors: as `packed` was given them."""

    files: list[KeptFile]
    passages: Mapping[str, tuple[Passage, ...]]
    base: Base
    vectors: bytes


_decoder = msgspec.msgpack.Decoder(_Whole)


def packed(files: Sequence[KeptFile], base: Base, vectors: bytes, look: Callable[[], None]) -> bytes | None:
    """Return an index as bytes; None when it cannot be written.

    look: raises what ends it early.
    """
    paths: dict[tuple[str, ...], int] = {}
    sections: list[_Section | None] = []
    for section in base.sections:
        look()
        if section is None:
            sections.append(None)
            continue
        passage = shelve(section.passage)
        held = passage.held
        if not isinstance(held, Shelved):
            return None
        leads: dict[int, int] = {}
        led = array(NUMBERS, [leads.setdefault(id(lead), len(leads)) for lead in section.leads])
        by_id = {id(lead): lead for lead in section.leads}
        sections.append(
            _Section(
                section.file,
                paths.setdefault(passage.headings, len(paths)),
                passage.lang,
                held.kinds,
                held.content,
                section.headings_held,
                section.own_held,
                section.ends_held,
                [by_id[lead].tobytes() for lead in leads],
                led.tobytes(),
                section.marks,
            )
        )
    whole = _Whole(
        list(files),
        base.files,
        list(paths),
        sections,
        *base.lexicon.packed(),
        vectors,
    )
    try:
        return msgspec.msgpack.encode(whole)
    except UnicodeEncodeError:  # a half of a character, in the name of a file too
        return None


def unpacked(content: bytes, place: Place, index: tantivy.Index) -> Whole | None:
    """Return an index; None when it is not what `packed` made. index: tantivy's, in its place."""
    try:
        kept = _decoder.decode(content)
        names = {number: name for name, number in kept.names.items()}
        sections = [None if each is None else _section(each, names, kept.paths) for each in kept.sections]
        living = [section for section in sections if section is not None]
        lexicon = Lexicon.unpacked(kept.counts, kept.holders, kept.words, len(living))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, ValueError):
        return None
    passages: dict[str, list[Passage]] = {each.name: [] for each in kept.files}
    for section in living:
        passages.setdefault(section.passage.file, []).append(section.passage)
    if len(passages) != len(kept.files) or not all(passages.values()):
        return None
    base = Base(index, sections, lexicon, kept.names, place)
    by_path = {each.path: tuple(passages[each.name]) for each in kept.files}
    return Whole(kept.files, by_path, base, kept.vectors)


def _section(kept: _Section, names: Mapping[int, str], paths: Sequence[tuple[str, ...]]) -> Section:
    file, path = names[kept.file], paths[kept.path]
    if len(kept.kinds) != len(kept.marks):
        raise ValueError("statements without marks")
    return Section(
        Passage(file, path, kept.lang, Shelved(file, path, kept.kinds, kept.content)),
        kept.file,
        kept.headings,
        kept.own,
        kept.ends,
        leads_of(kept.leads, kept.led),
        kept.marks,
    )
