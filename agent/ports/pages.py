"""Lists that are handed out a page at a time, in an order that what is added meanwhile does not change."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted. limit: entries at most. after: the number of the last entry seen, 0 for none."""

    limit: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """A part of a list: as many entries as were wanted, or as fit into PAGE_BYTES, and at least one where there is one.

    after: the number to go on after, None where nothing follows.
    """

    entries: tuple[T_co, ...]
    after: int | None = None
