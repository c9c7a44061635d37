"""Reads markdown (.md, .markdown, .mdx).

Strategy: remove the front matter (`front_matter.py`), then the tags and the dialects' marks, which leave their line
breaks (`markup.py`, `indents.py`). markdown-it finds the block structure, in parts of some ten thousand characters
(`grammar.py`), and its inline rules read the content of the blocks (`inline.py`); `outline.py` makes blocks of both.
"""

from collections.abc import Sequence
from itertools import pairwise

from .blocks import Document
from .builder import BlockBuilder
from .clean_lines import CleanMarkdown
from .front_matter import front_matter
from .grammar import parse_blocks
from .indents import Indents
from .inline import Inline
from .markup import MarkupRemover
from .outline import Outline
from .source import decode_text, split_lines
from .step_counter import StepCounter


def read_markdown(file: str, data: bytes, step_counter: StepCounter, *, mdx: bool = False) -> Document:
    """Read a markdown file. `mdx`: braces hold expressions, and indented lines are no code.

    Raises `Unreadable`, and `GivenUp`.
    """
    lines = split_lines(decode_text(data))
    front = front_matter(lines)
    rest = [""] * front.after + lines[front.after :]
    clean = MarkupRemover(rest, step_counter, mdx=mdx).remove_markup()
    Indents(clean, step_counter).run()
    builder = BlockBuilder(step_counter, front.title)
    outline = Outline(builder, Inline(clean.labels, step_counter), clean)
    for first, part in _parts(clean):
        outline.add_tokens(
            parse_blocks(part, first, clean, step_counter, indented_code=not mdx),
            first,
            goes_on=first in clean.list_cuts,
        )
    outline.finish()
    return builder.make_document(
        file, lines, title=front.title, description=front.description, lang=front.lang
    )


def _parts(clean: CleanMarkdown) -> Sequence[tuple[int, list[str]]]:
    """Cut the lines into parts that can be read one after the other, each with the number of its first line from 0."""
    cuts = [0, *clean.cuts, len(clean.lines)]
    return [(first, clean.lines[first:end]) for first, end in pairwise(cuts)]
