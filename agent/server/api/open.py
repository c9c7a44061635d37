"""Makes the parser of multipart bodies, which is imported when the first one comes."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Parser(Protocol):
    """Reads a multipart body piece by piece."""

    def write(self, data: bytes) -> int:
        """Read a piece, calling back for what is in it. Raises ValueError for what is no such body."""
        ...


def parser(boundary: bytes, callbacks: Mapping[str, Callable[..., None]], most: int) -> Parser:
    """Return the parser of a body. most: bytes of one header of a part. Raises ValueError for what is no boundary."""
    from python_multipart.multipart import MultipartParser

    # What it warns of is answered to the client; its words hold what that sent, as often as it likes to send it.
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL + 1)
    made: Any = MultipartParser(boundary, dict(callbacks), max_header_size=most)  # type: ignore[arg-type]
    return made  # type: ignore[no-any-return]


def options(value: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the value of a header, and its parameters."""
    from python_multipart.multipart import parse_options_header

    return parse_options_header(value)
