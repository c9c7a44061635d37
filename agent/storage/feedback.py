"""Feedback on answers in a database: one row a rated message, with the question, the answer and its evidence.

A rating takes the place of an earlier one of its message under a new number, so that a reader who goes on after the
last number sees the change. Rows are bounded for each user and each project: the oldest make room.

Forgetting deletes whole rows. As with threads, a read searches first, outside the write, and the write searches only
the rows that came since.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from ..errors import NotFound
from ..ports.conversation import Scope
from ..ports.feedback import Feedback, RatedAnswer, Rating, Verdict
from ..ports.memory import StoredTurn
from ..ports.pages import Page, Window
from ..ports.remember import MEMORY_FILES, RepeatMatcher
from .database import Database
from .dialect import commits_in_order
from .listing import find_thread, load_page, make_record, require_project, require_row
from .pending_requests import wait_on
from .schema import feedback, messages
from .transaction import Transaction

FEEDBACK_OF_USER: Final = 500  # the newest ones stay
FEEDBACK_UNNAMED: Final = 5_000  # of all users of a project who have no name
FEEDBACK_OF_PROJECT: Final = 20_000

_Matches: TypeAlias = Callable[[Any], bool]

_PROJECT: sa.BindParameter[Any] = sa.bindparam("project")
_OF_MESSAGE = (feedback.c.project_id == _PROJECT, feedback.c.message_id == sa.bindparam("message"))
_OF_MESSAGES = sa.select(feedback).where(
    feedback.c.project_id == _PROJECT, feedback.c.message_id.in_(sa.bindparam("among", expanding=True))
)
_DELETE = sa.delete(feedback).where(*_OF_MESSAGE)
_DELETE_ROW = sa.delete(feedback).where(feedback.c.number == sa.bindparam("of"))
_INSERT = sa.insert(feedback).returning(feedback.c.number)
_OF_SCOPE = (
    sa.select(feedback)
    .where(
        feedback.c.scope_project == _PROJECT,
        feedback.c.user_id == sa.bindparam("user"),
        sa.or_(feedback.c.user_id != "", feedback.c.thread_id == sa.bindparam("thread")),
        feedback.c.number > sa.bindparam("after"),
    )
    .order_by(feedback.c.number)
)
_OF_THREAD = (messages.c.project_id == _PROJECT, messages.c.thread_id == sa.bindparam("thread"))
_MESSAGE = sa.select(messages).where(*_OF_THREAD, messages.c.id == sa.bindparam("message"))
_ANSWER = (
    sa.select(messages)
    .where(*_OF_THREAD, messages.c.turn == sa.bindparam("turn"), messages.c.role == "assistant")
    .order_by(messages.c.number.desc())
    .limit(1)
)
_ASKED = (  # the message that began the turn; a turn that a result began answers the message before it
    sa.select(messages)
    .where(*_OF_THREAD, messages.c.turn <= sa.bindparam("turn"), messages.c.role == "user")
    .order_by(messages.c.number.desc())
    .limit(1)
)


def _oldest(*of: sa.ColumnElement[bool]) -> sa.Delete:
    """Return the statement that deletes all but the newest `most` rows of a user or a project."""
    first_to_go = (
        sa.select(feedback.c.number)
        .where(*of)
        .order_by(feedback.c.number.desc())
        .limit(1)
        .offset(sa.bindparam("most"))
        .scalar_subquery()
    )
    return sa.delete(feedback).where(*of, feedback.c.number <= first_to_go)


_OF_PROJECT = feedback.c.project_id == _PROJECT
_MAKE_ROOM = (_oldest(_OF_PROJECT, feedback.c.user_id == sa.bindparam("user")), _oldest(_OF_PROJECT))


class DatabaseFeedback:
    """Feedback in an open database (implements `agent.ports.feedback.FeedbackStore`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_feedback(
        self, rating: Rating, answer: RatedAnswer, is_wanted: Callable[[], bool] = lambda: True
    ) -> Feedback:
        """Store a rating in place of an earlier one of its message; raises `NotFound` unless `is_wanted`."""

        def put(transaction: Transaction) -> Feedback:
            if not is_wanted():
                raise NotFound("there is no such thing")
            return _put(rating, answer, transaction)

        return await self._database.write(put)

    async def put_message_feedback(self, rating: Rating, scope: Scope) -> Feedback:
        """Store a rating of a stored thread's answer, as it is in the thread at the moment of the write."""
        return await self._database.write(partial(_put_stored, rating, scope))

    async def feedback(self, project: str, window: Window, verdict: Verdict | None = None) -> Page[Feedback]:
        """Return a page of a project's feedback, in the order in which it was given."""
        wanted = sa.select(feedback).where(feedback.c.project_id == project)
        if verdict is not None:
            wanted = wanted.where(feedback.c.verdict == verdict)

        def load(connection: sa.Connection) -> Page[Feedback]:
            require_project(connection, project)
            return load_page(connection, feedback, wanted, window, _feedback_of)

        return await self._database.read(load)

    async def find_feedback(self, project: str, messages: Collection[str]) -> Mapping[str, Feedback]:
        """Return the feedback on the answers to some messages, by message."""

        def find(connection: sa.Connection) -> Mapping[str, Feedback]:
            rows = connection.execute(_OF_MESSAGES, {"project": project, "among": list(messages)})
            return {row.message_id: _feedback_of(row) for row in rows}

        return await self._database.read(find) if messages else {}

    async def delete_feedback(self, project: str, message: str) -> None:
        """Delete the rating of a message, out of the file too."""

        def delete(transaction: Transaction) -> None:
            transaction.connection.execute(_DELETE, {"project": project, "message": message})
            transaction.erases = True

        await self._database.write(delete, late=wait_on)

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Delete the feedback about these turns, and that which cites them or `item`."""
        rated = {turn.remark.message for turn in turns}
        cited = {MEMORY_FILES + each for each in (*(turn.id for turn in turns), item) if each}

        def matches(row: Any) -> bool:
            return row.message_id in rated or any(each.get("file") in cited for each in row.citations)

        for scope in dict.fromkeys(
            turn.scope if not turn.scope.user else turn.scope.in_thread("") for turn in turns
        ):
            await self._forget(scope, matches)

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        """Delete the feedback of a scope's user that holds texts which `repeats` matches."""

        def matches(row: Any) -> bool:
            return (
                any(map(repeats.matches_user_text, (row.question, row.text)))
                or repeats.matches_agent_text(row.answer)
                or repeats.matches_json(row.citations)
            )

        await self._forget(scope, matches)

    async def _forget(self, scope: Scope, matches: _Matches) -> None:
        found, last = await self._database.read(partial(_find, scope, matches, 0), wait_on)

        def delete(transaction: Transaction) -> None:
            known = last if commits_in_order(transaction.connection) else 0
            late, _ = _find(scope, matches, known, transaction.connection)
            for number in (*found, *late):
                transaction.connection.execute(_DELETE_ROW, {"of": number})
            transaction.erases = True

        if last:
            await self._database.write(delete, late=wait_on)


def _find(
    scope: Scope, matches: _Matches, after: int, connection: sa.Connection
) -> tuple[tuple[int, ...], int]:
    """Return the numbers of a scope's matching rows after one, and the last number that was looked at."""
    of = {"project": scope.project, "user": scope.user, "thread": scope.thread, "after": after}
    found = []
    with connection.execute(_OF_SCOPE, of) as rows:
        for row in rows:
            after = row.number
            if matches(row):
                found.append(after)
    return tuple(found), after


def _put(rating: Rating, answer: RatedAnswer, transaction: Transaction) -> Feedback:
    connection, of = transaction.connection, {"project": answer.project, "user": answer.scope.user}
    require_project(connection, answer.project)
    connection.execute(_DELETE, {**of, "message": rating.message})
    row = {
        "project_id": answer.project,
        "message_id": rating.message,
        "scope_project": answer.scope.project,
        "user_id": answer.scope.user,
        "thread_id": answer.scope.thread,
        "verdict": rating.verdict,
        "text": rating.text,
        "question": answer.question,
        "answer": answer.answer,
        "citations": [dict(each) for each in answer.citations],
        "model": rating.model,
        "confidence": answer.confidence,
        "blocked": answer.blocked,
        "at": rating.at,
    }
    number = int(connection.execute(_INSERT, row).scalar_one())
    bounds = (FEEDBACK_OF_USER if answer.scope.user else FEEDBACK_UNNAMED, FEEDBACK_OF_PROJECT)
    for make_room, most in zip(_MAKE_ROOM, bounds, strict=True):
        connection.execute(make_room, {**of, "most": most})
    return Feedback.of(number, rating, answer)


def _put_stored(rating: Rating, scope: Scope, transaction: Transaction) -> Feedback:
    """Store a rating of a message of a thread; raises `NotFound` for a thread of another user, too."""
    connection = transaction.connection
    thread = find_thread(connection, scope.project, scope.thread)
    of = {"project": scope.project, "thread": scope.thread}
    message = require_row(connection.execute(_MESSAGE, {**of, "message": rating.message}).one_or_none())
    turn = {**of, "turn": message.turn}
    answer = require_row(connection.execute(_ANSWER, turn).one_or_none())
    asked = require_row(connection.execute(_ASKED, turn).one_or_none())
    if thread.user_id != scope.user or not answer.content or not asked.content:
        raise NotFound("there is no such thing")
    rated = RatedAnswer(
        project=scope.project,
        scope=scope,
        question=asked.content,
        answer=answer.content,
        citations=answer.citations,
        confidence=answer.confidence,
        blocked=answer.blocked or ("refused" if answer.status == "refused" else None),
    )
    key = answer.id if asked.turn < answer.turn else asked.id
    return _put(replace(rating, message=key), rated, transaction)


def _feedback_of(one: Any) -> Feedback:
    return make_record(
        Feedback,
        one,
        message=one.message_id,
        project=one.project_id,
        user=one.user_id,
        thread=one.thread_id,
        citations=tuple(one.citations),
    )
