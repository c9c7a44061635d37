"""The base of the server's frames, and the citations that several of them hold."""

import msgspec


class OutboundFrame(msgspec.Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True):
    """The base of all frames: camelCase names on the wire, a `type` tag, defaults left out."""


class Citation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A source: 1 to 3 lines as they stand in `file`, or a part of a long one; a table's row after its header.

    `lines` holds the first and the last line, for a row its own. `heading` joins the headings above it, outermost
    first, with "›". `source` numbers the sections that a response cites, from 1, in the order in which its text uses
    them; citations of one section share a number. `spans` holds the parts of the text that it was cited for: the
    position of the first character and the one after the last, counted in Unicode code points (as Python does;
    JavaScript counts UTF-16 units). `when` and `by` belong to a citation from memory (`memory/ID`): its day
    (2026-05-03), and its speaker.
    """

    file: str
    snippet: str
    lines: tuple[int, int] | None = None
    heading: str | None = None
    source: int | None = None
    spans: tuple[tuple[int, int], ...] = ()
    when: str | None = None
    by: str | None = None
