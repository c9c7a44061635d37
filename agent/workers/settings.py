"""Settings on their way to a worker, which checks them again as it decodes them."""

from pathlib import Path
from typing import Any

import msgspec

from ..settings import Settings


def pack_settings(settings: Settings) -> bytes:
    """Return `settings` as JSON. They may hold secrets."""
    return msgspec.json.encode(settings, enc_hook=str)


def unpack_settings(data: bytes) -> Settings:
    """Return the settings that `packed` was given."""
    return msgspec.json.decode(data, type=Settings, dec_hook=_decode_path)


def _decode_path(kind: type[Any], value: Any) -> Path:
    assert kind is Path, f"settings of the type {kind} cannot be sent"
    return Path(value)
