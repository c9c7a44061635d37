"""Makes text of any origin safe to show on a terminal.

Strategy: characters that steer a terminal or reorder the text around them become a replacement mark. Everything else
stays, so names in any script, combined marks and emoji are shown as they were written. Replaced are the control
characters (C0 with ESC, DEL, C1), lone surrogates, and the format characters that change the order or the shape of
neighbouring characters (Unicode Technical Report 36, section 2.5; Standard Annex 9, section 2): a number must not be
read backwards.
"""

import re
from re import Match

_MARK = "\N{REPLACEMENT CHARACTER}"
_STEERING = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    r"\u206a-\u206f\ufff9-\ufffb"  # deprecated switches of mirroring and digit shapes; annotations
    r"\ud800-\udfff"
)
_UNSAFE = re.compile(f"[{_STEERING}]")
_UNSAFE_IN_JSON = re.compile(f"[{_STEERING}\u2028\u2029]")
_ENDS = re.compile("\r\n|[\u2028\u2029]")
_BREAKS = re.compile("\r\n|[\t-\r\x1c-\x1e\x85\u2028\u2029]")


def printable(text: str) -> str:
    """Return `text` without characters that steer a terminal.

    Line breaks and tabs stay; the separators U+2028 and U+2029 become line breaks.
    """
    return _UNSAFE.sub(_MARK, _ENDS.sub("\n", text))


def printable_line(text: str) -> str:
    """Return `text` on one line, without characters that steer a terminal: each line break or tab becomes a space."""
    return _UNSAFE.sub(_MARK, _BREAKS.sub(" ", text))


def printable_json(encoded: bytes) -> bytes:
    """Return `encoded`, a line of JSON in UTF-8, with the same meaning and nothing that steers a terminal.

    Such characters stand within strings, where an escape means the same. Only a carriage return can also stand
    between values, where it is white space.
    """
    return _UNSAFE_IN_JSON.sub(
        _escape_character, encoded.decode("utf-8", "replace").replace("\r", " ")
    ).encode()


def _escape_character(match: Match[str]) -> str:
    """Return the JSON escape of the matched character."""
    return f"\\u{ord(match[0]):04x}"
