"""What became of the calls of one thread, as its user can check it: nothing without a yes, and not with other words.

Pure: the caller says what is about to be sent, and what came. What a user does not know (an answer that it did not wait
for) it learns from what the server shows of the call.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .figures import Tally
from .kept import CALLER
from .notes import CONFIRMED, WITHDRAWN, Action, Note, digest_of
from .tools import FREE

View = Mapping[str, Any]
_OPEN = ("suggested", "confirmed", "claimed")
_YES = (
    "confirmed",
    "claimed",
    "done",
    "failed",
    "unknown",
)  # what a call is that somebody must have said yes to
_TOLD = {"done": "done", "failed": "failed", "unknown": "unknown"}  # every other end is "closed"


class Calls:
    """The calls of one thread.

    name: stands in what is said of it. note: is told each yes, and each end.
    """

    def __init__(self, name: str, tally: Tally, note: Note | None = None) -> None:
        self._name = name
        self._tally = tally
        self._note: Note = note or (lambda what, id, digest="", tool="": None)
        self._views: dict[str, View] = {}
        self._gone: set[str] = set()
        self._said: dict[str, Action] = {}
        self._won: Counter[tuple[str, str]] = Counter()

    def of_status(self, *status: str) -> list[View]:
        """Return those that are, as far as is known, of a status."""
        return [view for view in self._views.values() if view["status"] in status]

    # --- what the user does

    def approving(self, id: str, arguments: Mapping[str, Any]) -> str:
        """A yes to some arguments is about to be sent; return their hash."""
        digest = digest_of(arguments)
        self._said.setdefault(id, Action()).said[digest] += 1
        self._note(CONFIRMED, id, digest)
        return digest

    def refused(self, id: str, digest: str) -> None:
        """A yes was answered with a no: nothing may come of it."""
        self._said[id].said[digest] -= 1
        self._note(WITHDRAWN, id, digest)

    def won(self, id: str, what: str) -> None:
        """An approval, or a begin, was answered with a yes, which only one of a call is."""
        self._won[id, what] += 1
        if self._won[id, what] > 1:
            self._broken("I4", f"the {what} of {id} was taken {self._won[id, what]} times")

    def forget(self, thread: str) -> None:
        """A thread was deleted, and its calls with it."""
        self._gone.add(thread)
        self._views = {id: view for id, view in self._views.items() if view["thread_id"] != thread}

    # --- what came

    def seen(self, view: View) -> None:
        """The server has shown a call."""
        id, status = view["id"], view["status"]
        before = self._views.get(id)
        if before is not None and before["status"] not in _OPEN:
            if status not in (*_OPEN, before["status"]):
                self._broken("I5", f"{id} was {before['status']}, and is {status}")
            return  # what is open may have been shown before
        if view["arguments_hash"] != digest_of(view["arguments"]):
            self._broken("I4", f"{id}: its hash is not that of its arguments")
        if status in _YES:
            self._judge(id, view)
        if status not in _OPEN:
            self._tally.count(f"call {status}")
            self._note(_TOLD.get(status, "closed"), id)
        if view["thread_id"] not in self._gone:
            self._views[id] = view

    def settled(self, views: Iterable[View], messages: Iterable[View]) -> None:
        """Nothing is in progress any more: check that all has ended but what this user has taken, or may take."""
        for view in views:
            self.seen(view)
            if view["runs_at"] != CALLER and view["status"] in ("confirmed", "claimed"):
                self._broken("I5", f"{view['id']} is left {view['status']}")
        for message in messages:
            if message["status"] == "pending":
                self._broken("I1", f"message {message['id']} is left pending")

    def _judge(self, id: str, view: View) -> None:
        """See that somebody has said yes to what runs, where its definition does not."""
        action = self._said.get(id)
        if not view["requires_approval"] and view["tool"] in FREE:
            return
        if action is None or not action.confirmed:
            self._broken("I4", f"{id} is {view['status']}, and nobody has said yes to it")
        elif not action.allows(view["arguments_hash"]):
            self._broken("I4", f"{id} is {view['status']} with other arguments than somebody has said yes to")

    def _broken(self, promise: str, what: str) -> None:
        self._tally.violation(promise, f"{self._name}: {what}")
