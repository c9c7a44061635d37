"""Pages of lists, and the cursors that lead from one to the next."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ...ports.pages import Page, Window
from ...protocol.http import Paged
from ...protocol.problems import Unanswerable
from ..answers import Answer
from .answers import told

T = TypeVar("T")
_LAST = (1 << 63) - 1


def window(name: str, query: Paged) -> Window:
    """Return the part of a list that is asked for. name: of the list. Raises Unanswerable for a cursor of another."""
    return Window(query.limit, 0 if query.cursor is None else _number(name, query.cursor))


def paged(name: str, page: Page[T], view: Callable[[T], Any], kind: Callable[..., msgspec.Struct]) -> Answer:
    """Return the answer that tells a part of a list."""
    after = None if page.after is None else _cursor(name, page.after)
    return told(kind(tuple(view(each) for each in page.entries), after))


def _cursor(name: str, after: int) -> str:
    return urlsafe_b64encode(f"{name} {after}".encode()).decode().rstrip("=")


def _number(name: str, cursor: str) -> int:
    try:
        said, _, number = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii").partition(" ")
        found = int(number) if number.isdigit() and len(number) < 20 else -1
    except ValueError:
        said, found = "", -1
    if said != name or not 0 <= found <= _LAST:
        raise Unanswerable("bad_cursor")
    return found
