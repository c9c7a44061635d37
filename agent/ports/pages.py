"""Lists entries a page at a time, in an order that entries added meanwhile do not change."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a list: at most `limit` entries after the entry with the number `after`, 0 for the first part."""

    limit: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """A part of a list: as many entries as were requested, or as fit into `PAGE_BYTES`, and at least one where there is
    one.

    `after` is the number of the last entry where more follow, else None.
    """

    entries: tuple[T_co, ...]
    after: int | None = None
