"""What reading a file gave, as bytes that can be kept, and back: its sections, and their words.

Strategy: MessagePack by schema, nothing that can run code. What many statements share (a heading path, the line that
leads into a list) is written once, and becomes one object again; a statement that is shown as it is said is written
once, too. What cannot be read, or does not fit together, is None: the file is then read anew.
"""

from collections.abc import Sequence
from typing import get_args

import msgspec

from agent.documents.form import Kind
from agent.ports.search import Lang, Passage, Snippet

from .terms import FileTerms

_KINDS: tuple[str, ...] = get_args(Kind)


class _Statement(msgspec.Struct, frozen=True, array_like=True):
    """text, lead: places in `_Kept.texts`; of a text that is what is said, -1. kind: its place in _KINDS."""

    text: int
    first: int
    last: int
    said: str
    kind: int
    lead: int


class _Section(msgspec.Struct, frozen=True, array_like=True):
    """path: its place in `_Kept.paths`."""

    path: int
    lang: Lang
    statements: list[_Statement]


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    paths: list[tuple[str, ...]]
    texts: list[str]
    sections: list[_Section]
    terms: FileTerms


_decoder = msgspec.msgpack.Decoder(_Kept)


def packed(passages: Sequence[Passage], terms: FileTerms) -> bytes | None:
    """Return the sections of one file and their words as bytes; None when they cannot be written."""
    paths: dict[tuple[str, ...], int] = {}
    texts: dict[str, int] = {}
    sections = [
        _Section(
            paths.setdefault(passage.headings, len(paths)),
            passage.lang,
            [
                _Statement(
                    -1 if each.text == each.said else texts.setdefault(each.text, len(texts)),
                    each.first,
                    each.last,
                    each.said,
                    _KINDS.index(each.kind),
                    texts.setdefault(each.lead, len(texts)),
                )
                for each in passage.snippets
            ],
        )
        for passage in passages
    ]
    try:
        return msgspec.msgpack.encode(_Kept(list(paths), list(texts), sections, terms))
    except UnicodeEncodeError:  # a half of a character
        return None


def unpacked(file: str, content: bytes) -> tuple[tuple[Passage, ...], FileTerms] | None:
    """Return the sections of a file and their words; None when they are not what `packed` makes."""
    try:
        kept = _decoder.decode(content)
        paths, texts = kept.paths, kept.texts
        passages = []
        for section in kept.sections:
            path = paths[section.path]
            snippets = [
                Snippet(
                    file,
                    each.said if each.text < 0 else texts[each.text],
                    each.first,
                    each.last,
                    each.said,
                    _KINDS[each.kind],
                    texts[each.lead],
                    path,
                )
                for each in section.statements
            ]
            passages.append(Passage(file, path, section.lang, tuple(snippets)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError):
        return None
    return (tuple(passages), kept.terms) if len(passages) == len(kept.terms.sections) else None
