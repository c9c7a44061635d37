"""From bytes to lines: the encodings a text file may have, and where its lines end."""

import codecs
import re

from .form import Unreadable

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
# Those of UTF-32 first: the shorter ones of UTF-16 begin them.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(data: bytes, declared: str = "") -> str:
    """Return a text file's content without its byte order mark.

    declared: the encoding that the content itself names, where its format has a place for that; else UTF-8 is
    expected. Raises `Unreadable` for anything else.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data, declared = data[len(mark) :], encoding
            break
    name = _known(declared) or "utf-8"
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not {name.upper()} (byte {error.start})") from None


def _known(declared: str) -> str:
    """Return Python's name of a text encoding, "" when it is none."""
    if not declared.isascii() or "\0" in declared:
        return ""
    try:
        codec = codecs.lookup(declared)
        "".encode(codec.name)
    except (LookupError, ValueError):  # unknown, or not between bytes and text
        return ""
    return codec.name


def split(text: str) -> list[str]:
    r"""Return the lines of a text, split at \n, \r\n and \r; U+0000 becomes U+FFFD, as CommonMark wants it."""
    return _LINE_BREAK.split(text.replace("\0", "\ufffd"))
