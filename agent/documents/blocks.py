"""The form that every readable file becomes: blocks of plain text, each with its headings and its lines.

Strategy: readers of any format build these values and nothing else, so that searching, citing and showing know no
format. The text of a `Block` is the visible text without markup; `Document.lines` holds the lines of the file, for
citations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.errors import AgentError

PAGES_READ = 2_000
"""Pages of a file that are read; further ones are left out."""

Kind = Literal["paragraph", "item", "row", "code", "quote"]
Unit = Literal["line", "page"]
GiveUp = Callable[[], bool]


class Unreadable(AgentError):
    """A file cannot be read; the message gives the reason in a few words, as in "is not UTF-8 (byte 12)"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, list item, table row, piece of code or quoted paragraph.

    `kind`: which of these it is.
    `text`: plain text with single spaces, or code as it is written. A row reads "first cell; header: cell; ...": a cell
        without a header stands alone, an empty one is left out, and one that spans several rows or columns is repeated
        in each of them (so a row's text can hold a cell whose words stand on an earlier line).
    `first`, `last`: places in `Document.lines`, from 1, inclusive.
    `path`: the headings above it, outermost first, in plain text. In a document with a title of its own the path begins
        with the title; a first heading of level 1 that serves as the title stays where it is.
    `starts`: the offset in `text` of each of the lines `first` to `last`; never decreasing.
    `parents`: the texts it hangs under, outermost first: the line that leads into its list ("...:") and the items
        around it; for code and a table, the line that leads to it.
    `cells`, `header`: the plain cells of a row, and those of its table's header ("" where empty; () without a header).
    `header_line`: the place of a row's header, 0 without a header.
    `group`: a number above 0 that the blocks of one list or table share; 0 for other blocks.
    `depth`: the level of an item in its list, 0 for an outermost one.
    """

    kind: Kind
    text: str
    first: int
    last: int
    path: tuple[str, ...] = ()
    starts: tuple[int, ...] = (0,)
    parents: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    header_line: int = 0
    group: int = 0
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    r"""The content of one file.

    `file`: "kb/" and the path below the folder, with forward slashes.
    `title`, `description`: from the front matter or the format's own fields; without them, the title is the first
        heading of level 1, else "". Neither is ever quoted as an answer.
    `lang`: the language that the file declares ("sv", "en"), "" without a declaration; never guessed here.
    `lines`: the file split at \n, \r\n and \r. A format without lines has its nearest equivalent: a line of text on a
        PDF's page; a paragraph, or a table's row, of a DOCX.
    `unit`: the unit in which a reader finds a place: "page" when `pages` gives the page of each line, else "line".
    `pages`: from 1, one for each of `lines`; () when `unit` is "line".
    `page_count`: the pages of the file, with those that hold no text or are too many to be read; 0 without pages.
    `pictures`: how many pictures it holds, whose text is not read; counted in DOCX only.
    `blocks`: in the order of the file.
    """

    file: str
    title: str
    description: str
    lang: str
    lines: tuple[str, ...]
    unit: Unit
    blocks: tuple[Block, ...]
    pages: tuple[int, ...] = ()
    page_count: int = 0
    pictures: int = 0
