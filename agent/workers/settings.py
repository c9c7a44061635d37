"""Settings on their way to a worker. It checks them again, as whoever reads them does."""

from pathlib import Path
from typing import Any

import msgspec

from ..settings import Settings


def packed(settings: Settings) -> bytes:
    """Return settings as JSON. They may hold secrets."""
    return msgspec.json.encode(settings, enc_hook=str)


def unpacked(data: bytes) -> Settings:
    """Return what `packed` was given."""
    return msgspec.json.decode(data, type=Settings, dec_hook=_read)


def _read(kind: type[Any], value: Any) -> Path:
    assert kind is Path, f"settings of the type {kind} cannot be sent"
    return Path(value)
