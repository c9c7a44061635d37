"""Replaces each U+0000 that a client sends by a U+FFFD before anything is read; pure.

SQLite's `length()` and `LIKE`, C libraries and terminals end a text at a U+0000, so the text that was checked would not
be the text that is stored or shown. In JSON it can only stand as an escape, which is replaced in the text of the whole
message by one as long: keys and values alike, and every place of an error is as it was sent. A message without the
escape is only searched for it, one without a backslash for that alone.
"""

from typing import AnyStr, Final

_ESCAPED, _REPLACED = r"\u0000", r"\ufffd"  # as JSON writes them
_BACKSLASH: Final = r"\\"  # a character behind an escaped one is no escape
_STAND_IN: Final = "\u0100"  # is no byte


def json_without_nul(text: AnyStr) -> AnyStr:
    """Return a JSON `text` in which each escaped U+0000 is a U+FFFD. A text that is not JSON is none afterwards
    either.
    """
    if isinstance(text, str):
        if "\\" not in text or _ESCAPED not in text:
            return text
        return _replace_escapes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    return _replace_escapes(text) if b"\\" in text and _ESCAPED.encode() in text else text


def query_without_nul(query: bytes) -> bytes:
    """Return the `query` of a URL in which each percent-encoded U+0000 is a U+FFFD."""
    return query.replace(b"%00", b"%EF%BF%BD")


def _replace_escapes(text: bytes) -> bytes:
    """Replace the escapes that begin with a backslash of their own, not with the second one of an escaped backslash."""
    characters = text.decode("latin-1").replace(_BACKSLASH, _STAND_IN)
    return characters.replace(_ESCAPED, _REPLACED).replace(_STAND_IN, _BACKSLASH).encode("latin-1")
