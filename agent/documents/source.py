"""Turns bytes into lines: the encodings that a text file may have, and the ends of its lines."""

import codecs
import re

from .blocks import Unreadable

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
# Those of UTF-32 come first: the shorter marks of UTF-16 are their prefixes.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(data: bytes, declared: str = "") -> str:
    """Decode the content of a text file, without its byte order mark.

    `declared`: the encoding that the content itself names, where its format has a place for that; else UTF-8 is
    expected. Raises `Unreadable` when the bytes are not in that encoding.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data, declared = data[len(mark) :], encoding
            break
    name = _codec_name(declared) or "utf-8"
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not {name.upper()} (byte {error.start})") from None


def _codec_name(declared: str) -> str:
    """Return Python's name of the text encoding `declared`, "" when Python has none."""
    if not declared.isascii() or "\0" in declared:
        return ""
    try:
        codec = codecs.lookup(declared)
        "".encode(codec.name)
    except (LookupError, ValueError):  # unknown, or not between bytes and text
        return ""
    return codec.name


def split_lines(text: str) -> list[str]:
    r"""Split `text` into lines at \n, \r\n and \r; U+0000 becomes U+FFFD, as CommonMark requires."""
    return _LINE_BREAK.split(text.replace("\0", "\ufffd"))
