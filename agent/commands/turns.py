"""`agent memory import`: keeps messages from elsewhere, so that recall finds them like the server's own."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..config import MAX_ID, MEMORY
from ..errors import UsageError
from ..host import WallClock, WorkerThreads
from ..ports.conversation import Scope
from ..ports.memory import ExchangeRecord, Remark
from ..storage.open import open_memory_store
from ..storage.settings import StorageSettings
from .lines import read_lines
from .output import OK, write

_WANTED = (
    'write {"id": "...", "thread": "...", "speaker": "...", "at": "2026-05-03T10:00:00Z", "text": "..."} '
    "on one line"
)
_AT_ONCE = 200  # turns in one transaction
_PAUSE = 3_600_000  # milliseconds after which another sitting begins
_ASSISTANTS = frozenset(("assistant", "agent"))
_USER = "user"


class _ImportedMessage(msgspec.Struct):
    """A message of a file. `at`: ISO 8601, UTC where it names no zone."""

    id: str | int
    thread: str | int
    speaker: str
    at: str
    text: str


async def import_turns(
    *,
    data: Annotated[
        str, Parameter(env_var="AGENT_DATA", help="Folder of the memory, or user for your data folder.")
    ],
    turns: Annotated[Path, Parameter(help="File of JSON lines, one a turn.")],
    user: Annotated[
        str, Parameter(help="Name of their user; without it each thread is a user without a name.")
    ] = "",
) -> int:
    """Import messages from elsewhere, so that recall finds them.

    Each line of the file is one message, those of a thread in their order:
      {"id": "D1:3", "thread": "ann", "speaker": "Ann", "at": "2026-05-03T10:00:00Z", "text": "..."}
    `speaker`: `user`, `assistant`, or a name. After an hour's pause in a thread another
    sitting begins. A message that is there already, by thread and id, stays as it is.

    Exit status: 0 all are kept; 2 a line cannot be read, and none is kept.

    Example: agent memory import --data DIR --turns talk.jsonl
    """
    if data == MEMORY:
        raise UsageError("a memory without a folder ends with its server: name the folder with --data DIR")
    kept = _read_messages(turns, user)
    clock = WallClock()
    async with open_memory_store(StorageSettings(data), WorkerThreads(1), clock) as memory:
        for start in range(0, len(kept), _AT_ONCE):
            await memory.keep_exchanges(kept[start : start + _AT_ONCE], clock.now_ms())
    threads = len({each.scope.thread for each in kept})
    write(f"{len(kept)} turns of {threads} {'thread' if threads == 1 else 'threads'} are kept\n")
    return OK


def _read_messages(file: Path, user: str) -> list[ExchangeRecord]:
    """Return the messages of `file`. Raises `UsageError`, one line with the place, at the first bad line."""
    kept: list[ExchangeRecord] = []
    last: dict[str, tuple[int, int]] = {}  # of each thread: when it was spoken last, and in which sitting
    for place, turn in read_lines([file], _ImportedMessage, _WANTED):
        thread, at = str(turn.thread), _time(turn.at, place)
        if not str(turn.id) or len(str(turn.id)) > MAX_ID or len(thread) > MAX_ID:
            raise UsageError(f"{place}: id must have 1 to {MAX_ID} characters, and thread at most as many")
        if not turn.text.strip():
            continue
        before, sitting = last.get(thread, (at, at // _PAUSE))
        if abs(at - before) > _PAUSE:
            sitting = at // _PAUSE
        last[thread] = at, sitting
        remark = _remark(turn, at, sitting)
        kept.append(ExchangeRecord(Scope("", thread, user), (remark,)))
    return kept


def _remark(turn: _ImportedMessage, at: int, sitting: int) -> Remark:
    said_by = turn.speaker.casefold()
    if said_by in _ASSISTANTS:
        return Remark(message=str(turn.id), role="assistant", text=turn.text, at=at, sitting=sitting)
    name = "" if said_by == _USER else turn.speaker
    return Remark(message=str(turn.id), role="user", text=turn.text, at=at, speaker=name, sitting=sitting)


def _time(written: str, place: str) -> int:
    """Return a time in Unix milliseconds. Raises `UsageError` for anything else, or for a time before 1970."""
    try:
        at = datetime.fromisoformat(written)
        milliseconds = int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        milliseconds = -1
    if milliseconds < 0:
        raise UsageError(
            f'{place}: at must be a time in ISO 8601, such as "2026-05-03T10:00:00Z", from 1970 on'
        )
    return milliseconds
