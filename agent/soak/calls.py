"""The calls of one thread, as their user can check them: none runs without an approval of exactly its arguments.

Pure: the caller reports each request that is about to be sent, and each answer. The state of a call whose answer the
client did not wait for is learnt from the server's later views of the call.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .figures import Tally
from .notes import CONFIRMED, WITHDRAWN, CallNotes, NoteWriter, digest_of
from .server_file import CALLER
from .tools import FREE

View = Mapping[str, Any]
_OPEN = ("suggested", "confirmed", "claimed")
# Statuses that a call reaches only with an approval.
APPROVED_STATUSES = ("confirmed", "claimed", "done", "failed", "unknown")
_END_WORDS = {"done": "done", "failed": "failed", "unknown": "unknown"}  # every other end is "closed"


class Calls:
    """The calls of one thread.

    `name`: begins the text of each broken promise. `note`: is called with each approval and each end.
    """

    def __init__(self, name: str, tally: Tally, note: NoteWriter | None = None) -> None:
        self._name = name
        self._tally = tally
        self._note: NoteWriter = note or (lambda event, id, digest="", tool="": None)
        self._views: dict[str, View] = {}
        self._gone: set[str] = set()
        self._approvals: dict[str, CallNotes] = {}
        self._grants: Counter[tuple[str, str]] = Counter()

    def of_status(self, *status: str) -> list[View]:
        """Return the views of the calls that last had one of these statuses."""
        return [view for view in self._views.values() if view["status"] in status]

    # --- requests of the user

    def enter_approval(self, id: str, arguments: Mapping[str, Any]) -> str:
        """Enter an approval of `arguments` that is about to be sent; return their hash."""
        digest = digest_of(arguments)
        self._approvals.setdefault(id, CallNotes()).approvals[digest] += 1
        self._note(CONFIRMED, id, digest)
        return digest

    def withdraw_approval(self, id: str, digest: str) -> None:
        """Enter that the server refused an approval: it may have no effect."""
        self._approvals[id].approvals[digest] -= 1
        self._note(WITHDRAWN, id, digest)

    def enter_grant(self, id: str, grant: str) -> None:
        """Enter a `grant` of the server, an approval or a begin, which it may give once for a call."""
        self._grants[id, grant] += 1
        if self._grants[id, grant] > 1:
            self._report("S4", f"the {grant} of {id} was taken {self._grants[id, grant]} times")

    def forget(self, thread: str) -> None:
        """Remove the calls of a thread that was deleted."""
        self._gone.add(thread)
        self._views = {id: view for id, view in self._views.items() if view["thread_id"] != thread}

    # --- answers of the server

    def check_view(self, view: View) -> None:
        """Check a view of a call that the server has shown."""
        id, status = view["id"], view["status"]
        before = self._views.get(id)
        if before is not None and before["status"] not in _OPEN:
            if status not in (*_OPEN, before["status"]):
                self._report("S5", f"{id} was {before['status']}, and is {status}")
            return  # an open call may have been shown before
        if view["arguments_hash"] != digest_of(view["arguments"]):
            self._report("T1", f"{id}: its hash is not that of its arguments")
        if status in APPROVED_STATUSES:
            self._check_approval(id, view)
        if status not in _OPEN:
            self._tally.count(f"call {status}")
            self._note(_END_WORDS.get(status, "closed"), id)
        if view["thread_id"] not in self._gone:
            self._views[id] = view

    def check_settled(self, views: Iterable[View], messages: Iterable[View]) -> None:
        """Check that every call and message has ended, except calls that this user has taken or may take."""
        for view in views:
            self.check_view(view)
            if view["runs_at"] != CALLER and view["status"] in ("confirmed", "claimed"):
                self._report("S5", f"{view['id']} is left {view['status']}")
        for message in messages:
            if message["status"] == "pending":
                self._report("S1", f"message {message['id']} is left pending")

    def _check_approval(self, id: str, view: View) -> None:
        """Check that a running call was approved, unless its definition needs no approval."""
        action = self._approvals.get(id)
        if not view["requires_approval"] and view["tool"] in FREE:
            return
        if action is None or not action.is_confirmed:
            self._report("T1", f"{id} is {view['status']}, and no user has approved it")
        elif not action.allows(view["arguments_hash"]):
            self._report("T1", f"{id} is {view['status']} with other arguments than somebody has said yes to")

    def _report(self, promise: str, text: str) -> None:
        self._tally.violation(promise, f"{self._name}: {text}")
