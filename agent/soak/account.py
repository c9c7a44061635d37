"""What one connection was promised and what it got: the invariants, as a client can check them.

Pure: the caller says what was sent and what came, and when. A rule that is broken is noted at the frame that breaks
it; what is owed is checked by `settled`, once the client believes that nothing is in progress, or by `cut_off`, when
a server that goes down has ended the connection.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .asked import Asked, Suggested
from .book import Book
from .cited import MEMORY, citations_of, unsupported
from .consults import ANSWERS, Consults
from .figures import Tally
from .notes import CONFIRMED, REMEMBER, Note, digest_of
from .pages import Pages
from .wire import Frame

BEHIND = 10.0  # seconds in which a change of the knowledge base must have been taken over
_EXPECTED_ERRORS = ("busy", "rate_limited", "shutting_down", "unknown_suggestion")


class Account:
    """One connection's messages and suggestions.

    name: stands in what is said of it. note: is told what became of each suggestion. pages: what the knowledge base
    has been, if somebody knows. book: what its user has told to be remembered.
    """

    def __init__(
        self,
        name: str,
        tally: Tally,
        note: Note | None = None,
        pages: Pages | None = None,
        book: Book | None = None,
    ) -> None:
        self.messages: dict[str, Asked] = {}
        self.consults = Consults(name, tally, book)
        self.suggestions: dict[str, Suggested] = {}
        self.guesses = 0  # confirms of ids that were never issued to this client, not answered yet
        self._name = name
        self._tally = tally
        self._became = note or (lambda what, id, digest="", tool="": None)
        self._pages = pages
        self._book = book
        self._came = 0
        self._owed: str | None = None  # the message whose response must be the next frame

    # --- what the client does

    def asked(self, id: str, at: float, told: str = "") -> None:
        """A message is about to be sent. told: the number under which it tells something to be remembered."""
        self._tally.count("messages")
        self.messages[id] = Asked(at, told=told)

    def disowned(self, id: str) -> None:
        """A cancel of a message that was answered has been taken: nothing is suggested for it any more."""
        self.messages[id].disowned = True

    def cancelled(self, at: float, id: str | None = None) -> None:
        """A cancel, of everything or of one message, is about to be sent."""
        self._tally.count("cancels")
        for message in self.in_progress() if id is None else [id]:
            asked = self.messages[message]
            if asked.cancelled_at is None:
                asked.cancelled_at = at

    def confirmed(self, suggestion: str, at: float, filled: Mapping[str, Any] | None = None) -> None:
        """A confirm is about to be sent, with what is filled in; of an id never given to this client, it is a guess."""
        self._tally.count("confirms")
        if suggestion in self.suggestions:
            self.suggestions[suggestion].confirms += 1
            self.suggestions[suggestion].confirmed_at = at
            payload = {**self.suggestions[suggestion].payload, **(filled or {})}
            if self._book is not None and self.suggestions[suggestion].action == REMEMBER:
                self._book.approves(str(payload["text"]), suggestion, str(payload["item"]))
            self._became(CONFIRMED, suggestion, digest_of(payload))
        else:
            self.guesses += 1

    def rejected(self, suggestion: str) -> None:
        """A reject is about to be sent."""
        self._tally.count("rejects")
        self.suggestions[suggestion].rejects += 1

    # --- what it knows

    def in_progress(self) -> list[str]:
        """Return the messages that have not ended, oldest first."""
        return [id for id, asked in self.messages.items() if asked.ended is None]

    def live(self) -> list[str]:
        """Return the suggestions that can still be decided on, as far as the client knows."""
        return [id for id, each in self.suggestions.items() if each.live and not each.confirms]

    @property
    def heard(self) -> bool:
        """Whether anything has come."""
        return self._came > 0

    @property
    def waiting(self) -> bool:
        """Whether an end, a response or the answer to a confirm is still to come."""
        return (
            self._owed is not None
            or self.guesses > 0
            or self.consults.waiting
            or any(asked.ended is None for asked in self.messages.values())
            or any(each.answers < each.confirms for each in self.suggestions.values())
        )

    # --- what comes

    def came(self, frame: Frame, at: float) -> None:
        """Take note of a frame."""
        kind = frame["type"]
        self._tally.count(f"{kind} frames")
        self._came += 1
        if self._owed is not None and (kind, frame.get("id")) != ("response", self._owed):
            self._broken("I1", f"{self._owed} is done, and instead of its response came {kind}")
            self._owed = None
        handler = self._FRAMES.get(kind)
        if handler is None:
            self._broken("I7", f"an unknown frame {kind}")
        else:
            handler(self, frame, at)

    def settled(self) -> None:
        """Nothing is in progress and the client has been quiet: check that everything has ended, exactly once."""
        self.consults.settled()
        for id in self.in_progress():
            self._broken("I1", f"{id} has not ended")
        if self._owed is not None:
            self._broken("I1", f"{self._owed} is done without a response")
        for id, each in self.suggestions.items():
            if each.ends != 1:
                self._broken("I5", f"{id} ended {each.ends} times: {each}")
            if each.answers < each.confirms:
                self._broken("I5", f"{each.confirms - each.answers} confirms of {id} were not answered")
            if each.answers > each.confirms + each.rejects:
                self._broken("I4", f"{each.confirms} confirms of {id} were answered {each.answers} times")
        if self.guesses:
            self._broken("I5", f"{self.guesses} confirms of unknown ids were not answered")

    def cut_off(self, since: float) -> None:
        """A server that goes down has hung up: check that all has ended, but what was sent after `since` seconds.

        That may have crossed the server's close on its way, and was then never read.
        """
        for id in self.in_progress():
            if self.messages[id].at < since:
                self._broken("I1", f"{id} had not ended when the server went down")
        if self._owed is not None:
            self._broken("I1", f"{self._owed} was done without a response when the server went down")
        for id, each in self.suggestions.items():
            if each.confirmed_at < since and (each.ends != 1 or each.answers < each.confirms):
                self._broken("I5", f"{id} when the server went down: {each}")

    def _broken(self, invariant: str, what: str) -> None:
        self._tally.violation(invariant, f"{self._name}: {what}")

    def _message(self, frame: Frame) -> Asked | None:
        asked = self.messages.get(str(frame.get("id")))
        if asked is None:
            self._broken("I7", f"{frame['type']} for {frame.get('id')}, which was not asked here")
        return asked

    def _welcome(self, frame: Frame, at: float) -> None:
        if self._came > 1:
            self._broken("I7", "welcome is not the first frame")

    def _stream(self, frame: Frame, at: float) -> None:
        asked = self._message(frame)
        if asked is None:
            return
        if asked.ended is not None:
            self._broken("I2" if asked.ended == "cancelled" else "I1", f"a delta after {asked.ended}")
        asked.said += frame["delta"]

    def _stream_end(self, frame: Frame, at: float) -> None:
        asked, reason = self._message(frame), frame["reason"]
        if asked is None:
            return
        self._tally.count(f"ended {reason}")
        if asked.ended is not None:
            self._broken("I1", f"{frame['id']} ended {asked.ended} and then {reason}")
        asked.ended = reason
        if reason == "done":
            self._owed = frame["id"]
        elif asked.cancelled_at is not None:
            self._tally.cancels.add(at - asked.cancelled_at)
        if self._book is not None:
            self._book.ended(asked.told, reason == "cancelled")
        if reason == "cancelled":
            asked.said = ""

    def _response(self, frame: Frame, at: float) -> None:
        asked = self._message(frame)
        if asked is None:
            return
        if self._owed != frame["id"]:
            self._broken("I1", f"a response for {frame['id']}, which is {asked.ended}")
        self._owed = None
        asked.answered = True
        self._tally.count(frame["blocked"]["code"] if "blocked" in frame else "answered")
        if asked.said != frame["text"]:
            self._broken("I3", f"{frame['id']}: the deltas are not the response")
        for run in unsupported(frame):
            self._broken("I3", f"{frame['id']}: {run} stands in no citation")
        cited = citations_of(frame)
        of_pages = [each for each in cited if not each["file"].startswith(MEMORY)]
        if self._pages is not None and of_pages:
            self._took_from(self._pages, of_pages, frame, asked)
        if self._book is not None:
            shown = "\n".join([frame["text"], *(each["snippet"] for each in cited)])
            self._book.shown(shown, self.consults.place, asked.at, "an answer")
        asked.said = ""

    def _took_from(self, pages: Pages, cited: list[dict[str, Any]], frame: Frame, asked: Asked) -> None:
        behind = pages.behind(cited, asked.at)
        if behind is None:
            self._broken("kb", f"{frame['id']} cites what was never in the knowledge base at one time")
            return
        asked.behind = behind
        self._tally.behind.add(behind)
        if behind > BEHIND:
            self._broken("kb", f"{frame['id']} was answered from what had been changed {behind:.1f} s before")

    def _action_suggestion(self, frame: Frame, at: float) -> None:
        asked, id = self._message(frame), frame["suggestionId"]
        self._tally.count("suggestions")
        if asked is not None and not asked.answered:
            self._broken("I1", f"a suggestion before the response to {frame['id']}")
        if asked is not None and asked.disowned:
            self._broken("I2", f"a suggestion for {frame['id']}, which was cancelled before")
        if id in self.suggestions:
            self._broken("I5", f"{id} was suggested twice")
        self.suggestions[id] = Suggested(
            missing=tuple(frame.get("missing", ())), payload=frame["payload"], action=frame["action"]
        )

    def _action_closed(self, frame: Frame, at: float) -> None:
        each = self._suggestion(frame)
        if each is None:
            return
        self._tally.count(f"closed {frame['reason']}")
        each.closed += 1
        each.live = False
        if each.closed == 1:
            self._became("closed", frame["suggestionId"])
            self._end(frame["suggestionId"], each)
        elif each.closed > 1 + each.rejects:
            self._broken("I5", f"{frame['suggestionId']} was closed {each.closed} times")

    def _action_executed(self, frame: Frame, at: float) -> None:
        each = self._suggestion(frame)
        if each is None:
            return
        id, result = frame["suggestionId"], frame["result"]
        each.answers += 1
        each.live = False
        self._tally.count(f"executed {next(iter(result))}")
        if not each.confirms:
            self._broken("I4", f"{id} was never confirmed, and is {result}")
        if "success" in result:
            self._became(
                "done" if result["success"] else "unknown" if result.get("unknown") else "failed", id
            )
            self._end(id, each)
        elif result == {"cancelled": True}:
            if not each.closed:  # of a closed one these are the words for a confirm that came too late
                self._became("cancelled", id)
                self._end(id, each)
        elif result == {"ignored": True}:
            if each.confirms + each.rejects < 2:
                self._broken("I4", f"the only confirm of {id} was ignored")
        elif result != {"expired": True} or not each.closed:
            self._broken("I5", f"{id} is {result}")

    def _error(self, frame: Frame, at: float) -> None:
        code = frame["code"]
        if self.consults.is_one(frame):
            self.consults.came(frame, at)
            return
        self._tally.count(f"error {code}")
        if code == "unknown_suggestion" and self.guesses:
            self.guesses -= 1
        elif code not in _EXPECTED_ERRORS or code == "unknown_suggestion":
            self._broken("I7", f"error {code}: {frame['message']}")
        turned_away = self.suggestions.get(str(frame.get("suggestionId")))
        if (
            turned_away is not None and code == "shutting_down"
        ):  # it stays open until the connection is closed
            turned_away.answers += 1
        asked = self.messages.get(str(frame.get("id")))
        if asked is not None and code in ("busy", "rate_limited", "shutting_down"):
            if asked.ended is not None:
                self._broken("I1", f"{frame['id']} ended {asked.ended} and then {code}")
            asked.ended = code

    def _suggestion(self, frame: Frame) -> Suggested | None:
        each = self.suggestions.get(frame["suggestionId"])
        if each is None:
            self._broken("I7", f"{frame['type']} for a suggestion that was not made here")
        return each

    def _end(self, id: str, each: Suggested) -> None:
        each.ends += 1
        if each.ends > 1:
            self._broken("I5", f"{id} has ended {each.ends} times: {each}")

    _FRAMES: ClassVar[dict[str, Callable[["Account", Frame, float], None]]] = {
        "welcome": _welcome,
        "stream": _stream,
        "stream_end": _stream_end,
        "response": _response,
        "action_suggestion": _action_suggestion,
        "action_closed": _action_closed,
        "action_executed": _action_executed,
        "error": _error,
        **dict.fromkeys(set(ANSWERS.values()), lambda account, frame, at: account.consults.came(frame, at)),
    }
