"""A fake store of feedback for tests of its callers: ratings in a list, with a delay and a fault on demand."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import trio

from ..errors import NotFound
from ..ports.conversation import Scope
from ..ports.feedback import Feedback, RatedAnswer, Rating, Verdict
from ..ports.memory import StoredTurn
from ..ports.pages import Page, Window
from ..ports.remember import MEMORY_FILES, RepeatMatcher


@dataclass(kw_only=True)
class FakeFeedback:
    """Feedback in memory (implements `agent.ports.feedback.FeedbackStore`).

    `answers`: the stored threads' answers, by the id of the message. `stored`: the feedback, with its scope, oldest
    first. `wait`: seconds that every call takes. `fault`: the exception that every call raises.
    """

    answers: dict[str, RatedAnswer] = field(default_factory=dict)
    stored: list[tuple[Scope, Feedback]] = field(default_factory=list)
    wait: float = 0.0
    fault: Exception | None = None
    last: int = 0

    async def _begin_call(self) -> None:
        await trio.sleep(self.wait)
        if self.fault is not None:
            raise self.fault

    async def put_feedback(
        self, rating: Rating, answer: RatedAnswer, is_wanted: Callable[[], bool] = lambda: True
    ) -> Feedback:
        """Keep a rating in place of an earlier one of its message."""
        await self._begin_call()
        if not is_wanted():
            raise NotFound("there is no such thing")
        self._delete(lambda each: (each.project, each.message) == (answer.project, rating.message))
        self.last += 1
        made = Feedback.of(self.last, rating, answer)
        self.stored.append((answer.scope, made))
        return made

    async def put_message_feedback(self, rating: Rating, scope: Scope) -> Feedback:
        """Keep a rating of one of `answers`."""
        answer = self.answers.get(rating.message)
        if answer is None or answer.scope != scope:
            raise NotFound("there is no such thing")
        return await self.put_feedback(replace(rating), answer)

    async def feedback(self, project: str, window: Window, verdict: Verdict | None = None) -> Page[Feedback]:
        """Return a project's feedback after a number."""
        await self._begin_call()
        found = [
            each
            for _, each in self.stored
            if each.project == project and each.number > window.after and verdict in (None, each.verdict)
        ]
        shown = found[: window.limit]
        return Page(tuple(shown), shown[-1].number if len(found) > len(shown) else None)

    async def find_feedback(self, project: str, messages: Collection[str]) -> Mapping[str, Feedback]:
        """Return the feedback on some messages."""
        await self._begin_call()
        return {
            each.message: each
            for _, each in self.stored
            if each.project == project and each.message in messages
        }

    async def delete_feedback(self, project: str, message: str) -> None:
        """Delete the rating of a message."""
        await self._begin_call()
        self._delete(lambda each: (each.project, each.message) == (project, message))

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Delete the feedback about these turns, and any that cites them or `item`."""
        await self._begin_call()
        rated = {turn.remark.message for turn in turns}
        cited = {MEMORY_FILES + each for each in (*(turn.id for turn in turns), item) if each}
        self.stored = [
            (scope, each)
            for scope, each in self.stored
            if not any(turn.scope.includes(scope) for turn in turns)
            or not (each.message in rated or any(part.get("file") in cited for part in each.citations))
        ]

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        """Delete the feedback that repeats some words."""
        await self._begin_call()
        self.stored = [
            (owner, each)
            for owner, each in self.stored
            if not scope.includes(owner) or not _repeats(each, repeats)
        ]

    def _delete(self, is_gone: Callable[[Feedback], bool]) -> None:
        self.stored = [(scope, each) for scope, each in self.stored if not is_gone(each)]


def _repeats(each: Feedback, repeats: RepeatMatcher) -> bool:
    said = (each.question, each.text)
    texts = any(map(repeats.matches_user_text, said)) or repeats.matches_agent_text(each.answer)
    return texts or repeats.matches_json(list(each.citations))
