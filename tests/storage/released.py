"""Data folders as earlier schemas left them: making one with a commit's own code, and unpacking one for a test.

    python -m tests.storage.released NAME COMMIT

fills a folder with the code of COMMIT, by the programs in `tests/storage/filling`, keeps its databases in
`tests/data/folders/NAME` (compressed, byte for byte), and notes in `tests/data/folders/schemas.json` which schema each
has: its number (PRAGMA user_version) and a digest of the statements that make its tables and indexes. Do this with the
commit that completes a schema, after its number was raised. Triggers are no part of the digest, for they are made anew
whenever a file is opened.
"""

import hashlib
import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[2]
FOLDERS = ROOT / "tests" / "data" / "folders"
SCHEMAS = FOLDERS / "schemas.json"
FILLING = ROOT / "tests" / "storage" / "filling"
FILLED_BY = {
    "actions": ("ledger.sqlite", "agent/storage/sqlite.py"),
    "projects": ("ledger.sqlite", "agent/storage/stores.py"),
    "memories": ("memory.sqlite", "agent/storage/memories/store.py"),
}
"""Each program, the file that it fills, and the module that it needs; the last that can fill a file does."""

Rows: TypeAlias = dict[str, list[dict[str, Any]]]

DERIVED = ("moves", "sqlite_sequence")
"""Tables that are made anew from the code."""


def digest_schema(file: Path) -> dict[str, Any]:
    """Return the schema of a database: its `version`, and `ddl`, a SHA-256 in hex of what makes tables and indexes."""
    with closing(sqlite3.connect(file)) as opened:
        (version,) = opened.execute("PRAGMA user_version").fetchone()
        made = opened.execute(
            "SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
    text = "\n".join(" ".join(sql.split()) for (sql,) in made)
    return {"version": version, "ddl": hashlib.sha256(text.encode()).hexdigest()}


def read_rows(file: Path) -> Rows:
    """Return the rows of each table of a database, but for `DERIVED`."""
    with closing(sqlite3.connect(file)) as opened:
        opened.row_factory = sqlite3.Row
        names = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [dict(row) for row in opened.execute(f"SELECT * FROM {name}")]
            for name in names
            if name not in DERIVED
        }


def read_structure(file: Path) -> dict[str, Any]:
    """Return the version, tables, indexes and triggers; a column that was added looks like a declared one."""
    with closing(sqlite3.connect(file)) as opened:
        found: dict[str, Any] = {"version": opened.execute("PRAGMA user_version").fetchone()}
        for kind, name, sql in opened.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name"):
            if kind == "table":
                columns = opened.execute(f"PRAGMA table_xinfo({name})").fetchall()
                found[name] = (
                    {column[1:] for column in columns},
                    set(_read_conditions(sql)),
                    "STRICT" in sql,
                )
            elif sql is not None:
                found[name] = " ".join(sql.split())
    return found


def _read_conditions(sql: str) -> Iterator[str]:
    """Yield each condition of a statement that makes a table, with what is in its brackets."""
    for start in (at for at in range(len(sql)) if sql.startswith("CHECK (", at)):
        depth = 0
        for end in range(start + len("CHECK "), len(sql)):
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            if depth == 0:
                yield " ".join(sql[start : end + 1].split())
                break


def list_folders() -> dict[str, dict[str, Any]]:
    """Return the folders by name, oldest first: the `commit` that made each, and the schemas of its `files`."""
    folders: dict[str, dict[str, Any]] = json.loads(SCHEMAS.read_text(encoding="utf-8"))
    return folders


def unpack_folder(name: str, into: Path) -> None:
    """Put the databases of a folder into an empty one, as they were when their process ended."""
    into.mkdir(parents=True, exist_ok=True)
    for packed in (FOLDERS / name).iterdir():
        (into / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))


def make_folder(name: str, commit: str) -> None:
    """Fill a folder with the code of a commit, pack its databases, and note their schemas."""
    found = subprocess.run(["git", "rev-parse", commit], cwd=ROOT, check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as temporary:
        checkout, data = Path(temporary, "checkout"), Path(temporary, "data")
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True)
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(checkout, filter="data")
        programs = {
            file: program for program, (file, module) in FILLED_BY.items() if (checkout / module).exists()
        }
        for program in programs.values():
            command = [sys.executable, "-P", str(FILLING / f"{program}.py"), str(data)]
            environment = {**os.environ, "PYTHONPATH": str(checkout)}
            subprocess.run(command, cwd=checkout, env=environment, check=True)
        files = sorted(data.glob("*.sqlite"))
        noted = {"commit": found.stdout.strip(), "files": {file.name: digest_schema(file) for file in files}}
        kept = FOLDERS / name
        kept.mkdir(parents=True, exist_ok=True)
        for file in files:
            (kept / f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes(), preset=9))
    folders = list_folders() if SCHEMAS.exists() else {}
    SCHEMAS.write_text(json.dumps({**folders, name: noted}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_folder(*sys.argv[1:])
