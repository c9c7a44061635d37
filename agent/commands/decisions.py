"""`agent memory decide`, and each decision as a command of its own: an operator's decisions about one item.

The item's state table (`agent.memory.states`) says which decisions it takes; a refused decision prints them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

from cyclopts import Parameter

from ..config import USER_DATA
from ..errors import Conflict, UsageError
from ..host import WallClock
from ..lang import DEFAULT, Lang
from ..memory.own_memory import OwnMemory
from ..memory.states import allowed_decisions
from ..ports.archive import ArchiveEntry
from ..ports.memory import LIVE, Item, ItemDecision
from ..storage.settings import is_server
from ..text.language import detect_language
from .items import describe_replacement, make_row
from .memory_access import Data, open_for_command, open_threads
from .output import OK, write

_BECOMES: Final[dict[ItemDecision, str]] = {
    "accept": "accepted",
    "reject": "rejected",
    "start": "started",
    "done": "done",
    "block": "blocked",
    "unblock": "unblocked",
    "reopen": "proposed again",
}


Replaces = Annotated[
    tuple[str, ...], Parameter(help="Id of an item that the accepted item replaces. Repeat it for several.")
]


async def decide(
    id: str, decision: ItemDecision, /, *, data: Data = USER_DATA, replaces: Replaces = ()
) -> int:
    """Decide about an item: accept or reject a proposal; start, done, block or
    unblock an open matter; reopen an ended item, which proposes it again.

    An item takes the decisions of its status; another decision prints them.
    `--replaces` goes with accept: see `agent memory accept --help`.

    Example: agent memory decide i12 accept
    """
    if decision == "accept":
        return await accept(id, data=data, replaces=replaces)
    if replaces:
        raise UsageError(f"--replaces goes with accept: leave it out to {decision} {id}")
    return await _decide_item(id, data, decision)


async def accept(id: str, /, *, data: Data = USER_DATA, replaces: Replaces = ()) -> int:
    """Accept a proposed item: it is remembered from now on.

    Where the item contradicts other items, the command prints them and changes
    nothing, unless `--replaces` names each of them; then the item replaces them.

    Example: agent memory accept i12 --replaces i3
    """
    async with open_for_command(data, id) as opened:
        entry = await opened.archive.entry(id)
        item = entry.item
        if item.status not in LIVE:
            if {each.id for each in entry.replaces} != set(replaces):
                for each in entry.replaces:
                    write(describe_replacement(item, each))
                raise UsageError(_not_what_it_replaces(entry))
            with _report_conflict(item, _BECOMES["accept"]):
                item = await opened.desk.decide_item(item.scope, id, "accept", item.revision, replaces)
    write(make_row(item))
    return OK


async def reject(id: str, /, *, data: Data = USER_DATA) -> int:
    """Reject a proposed item: it is not remembered.

    Example: agent memory reject i12
    """
    return await _decide_item(id, data, "reject")


async def start(id: str, /, *, data: Data = USER_DATA) -> int:
    """Start a decision that was accepted: work on it is under way.

    Example: agent memory start i12
    """
    return await _decide_item(id, data, "start")


async def done(id: str, /, *, data: Data = USER_DATA) -> int:
    """Mark an open matter as done.

    Example: agent memory done i12
    """
    return await _decide_item(id, data, "done")


async def block(id: str, /, *, data: Data = USER_DATA) -> int:
    """Mark an item that is under way as blocked.

    Example: agent memory block i12
    """
    return await _decide_item(id, data, "block")


async def unblock(id: str, /, *, data: Data = USER_DATA) -> int:
    """Mark a blocked item as under way again.

    Example: agent memory unblock i12
    """
    return await _decide_item(id, data, "unblock")


async def reopen(id: str, /, *, data: Data = USER_DATA) -> int:
    """Propose an item again that is done, rejected or expired.

    It is remembered again once it is accepted.

    Example: agent memory reopen i12
    """
    return await _decide_item(id, data, "reopen")


async def edit(id: str, text: str, /, *, data: Data = USER_DATA, lang: Lang | None = None) -> int:
    """Correct an item: a new item with your text takes its place.

    The old item keeps its text, with the status replaced or rejected.

    Example: agent memory edit i12 "The budget is 70 000 kr"

    Parameters
    ----------
    text
        A sentence that can be understood alone, 500 characters at most.
    lang
        Its language; by default it is detected from the words.
    """
    async with open_for_command(data, id) as opened:
        item = (await opened.archive.entry(id)).item
        with _report_conflict(item, "corrected"):
            if "edit" not in _list_commands(item):
                raise Conflict("refused")
            told = lang or detect_language(text) or DEFAULT
            item = await opened.desk.edit_item(item.scope, id, text, told, item.revision)
    write(make_row(item))
    return OK


async def forget(id: str, /, *, data: Data = USER_DATA) -> int:
    """Forget an item of any status. This cannot be undone.

    Its text leaves every file, and so do the messages that it comes from or that
    repeat it, and the answers that cite or repeat it. On a PostgreSQL server they
    leave the tables; its log, standbys and backups have them until these are over.

    An item that it replaced has an id of its own, and is forgotten by that. Tool
    calls that ran keep their arguments, without the texts that repeat the item.

    Example: agent memory forget i12
    """
    async with open_for_command(data, id) as opened, open_threads(data) as threads:
        desk = OwnMemory(opened.store, WallClock(), threads)
        left = await desk.forget_item(await opened.archive.scope(id), id)
    write(f"{left.item.id} is forgotten, and {len(left.turns)} messages and answers with it\n")
    if is_server(data):
        write(
            "nobody can read them any more; the server's log, standbys and backups have them until these are over\n"
        )
    return OK


async def _decide_item(id: str, data: str, decision: ItemDecision) -> int:
    """Decide about an item, and print its new state."""
    async with open_for_command(data, id) as opened:
        item = (await opened.archive.entry(id)).item
        with _report_conflict(item, _BECOMES[decision]):
            item = await opened.desk.decide_item(item.scope, id, decision, item.revision)
    write(make_row(item))
    return OK


@contextmanager
def _report_conflict(item: Item, becomes: str) -> Iterator[None]:
    """Raise a `UsageError` with the decisions that `item` takes when the block raises `Conflict`. `becomes`: its new
    state.
    """
    try:
        yield
    except Conflict as error:
        if error.code == "refused":
            can = " or ".join(f"agent memory {each} {item.id}" for each in _list_commands(item))
            why = f"{item.id} is {item.status}, of type {item.type}, and cannot be {becomes} now"
            raise UsageError(f"{why}; what can be done: {can}") from None
        raise UsageError(
            f"{item.id} changed meanwhile: look at it with agent memory show {item.id}, and decide again"
        ) from None


def _list_commands(item: Item) -> tuple[str, ...]:
    """Return the commands that `item` takes in its present state."""
    edits = ("edit",) if item.status in ("proposed", *LIVE) else ()
    forgets = ("forget",) if item.status != "forgotten" else ("show",)
    return (*allowed_decisions(item, WallClock().now_ms()), *edits, *forgets)


def _not_what_it_replaces(entry: ArchiveEntry) -> str:
    named = "".join(f" --replaces {each.id}" for each in entry.replaces)
    what = "it replaces the items above" if named else "it replaces nothing"
    return (
        f"{entry.item.id} was not accepted: {what}; to accept it, agent memory accept {entry.item.id}{named}"
    )
