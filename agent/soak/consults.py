"""One connection's questions about the memory: each is answered once, in order, with the user's own items alone.

Pure, like `Account`.
"""

from dataclasses import dataclass
from typing import Any

from .book import Book
from .figures import Tally
from .wire import Frame

ANSWERS = {
    "open_thread": "thread",
    "recall": "recalled",
    "memory_list": "memory",
    "memory_decide": "memory_changed",
    "memory_edit": "memory_changed",
    "memory_forget": "memory_changed",
}
_AT_ONCE = ("busy", "rate_limited", "shutting_down")  # refused at once, ahead of the questions that wait
_EXPECTED = (*_AT_ONCE, "unknown_thread", "changed", "refused", "memory_off", "memory_failed")


@dataclass(frozen=True, slots=True)
class _Consult:
    kind: str
    at: float
    item: str


class Consults:
    """The questions and their answers. `place`: the thread of the connection; "" until it is known."""

    def __init__(self, name: str, tally: Tally, book: Book | None) -> None:
        self.place = ""
        self._name = name
        self._tally = tally
        self._book = book
        self._pending: dict[str, _Consult] = {}  # not answered yet, oldest first
        self._answers: dict[str, Frame] = {}  # not taken by the user yet
        self._count = 0

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._pending)

    def ask(self, kind: str, at: float, **fields: Any) -> str:
        """Enter a question that is about to be sent; return its label."""
        self._tally.count(f"asked {kind}")
        self._count += 1
        id = f"c{self._count}"
        item = str(fields.get("item", ""))
        self._pending[id] = _Consult(kind, at, item)
        if kind == "memory_forget" and self._book is not None:
            self._book.enter_forgetting(item)
        return id

    def take(self, id: str) -> Frame | None:
        """Return the answer to question `id` once, or `None` before it has come."""
        return self._answers.pop(id, None)

    def is_one(self, frame: Frame) -> bool:
        """Return whether a frame answers a question of this connection."""
        return str(frame.get("id")) in self._pending

    def check_answer(self, frame: Frame, at: float) -> None:
        """Check an answer, received at `at` seconds."""
        id = str(frame.get("id"))
        request = self._pending.get(id)
        if request is None:
            self._report(f"{frame['type']} for {frame.get('id')}, which was not asked here")
            return
        error = frame.get("code") if frame["type"] == "error" else None
        if id != next(iter(self._pending)) and error not in _AT_ONCE:
            self._report(f"{id} is answered before what was asked before it")
        del self._pending[id]
        self._answers[id] = frame
        if error is not None:
            self._tally.count(f"{request.kind} {error}")
            if error not in _EXPECTED:
                self._report(f"{request.kind} is answered {error}: {frame['message']}")
            elif error == "memory_off" and self._book is not None:
                self._book.off = True
        elif frame["type"] != ANSWERS[request.kind]:
            self._report(f"{request.kind} is answered with {frame['type']}")
        else:
            self._check_items(frame, request, at)

    def check_answered(self) -> None:
        """Check that no question is left unanswered; the client has been quiet."""
        for id, request in self._pending.items():
            self._report(f"{id}, {request.kind}, was not answered")

    def _check_items(self, frame: Frame, request: _Consult, at: float) -> None:
        book = self._book
        if frame["type"] == "thread":
            self.place = frame["thread"]
        if book is None:
            return
        for excerpt in frame.get("excerpts", ()):
            book.check_text(excerpt["text"], self.place, request.at, request.kind)
        if request.kind == "memory_forget":
            if frame["item"]["status"] != "forgotten":
                self._report(f"{request.item} was to be forgotten, and is {frame['item']['status']}", "M2")
            book.enter_forgotten(request.item, at)
        shown = (*frame.get("items", ()), *frame.get("replaced", ()))
        for item in (*shown, frame["item"]) if "item" in frame else shown:
            book.check_item(item, self.place, request.at, request.kind)

    def _report(self, text: str, promise: str = "M7") -> None:
        self._tally.violation(promise, f"{self._name}: {text}")
