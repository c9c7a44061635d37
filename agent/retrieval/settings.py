"""The settings of the documents. The folder is looked for when it is read."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """What is answered from.

    Args:
        kb: Folder with the knowledge base: documents in Markdown, HTML, reStructuredText or plain text, and PDF and
            DOCX with agent-server[documents].
        hit_cache: Keep what the latest questions found, until a document changes: one that is asked again is answered
            without a search. --no-hit-cache to measure what a search takes.
    """

    kb: Path = Path("kb")
    hit_cache: bool = True
