"""Hashes of arguments: an approval holds for the arguments with this hash and for no others."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec


def digest(value: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of a JSON object written with its keys in order and no white space."""
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
