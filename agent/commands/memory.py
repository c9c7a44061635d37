"""`agent memory`: lists, decides, exports and imports the items of all users, on the machine that keeps them.

Each command opens the data folder of a server, which may run meanwhile, and ends with its result. The operator names
an item, and the command finds its owner. A command that cannot be done prints one line with the remedy, and changes
nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, get_args

import msgspec
from cyclopts import App, Group, Parameter

from ..compose.nodes import describe_differences, select_servers
from ..config import ITEM_QUOTE, USER_DATA
from ..errors import UsageError
from ..host import WallClock, WorkerThreads
from ..lang import DEFAULT, Lang
from ..memory.items import make_draft
from ..ports.archive import ScopeFilter
from ..ports.conversation import Scope
from ..ports.memory import Candidate, ItemStatus, ItemType, Source
from ..ports.projects import HOUSE
from ..storage.open import list_nodes
from ..storage.settings import is_server
from ..text.language import detect_language
from ..text.terminal import printable_line
from .decisions import accept, block, decide, done, edit, forget, reject, reopen, start, unblock
from .items import describe_item, describe_replacement, entry_line, make_row, turn_line
from .memory_access import Data, open_for_command
from .output import OK, REFUSED, complain, write, write_line
from .paging import read_pages
from .rebuild import rebuild
from .turns import import_turns

_FIRST = {"list": 1, "decide": 2, "forget": 3, "export": 4, "import": 5}
"""The commands that people use most, in the order in which the help shows them."""
_FURTHER = Group("Further commands", sort_key=1)
_DECISIONS = Group("Decisions, each as a command", sort_key=2)

command = App(
    name="memory",
    help="List the items that users have in memory, and decide about them.\n\n"
    "Example: agent memory list --status proposed",
)

command.command(import_turns, name="import", sort_key=_FIRST["import"])
command.command(decide, sort_key=_FIRST["decide"])
command.command(forget, sort_key=_FIRST["forget"])
command.command(edit, group=_FURTHER)
command.command(rebuild, group=_FURTHER)
for _decision in (accept, reject, start, done, block, unblock, reopen):
    command.command(_decision, group=_DECISIONS)

Project = Annotated[
    str | None,
    Parameter(help="Only of this project: over a socket the --kb, or its --kb-name; over HTTP its id."),
]
User = Annotated[str | None, Parameter(help="Only of the user of this name.")]
Thread = Annotated[str | None, Parameter(help="Only of this thread, whose user has no name.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="One JSON object per line.")]


@dataclass(frozen=True, slots=True)
class _ItemOwner:
    """The owner of a new item."""

    project: Annotated[
        str, Parameter(help="The project: over HTTP its id, over a socket the --kb, or its --kb-name.")
    ] = HOUSE
    user: Annotated[str, Parameter(help="Name of the user that it belongs to.")] = ""
    thread: Annotated[str, Parameter(help="Thread that it belongs to, where its user has no name.")] = ""


@dataclass(frozen=True, slots=True)
class _ItemTimes:
    """The times of a new item, as given."""

    valid_from: Annotated[str | None, Parameter(help="From when it holds; by default from now.")] = None
    valid_to: Annotated[str | None, Parameter(help="Until when it holds, that time not included.")] = None
    expires_at: Annotated[str | None, Parameter(help="When it ends by itself; a metric needs it.")] = None


NO_OWNER, ANY_TIME = _ItemOwner(), _ItemTimes()


@command.command(name="list", sort_key=_FIRST["list"])
async def list_items(
    *,
    data: Data = USER_DATA,
    status: Annotated[
        tuple[ItemStatus, ...], Parameter(help="Only with this status; may be given again.")
    ] = (),
    project: Project = None,
    user: User = None,
    thread: Thread = None,
    as_json: Json = False,
) -> int:
    """List the items of all users by status: id, status, type, day, owner and text.

    Without `--status`, all items but forgotten ones. Safe to use while servers run.

    Example: agent memory list --status proposed --user ana
    """
    statuses = status or tuple(each for each in get_args(ItemStatus) if each != "forgotten")
    scope_filter = ScopeFilter(project, user, thread)
    has_match = False
    async with open_for_command(data) as opened:
        for each in dict.fromkeys(statuses):
            async for item in read_pages(partial(opened.archive.items, scope_filter, statuses=(each,))):
                has_match = True
                if as_json:
                    write_line(msgspec.json.encode(item))
                else:
                    write(make_row(item))
    if not has_match:
        complain("no item matches: leave out a filter, or name another place with --data")
    return OK


@command.command(group=_FURTHER)
async def show(id: str, /, *, data: Data = USER_DATA, as_json: Json = False) -> int:
    """Show one item: text, owner, dates, sources, the items that it would replace,
    and its history.

    Example: agent memory show i12
    """
    async with open_for_command(data, id) as opened:
        entry = await opened.archive.entry(id)
    if as_json:
        write_line(entry_line(entry))
    else:
        write("".join(f"{printable_line(line)}\n" for line in describe_item(entry)))
    return OK


@command.command(group=_FURTHER)
async def propose(
    type: ItemType,
    subject: str,
    text: str,
    /,
    *,
    data: Data = USER_DATA,
    owner: Annotated[_ItemOwner, Parameter(name="*")] = NO_OWNER,
    times: Annotated[_ItemTimes, Parameter(name="*")] = ANY_TIME,
    lang: Lang | None = None,
) -> int:
    """Propose an item. It is remembered once its user or an operator accepts it;
    events and metrics, which end by themselves, are accepted by rule.

    A date is written 2026-05-31, or 2026-05-31T14:00:00Z; without a zone it is
    this machine's time.

    Example: agent memory propose fact "budget of atlas" "The budget is 50 000 kr" --user ana

    Parameters
    ----------
    type
        fact, rule, decision, open_loop, idea, event, metric, preference or lesson.
    subject
        Its topic, in words: two items of one subject can contradict each other.
    text
        A sentence that can be understood alone, 500 characters at most.
    lang
        Its language; by default it is detected from the words.
    """
    if not owner.user and not owner.thread:
        raise UsageError("name the owner of the item: --user NAME, or --thread ID for a user without a name")
    source = Source("message", "command:propose", quote=text.encode("utf-8", "replace").decode()[:ITEM_QUOTE])
    candidate = Candidate(
        type=type,
        subject=subject,
        text=text,
        lang=lang or detect_language(text) or DEFAULT,
        sources=(source,),
        valid_from=_time("valid-from", times.valid_from),
        valid_to=_time("valid-to", times.valid_to),
        expires_at=_time("expires-at", times.expires_at),
        by_rule=True,
    )
    scope = Scope(owner.project, owner.thread, owner.user)
    now = WallClock().now_ms()
    async with open_for_command(data) as opened:
        (stored,) = await opened.store.propose_drafts(scope, [make_draft(candidate, now)], now)
    write(make_row(stored.item))
    for each in stored.conflicts:
        write(describe_replacement(stored.item, each))
    return OK


@command.command(sort_key=_FIRST["export"])
async def export(
    *,
    data: Data = USER_DATA,
    project: Project = None,
    user: User = None,
    thread: Thread = None,
    turns: Annotated[bool, Parameter(negative=(), help="Also the messages and answers.")] = False,
) -> int:
    """Print all items as JSON lines, oldest first; with `--turns` the messages too.

    An item is `{"kind": "item", ...}` with its sources and history, a message
    `{"kind": "turn", ...}`. Times are Unix milliseconds. A forgotten item has only
    its ids and times left.

    Example: agent memory export --user ana --turns > ana.jsonl
    """
    scope_filter = ScopeFilter(project, user, thread)
    async with open_for_command(data) as opened:
        async for entry in read_pages(partial(opened.archive.entries, scope_filter)):
            write_line(entry_line(entry))
        if turns:
            async for turn in read_pages(partial(opened.archive.turns, scope_filter)):
                write_line(turn_line(turn))
    return OK


@command.command(group=_FURTHER)
async def check(*, data: Data = USER_DATA) -> int:
    """Check the file of the memory for damage, and count its items and messages.

    Reads the whole file. A PostgreSQL server looks after its own files; for one, this
    prints the number of agent servers on it, and their differences.

    Exit status: 0 it is whole, 3 it is damaged, 2 it cannot be opened.

    Example: agent memory check
    """
    async with open_for_command(data) as opened:
        faults = await opened.archive.faults()
        for fault in faults:
            write(printable_line(f"damaged: {fault}") + "\n")
        if faults:
            complain("the file is damaged: stop its server and put a backup of memory.sqlite in its place")
            return REFUSED
        tally = await opened.archive.tally()
    nodes = await list_nodes(data, WorkerThreads(1), WallClock())
    counts = [f"{tally.items[each]} {each}" for each in get_args(ItemStatus) if tally.items.get(each)]
    if is_server(data):
        write(
            printable_line(f"servers: {len(select_servers(nodes))} {describe_differences(nodes)}".rstrip())
            + "\n"
        )
    else:
        write("file: whole\n")
    write(f"items: {', '.join(counts) or 'none'}\n")
    write(f"messages and answers: {tally.turns}\n")
    write(f"exchanges that could not be kept: {tally.gaps}\n")
    if tally.unread or tally.given_up:
        write(
            f"messages that the memory model is still to read: {tally.unread}; given up: {tally.given_up}\n"
        )
    for name, count in sorted(tally.vectors.items()):
        write(printable_line(f"kept vectors of {name}: {count}") + "\n")
    return OK


def _time(name: str, text: str | None) -> int | None:
    """Return a date as Unix milliseconds, or `None` for none. `name`: its flag, for the error message."""
    if text is None:
        return None
    try:
        return round(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{name} must be a date: write 2026-05-31, or 2026-05-31T14:00:00Z") from None
