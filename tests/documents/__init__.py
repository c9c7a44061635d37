"""Helpers of the tests of readers."""

from collections.abc import Iterator
from textwrap import dedent

from agent.documents import Block, Document, parse_document


def md(text: str, suffix: str = ".md") -> Document:
    """Read a dedented text."""
    return parse_document(f"kb/a{suffix}", dedent(text).lstrip("\n").encode())


def told(document: Document) -> list[tuple[str, str]]:
    """Return the kind and text of each block."""
    return [(block.kind, block.text) for block in document.blocks]


def texts(document: Document) -> list[str]:
    """Return the text of each block."""
    return [block.text for block in document.blocks]


def only(document: Document) -> Block:
    """Return the one block there is."""
    (block,) = document.blocks
    return block


def under(document: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and text of each block."""
    for block in document.blocks:
        yield block.path, block.text
