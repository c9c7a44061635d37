"""Reads markdown (.md, .markdown, .mdx).

Strategy: front matter off, tags and the dialects' marks out (they leave their line breaks), then markdown-it for the
structure of blocks, in parts of some ten thousand characters, and its inline rules for what stands in them.
"""

from collections.abc import Sequence
from itertools import pairwise

from .breath import Breath
from .builder import Builder
from .clean import Clean
from .form import Document
from .front import front_matter
from .grammar import parsed
from .indents import Indents
from .inline import Inline
from .markup import Markup
from .outline import Outline
from .source import decoded, split


def read(file: str, data: bytes, breath: Breath, *, mdx: bool = False) -> Document:
    """Read a markdown file. mdx: braces hold expressions, and indented lines are no code.

    Raises `Unreadable`, and `GivenUp`.
    """
    lines = split(decoded(data))
    front = front_matter(lines)
    rest = [""] * front.after + lines[front.after :]
    clean = Markup(rest, breath, mdx=mdx).run()
    Indents(clean, breath).run()
    builder = Builder(breath, front.title)
    outline = Outline(builder, Inline(clean.labels, breath), clean)
    for first, part in _parts(clean):
        outline.read(
            parsed(part, first, clean, breath, indented_code=not mdx), first, goes_on=first in clean.list_cuts
        )
    outline.finish()
    return Document(
        file,
        front.title or builder.headings.first_of_level_1,
        front.description,
        front.lang,
        tuple(lines),
        "line",
        tuple(builder.blocks),
    )


def _parts(clean: Clean) -> Sequence[tuple[int, list[str]]]:
    """Return the lines in parts that can be read one after the other, each with its first line's number from 0."""
    cuts = [0, *clean.cuts, len(clean.lines)]
    return [(first, clean.lines[first:end]) for first, end in pairwise(cuts)]
