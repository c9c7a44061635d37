"""Answers questions: a `Brain` takes a `Question` and reports one turn to its session as a few `TurnEvent` values."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from .action import Outcome, Payload
from .conversation import NO_SCOPE, Exchange, Scope
from .decide import CallResult
from .search import Lang, Snippet
from .tools import Risk, RunsAt, ToolDefinition

T = TypeVar("T")

Confidence = Literal["low", "med", "high"]
MemoryNotice: TypeAlias = Literal["suggested", "noted"]
"""The note about memory beside an answer: an item was `suggested` to the user, or was `noted` because the user said so.
"""


class MessageReadings:
    """The readings of a message's words, which travel with the message so that each is made once.

    A reading is kept by its maker and its text: none is taken for that of other words.
    """

    __slots__ = ("_readings",)

    def __init__(self) -> None:
        self._readings: dict[tuple[Callable[[str], Any], str], Any] = {}

    def read(self, make: Callable[[str], T], text: str) -> T:
        """Return `make(text)`, from the first call on the same value. `make`: the type of the reading."""
        key = make, text
        if key not in self._readings:
            self._readings[key] = make(text)
        reading: T = self._readings[key]
        return reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A user's message, with all that its turn may use.

    `lang` is the language that the client named, or None. `at` is the arrival in seconds on the loop's clock. `scope`
    is the scope of the author. `history` holds the earlier exchanges of this conversation, oldest first: context, never
    a source. `wishes` holds the wishes that the message before this one left open; None where no action can be
    confirmed. `tools` came with the message, beside the operator's tools; `must_call` asks for a call of a tool in
    place of an answer. `form` names the tool of `tools` whose arguments are the answer, "" for an answer in text.
    `results` are of calls that ended after their turn had; the answer tells of them. Where the
    question `is_continuation` of one of them, `text` is the message that led to that call. `key` tells the message from
    every other one; it is "" where `id` does. The id of a socket's message is its client's, and a client may use an id
    again. `unread` says that the conversation could not be read, so that the message stands alone. `context` is JSON of
    the client's program about the message, "" for none: part of the prompt, and no source. `progress` says that the
    client wants to be told what a slow turn does. `readings` keeps what was read from the words of `text`.
    `directive` is the client's message itself, on a connection of a kind whose messages are more than words. `heard`
    says that a recogniser made `text` of audio, so that its numbers and identifiers are no approved source.
    """

    id: str
    text: str
    lang: Lang | None
    at: float
    scope: Scope = NO_SCOPE
    history: tuple[Exchange, ...] = ()
    wishes: "tuple[Wish, ...] | None" = None
    tools: tuple[ToolDefinition, ...] = ()
    must_call: bool = False
    form: str = ""
    results: tuple[CallResult, ...] = ()
    key: str = ""
    unread: bool = False
    context: str = ""
    progress: bool = False
    directive: Any = None
    heard: bool = False
    readings: MessageReadings = field(default_factory=MessageReadings, compare=False, repr=False)

    @property
    def key_or_id(self) -> str:
        """The id under which memory stores the message."""
        return self.key or self.id

    @property
    def follows_speech(self) -> bool:
        """Whether `text`, an earlier message of the conversation, or one that left a wish open, was heard."""
        heard = self.heard or any(each.heard for each in self.history)
        return heard or any(each.heard for each in self.wishes or ())

    @property
    def is_continuation(self) -> bool:
        """Whether this is no new message but the continuation of a turn after a call has ended; `id` is then the call's
        id.
        """
        return any(result.call_id == self.id for result in self.results)

    def with_history(
        self, history: tuple[Exchange, ...], wishes: "tuple[Wish, ...] | None" = None
    ) -> "Question":
        """Return the question as asked after the exchanges `history`, with the `wishes` that they left open."""
        return replace(self, history=history, wishes=wishes)

    def without_messages(self, messages: Collection[str]) -> "Question":
        """Return the question as if the messages with these ids had never been sent; the wishes, made in the same
        words, go too.
        """
        history = tuple(
            exchange for exchange in self.history if not exchange.message or exchange.message not in messages
        )
        if len(history) == len(self.history):
            return self
        return replace(self, history=history, wishes=None if self.wishes is None else ())

    def without_history(self) -> "Question":
        """Return the question without its conversation, which could not be read."""
        return replace(self.without_messages([exchange.message for exchange in self.history]), unread=True)

    def in_scope(self, scope: Scope) -> "Question":
        """Return the question as asked in another `scope`, such as another thread."""
        return replace(self, scope=scope)


