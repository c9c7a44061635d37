"""The errors of PostgreSQL and its driver, as one sentence each with the remedy, and the side at fault.

A sentence never repeats the URL or a value: a password is in neither the log nor an answer.
"""

from typing import Any, Final

import psycopg
from sqlalchemy.exc import SQLAlchemyError

FAULTS: Final = (OSError, psycopg.Error, SQLAlchemyError)
"""Errors of the database, the network, or a request."""

_CONFLICTS: Final = frozenset(("40001", "40P01", "55P03"))
_SAME_KEY: Final = "23505"
_TOO_LONG: Final = "57014"
_OF_REQUEST: Final = ("21", "22", "23", "2F", "42", "P0")  # classes of errors of a statement or its values
_OF_SERVER: Final = frozenset(("42501", "42P01", "42883"))  # ... which are not its fault

_IDLE: Final = (
    "the server ended a connection over which this process said nothing for too long: it is tried again"
)
_BY_CODE: Final = {
    "25P03": _IDLE,
    "25006": "it takes no writes (a standby, or read only): name the primary server",
    "28000": "the server refuses this user: check the URL's user and pg_hba.conf",
    "28P01": "the server refuses this user's password: check the URL, PGPASSWORD or PGPASSFILE",
    "3D000": "there is no such database on the server: make it with createdb",
    "3F000": "its tables are gone: restore them from a backup, and restart the server",
    "40001": "others write the same at the same time: try again",
    "40P01": "others write the same at the same time: try again",
    "42501": "this user may not make or use its tables: GRANT CREATE ON DATABASE to it",
    "42P01": "its tables are gone: restore them from a backup, and restart the server",
    "42883": "its functions are gone: restore them from a backup, and restart the server",
    "53100": "the server's disk is full: make room on it",
    "53300": "the server has no connection left: raise its max_connections",
    "55P03": "another transaction holds its rows too long: find it in pg_stat_activity",
    _TOO_LONG: "it took too long: look at the server's load",
    "57P01": "the server was shut down: start it again",
    "57P05": _IDLE,
    "57P03": "the server is starting or stopping: try again",
}
_NO_SERVER: Final = "no server answers there: check the URL's host and port, and that PostgreSQL runs"
_NOT_POSTGRES: Final = "what answers there is no PostgreSQL server: check the URL's host and port"
_BY_WORDS: Final = (
    ("certificate", "the server's certificate is not accepted: check sslmode and sslrootcert in the URL"),
    ("received invalid response", _NOT_POSTGRES),
    ("expected authentication request", _NOT_POSTGRES),
    (
        "unsupported startup parameter",
        "it is behind a pooler that refuses the settings of a session: name the server itself",
    ),
    ("password authentication failed", _BY_CODE["28P01"]),
    ("no password supplied", _BY_CODE["28P01"]),
    (
        "session is read-only",
        _BY_CODE["25006"],
    ),  # of each server that the URL names, or of the only one that answers
    ("does not exist", "there is no such database or user on the server: make it first"),
    ("Connection refused", _NO_SERVER),
    ("No route to host", _NO_SERVER),
    ("Network is unreachable", _NO_SERVER),
    ("could not translate host name", "there is no such host: check the URL"),
    ("failed to resolve host", "there is no such host: check the URL"),
    ("No such file or directory", _NO_SERVER),
    ("server does not answer", "no answer came in time: look at the server, and at what stands before it"),
    ("timeout expired", "no server answers there in time: check the URL's host, and the network"),
    ("too many clients", _BY_CODE["53300"]),
    ("remaining connection slots", _BY_CODE["53300"]),
    ("starting up", _BY_CODE["57P03"]),
    ("shutting down", _BY_CODE["57P03"]),
    ("no pg_hba.conf entry", _BY_CODE["28000"]),
    ("SSL", "the server and this client agree on no encryption: check sslmode in the URL"),
    ("invalid ", "an option in the URL has a value that is not possible: check the URL"),
)
_LOST: Final = "the connection to the server is lost: it is tried again"


class Unusable(Exception):
    """The database cannot be used; the message gives the reason and the remedy."""


def find_code(error: BaseException) -> str:
    """Return the SQLSTATE of an error, or ""."""
    cause: Any = getattr(error, "orig", None) or error
    return getattr(cause, "sqlstate", None) or ""


def is_conflict(error: BaseException, last: bool = False) -> bool:
    """Return whether a transaction that failed so may succeed when it is run again.

    A row of the same key may have come from another process meanwhile; with `last` it did not.
    """
    code = find_code(error)
    return code in _CONFLICTS or (code == _SAME_KEY and not last)


def took_too_long(error: BaseException) -> bool:
    """Return whether the server ended a statement for its time, and nothing else is wrong."""
    return find_code(error) == _TOO_LONG


def is_of_request(error: BaseException) -> bool:
    """Return whether a request is itself at fault, not the server or the network."""
    if not isinstance(error, (psycopg.Error, SQLAlchemyError)):
        return not isinstance(error, (OSError, Unusable))
    code = find_code(error)
    if code:
        return code.startswith(_OF_REQUEST) and code not in _OF_SERVER
    cause = getattr(error, "orig", None) or error
    return not isinstance(cause, (psycopg.OperationalError, psycopg.InterfaceError))


def explain_start(error: BaseException) -> str:
    """Return one sentence about an error of a start, which is not tried again."""
    why = explain(error)
    return _NOT_POSTGRES if why == _LOST else why


def explain(error: BaseException) -> str:
    """Return one sentence about an error, with the remedy."""
    if isinstance(error, Unusable):
        return str(error)
    cause = getattr(error, "orig", None) or error
    code = find_code(error)
    if code in _BY_CODE:
        return _BY_CODE[code]
    words = str(cause)
    for found, sentence in _BY_WORDS:
        if found in words:
            return sentence
    if isinstance(cause, (psycopg.OperationalError, psycopg.InterfaceError)) and not code:
        return _LOST
    if isinstance(cause, psycopg.Error):
        return f"the server refuses a statement ({code or type(cause).__name__}): look at its log"
    return type(cause).__name__
