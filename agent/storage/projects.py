"""Projects, their keys and their documents in a database."""

from dataclasses import asdict
from functools import partial
from typing import Any

import sqlalchemy as sa

from ..config import RULES_BYTES
from ..errors import Conflict
from ..ports.clock import Clock
from ..ports.pages import Page, Window
from ..ports.projects import HOUSE, DocumentText, Project, ProjectKey, ReadingReport, StoredDocument
from . import call_groups
from .database import Database
from .listing import find_row, load_page, make_record, require_project, require_row
from .pending_requests import wait_on
from .schema import calls, documents, idempotency, project_keys, projects
from .transaction import Transaction

PROJECTS_MOST = 10_000
DOCUMENTS_MOST = 1000  # of one project ...
DOCUMENTS_BYTES = 100 * 1024 * 1024  # ... and of all their texts, as UTF-8


class DatabaseProjects:
    """Projects in an open database (implements `agent.ports.projects.ProjectStore`).

    `clock` stamps the calls that end because their project is deleted.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create_project(self, id: str, name: str, role: str, at: int) -> Project:
        """Create a project. Raises `Conflict("too_many_projects")` over `PROJECTS_MOST`."""

        def create(transaction: Transaction) -> Project:
            held = sa.select(sa.func.count()).select_from(projects)
            if transaction.connection.execute(held).scalar_one() >= PROJECTS_MOST:
                raise Conflict("too_many_projects")
            values = {"id": id, "name": name, "role": role, "created_at": at, "revision": 0}
            transaction.connection.execute(sa.insert(projects).values(**values))
            return Project(id, name, role, at)

        return await self._database.write(create)

    async def project(self, id: str) -> Project:
        """Return a project."""
        return await self._database.read(
            lambda connection: _project(find_row(connection, projects, projects.c.id == id))
        )

    async def projects(self, window: Window) -> Page[Project]:
        """Return a page of projects, oldest first."""
        return await self._database.read(
            lambda connection: load_page(connection, projects, sa.select(projects), window, _project)
        )

    async def change_project(self, id: str, name: str | None, role: str | None) -> Project:
        """Change `name` and `role` where they are not `None`; a new role raises the `revision`."""
        values: dict[str, Any] = {} if name is None else {"name": name}
        if role is not None:
            values |= {"role": role, "revision": projects.c.revision + 1}

        def change(transaction: Transaction) -> Project:
            if not values:
                return _project(find_row(transaction.connection, projects, projects.c.id == id))
            statement = sa.update(projects).where(projects.c.id == id).values(**values).returning(projects)
            return _project(require_row(transaction.connection.execute(statement).one_or_none()))

        return await self._database.write(change)

    async def delete_project(self, id: str) -> tuple[str, ...]:
        """Delete a project and everything in it; return the calls that other processes have claimed.

        Rows of the ledger stay. Raises `Conflict("kept")` for `HOUSE`.
        """

        def delete(transaction: Transaction) -> tuple[str, ...]:
            require_project(transaction.connection, id)
            if id == HOUSE:
                raise Conflict("kept")
            claimed = call_groups.bar_calls(transaction, self._clock.now_ms(), calls.c.project_id == id)
            transaction.connection.execute(sa.delete(idempotency).where(idempotency.c.project_id == id))
            transaction.connection.execute(sa.delete(projects).where(projects.c.id == id))
            return claimed

        return await self._database.write(delete, late=wait_on)

    async def add_key(self, project: str, id: str, digest: str, name: str, at: int) -> ProjectKey:
        """Store a key as `digest`, its SHA-256 in hex."""

        def add(transaction: Transaction) -> ProjectKey:
            require_project(transaction.connection, project)
            values = {"project_id": project, "id": id, "digest": digest, "name": name, "created_at": at}
            transaction.connection.execute(sa.insert(project_keys).values(**values))
            return ProjectKey(id, project, name, at)

        return await self._database.write(add)

    async def keys(self, project: str, window: Window) -> Page[ProjectKey]:
        """Return a page of a project's keys, oldest first, revoked ones included."""

        def load(connection: sa.Connection) -> Page[ProjectKey]:
            require_project(connection, project)
            wanted = sa.select(project_keys).where(project_keys.c.project_id == project)
            return load_page(connection, project_keys, wanted, window, _key)

        return await self._database.read(load)

    async def revoke_key(self, project: str, id: str, at: int) -> None:
        """Revoke a key. Idempotent."""
        of = (project_keys.c.project_id == project, project_keys.c.id == id)

        def revoke(transaction: Transaction) -> None:
            find_row(transaction.connection, project_keys, *of)
            transaction.connection.execute(
                sa.update(project_keys).where(*of, project_keys.c.revoked_at.is_(None)).values(revoked_at=at)
            )

        await self._database.write(revoke)

    async def find_key(self, digest: str) -> ProjectKey | None:
        """Return the key with this `digest` that opens its project, or `None`."""
        wanted = sa.select(project_keys).where(
            project_keys.c.digest == digest, project_keys.c.revoked_at.is_(None)
        )

        def find(connection: sa.Connection) -> ProjectKey | None:
            row = connection.execute(wanted).one_or_none()
            return None if row is None else _key(row)

        return await self._database.read(find)

    async def put_document(self, document: StoredDocument, text: str) -> StoredDocument:
        """Store a document under its id, replacing the one of the same project, category and filename.

        The same bytes again change nothing and return the stored document with its id. Raises
        `Conflict("project_full")` and `Conflict("rules_too_long")` over `DOCUMENTS_MOST`, `DOCUMENTS_BYTES` and
        `RULES_BYTES`.
        """
        return await self._database.write(partial(_put_document, document, text), late=wait_on)

    async def document(self, project: str, id: str) -> StoredDocument:
        """Return a document."""
        of = (documents.c.project_id == project, documents.c.id == id)
        return await self._database.read(
            lambda connection: _document(
                require_row(connection.execute(_select_documents().where(*of)).one_or_none())
            )
        )

    async def documents(self, project: str, window: Window) -> Page[StoredDocument]:
        """Return a page of a project's documents, oldest first."""

        def load(connection: sa.Connection) -> Page[StoredDocument]:
            require_project(connection, project)
            wanted = _select_documents().where(documents.c.project_id == project)
            return load_page(connection, documents, wanted, window, _document)

        return await self._database.read(load)

    async def delete_document(self, project: str, id: str) -> None:
        """Delete a document and its text."""

        def delete(transaction: Transaction) -> None:
            gone = transaction.connection.execute(
                sa.delete(documents)
                .where(documents.c.project_id == project, documents.c.id == id)
                .returning(documents.c.number)
            )
            require_row(gone.one_or_none())
            _revise(transaction, project)

        await self._database.write(delete, late=wait_on)

    async def texts(self, project: str) -> tuple[int, tuple[DocumentText, ...]]:
        """Return a project's `revision` and the texts of its readable documents, by category and filename."""
        wanted = (
            sa.select(documents.c.id, documents.c.category, documents.c.filename, documents.c.text)
            .where(documents.c.project_id == project, documents.c.error == "")
            .order_by(documents.c.category, documents.c.filename)
        )

        def load(connection: sa.Connection) -> tuple[int, tuple[DocumentText, ...]]:
            of = find_row(connection, projects, projects.c.id == project)
            return of.revision, tuple(DocumentText(*each) for each in connection.execute(wanted))

        return await self._database.read(load, wait_on)


