"""Requests that name a key, with their answers, and the audit, in a database."""

from functools import partial

import sqlalchemy as sa

from ..config import IDEMPOTENCY_SECONDS
from ..errors import Conflict
from ..ports.requests import Answered
from .database import Database
from .schema import audit, idempotency
from .transaction import Transaction


class SqliteRequests:
    """Requests in a database that is open (implements `agent.ports.requests.RequestStore`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def first(
        self, owner: str, key: str, digest: str, at: int, project: str | None = None
    ) -> Answered | None:
        """Note a request that begins, and return None; of one that was answered before, its answer.

        One that began in a process that has ended begins anew. Raises `Conflict("key_reused")` and
        `Conflict("in_progress")`. What is older than IDEMPOTENCY_SECONDS is forgotten.
        """
        first = partial(_first, owner, key, digest, at, project)
        return await self._database.write(first, partial(_forget, owner, key, at))

    async def answered(self, owner: str, key: str, answer: Answered | None) -> None:
        """Note its answer, when the file works; None forgets that it began, so that it may be tried again."""
        of = (idempotency.c.key_owner == owner, idempotency.c.key == key, idempotency.c.owner.is_not(None))

        def note(transaction: Transaction) -> None:
            statement: sa.Delete | sa.Update = sa.delete(idempotency).where(*of)
            if answer is not None:
                values = {"status": answer.status, "answer": answer.body, "owner": None}
                if answer.project is not None:
                    values["project_id"] = answer.project
                statement = sa.update(idempotency).where(*of).values(**values)
            transaction.connection.execute(statement)

        await self._database.keep(note)

    async def note(self, at: int, project: str, user: str, event: str, subject: str) -> None:
        """Write a line of the audit: ids and words of ours, never what anybody said."""
        line = {"at": at, "project_id": project, "user_id": user, "event": event, "subject": subject}

        def write(transaction: Transaction) -> None:
            transaction.connection.execute(sa.insert(audit).values(**line))

        await self._database.write(write)


def _first(
    owner: str, key: str, digest: str, at: int, project: str | None, transaction: Transaction
) -> Answered | None:
    connection = transaction.connection
    oldest_kept = at - int(IDEMPOTENCY_SECONDS * 1000)
    connection.execute(sa.delete(idempotency).where(idempotency.c.created_at < oldest_kept))
    of = (idempotency.c.key_owner == owner, idempotency.c.key == key)
    known = connection.execute(sa.select(idempotency).where(*of)).one_or_none()
    if known is None:
        values = {"key_owner": owner, "key": key, "request_hash": digest, "created_at": at}
        noted = sa.insert(idempotency).values(owner=transaction.owner, project_id=project, **values)
        connection.execute(noted)
        return None
    if known.request_hash != digest:
        raise Conflict("key_reused")
    if known.owner is None:
        if not known.answer:  # forgotten since, with what it told
            raise Conflict("key_reused")
        return Answered(known.status, known.answer)
    if not transaction.dead(known.owner):
        raise Conflict("in_progress")
    connection.execute(sa.update(idempotency).where(*of).values(owner=transaction.owner, created_at=at))
    return None


def _forget(owner: str, key: str, at: int, transaction: Transaction) -> None:
    """Forget a request that began at Unix milliseconds `at`, and has no answer."""
    of = (idempotency.c.key_owner == owner, idempotency.c.key == key, idempotency.c.created_at == at)
    transaction.connection.execute(sa.delete(idempotency).where(*of, idempotency.c.owner.is_not(None)))
