"""Stores feedback: a user's thumb up or down on an answer, with the answer's question, evidence and model."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

from .conversation import Scope
from .memory import StoredTurn
from .pages import Page, Window
from .remember import RepeatMatcher

Verdict: TypeAlias = Literal["up", "down"]

FEEDBACK_TEXT: Final = 1_000  # characters of the words beside a verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A user's verdict on the answer to a message. `at` is in Unix milliseconds, as every time here.

    `message` is the key of the message, which no other message of the project has. `text` holds the user's words about
    the answer, "" for none. `model` names the model that the server answers with.
    """

    message: str
    verdict: Verdict
    text: str
    model: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """An answer that can be rated, as it was sent. `project` is the project whose owner reads the feedback.

    `scope` is the scope of its question. `citations` are JSON objects, as clients receive them. `blocked` is the code
    of a refusal.
    """

    project: str
    scope: Scope
    question: str
    answer: str
    citations: Sequence[Mapping[str, Any]] = ()
    confidence: str | None = None
    blocked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A stored rating with the answer that it is about. `number` grows with each stored rating."""

    number: int
    message: str
    project: str
    user: str
    thread: str
    verdict: Verdict
    text: str
    question: str
    answer: str
    citations: tuple[Mapping[str, Any], ...]
    model: str
    confidence: str | None
    blocked: str | None
    at: int

    @classmethod
    def of(cls, number: int, rating: Rating, answer: RatedAnswer) -> "Feedback":
        """Return `rating` of `answer` as stored under `number`."""
        return cls(
            number=number,
            message=rating.message,
            project=answer.project,
            user=answer.scope.user,
            thread=answer.scope.thread,
            verdict=rating.verdict,
            text=rating.text,
            question=answer.question,
            answer=answer.answer,
            citations=tuple(answer.citations),
            model=rating.model,
            confidence=answer.confidence,
            blocked=answer.blocked,
            at=rating.at,
        )


class FeedbackStore(Protocol):
    """Stores feedback; one rating of each message, the last one.

    Every method raises `agent.errors.NotFound` for an unknown id, and equally for another project's, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all. Of a
    user the newest `FEEDBACK_OF_USER` ratings stay, of a project the newest `FEEDBACK_OF_PROJECT`.
    """

    async def put_feedback(
        self, rating: Rating, answer: RatedAnswer, is_wanted: Callable[[], bool] = lambda: True
    ) -> Feedback:
        """Store a rating in place of an earlier one of the same message.

        `is_wanted` is called, in any thread, at the moment of the write; where it returns False the answer was
        forgotten meanwhile, nothing is stored, and `NotFound` is raised.
        """
        ...

    async def put_message_feedback(self, rating: Rating, scope: Scope) -> Feedback:
        """Store a rating of a stored thread's answer. `rating.message` is the id of the answer, or of its message.

        `scope` names the project, the thread and its user. Raises `NotFound` for a message without an answer, and for
        one that was forgotten.
        """
        ...

    async def feedback(self, project: str, window: Window, verdict: Verdict | None = None) -> Page[Feedback]:
        """Return a project's feedback, or that with one verdict, in the order in which it was given."""
        ...

    async def find_feedback(self, project: str, messages: Collection[str]) -> Mapping[str, Feedback]:
        """Return the feedback on the answers to some messages of a project, by message."""
        ...

    async def delete_feedback(self, project: str, message: str) -> None:
        """Delete the rating of a message, out of the file too. Idempotent."""
        ...

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Delete the feedback about these turns, and that which cites them or `item`; out of the file too. Idempotent.

        Raises `StorageFailed` where it may still be there.
        """
        ...

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        """Delete the feedback of a scope's user, or of its one thread, that holds texts which `repeats` matches.

        Idempotent. Raises `StorageFailed` where it may still be there.
        """
        ...


@dataclass(frozen=True, slots=True)
class FeedbackAccess:
    """The access of sessions to feedback. `project` is the project whose owner reads it. `model` names the server's
    model.
    """

    store: FeedbackStore
    project: str
    model: str
