"""Checks the suggestions of one connection: each ends exactly once, and only confirmed ones run.

Pure, like `Account`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .book import Book
from .figures import Tally
from .notes import CONFIRMED, REMEMBER, NoteWriter, digest_of
from .wire import Frame


@dataclass(slots=True, kw_only=True)
class SeenSuggestion:
    """A suggestion: how often the client decided on it, and how often the server reported an end.

    `confirmed_at`: when the last confirm was sent, in seconds. `executed_frames`, `closed_frames`: the number of its
    `action_executed` and `action_closed` frames. `missing`: the fields that its confirm fills in.
    """

    action: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    confirms: int = 0
    confirmed_at: float = 0.0
    rejects: int = 0
    executed_frames: int = 0
    closed_frames: int = 0
    ends: int = 0
    is_live: bool = True


class SeenSuggestions:
    """The suggestions of one connection, with the client's decisions and the server's reports.

    The arguments are those of `Account`.
    """

    def __init__(self, name: str, tally: Tally, note: NoteWriter | None, book: Book | None) -> None:
        self._name = name
        self._tally = tally
        self._write_note = note or (lambda event, id, digest="", tool="": None)
        self._book = book
        self._seen: dict[str, SeenSuggestion] = {}
        self._guesses = 0  # unanswered confirms of ids that this client was never given

    @property
    def is_waiting(self) -> bool:
        """Whether the answer to a confirm is still to come."""
        return self._guesses > 0 or any(each.executed_frames < each.confirms for each in self._seen.values())

    def list_live(self) -> list[str]:
        """Return the suggestions that the user can still decide on, as far as the client knows."""
        return [id for id, each in self._seen.items() if each.is_live and not each.confirms]

    def missing_of(self, id: str) -> tuple[str, ...]:
        """Return the fields that the user has to fill in when confirming a suggestion."""
        return self._seen[id].missing

    def enter_confirm(self, id: str, at: float, filled: Mapping[str, Any] | None = None) -> None:
        """Enter a confirm that is about to be sent. `filled`: the fields that the user fills in.

        An id that this client was never given makes it a guess.
        """
        self._tally.count("confirms")
        known = self._seen.get(id)
        if known is None:
            self._guesses += 1
            return
        known.confirms += 1
        known.confirmed_at = at
        payload = {**known.payload, **(filled or {})}
        if self._book is not None and known.action == REMEMBER:
            self._book.enter_approval(str(payload["text"]), id, str(payload["item"]))
        self._write_note(CONFIRMED, id, digest_of(payload), known.action)

    def enter_reject(self, id: str) -> None:
        """Enter a reject that is about to be sent."""
        self._tally.count("rejects")
        self._seen[id].rejects += 1

    def check_suggested(self, frame: Frame) -> None:
        """Check an `action_suggestion`."""
        id = frame["suggestionId"]
        self._tally.count("suggestions")
        if id in self._seen:
            self._report("S5", f"{id} was suggested twice")
        self._seen[id] = SeenSuggestion(
            missing=tuple(frame.get("missing", ())), payload=frame["payload"], action=frame["action"]
        )

    def check_closed(self, frame: Frame) -> None:
        """Check an `action_closed`."""
        each = self._find(frame)
        if each is None:
            return
        self._tally.count(f"closed {frame['reason']}")
        each.closed_frames += 1
        each.is_live = False
        if each.closed_frames == 1:
            self._write_note("closed", frame["suggestionId"])
            self._end(frame["suggestionId"], each)
        elif each.closed_frames > 1 + each.rejects:
            self._report("S5", f"{frame['suggestionId']} was closed {each.closed_frames} times")

    def check_executed(self, frame: Frame) -> None:
        """Check an `action_executed`."""
        each = self._find(frame)
        if each is None:
            return
        id, result = frame["suggestionId"], frame["result"]
        each.executed_frames += 1
        each.is_live = False
        self._tally.count(f"executed {next(iter(result))}")
        if not each.confirms:
            self._report("T1", f"{id} was never confirmed, and is {result}")
        if "success" in result:
            self._write_note(
                "done" if result["success"] else "unknown" if result.get("unknown") else "failed", id
            )
            self._end(id, each)
        elif result == {"cancelled": True}:
            if not each.closed_frames:  # `cancelled` also answers a confirm that reached a closed suggestion
                self._write_note("cancelled", id)
                self._end(id, each)
        elif result == {"ignored": True}:
            if each.confirms + each.rejects < 2:
                self._report("S5", f"the only confirm of {id} was ignored")
        elif result != {"expired": True} or not each.closed_frames:
            self._report("S5", f"{id} is {result}")

    def take_error(self, frame: Frame) -> bool:
        """Take an error as the answer to a confirm; return whether it was the answer to a guess."""
        if frame["code"] == "unknown_suggestion" and self._guesses:
            self._guesses -= 1
            return True
        refused = self._seen.get(str(frame.get("suggestionId")))
        if refused is not None and frame["code"] == "shutting_down":
            # It stays open until the connection is closed.
            refused.executed_frames += 1
        return False

    def check_settled(self) -> None:
        """Check that each suggestion has ended once, and that each confirm was answered once."""
        for id, each in self._seen.items():
            if each.ends != 1:
                self._report("S5", f"{id} ended {each.ends} times: {each}")
            if each.executed_frames < each.confirms:
                self._report(
                    "S5", f"{each.confirms - each.executed_frames} confirms of {id} were not answered"
                )
            if each.executed_frames > each.confirms + each.rejects:
                self._report(
                    "S5", f"{each.confirms} confirms of {id} were answered {each.executed_frames} times"
                )
        if self._guesses:
            self._report("S5", f"{self._guesses} confirms of unknown ids were not answered")

    def check_cut_off(self, since: float) -> None:
        """Check that each suggestion that was not confirmed after `since` seconds has ended, and was answered."""
        for id, each in self._seen.items():
            if each.confirmed_at < since and (each.ends != 1 or each.executed_frames < each.confirms):
                self._report("S5", f"{id} when the server went down: {each}")

    def _report(self, promise: str, text: str) -> None:
        self._tally.violation(promise, f"{self._name}: {text}")

    def _find(self, frame: Frame) -> SeenSuggestion | None:
        each = self._seen.get(frame["suggestionId"])
        if each is None:
            self._report("S7", f"{frame['type']} for a suggestion that was not made here")
        return each

    def _end(self, id: str, each: SeenSuggestion) -> None:
        each.ends += 1
        if each.ends > 1:
            self._report("S5", f"{id} has ended {each.ends} times: {each}")