def _put_document(document: StoredDocument, text: str, transaction: Transaction) -> StoredDocument:
    connection = transaction.connection
    require_project(connection, document.project)
    same = (
        documents.c.project_id == document.project,
        documents.c.category == document.category,
        documents.c.filename == document.filename,
    )
    kept = connection.execute(_select_documents().where(*same)).one_or_none()
    if kept is not None and (kept.sha256, kept.error) == (document.sha256, document.error):
        return _document(kept)
    size = len(text.encode())
    _make_room(connection, document, size, None if kept is None else kept.number)
    values = {
        "id": document.id,
        "mime": document.mime,
        "sha256": document.sha256,
        "size": document.size,
        "pieces": document.pieces,
        "version": 1 if kept is None else kept.version + 1,
        "created_at": document.created_at,
        "error": document.error,
        "report": asdict(document.report),
        "text_bytes": size,
        "text": text,
    }
    if kept is None:
        values |= {"category": document.category, "filename": document.filename}
        connection.execute(sa.insert(documents).values(project_id=document.project, **values))
    else:
        connection.execute(sa.update(documents).where(*same).values(**values))
    _revise(transaction, document.project)
    return _document(connection.execute(_select_documents().where(*same)).one())


def _make_room(
    connection: sa.Connection, document: StoredDocument, size: int, in_place_of: int | None
) -> None:
    """Raise `Conflict` if a project's documents would be too many or too long with this one."""
    rules = sa.func.sum(documents.c.text_bytes).filter(documents.c.category == "RULES")
    others = sa.select(sa.func.count(), sa.func.sum(documents.c.text_bytes), rules).where(
        documents.c.project_id == document.project, documents.c.number != (in_place_of or 0)
    )
    count, total, of_rules = connection.execute(others).one()
    if count >= DOCUMENTS_MOST or (total or 0) + size > DOCUMENTS_BYTES:
        raise Conflict("project_full")
    if document.category == "RULES" and (of_rules or 0) + size > RULES_BYTES:
        raise Conflict("rules_too_long")


def _revise(transaction: Transaction, project: str) -> None:
    transaction.connection.execute(
        sa.update(projects).where(projects.c.id == project).values(revision=projects.c.revision + 1)
    )


def _select_documents() -> sa.Select[Any]:
    """Return the query for all columns of documents but their texts."""
    return sa.select(*(column for column in documents.c if column.name != "text"))


def _project(one: Any) -> Project:
    return Project(one.id, one.name, one.role, one.created_at, one.revision)


def _key(one: Any) -> ProjectKey:
    return ProjectKey(one.id, one.project_id, one.name, one.created_at, one.revoked_at)


def _document(one: Any) -> StoredDocument:
    report = ReadingReport() if one.report is None else ReadingReport(**one.report)
    return make_record(StoredDocument, one, project=one.project_id, report=report)
