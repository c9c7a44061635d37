"""Checks the invariants of the server from one connection's frames, as far as its client can see them.

Strategy: the account holds one record for each message, each suggestion (`seen_suggestions.py`) and each question about
the memory (`consults.py`), and counts on it the frames that were sent and that came. A broken rule is reported at the
frame that breaks it. Answers that are still due are checked by `check_settled`, once the client believes that nothing
is in progress, or by `check_cut_off`, when a server that goes down has ended the connection. Pure: the caller enters
each frame with its time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..config import CONFIRM_SECONDS
from .book import Book
from .consults import ANSWERS, Consults
from .figures import Tally
from .notes import NoteWriter
from .pages import Pages
from .seen_suggestions import SeenSuggestions
from .speeches import Speeches
from .uncited_numbers import MEMORY, citations_of, find_uncited
from .wire import Frame


@dataclass(slots=True, kw_only=True)
class SentMessage:
    """A message of the client. Times are in seconds.

    `number`: the number that it asks the server to remember. `streamed`: the deltas of its answer so far. `end`: the
    reason of its `stream_end`, or the code of its error. `is_withdrawn`: a cancel has taken back its consequences.
    `staleness`: seconds before `sent_at` at which the lines that its answer cites were changed.
    """

    sent_at: float
    number: str = ""
    streamed: str = ""
    cancelled_at: float | None = None
    end: str | None = None
    is_answered: bool = False
    is_withdrawn: bool = False
    staleness: float | None = None


MOST_STALENESS = 10.0  # seconds in which a change of the knowledge base must have been taken over
_REFUSALS = ("busy", "rate_limited", "shutting_down")


class Account:
    """The messages of one connection, with its `suggestions`, its `consults` and its `speeches`.

    `name`: begins the text of each broken promise. `note`: is called with each event of a suggestion. `pages`: the
    states of the knowledge base, where the soak rewrites it. `book`: the user's account of the memory.
    """

    def __init__(
        self,
        name: str,
        tally: Tally,
        note: NoteWriter | None = None,
        pages: Pages | None = None,
        book: Book | None = None,
    ) -> None:
        self.messages: dict[str, SentMessage] = {}
        self.consults = Consults(name, tally, book)
        self.suggestions = SeenSuggestions(name, tally, note, book)
        self.speeches = Speeches(name, tally)
        self.confirm_seconds = CONFIRM_SECONDS  # as the server says in `welcome`
        self._name = name
        self._tally = tally
        self._pages = pages
        self._book = book
        self._frames = 0
        self._now = 0.0  # when the last frame came
        self._due_response: str | None = None  # the message whose response must be the next frame

    # --- frames that the client sends

    def enter_message(self, id: str, at: float, number: str = "") -> None:
        """Enter a message that is about to be sent. `number`: the number that it asks the server to remember."""
        self._tally.count("messages")
        self.messages[id] = SentMessage(sent_at=at, number=number)

    def withdraw_message(self, id: str) -> None:
        """Enter that the server took the cancel of an answered message: no suggestion may follow for it."""
        self.messages[id].is_withdrawn = True

    def enter_cancel(self, at: float, id: str | None = None) -> None:
        """Enter a cancel that is about to be sent: of message `id`, or of everything in progress."""
        self._tally.count("cancels")
        for each in self.list_unended() if id is None else [id]:
            message = self.messages[each]
            if message.cancelled_at is None:
                message.cancelled_at = at

    # --- the state that the client knows

    def list_unended(self) -> list[str]:
        """Return the messages that have not ended, oldest first."""
        return [id for id, message in self.messages.items() if message.end is None]

    @property
    def has_heard(self) -> bool:
        """Whether any frame has come."""
        return self._frames > 0

    @property
    def is_waiting(self) -> bool:
        """Whether an end, a response or the answer to a confirm is still to come."""
        return (
            self._due_response is not None
            or self.suggestions.is_waiting
            or self.consults.is_waiting
            or self.speeches.is_waiting
            or any(message.end is None for message in self.messages.values())
        )

    # --- frames that come

    def check_frame(self, frame: Frame, at: float) -> None:
        """Check one frame from the server, received at `at` seconds."""
        kind = frame["type"]
        self._now = at
        self._tally.count(f"{kind} frames")
        self._frames += 1
        if self._due_response is not None and (kind, frame.get("id")) != ("response", self._due_response):
            self._report("S1", f"{self._due_response} is done, and instead of its response came {kind}")
            self._due_response = None
        handler = self._FRAMES.get(kind)
        if handler is None:
            self._report("S7", f"an unknown frame {kind}")
        else:
            handler(self, frame)

    def check_settled(self) -> None:
        """Check that everything has ended exactly once; the client has been quiet and nothing is in progress."""
        self.consults.check_answered()
        self.speeches.check_settled()
        for id in self.list_unended():
            self._report("S1", f"{id} has not ended")
        if self._due_response is not None:
            self._report("S1", f"{self._due_response} is done without a response")
        self.suggestions.check_settled()

    def check_cut_off(self, since: float) -> None:
        """Check the account after a server that went down hung up: everything sent before `since` seconds has ended.

        A later frame may have crossed the server's close on its way, and was then never read.
        """
        for id in self.list_unended():
            if self.messages[id].sent_at < since:
                self._report("S1", f"{id} had not ended when the server went down")
        if self._due_response is not None:
            self._report("S1", f"{self._due_response} was done without a response when the server went down")
        self.suggestions.check_cut_off(since)

    def _report(self, promise: str, text: str) -> None:
        self._tally.violation(promise, f"{self._name}: {text}")

    def _find_message(self, frame: Frame) -> SentMessage | None:
        message = self.messages.get(str(frame.get("id")))
        if message is None:
            self._report("S7", f"{frame['type']} for {frame.get('id')}, which was not asked here")
        return message

    def _check_welcome(self, frame: Frame) -> None:
        if self._frames > 1:
            self._report("S7", "welcome is not the first frame")
        self.confirm_seconds = frame["limits"]["confirmSeconds"]

    def _check_stream(self, frame: Frame) -> None:
        message = self._find_message(frame)
        if message is None:
            return
        if message.end is not None:
            self._report("S2" if message.end == "cancelled" else "S1", f"a delta after {message.end}")
        message.streamed += frame["delta"]

    def _check_stream_end(self, frame: Frame) -> None:
        message, reason = self._find_message(frame), frame["reason"]
        if message is None:
            return
        self._tally.count(f"ended {reason}")
        if message.end is not None:
            self._report("S1", f"{frame['id']} ended {message.end} and then {reason}")
        message.end = reason
        if reason == "done":
            self._due_response = frame["id"]
        elif message.cancelled_at is not None:
            self._tally.cancels.add(self._now - message.cancelled_at)
        if self._book is not None:
            self._book.enter_end(message.number, reason == "cancelled")
        if reason == "cancelled":
            message.streamed = ""

    def _check_response(self, frame: Frame) -> None:
        message = self._find_message(frame)
        if message is None:
            return
        if self._due_response != frame["id"]:
            self._report("S1", f"a response for {frame['id']}, which is {message.end}")
        self._due_response = None
        message.is_answered = True
        self.speeches.enter_response(frame)
        self._tally.count(frame["blocked"]["code"] if "blocked" in frame else "answered")
        if message.streamed != frame["text"]:
            self._report("S3", f"{frame['id']}: the deltas are not the response")
        for run in find_uncited(frame):
            self._report("S3", f"{frame['id']}: {run} stands in no citation")
        cited = citations_of(frame)
        of_pages = [each for each in cited if not each["file"].startswith(MEMORY)]
        if self._pages is not None and of_pages:
            self._check_staleness(self._pages, of_pages, frame, message)
        if self._book is not None:
            text = "\n".join([frame["text"], *(each["snippet"] for each in cited)])
            self._book.check_text(text, self.consults.place, message.sent_at, "an answer")
        message.streamed = ""

    def _check_staleness(
        self, pages: Pages, cited: list[dict[str, Any]], frame: Frame, message: SentMessage
    ) -> None:
        staleness = pages.measure_staleness(cited, message.sent_at)
        if staleness is None:
            self._report("S8", f"{frame['id']} cites lines that were never in the knowledge base together")
            return
        message.staleness = staleness
        self._tally.behind.add(staleness)
        if staleness > MOST_STALENESS:
            self._report(
                "S8", f"{frame['id']} was answered from lines that had been changed {staleness:.1f} s before"
            )

    def _check_action_suggestion(self, frame: Frame) -> None:
        message = self._find_message(frame)
        if message is not None and not message.is_answered:
            self._report("S1", f"a suggestion before the response to {frame['id']}")
        if message is not None and message.is_withdrawn:
            self._report("T3", f"a suggestion for {frame['id']}, which was cancelled before")
        self.suggestions.check_suggested(frame)

    def _check_answer(self, frame: Frame) -> None:
        self.consults.check_answer(frame, self._now)

    def _check_heard(self, frame: Frame) -> None:
        self.speeches.check_frame(frame)
        if frame.get("final", False) and frame["text"]:
            self.enter_message(frame["id"], self._now)

    def _check_error(self, frame: Frame) -> None:
        code = frame["code"]
        if self.consults.is_one(frame):
            self._check_answer(frame)
            return
        self._tally.count(f"error {code}")
        if not self.suggestions.take_error(frame) and code not in _REFUSALS:
            self._report("S7", f"error {code}: {frame['message']}")
        message = self.messages.get(str(frame.get("id")))
        if message is None and code == "busy":
            self.speeches.enter_refusal()
        if message is not None and code in _REFUSALS:
            if message.end is not None:
                self._report("S1", f"{frame['id']} ended {message.end} and then {code}")
            message.end = code

    _FRAMES: ClassVar[dict[str, Callable[["Account", Frame], None]]] = {
        "welcome": _check_welcome,
        "stream": _check_stream,
        "stream_end": _check_stream_end,
        "response": _check_response,
        "action_suggestion": _check_action_suggestion,
        "action_closed": lambda account, frame: account.suggestions.check_closed(frame),
        "action_executed": lambda account, frame: account.suggestions.check_executed(frame),
        "error": _check_error,
        **dict.fromkeys(Speeches.KINDS, lambda account, frame: account.speeches.check_frame(frame)),
        "heard": _check_heard,
        **dict.fromkeys(set(ANSWERS.values()), _check_answer),
    }
