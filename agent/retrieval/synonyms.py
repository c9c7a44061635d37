"""The operator's synonyms: words that ask for one thing in this knowledge base, in a file beside its documents.

Strategy: `synonyms.txt` at the top of the folder, as `agent.lexical.synonyms` reads it. What is no such file is named
like any other file that cannot be used, and leaves the search without synonyms.
"""

from pathlib import Path

from agent.lexical.synonyms import Synonyms, parse

from .load import Skipped, read_file

NAME = "synonyms.txt"
BYTES = 256 * 1024
"""Of the file."""


def read_synonyms(folder: Path) -> tuple[Synonyms, tuple[Skipped, ...]]:
    """Return the synonyms beside the documents in `folder`, none where there is no file; and why it cannot be used."""
    read = read_file(folder, str(folder / NAME), BYTES)
    if read is None:
        return Synonyms(), ()
    if isinstance(read, Skipped):
        return Synonyms(), (read,)
    try:
        return parse(read.data), ()
    except UnicodeDecodeError as error:
        return Synonyms(), (Skipped(read.file, f"is not UTF-8 (byte {error.start})"),)
