"""Opens the multipart parser, whose library is imported with the first upload."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Parser(Protocol):
    """Reads a multipart body piece by piece."""

    def write(self, data: bytes) -> int:
        """Parse a piece, and call the callbacks for its parts. Raises `ValueError` for a malformed body."""
        ...


def parser(boundary: bytes, callbacks: Mapping[str, Callable[..., None]], most: int) -> Parser:
    """Return the parser of a body. `most`: bytes of one header of a part.

    Raises `ValueError` for a malformed `boundary`.
    """
    from python_multipart.multipart import MultipartParser

    # The client gets an answer instead: the library's warnings quote its bytes, and it could fill the log with them.
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL + 1)
    built: Any = MultipartParser(boundary, dict(callbacks), max_header_size=most)  # type: ignore[arg-type]
    return built  # type: ignore[no-any-return]


def options(value: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Parse a header such as `Content-Disposition` into its value and its parameters."""
    from python_multipart.multipart import parse_options_header

    return parse_options_header(value)
