"""Reads the operator's synonyms, from a file beside the documents of the knowledge base.

Strategy: `synonyms.txt` at the top of the folder, in the format of `agent.lexical.synonyms`. An unusable file is
reported as any other unusable file is, and leaves the search without synonyms.
"""

from pathlib import Path

from agent.lexical.synonyms import Synonyms, parse_synonyms

from .load import Skipped, read_file

NAME = "synonyms.txt"
BYTES = 256 * 1024
"""Largest size of the file."""


def read_synonyms(folder: Path) -> tuple[Synonyms, tuple[Skipped, ...]]:
    """Return the synonyms beside the documents in `folder`, and why their file cannot be used, if so.

    There are no synonyms where there is no file.
    """
    read = read_file(folder, str(folder / NAME), BYTES)
    if read is None:
        return Synonyms(), ()
    if isinstance(read, Skipped):
        return Synonyms(), (read,)
    try:
        return parse_synonyms(read.data), ()
    except UnicodeDecodeError as error:
        return Synonyms(), (Skipped(read.file, f"is not UTF-8 (byte {error.start})"),)
