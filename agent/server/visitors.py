"""Tells browsers without a user's token from each other, by a secret that each keeps for itself.

A browser makes its secret once, of random characters, and offers it as the subprotocol `visitor.SECRET`, since its
pages cannot send a header with a WebSocket. The secret opens the threads and the memory that belong to it, as
a token does; so only a digest of it is a user's name, and the secret itself is neither stored nor logged.
"""

import re
from hashlib import sha256
from typing import Final

from .request_head import Head

VISITOR: Final = "visitor:"
"""The beginning of the name of a user who is known by a secret; no user of `--users` has such a name."""

_OFFERED = "visitor."
_SECRET = re.compile(r"[A-Za-z0-9_-]{22,64}", re.ASCII)  # base64url of 128 bits and more
_PURPOSE = b"agent visitor "  # so that the digest is of no use elsewhere


def find_visitor(head: Head) -> str:
    """Return the name of the user whose secret a WebSocket offers, or "" for none, several, or one of another form."""
    if not head.upgrade:
        return ""
    offered = [name.removeprefix(_OFFERED) for name in head.subprotocols if name.startswith(_OFFERED)]
    if len(offered) != 1 or not _SECRET.fullmatch(offered[0]):
        return ""
    return VISITOR + sha256(_PURPOSE + offered[0].encode()).hexdigest()
