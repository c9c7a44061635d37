"""Answers with an ETag of their content, so that a browser that holds them is sent none of them again."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

TAG_DIGITS = 32  # hexadecimal digits of an ETag: 128 bits of SHA-256


def tag_of(content: bytes) -> str:
    """Return the ETag of a content."""
    return f'"{sha256(content).hexdigest()[:TAG_DIGITS]}"'


def tagged(request: Request, content: bytes, tag: str, headers: Mapping[str, str]) -> Response:
    """Return a content, or 304 and nothing of it where the request names its tag."""
    if _holds(request.headers.getlist("if-none-match"), tag):
        vary = {name: value for name, value in headers.items() if name == "vary"}
        return Response(status_code=304, headers={**vary, "etag": tag})
    return Response(content, headers={**headers, "etag": tag})


def _holds(lists: Sequence[str], tag: str) -> bool:
    """Whether the values of If-None-Match name a tag; a proxy may have made it weak (RFC 9110, 13.1.2)."""
    named = [each.strip().removeprefix("W/") for value in lists for each in value.split(",")]
    return tag in named or "*" in named
