"""`agent actions`: lists the confirmed actions in the ledger."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..config import MEMORY, USER_DATA
from ..errors import UsageError
from ..host import WallClock, WorkerThreads
from ..ports.ledger import LedgerRow
from ..storage.open import (
    LEDGER_FILE,
    data_label,
    explain_missing,
    is_kept,
    kb_label,
    ledger_folder,
    open_ledger,
)
from ..storage.settings import StorageSettings
from ..text.terminal import printable_line
from .output import OK, complain, write, write_line
from .settings import read_settings


async def actions(
    *,
    data: Annotated[
        str,
        Parameter(
            env_var="AGENT_DATA",
            help="Folder of the ledger, user for your data folder, or a postgresql:// URL.",
        ),
    ] = USER_DATA,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], help="How many, newest first.")] = 20,
    kb: Annotated[Path | None, Parameter(help="List the actions of this other knowledge base.")] = None,
    every: Annotated[
        bool,
        Parameter(name="--all", negative=(), help="List the actions of every knowledge base, and name it."),
    ] = False,
    as_json: Annotated[bool, Parameter(name="--json", help="One JSON object per line.")] = False,
) -> int:
    """List confirmed actions, newest first: when, which, and how they ended.

    The list has the actions of the server of this folder's knowledge base, as
    `agent serve` would find it; several servers may share a ledger.

    An action that was running when its process died is listed as `unknown`; it is
    never run again by itself. Safe to use while servers run.

    Example: agent actions --limit 5
    """
    if data == MEMORY:
        raise UsageError("a ledger in memory ends with its server: name the folder with --data DIR")
    if limit < 1:
        raise UsageError("limit must be at least 1")
    threads, clock = WorkerThreads(1), WallClock()
    if not await is_kept(data, LEDGER_FILE, threads, clock):
        if data != USER_DATA:
            raise UsageError(explain_missing("ledger", data))
        complain(_nothing_in(str(ledger_folder(data))))  # no server of this user has confirmed anything
        return OK
    storage = StorageSettings(data)
    if kb is None:
        served = read_settings()
        kb, storage = served.documents.kb, StorageSettings(data, kb_name=served.storage.kb_name)
    of = None if every else kb_label(storage, kb)
    async with open_ledger(storage, kb, threads, clock) as ledger:
        rows = await ledger.rows(limit, of)
        others = not rows and bool(await ledger.rows(1))
    for row in rows:
        if as_json:
            write_line(_json(row))
        else:
            write(printable_line(_line(row) + (f"  {row.kb or 'unknown'}" if every else "")) + "\n")
    if others:
        complain(f"nothing was confirmed with the knowledge base {of}; --all lists the actions of others")
    elif not rows:
        complain(_nothing_in(data_label(data)))
    return OK


def _nothing_in(folder: str) -> str:
    return f"nothing was confirmed yet: no action is in the ledger of {folder}"


def _line(row: LedgerRow) -> str:
    when = datetime.fromtimestamp(row.claimed_at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{when}Z  {row.status:<9}  {row.action:<20}  {row.suggestion_id}"


def _json(row: LedgerRow) -> bytes:
    text = json.dumps(
        {
            "suggestionId": row.suggestion_id,
            "action": row.action,
            "status": row.status,
            "claimedAt": row.claimed_at,
            "endedAt": row.ended_at,
            "kb": row.kb,
            "result": dict(row.result) if row.result is not None else None,
        }
    )
    return text.encode()
