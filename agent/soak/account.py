"""The account of one connection: its promises and its frames, and the invariants as far as a client can check them.

Pure: the caller says which frames were sent and which came, and when. A broken rule is noted at the frame that breaks
it. Open debts are checked by `check_settled`, once the client believes that nothing is in progress, or by
`check_cut_off`, when a server that goes down has ended the connection.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..config import CONFIRM_SECONDS
from .book import Book
from .consults import ANSWERS, Consults
from .figures import Tally
from .notes import CONFIRMED, REMEMBER, NoteWriter, digest_of
from .pages import Pages
from .uncited_numbers import MEMORY, citations_of, find_uncited
from .wire import Frame


@dataclass(slots=True, kw_only=True)
class SentMessage:
    """A message of the client. `cancelled_at`: when its cancel was sent, in seconds."""

    at: float
    said: str = ""
    cancelled_at: float | None = None
    ended: str | None = None  # the reason of its stream_end, or the code of its error
    answered: bool = False
    told: str = ""  # the number that it asks the server to remember
    disowned: bool = False  # a cancel has taken back its consequences
    behind: float | None = (
        None  # seconds for which what its answer cites had been changed before it was asked
    )


@dataclass(slots=True, kw_only=True)
class SeenSuggestion:
    """A suggestion: how often the client decided on it, and how often the server reported an end."""

    confirms: int = 0
    confirmed_at: float = 0.0  # the last time
    rejects: int = 0
    answers: int = 0  # action_executed frames
    closed: int = 0  # action_closed frames
    ends: int = 0
    live: bool = True
    missing: tuple[str, ...] = ()  # fields that its confirm fills in
    action: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


BEHIND = 10.0  # seconds in which a change of the knowledge base must have been taken over
_EXPECTED_ERRORS = ("busy", "rate_limited", "shutting_down", "unknown_suggestion")


class Account:
    """The messages and suggestions of one connection.

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
        self.suggestions: dict[str, SeenSuggestion] = {}
        self.guesses = 0  # unanswered confirms of ids that this client was never given
        self.confirm_seconds = CONFIRM_SECONDS  # as the server says in `welcome`
        self._name = name
        self._tally = tally
        self._became = note or (lambda what, id, digest="", tool="": None)
        self._pages = pages
        self._book = book
        self._came = 0
        self._owed: str | None = None  # the message whose response must be the next frame

    # --- frames that the client sends

    def enter_message(self, id: str, at: float, told: str = "") -> None:
        """Enter a message that is about to be sent. `told`: the number that its text asks the server to remember."""
        self._tally.count("messages")
        self.messages[id] = SentMessage(at=at, told=told)

    def disown_message(self, id: str) -> None:
        """Enter that the server took the cancel of an answered message: no suggestion may follow for it."""
        self.messages[id].disowned = True

    def enter_cancel(self, at: float, id: str | None = None) -> None:
        """Enter a cancel that is about to be sent: of message `id`, or of everything in progress."""
        self._tally.count("cancels")
        for message in self.in_progress() if id is None else [id]:
            asked = self.messages[message]
            if asked.cancelled_at is None:
                asked.cancelled_at = at

    def enter_confirm(self, suggestion: str, at: float, filled: Mapping[str, Any] | None = None) -> None:
        """Enter a confirm that is about to be sent. `filled`: the fields that the user fills in.

        An id that this client was never given makes it a guess.
        """
        self._tally.count("confirms")
        if suggestion in self.suggestions:
            self.suggestions[suggestion].confirms += 1
            self.suggestions[suggestion].confirmed_at = at
            payload = {**self.suggestions[suggestion].payload, **(filled or {})}
            if self._book is not None and self.suggestions[suggestion].action == REMEMBER:
                self._book.enter_approval(str(payload["text"]), suggestion, str(payload["item"]))
            self._became(CONFIRMED, suggestion, digest_of(payload))
        else:
            self.guesses += 1

    def enter_reject(self, suggestion: str) -> None:
        """Enter a reject that is about to be sent."""
        self._tally.count("rejects")
        self.suggestions[suggestion].rejects += 1

    # --- the state that the client knows

    def in_progress(self) -> list[str]:
        """Return the messages that have not ended, oldest first."""
        return [id for id, asked in self.messages.items() if asked.ended is None]

    def live(self) -> list[str]:
        """Return the suggestions that the user can still decide on, as far as the client knows."""
        return [id for id, each in self.suggestions.items() if each.live and not each.confirms]

    @property
    def has_heard(self) -> bool:
        """Whether any frame has come."""
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

    # --- frames that come

    def check_frame(self, frame: Frame, at: float) -> None:
        """Check one frame from the server, received at `at` seconds."""
        kind = frame["type"]
        self._tally.count(f"{kind} frames")
        self._came += 1
        if self._owed is not None and (kind, frame.get("id")) != ("response", self._owed):
            self._report("S1", f"{self._owed} is done, and instead of its response came {kind}")
            self._owed = None
        handler = self._FRAMES.get(kind)
        if handler is None:
            self._report("S7", f"an unknown frame {kind}")
        else:
            handler(self, frame, at)

    def check_settled(self) -> None:
        """Check that everything has ended exactly once; the client has been quiet and nothing is in progress."""
        self.consults.check_answered()
        for id in self.in_progress():
            self._report("S1", f"{id} has not ended")
        if self._owed is not None:
            self._report("S1", f"{self._owed} is done without a response")
        for id, each in self.suggestions.items():
            if each.ends != 1:
                self._report("S5", f"{id} ended {each.ends} times: {each}")
            if each.answers < each.confirms:
                self._report("S5", f"{each.confirms - each.answers} confirms of {id} were not answered")
            if each.answers > each.confirms + each.rejects:
                self._report("S5", f"{each.confirms} confirms of {id} were answered {each.answers} times")
        if self.guesses:
            self._report("S5", f"{self.guesses} confirms of unknown ids were not answered")

    def check_cut_off(self, since: float) -> None:
        """Check the account after a server that went down hung up: everything sent before `since` seconds has ended.

        A later frame may have crossed the server's close on its way, and was then never read.
        """
        for id in self.in_progress():
            if self.messages[id].at < since:
                self._report("S1", f"{id} had not ended when the server went down")
        if self._owed is not None:
            self._report("S1", f"{self._owed} was done without a response when the server went down")
        for id, each in self.suggestions.items():
            if each.confirmed_at < since and (each.ends != 1 or each.answers < each.confirms):
                self._report("S5", f"{id} when the server went down: {each}")

    def _report(self, invariant: str, what: str) -> None:
        self._tally.violation(invariant, f"{self._name}: {what}")

    def _message(self, frame: Frame) -> SentMessage | None:
        asked = self.messages.get(str(frame.get("id")))
        if asked is None:
            self._report("S7", f"{frame['type']} for {frame.get('id')}, which was not asked here")
        return asked

    def _welcome(self, frame: Frame, at: float) -> None:
        if self._came > 1:
            self._report("S7", "welcome is not the first frame")
        self.confirm_seconds = frame["limits"]["confirmSeconds"]

    def _stream(self, frame: Frame, at: float) -> None:
        asked = self._message(frame)
        if asked is None:
            return
        if asked.ended is not None:
            self._report("S2" if asked.ended == "cancelled" else "S1", f"a delta after {asked.ended}")
        asked.said += frame["delta"]

    def _stream_end(self, frame: Frame, at: float) -> None:
        asked, reason = self._message(frame), frame["reason"]
        if asked is None:
            return
        self._tally.count(f"ended {reason}")
        if asked.ended is not None:
            self._report("S1", f"{frame['id']} ended {asked.ended} and then {reason}")
        asked.ended = reason
        if reason == "done":
            self._owed = frame["id"]
        elif asked.cancelled_at is not None:
            self._tally.cancels.add(at - asked.cancelled_at)
        if self._book is not None:
            self._book.enter_end(asked.told, reason == "cancelled")
        if reason == "cancelled":
            asked.said = ""

    def _response(self, frame: Frame, at: float) -> None:
        asked = self._message(frame)
        if asked is None:
            return
        if self._owed != frame["id"]:
            self._report("S1", f"a response for {frame['id']}, which is {asked.ended}")
        self._owed = None
        asked.answered = True
        self._tally.count(frame["blocked"]["code"] if "blocked" in frame else "answered")
        if asked.said != frame["text"]:
            self._report("S3", f"{frame['id']}: the deltas are not the response")
        for run in find_uncited(frame):
            self._report("S3", f"{frame['id']}: {run} stands in no citation")
        cited = citations_of(frame)
        of_pages = [each for each in cited if not each["file"].startswith(MEMORY)]
        if self._pages is not None and of_pages:
            self._took_from(self._pages, of_pages, frame, asked)
        if self._book is not None:
            shown = "\n".join([frame["text"], *(each["snippet"] for each in cited)])
            self._book.check_text(shown, self.consults.place, asked.at, "an answer")
        asked.said = ""

    def _took_from(self, pages: Pages, cited: list[dict[str, Any]], frame: Frame, asked: SentMessage) -> None:
        behind = pages.behind(cited, asked.at)
        if behind is None:
            self._report("S8", f"{frame['id']} cites lines that were never in the knowledge base together")
            return
        asked.behind = behind
        self._tally.behind.add(behind)
        if behind > BEHIND:
            self._report(
                "S8", f"{frame['id']} was answered from lines that had been changed {behind:.1f} s before"
            )

    def _action_suggestion(self, frame: Frame, at: float) -> None:
        asked, id = self._message(frame), frame["suggestionId"]
        self._tally.count("suggestions")
        if asked is not None and not asked.answered:
            self._report("S1", f"a suggestion before the response to {frame['id']}")
        if asked is not None and asked.disowned:
            self._report("T3", f"a suggestion for {frame['id']}, which was cancelled before")
        if id in self.suggestions:
            self._report("S5", f"{id} was suggested twice")
        self.suggestions[id] = SeenSuggestion(
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
            self._report("S5", f"{frame['suggestionId']} was closed {each.closed} times")

    def _action_executed(self, frame: Frame, at: float) -> None:
        each = self._suggestion(frame)
        if each is None:
            return
        id, result = frame["suggestionId"], frame["result"]
        each.answers += 1
        each.live = False
        self._tally.count(f"executed {next(iter(result))}")
        if not each.confirms:
            self._report("T1", f"{id} was never confirmed, and is {result}")
        if "success" in result:
            self._became(
                "done" if result["success"] else "unknown" if result.get("unknown") else "failed", id
            )
            self._end(id, each)
        elif result == {"cancelled": True}:
            if not each.closed:  # `cancelled` also answers a confirm that reached a closed suggestion
                self._became("cancelled", id)
                self._end(id, each)
        elif result == {"ignored": True}:
            if each.confirms + each.rejects < 2:
                self._report("S5", f"the only confirm of {id} was ignored")
        elif result != {"expired": True} or not each.closed:
            self._report("S5", f"{id} is {result}")

    def _error(self, frame: Frame, at: float) -> None:
        code = frame["code"]
        if self.consults.is_one(frame):
            self.consults.check_answer(frame, at)
            return
        self._tally.count(f"error {code}")
        if code == "unknown_suggestion" and self.guesses:
            self.guesses -= 1
        elif code not in _EXPECTED_ERRORS or code == "unknown_suggestion":
            self._report("S7", f"error {code}: {frame['message']}")
        turned_away = self.suggestions.get(str(frame.get("suggestionId")))
        if (
            turned_away is not None and code == "shutting_down"
        ):  # it stays open until the connection is closed
            turned_away.answers += 1
        asked = self.messages.get(str(frame.get("id")))
        if asked is not None and code in ("busy", "rate_limited", "shutting_down"):
            if asked.ended is not None:
                self._report("S1", f"{frame['id']} ended {asked.ended} and then {code}")
            asked.ended = code

    def _suggestion(self, frame: Frame) -> SeenSuggestion | None:
        each = self.suggestions.get(frame["suggestionId"])
        if each is None:
            self._report("S7", f"{frame['type']} for a suggestion that was not made here")
        return each

    def _end(self, id: str, each: SeenSuggestion) -> None:
        each.ends += 1
        if each.ends > 1:
            self._report("S5", f"{id} has ended {each.ends} times: {each}")

    _FRAMES: ClassVar[dict[str, Callable[["Account", Frame, float], None]]] = {
        "welcome": _welcome,
        "stream": _stream,
        "stream_end": _stream_end,
        "response": _response,
        "action_suggestion": _action_suggestion,
        "action_closed": _action_closed,
        "action_executed": _action_executed,
        "error": _error,
        **dict.fromkeys(
            set(ANSWERS.values()), lambda account, frame, at: account.consults.check_answer(frame, at)
        ),
    }
