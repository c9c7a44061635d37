"""Reads lists that are too long for memory, page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from ..config import PAGE_MOST
from ..ports.pages import Page, Window

T = TypeVar("T")


async def read_pages(read: Callable[[Window], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Yield the entries of all pages that `read` returns, one page in memory at a time."""
    after: int | None = 0
    while after is not None:
        page = await read(Window(PAGE_MOST, after))
        for entry in page.entries:
            yield entry
        after = page.after
