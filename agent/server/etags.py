"""Answers with an `ETag` of their content, so that a browser that has the content gets 304 without a body."""

from collections.abc import Mapping
from hashlib import sha256

from .request_head import Head
from .responses import Answer

TAG_DIGITS = 32  # hexadecimal digits of an ETag: 128 bits of SHA-256


def make_tag(content: bytes) -> str:
    """Return the `ETag` of `content`."""
    return f'"{sha256(content).hexdigest()[:TAG_DIGITS]}"'


def answer_tagged(
    head: Head, content: bytes, tag: str, kind: str, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an answer with `content`, or 304 without it if the request names its `tag`. `kind`: its media type."""
    named = {**(headers or {}), "etag": tag}
    if _holds(head, tag):
        return Answer(status=304, headers=named)
    return Answer(status=200, content=content, headers=named, kind=kind)


def _holds(head: Head, tag: str) -> bool:
    """Return whether `If-None-Match` names `tag`; a proxy may have made it weak (RFC 9110, 13.1.2)."""
    lists = (value.decode("latin-1") for value in head.values(b"if-none-match"))
    named = [each.strip().removeprefix("W/") for value in lists for each in value.split(",")]
    return tag in named or "*" in named
