"""The last answers of a session, from which the server takes the answer that a client rates. Pure.

An answer stays while it is among the last `ANSWERS_RATED` and the later ones hold fewer than `ANSWERS_CHARACTERS`
characters. A forgotten answer leaves at once.
"""

from typing import Final

from ..ports.brain import Question
from ..ports.conversation import Scope
from ..ports.remember import RepeatMatcher
from ..protocol.outbound import Response
from .events import MemoryErased

ANSWERS_RATED: Final = 16
ANSWERS_CHARACTERS: Final = 64 * 1024  # of the answers and snippets of one session


class SentAnswer:
    """An answer that was sent to its end.

    `message`: the id of its message, as its client sent it. `key`: tells the message from every other one, "" until one
    is made. `question`: the words of the message. `cites`: ids of the memory that it cites. `is_forgotten`: its words
    were forgotten meanwhile; other threads may read that.
    """

    __slots__ = ("cites", "is_forgotten", "key", "message", "question", "response", "scope", "size")

    def __init__(
        self,
        *,
        message: str,
        key: str,
        scope: Scope,
        question: str,
        response: Response,
        cites: tuple[str, ...],
    ) -> None:
        self.message = message
        self.key = key
        self.scope = scope
        self.question = question
        self.response = response
        self.cites = cites
        self.size = len(question) + len(response.text)
        for each in response.citations:
            self.size += len(each.snippet)
        self.is_forgotten = False

    @classmethod
    def of(cls, question: Question, response: Response, cites: tuple[str, ...]) -> "SentAnswer":
        """Return the answer `response` to `question`, which was sent to its end."""
        return cls(
            message=question.id,
            key=question.key,
            scope=question.scope,
            question=question.text,
            response=response,
            cites=cites,
        )

    @property
    def key_or_message(self) -> str:
        """The id under which memory stores the message."""
        return self.key or self.message

    def is_erased_by(self, event: MemoryErased) -> bool:
        """Return whether the answer, its question or its evidence was forgotten with `event`."""
        return (
            self.key_or_message in event.messages
            or any(cited in event.refs for cited in self.cites)
            or (event.again is not None and event.scope.includes(self.scope) and self._holds(event.again))
        )

    def _holds(self, repeats: RepeatMatcher) -> bool:
        """Return whether `repeats` matches the question, the answer or its evidence."""
        response = self.response
        said = repeats.matches_user_text(self.question) or repeats.matches_agent_text(response.text)
        return said or any(repeats.matches_agent_text(each.snippet) for each in response.citations)


class SentAnswers:
    """The last answers of one session, oldest first. `most`: their number."""

    __slots__ = ("_answers", "_most")

    def __init__(self, most: int = ANSWERS_RATED) -> None:
        self._answers: tuple[SentAnswer, ...] = ()
        self._most = most

    def __len__(self) -> int:
        return len(self._answers)

    def add(self, answer: SentAnswer) -> None:
        """Add the latest answer; drop the oldest ones beyond the bounds, and an earlier one under the same id."""
        if not self._most:
            return
        room = ANSWERS_CHARACTERS - answer.size
        kept = [answer]
        for each in reversed(self._answers):
            room -= each.size
            if room < 0 or len(kept) == self._most:
                break
            if each.message != answer.message:
                kept.append(each)
        self._answers = tuple(kept[::-1])

    def find(self, message: str) -> SentAnswer | None:
        """Return the answer to a message, None where it is not among the last ones."""
        return next((each for each in self._answers if each.message == message), None)

    @property
    def last(self) -> SentAnswer | None:
        """The answer that was sent last, None where it is not kept, or was forgotten."""
        return self._answers[-1] if self._answers else None

    def forget(self, event: MemoryErased) -> None:
        """Drop the answers that were forgotten with `event`."""
        for each in self._answers:
            each.is_forgotten = each.is_erased_by(event)
        self._answers = tuple(each for each in self._answers if not each.is_forgotten)
