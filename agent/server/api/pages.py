"""Pages of lists, and the cursors that lead from one to the next."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec

from ...ports.pages import Page, Window
from ...protocol.problems import ProblemError
from ..responses import Answer
from .answers import answer_with

T = TypeVar("T")
_LAST = (1 << 63) - 1


class PartQuery(Protocol):
    """A query for a part of a list."""

    @property
    def limit(self) -> int:
        """The number of entries."""
        ...

    @property
    def cursor(self) -> str | None:
        """The `next_cursor` of the part before it."""
        ...


def parse_window(name: str, query: PartQuery) -> Window:
    """Return the part of the list `name` that `query` asks for. Raises `ProblemError` for a cursor of another list."""
    return Window(query.limit, 0 if query.cursor is None else _parse_cursor(name, query.cursor))


def answer_page(
    name: str, page: Page[T], view: Callable[[T], Any], kind: Callable[..., msgspec.Struct]
) -> Answer:
    """Return the answer with a part of the list `name`: each entry as its `view`, in a page of type `kind`."""
    after = None if page.after is None else make_cursor(name, page.after)
    return answer_with(kind(tuple(view(each) for each in page.entries), after))


def make_cursor(name: str, after: int) -> str:
    """Return the cursor of the part of the list `name` after the entry with the number `after`."""
    return urlsafe_b64encode(f"{name} {after}".encode()).decode().rstrip("=")


def _parse_cursor(name: str, cursor: str) -> int:
    try:
        prefix, _, number = (
            urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii").partition(" ")
        )
        found = int(number) if number.isdigit() and len(number) < 20 else -1
    except ValueError:
        prefix, found = "", -1
    if prefix != name or not 0 <= found <= _LAST:
        raise ProblemError("bad_cursor")
    return found
