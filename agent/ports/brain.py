"""What answers a question: one turn, told to the session as a few facts."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from .action import Outcome, Payload
from .conversation import NO_SCOPE, Exchange, Scope
from .decide import Result
from .memory import Draft
from .search import Lang, Snippet
from .tools import Risk, RunsAt, ToolDefinition

Confidence = Literal["low", "med", "high"]
Beside: TypeAlias = Literal["suggested", "noted"]
"""What comes of a message beside its answer: something is suggested to its user, or was noted as he told."""


@dataclass(frozen=True, slots=True)
class Question:
    """A user's message.

    lang: what the client said, or None. at: its arrival in seconds on the loop's clock. scope: whose it is.
    history: what was asked and answered before in this conversation, oldest first: context, never a source.
    wishes: what the message before this one left open; None where nobody could confirm an action.
    tools: that came with the message, beside the operator's. results: of calls that ended after their turn had, which
    the answer tells of; where it `goes_on` with one of them, `text` is the message that had led to it. key: what tells
    it from every other message, "" where its id does: that of a socket's message is its client's, who may use one
    again. unread: its conversation could not be read, so that it stands alone.
    """

    id: str
    text: str
    lang: Lang | None
    at: float
    scope: Scope = NO_SCOPE
    history: tuple[Exchange, ...] = ()
    wishes: "tuple[Wish, ...] | None" = None
    tools: tuple[ToolDefinition, ...] = ()
    results: tuple[Result, ...] = ()
    key: str = ""
    unread: bool = False

    @property
    def known_as(self) -> str:
        """What it is remembered by."""
        return self.key or self.id

    @property
    def goes_on(self) -> bool:
        """Whether it is no new message: its turn goes on with how a call has ended, under that call's id."""
        return any(each.call_id == self.id for each in self.results)

    def after(self, history: tuple[Exchange, ...], wishes: "tuple[Wish, ...] | None" = None) -> "Question":
        """Return it as asked after these exchanges, with what they left open."""
        return replace(self, history=history, wishes=wishes)

    def without(self, messages: Collection[str]) -> "Question":
        """Return it as asked where some messages were never said: nor is what they left open, in the same words."""
        left = tuple(each for each in self.history if not each.message or each.message not in messages)
        if len(left) == len(self.history):
            return self
        return replace(self, history=left, wishes=None if self.wishes is None else ())

    def alone(self) -> "Question":
        """Return it as asked without its conversation, which could not be read."""
        return replace(self.without([each.message for each in self.history]), unread=True)

    def of(self, scope: Scope) -> "Question":
        """Return it as asked in another thread."""
        return replace(self, scope=scope)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why an answer was refused: `code` for programs, `message` for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifiedText:
    """Text that may reach a client: every number in it stands in one of `citations`.

    unread: some of what is remembered could not be read for it. Constructed by `verify`, `refusals` and `courtesies` of
    `agent.grounding` only.
    """

    text: str
    citations: tuple[Snippet, ...]
    confidence: Confidence
    blocked: Blocked | None = None
    unread: bool = False

    def without_memory(self) -> "VerifiedText":
        """Return it as said without some of what is remembered, which makes nothing sure."""
        return replace(self, confidence="low", unread=True)


@dataclass(frozen=True, slots=True)
class Proposal:
    """An action that the user's words asked for; it becomes a suggestion when the answer has been said.

    missing: the fields that the action needs and the words did not give, in the order of asking; none stands in
    `payload`. A confirm fills them in.
    needs_approval: nothing runs before its user has confirmed it; `agent.tools.policy` alone says of a tool's call
    that it does not. risk: of a tool's call. sources: where each of its arguments comes from, by JSON Pointer. why:
    what asked for approval. runs_at: what carries it out; at the caller, the session hands it over and runs nothing.
    accepts: of a tool's call, says what is wrong with a payload that is to stand in place of this one, or None.
    item: what is to be remembered, where that is what it proposes.
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
        """Whether it goes to its caller without anybody's word."""
        return self.runs_at == "caller" and not self.needs_approval


@dataclass(frozen=True, slots=True)
class Wish:
    """An action that was asked for; while it is open, the user was asked for what it lacks, and may tell it next.

    proposal: what the words gave, and what is missing. words: the messages that it was asked for in, oldest first.
    """

    proposal: Proposal
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft (in sentence mode, a sentence) is complete and is being verified."""


@dataclass(frozen=True, slots=True)
class Redraft:
    """The draft did not stand; the model is asked once more."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A text that stands. `last` says that nothing follows it in this turn.

    proposals, wishes that it leaves open for the next message, and what a model proposes to remember, come with the
    last. asks: it is a question to the user, for what a tool's call lacks.
    """

    text: VerifiedText
    last: bool = True
    proposals: tuple[Proposal, ...] = ()
    wishes: tuple[Wish, ...] = ()
    asks: bool = False
    remembers: tuple[Draft, ...] = ()

    def without_memory(self) -> "Verified":
        """Return it as said without some of what is remembered."""
        return replace(self, text=self.text.without_memory())

    def with_drafts(self, drafts: tuple[Draft, ...]) -> "Verified":
        """Return it with what a model proposes to remember."""
        return Verified(self.text, self.last, self.proposals, self.wishes, self.asks, drafts)


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal (its `text.blocked` says why); it ends the turn, after whatever was already said."""

    text: VerifiedText
    proposals: tuple[Proposal, ...] = ()
    wishes: tuple[Wish, ...] = ()
    remembers: tuple[Draft, ...] = ()

    def without_memory(self) -> "Refused":
        """Return it as said without some of what is remembered."""
        return replace(self, text=self.text.without_memory())

    def with_drafts(self, drafts: tuple[Draft, ...]) -> "Refused":
        """Return it with what a model proposes to remember."""
        return Refused(self.text, self.proposals, self.wishes, drafts)


TurnEvent: TypeAlias = Drafted | Redraft | Verified | Refused


Act: TypeAlias = Callable[[Proposal], Awaitable[Outcome]]
"""Runs, inside a turn, a call that needs no approval, and returns how it ended, whatever that is.

Only between texts and drafts; one at a time. When the server is going down nothing is run and the outcome is cancelled.
Raises TypeError for a call that needs approval. Cancelled, what had not begun never begins; what had is recorded.
"""


class Brain(Protocol):
    """Answers questions, one turn at a time per session."""

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: Act | None = None
    ) -> None:
        """Answer one question; tell what happens through `emit`, which is synchronous and never blocks.

        act: runs a tool's call within the turn; None where nothing can be run, nor confirmed.
        The events are Drafted, (Redraft, Drafted)*, then Verified or Refused; in sentence mode
        Drafted, Verified(last=False) repeat. The last event is `Verified(last=True)` or `Refused`.
        On cancel it stops at once; clean-up that must finish is shielded for at most 2 seconds.
        """
        ...
