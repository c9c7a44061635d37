"""The version in the header of a file, which is read before SQLite opens the file; imports nothing of SQLAlchemy."""

from contextlib import suppress
from pathlib import Path

# A header begins with the first; https://www.sqlite.org/fileformat2.html#the_database_header
_SQLITE = b"SQLite format 3\0"
_VERSION = slice(60, 64)  # of a header


class NewerVersionError(Exception):
    """The file has a schema that only a newer version of this program reads; the message gives the remedy."""

    def __init__(self, file: str, schema: int, known: int) -> None:
        super().__init__(
            f"{file} has schema {schema}, written by a newer version, and this version reads schemas up to {known}: "
            "run the newer version"
        )


def refuse_newer(file: Path, known: int) -> None:
    """Raise `NewerVersionError` if the header names a newer schema, before SQLite opens the file and changes a byte.

    A file that is not there is as good as one of this version. Blocks.
    """
    with suppress(FileNotFoundError), file.open("rb") as opened:
        header = opened.read(_VERSION.stop)
        if header.startswith(_SQLITE):
            check_version(file.name, int.from_bytes(header[_VERSION], "big"), known)


def check_version(file: str, schema: int, known: int) -> None:
    """Raise `NewerVersionError` if `schema` is newer than the `known` one."""
    if schema > known:
        raise NewerVersionError(file, schema, known)
