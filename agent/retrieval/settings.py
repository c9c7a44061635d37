"""The settings of the documents. The folder is not looked at before it is read."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """The documents that answers are taken from.

    Args:
        kb: Folder of documents to answer from: Markdown, HTML, reStructuredText and plain text. PDF and DOCX need
            agent-server[documents].
        hit_cache: Keep the hits of recent questions until a document changes, so the same question needs no search. Use
            --no-hit-cache to measure searches.
    """

    kb: Path = Path("kb")
    hit_cache: bool = True
