"""The one form that every readable file becomes: blocks of plain text, each with its headings and its lines.

Strategy: readers of any format build these values and nothing else, so that searching, citing and showing know no
format. A block's text is what a person reads, without markup; `Document.lines` is what the file holds, for citing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.errors import AgentError

Kind = Literal["paragraph", "item", "row", "code", "quote"]
Unit = Literal["line", "page"]
GiveUp = Callable[[], bool]


class Unreadable(AgentError):
    """A file cannot be read; the message says why in a few words, as in "is not UTF-8 (byte 12)"."""


class NotInstalled(Unreadable):
    """The file may be fine: what reads its kind is not installed."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, table row, piece of code or quoted paragraph.

    kind: which of them.
    text: plain text with single spaces, or code as it is written. A row reads "first cell; header: cell; ...": a cell
        without a header stands alone, an empty one is left out, and one that spans several rows or columns is told
        in each of them (so a row's text can hold a cell whose words stand on an earlier line).
    first, last: places in `Document.lines`, from 1, inclusive.
    path: the headings above it, outermost first, in plain text. A document that has a title of its own begins with
        it; one whose first heading of level 1 is its title has that heading where it stands.
    starts: where in `text` each of the lines first..last begins; never decreasing.
    parents: what it hangs under, outermost first: the line that leads into its list ("...:") and the items around it;
        for code and a table, the line that leads to it.
    cells, header: a row's plain cells, and those of its table's header ("" where empty; () when there is none).
    header_line: the place of a row's header, 0 when there is none.
    group: a number above 0 that the blocks of one list or of one table share; 0 for others.
    depth: of an item, 0 for an outermost one.
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


@dataclass(frozen=True, slots=True)
class Document:
    r"""What one file says.

    file: "kb/" and the path below the folder, with forward slashes.
    title, description: of its front matter or of the format's own fields; the title else its first heading of
        level 1, else "". Never an answer.
    lang: the language the file says it is in ("sv", "en"), "" where it says nothing; never guessed here.
    lines: the file as it stands, split at \n, \r\n and \r. Where a format has no lines, what a reader would take for
        them: a line of text on a PDF's page; a paragraph, or a table's row, of a DOCX.
    unit: what a reader finds a place by: "page" when `pages` says on which page each of the lines stands.
    pages: from 1, one for each of `lines`; () where the unit is the line.
    blocks: in the order of the file.
    """

    file: str
    title: str
    description: str
    lang: str
    lines: tuple[str, ...]
    unit: Unit
    blocks: tuple[Block, ...]
    pages: tuple[int, ...] = ()
