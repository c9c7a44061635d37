"""The settings of the documents. The folder is not looked at before it is read.

Above them, the limits that modules of this room share.
"""

from dataclasses import dataclass
from pathlib import Path

FILE_LINES = 100_000  # of one file; a file that has more, or takes more CPU than ...
FILE_SECONDS = 20.0  # ... this to be cut into snippets, is left out and named


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """The documents that answers are taken from.

    Args:
        kb: Folder of documents to answer from: Markdown, HTML, reStructuredText, plain text, PDF and DOCX.
        hit_cache: Keep the hits of recent questions until a document changes, so the same question needs no search. Use
            --no-hit-cache to measure searches.
    """

    kb: Path = Path("kb")
    hit_cache: bool = True
