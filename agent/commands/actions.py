"""`agent actions`: what the ledger remembers of confirmed actions."""

import json
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from ..config import MEMORY, USER_DATA, Settings
from ..errors import UsageError
from ..host import Threads, WallClock
from ..ports.ledger import Row
from ..storage.open import ledger_folder, opened_ledger
from ..storage.trust import FILE
from ..text.terminal import printable_line
from .output import OK, write, write_line


async def actions(
    *,
    data: Annotated[
        str, Parameter(env_var="AGENT_DATA", help="Folder of the ledger, or user for your data folder.")
    ] = USER_DATA,
    limit: Annotated[int, Parameter(name=["--limit", "-n"], help="How many, newest first.")] = 20,
    as_json: Annotated[bool, Parameter(name="--json", help="One JSON object per line.")] = False,
) -> int:
    """List confirmed actions, newest first: when, which, and how they ended.

    An action that was running when its process died is listed as unknown; it is
    never run again by itself. Safe to use while servers run.

    Example: agent actions --limit 5
    """
    if data == MEMORY:
        raise UsageError("a ledger in memory ends with its server: name the folder with --data DIR")
    if limit < 1:
        raise UsageError("limit must be at least 1")
    folder = ledger_folder(data)
    if not (folder / FILE).is_file():
        if data != USER_DATA:
            raise UsageError(
                f"there is no ledger in {folder}: name the folder that a server keeps, its --data DIR"
            )
        return OK  # no server of this user has confirmed anything yet
    async with opened_ledger(Settings(data=data), Threads(1), WallClock()) as ledger:
        for row in await ledger.rows(limit):
            if as_json:
                write_line(_json(row))
            else:
                write(printable_line(_line(row)) + "\n")
    return OK


def _line(row: Row) -> str:
    when = datetime.fromtimestamp(row.claimed_at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{when}Z  {row.status:<9}  {row.action:<20}  {row.suggestion_id}"


def _json(row: Row) -> bytes:
    text = json.dumps(
        {
            "suggestionId": row.suggestion_id,
            "action": row.action,
            "status": row.status,
            "claimedAt": row.claimed_at,
            "endedAt": row.ended_at,
            "result": dict(row.result) if row.result is not None else None,
        }
    )
    return text.encode()
