"""Documents of any format as one inner form: plain blocks with their headings and lines."""

from .form import Block, Document, Kind, NotInstalled, Unit, Unreadable
from .open import SUFFIXES, read

__all__ = ["SUFFIXES", "Block", "Document", "Kind", "NotInstalled", "Unit", "Unreadable", "read"]
