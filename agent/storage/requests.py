"""Requests with an Idempotency-Key, their answers, and the audit, in a database.

An answer holds words of its user, and can be forgotten. SQLite leaves copies of rows behind in a page that it splits,
as it does where a row has grown. So the row of a request is made as long as a page lets it be, alone in its page, and
only ever gets shorter.
"""

from functools import partial
from typing import Any

import sqlalchemy as sa

from ..errors import Conflict
from ..ports.requests import StoredAnswer
from .database import Database
from .dialect import lone_row_size
from .schema import audit, idempotency
from .settings import IDEMPOTENCY_SECONDS
from .transaction import Transaction


class DatabaseRequests:
    """Requests in an open database (implements `agent.ports.requests.RequestStore`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin_request(
        self, owner: str, key: str, digest: str, at: int, project: str | None = None
    ) -> StoredAnswer | None:
        """Note that a request begins and return `None`, or return the answer that its key got before.

        A request that began in a process that has ended begins anew. Raises `Conflict("key_reused")` and
        `Conflict("in_progress")`. Requests older than `IDEMPOTENCY_SECONDS` are forgotten.
        """
        first = partial(_begin_request, owner, key, digest, at, project)
        return await self._database.write(first, partial(_forget_request, owner, key, at))

    async def record_answer(self, owner: str, key: str, answer: StoredAnswer | None) -> None:
        """Write the answer of a request when the file works; `None` forgets the request, so that it can be retried.

        Nothing is written for a request that another process has taken over.
        """

        def write(transaction: Transaction) -> None:
            by = idempotency.c.owner == transaction.owner
            of = (idempotency.c.key_owner == owner, idempotency.c.key == key, by)
            statement: sa.Delete | sa.Update = sa.delete(idempotency).where(*of)
            if answer is not None:
                values = {"status": answer.status, "answer": answer.body, "owner": None}
                if answer.project is not None:
                    values["project_id"] = answer.project
                statement = sa.update(idempotency).where(*of).values(**values)
            transaction.connection.execute(statement)

        await self._database.write_eventually(write)

    async def write_audit(self, at: int, project: str, user: str, event: str, subject: str) -> None:
        """Write a line of the audit: ids and event names, never a text of a user."""
        line = {"at": at, "project_id": project, "user_id": user, "event": event, "subject": subject}

        def write(transaction: Transaction) -> None:
            transaction.connection.execute(sa.insert(audit).values(**line))

        await self._database.write(write)


def _begin_request(
    owner: str, key: str, digest: str, at: int, project: str | None, transaction: Transaction
) -> StoredAnswer | None:
    connection = transaction.connection
    oldest_kept = at - int(IDEMPOTENCY_SECONDS * 1000)
    connection.execute(sa.delete(idempotency).where(idempotency.c.created_at < oldest_kept))
    of = (idempotency.c.key_owner == owner, idempotency.c.key == key)
    known = connection.execute(sa.select(idempotency).where(*of)).one_or_none()
    if known is None:
        values: dict[str, Any] = {"key_owner": owner, "key": key, "request_hash": digest, "created_at": at}
        held = (owner, key, digest, transaction.owner, project or "")
        room = lone_row_size(connection) - sum(len(each.encode()) for each in held)
        values["answer"] = bytes(room) if room > 0 else None
        noted = sa.insert(idempotency).values(owner=transaction.owner, project_id=project, **values)
        connection.execute(noted)
        return None
    if known.request_hash != digest:
        raise Conflict("key_reused")
    if known.owner is None:
        if not known.answer:  # forgotten since, with its words
            raise Conflict("key_reused")
        return StoredAnswer(known.status, known.answer)
    if not transaction.dead(known.owner):
        raise Conflict("in_progress")
    connection.execute(sa.update(idempotency).where(*of).values(owner=transaction.owner, created_at=at))
    return None


def _forget_request(owner: str, key: str, at: int, transaction: Transaction) -> None:
    """Forget a request that began at Unix milliseconds `at` and has no answer."""
    of = (idempotency.c.key_owner == owner, idempotency.c.key == key, idempotency.c.created_at == at)
    transaction.connection.execute(sa.delete(idempotency).where(*of, idempotency.c.owner.is_not(None)))
