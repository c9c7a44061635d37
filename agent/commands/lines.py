"""Reads JSON lines from files or standard input, in the same way for every command."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import msgspec

from ..errors import UsageError

T = TypeVar("T")


def read_lines(files: Sequence[Path], kind: type[T], wanted: str) -> Iterator[tuple[str, T]]:
    """Yield each line that is not blank as a `kind`, with its place for messages ("a.jsonl, line 3").

    `files`: read one after the other; without any, standard input is read. `wanted`: the expected form of a line, as
    an order ("write {...}"). Raises `UsageError`, one line with the place and `wanted`, at the first line that is no
    `kind`.
    """
    decoder = msgspec.json.Decoder(kind)
    for file in files or (None,):
        for place, line in _lines(file):
            try:
                given = decoder.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                raise UsageError(f"{place}: {str(error).rstrip('.')}; {wanted}") from None
            yield place, given


def _lines(file: Path | None) -> Iterator[tuple[str, bytes]]:
    """Yield each line of `file` that is not blank, with its place."""
    name = "standard input" if file is None else str(file)
    try:
        with nullcontext(sys.stdin.buffer) if file is None else open(file, "rb") as source:
            for number, line in enumerate(source, 1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield f"{name}, line {number}", line
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None
