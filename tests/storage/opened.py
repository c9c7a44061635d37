"""A look below an open database."""

from agent.storage.database import Database
from agent.storage.sqlite.database_file import DatabaseFile


def file_of(database: Database) -> DatabaseFile:
    """Return the file of a database that is kept in one."""
    backend = database._committer.backend
    assert isinstance(backend, DatabaseFile)
    return backend
