"""Documents: reads a file of any supported format into one inner form, plain blocks with their headings and lines.

Entry points: `parse_document` turns the bytes of a file into a `Document`; `SUFFIXES` lists the formats. Each format
has a module with its reader (`markdown.py`, `html.py`, `rst.py`, `pdf.py`, `docx.py`, `text.py`); all of them add
blocks to the `BlockBuilder` in `builder.py`. A file that cannot be read raises `Unreadable`, with the reason as its
message. The room imports `agent.errors`, `agent.lang` and `agent.text`; the parsers of PDF and DOCX files (pypdfium2,
python-docx) are imported only when such a file is read. Start reading in `blocks.py`, then `open.py` and `builder.py`.
"""

from .blocks import PAGES_READ, Block, Document, Kind, Unit, Unreadable
from .open import SUFFIXES, parse_document

__all__ = ["PAGES_READ", "SUFFIXES", "Block", "Document", "Kind", "Unit", "Unreadable", "parse_document"]
