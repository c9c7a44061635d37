"""Finds quotations: words that a user writes in quotation marks are somebody's, and neither ask for nor state anything.

A text to send is quoted in double marks only (`QUOTED`). For memory items a message is read with every kind of
quotation masked (`mask_quotations`): single marks, code between backticks, and lines of an earlier mail (">") too.
"""

import re
from typing import Final

from ..text.words import normalize_text

QUOTED: Final = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
"""Words in double quotation marks of any kind; group 1 is the words."""

_MASK: Final = "_"
_ANY_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|[“”„][^“”„\n]*[“”]|«[^«»\n]*»|»[^«»\n]*[«»]|(?<!\w)'[^'\n]*'(?!\w)"
    r"|^[ \t]*>[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_APOSTROPHES: Final = str.maketrans("’‘ʼ´", "''''")


def mask_quotations(text: str) -> tuple[str, str]:
    """Return `text` (composed, its apostrophes straight) twice: with each quotation masked, and as it was written.

    Each character keeps its place, so that a span of the one is a span of the other.
    """
    written = normalize_text(text).translate(_APOSTROPHES)
    return _ANY_QUOTED.sub(lambda match: _MASK * len(match.group()), written), written
