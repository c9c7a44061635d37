"""What stands in the rows of a PostgreSQL database, whatever its tables are called."""

from collections.abc import Iterator
from contextlib import closing

TABLES = (
    "SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables"
    " WHERE table_schema LIKE 'agent%' AND table_type = 'BASE TABLE' ORDER BY 1"
)


def read_rows(url: str) -> Iterator[tuple[str, str]]:
    """Yield each row of the server's tables as one text, after the name of its table; bytes are read as UTF-8."""
    import psycopg  # noqa: PLC0415  # only where there is a server

    with closing(psycopg.connect(url, autocommit=True)) as opened:
        for (table,) in opened.execute(TABLES).fetchall():
            for row in opened.execute(f"SELECT * FROM {table}".encode()):
                yield table, " ".join(_as_text(value) for value in row)


def find_in_rows(url: str, word: str) -> list[str]:
    """Return the tables that hold a word."""
    return sorted({table for table, row in read_rows(url) if word in row})


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
