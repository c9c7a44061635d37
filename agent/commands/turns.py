"""`agent memory import`: what was said elsewhere, kept as if it had been said here."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..config import MAX_ID, MEMORY
from ..errors import UsageError
from ..host import Threads, WallClock
from ..ports.conversation import Scope
from ..ports.memory import Kept, Remark
from ..storage.open import opened_memory
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


class _Turn(msgspec.Struct):
    """A turn of a file. at: ISO 8601, UTC where it names no zone."""

    id: str | int
    thread: str | int
    speaker: str
    at: str
    text: str


async def import_turns(
    *,
    data: Annotated[
        str, Parameter(env_var="AGENT_DATA", help="Folder of what is remembered, or user for yours.")
    ],
    turns: Annotated[Path, Parameter(help="File of JSON lines, one a turn.")],
    user: Annotated[str, Parameter(help="Whose they are; without it nobody's, each thread by itself.")] = "",
) -> int:
    """Import messages from elsewhere, so that recall finds them.

    Each line of the file is one message, those of a thread in their order:
      {"id": "D1:3", "thread": "ann", "speaker": "Ann", "at": "2026-05-03T10:00:00Z", "text": "..."}
    speaker: user, assistant, or a name. After an hour's pause in a thread another
    sitting begins. A turn whose thread and id are there already is kept as it is.

    Exit status: 0 all are kept; 2 a line cannot be read, and none is kept.

    Example: agent memory import --data DIR --turns talk.jsonl
    """
    if data == MEMORY:
        raise UsageError("what is remembered in memory ends with its server: name the folder with --data DIR")
    kept = _read(turns, user)
    clock = WallClock()
    async with opened_memory(StorageSettings(data), Threads(1), clock) as memory:
        for start in range(0, len(kept), _AT_ONCE):
            await memory.keep(kept[start : start + _AT_ONCE], clock.now_ms())
    threads = len({each.scope.thread for each in kept})
    write(f"{len(kept)} turns of {threads} {'thread' if threads == 1 else 'threads'} are kept\n")
    return OK


def _read(file: Path, user: str) -> list[Kept]:
    """Return the turns of a file. Raises UsageError, one line that names the place, at the first that is none."""
    kept: list[Kept] = []
    last: dict[str, tuple[int, int]] = {}  # of each thread: when it was spoken last, and in which sitting
    for place, turn in read_lines([file], _Turn, _WANTED):
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
        kept.append(Kept(Scope("", thread, user), (remark,)))
    return kept


def _remark(turn: _Turn, at: int, sitting: int) -> Remark:
    said_by = turn.speaker.casefold()
    if said_by in _ASSISTANTS:
        return Remark(str(turn.id), "assistant", turn.text, at, sitting=sitting)
    name = "" if said_by == _USER else turn.speaker
    return Remark(str(turn.id), "user", turn.text, at, name, sitting=sitting)


def _time(written: str, place: str) -> int:
    """Return a time in Unix milliseconds. Raises UsageError where it is none, or before 1970."""
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
