"""The crowd's reckoning: what is left running, and what ran twice, is found."""

import sqlite3
from contextlib import closing
from pathlib import Path

from .crowd import _left


def test_what_has_not_ended_is_told_of(tmp_path: Path) -> None:
    """A call that the server runs, a message and an action; what its caller has taken is the caller's."""
    with closing(sqlite3.connect(tmp_path / "file")) as file:
        file.execute("CREATE TABLE calls (id, status, runs_at)")
        file.execute("CREATE TABLE messages (id, status)")
        file.execute("CREATE TABLE actions (suggestion_id, status, owner)")
        for row in (("a", "confirmed", "webhook"), ("b", "claimed", "caller"), ("c", "done", "webhook")):
            file.execute("INSERT INTO calls VALUES (?, ?, ?)", row)
        file.execute("INSERT INTO messages VALUES ('m', 'pending'), ('n', 'done')")
        file.execute("INSERT INTO actions VALUES ('a', 'claimed', 'x'), ('b', 'claimed', 'caller')")
        file.commit()
    assert _left(tmp_path / "file") == [
        "call a is left confirmed",
        "message m is left pending",
        "action a is left claimed",
    ]