@dataclass(frozen=True, slots=True)
class Blocked:
    """The reason for a refused answer: `code` for programs, `message` for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedText:
    """Text that may reach a client: every number in it stands in one of `citations`.

    `confidence` is None for a text that answers no question, such as a greeting. `unread` says that part of the memory
    could not be read for it. `places` holds, for each citation, the parts of the text that it was cited for: the
    offsets of the first character and after the last; it is empty for a text that is not taken from its citations, such
    as a refusal. Only `verify`, `refusals` and `courtesies` of `agent.grounding` construct it.
    """

    text: str
    citations: tuple[Snippet, ...]
    confidence: Confidence | None
    blocked: Blocked | None = None
    unread: bool = False
    places: tuple[tuple[tuple[int, int], ...], ...] = ()

    def as_end(self) -> "VerifiedText":
        """Return the end of a text all of whose parts were sent: no words, and the confidence of the whole."""
        return replace(self, text="", citations=(), places=())

    def without_memory(self) -> "VerifiedText":
        """Return the text as made without part of the memory, which makes a confidence `low`."""
        return replace(self, confidence="low" if self.confidence else None, unread=True)


class FictionText(VerifiedText):
    """Text of a story: nothing vouches for it, it cites nothing, and only a connection of stories may be sent it.

    Only `agent.stories.telling` constructs it.
    """

    __slots__ = ()


class UnvouchedText(VerifiedText):
    """Text of a program of the operator's, to be said as it is: nothing vouches for it, and no session may send it.

    Only `agent.voice.unvouched` constructs it.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An action that the user's words ask for; it becomes a suggestion once the answer has been sent.

    `missing` names the fields that the action needs and the words did not give, in the order of asking; none of them
    stands in `payload`. A confirm fills them in. `needs_approval` says that nothing runs before the user has confirmed
    it; `agent.tools.policy` alone can say of a tool call that it does not. `risk` is that of a tool call. `sources`
    names the origin of each argument, by JSON Pointer. `why` lists the reasons that ask for approval. `runs_at` names
    the executor; with `caller`, the session hands the call over and runs nothing. `accepts`, for a tool call, returns
    the fault of a payload that is to replace this one, or None. `item` is the id of the memory item that the action
    would accept, where it is about one.
    """

    action: str
    payload: Payload = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    needs_approval: bool = True
    risk: Risk | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    why: tuple[str, ...] = ()
    runs_at: RunsAt = "record"
    accepts: Callable[[Payload], str | None] | None = None
    item: str | None = None

    @property
    def handed_over(self) -> bool:
        """Whether the call goes to its caller without an approval."""
        return self.runs_at == "caller" and not self.needs_approval


@dataclass(frozen=True, slots=True)
class Wish:
    """An action that the user asked for. While it is open, the user was asked for its missing fields, and may give them
    next.

    `proposal` holds the fields that the words gave, and the missing ones. `words` are the messages that asked for the
    action, oldest first. `heard`, which the session sets, says that a recogniser made any of them, or of the messages
    before them, of audio: the conversation's history may not hold them.
    """

    proposal: Proposal
    words: tuple[str, ...]
    heard: bool = False


@dataclass(frozen=True, slots=True)
class DraftBegun:
    """The evidence is found, and a model is asked. Emitted only for a question with `progress`."""


@dataclass(frozen=True, slots=True)
class DraftCompleted:
    """A draft (in sentence mode, a sentence) is complete and is being verified."""


@dataclass(frozen=True, slots=True)
class Redraft:
    """A draft was not supported; the model is asked once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPart:
    """A supported text. `last` says that nothing follows it in this turn.

    `proposals`, the `wishes` left open for the next message, and `keeps` come with the last part. `keeps` is for the
    `Recorder` of the exchange, such as the memory drafts that a model proposes; nothing between looks into it. `asks`
    says that the text is a question to the user, for the missing fields of a tool call. `announces` says that the text
    only asks the user to confirm the proposals.
    """

    text: VerifiedText
    last: bool = True
    proposals: tuple[Proposal, ...] = ()
    wishes: tuple[Wish, ...] = ()
    asks: bool = False
    announces: bool = False
    keeps: Any = None

    def without_memory(self) -> "VerifiedPart":
        """Return the part as made without part of the memory."""
        return replace(self, text=self.text.without_memory())

    def with_keeps(self, keeps: Any) -> "VerifiedPart":
        """Return the part with `keeps`, for the recorder of the exchange."""
        return replace(self, keeps=keeps)


@dataclass(frozen=True, slots=True)
class TurnRefusal:
    """A refusal (`text.blocked` has the reason); it ends the turn, after any parts that were already sent.

    `keeps` is as in `VerifiedPart`. `is_error` says that the request itself could not be done: the client is sent an
    error of the reason's code first.
    """

    text: VerifiedText
    proposals: tuple[Proposal, ...] = ()
    wishes: tuple[Wish, ...] = ()
    keeps: Any = None
    is_error: bool = False

    def without_memory(self) -> "TurnRefusal":
        """Return the refusal as made without part of the memory."""
        return replace(self, text=self.text.without_memory())

    def with_keeps(self, keeps: Any) -> "TurnRefusal":
        """Return the refusal with `keeps`, for the recorder of the exchange."""
        return replace(self, keeps=keeps)


TurnEvent: TypeAlias = DraftBegun | DraftCompleted | Redraft | VerifiedPart | TurnRefusal


RunCall: TypeAlias = Callable[[Proposal], Awaitable[Outcome]]
"""Runs, inside a turn, a call that needs no approval, and returns its outcome, good or bad.

It is called only between texts and drafts, one call at a time. When the server is going down nothing is run and the
outcome is `cancelled`. Raises `TypeError` for a call that needs approval. Cancelled, a call that had not begun never
begins; one that had is recorded.
"""


class Brain(Protocol):
    """Answers questions, one turn at a time per session."""

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        """Answer `question`; report the turn's events to `emit`, which is synchronous and never blocks.

        `act` runs a tool call within the turn; it is None where nothing can be run, nor confirmed. The events are
        `DraftCompleted`, (`Redraft`, `DraftCompleted`)*, then `VerifiedPart` or `TurnRefusal`; in sentence mode
        `DraftCompleted`, `VerifiedPart(last=False)` repeat. `DraftBegun` may come before the first
        `DraftCompleted`, again after each call. The last event is `VerifiedPart(last=True)` or
        `TurnRefusal`. On cancel the brain stops at once; clean-up that must finish is shielded for at most 2 seconds.
        """
        ...
