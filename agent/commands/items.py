"""Memory items, as `agent memory` prints them: lines for people, and JSON lines for programs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..ports.archive import ArchiveEntry
from ..ports.conversation import Scope
from ..ports.memory import Item, StoredTurn
from ..text.terminal import printable_line


def make_row(item: Item) -> str:
    """Return `item` as a line of a list."""
    line = f"{item.id:<7} {item.status:<10} {item.type:<10} {_day(item.valid_from)}  {_whose(item.scope)}  {item.text}"
    return printable_line(line.rstrip()) + "\n"


def describe_replacement(item: Item, other: Item) -> str:
    """Return the line that says that `item` replaces, or would replace, `other`."""
    return printable_line(f"{item.id} replaces {other.id}: {other.text}") + "\n"


def _whose(scope: Scope) -> str:
    """Name a `scope`: project and user, or thread where the user has no name."""
    return f"{scope.project or '-'}/{scope.user or f'thread {scope.thread}'}"


def _day(at: int | None) -> str:
    return "-" if at is None else _moment(at)[:10]


def _moment(at: int | None) -> str:
    return "-" if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def describe_item(entry: ArchiveEntry) -> Iterator[str]:
    """Yield the lines that tell all of an item; they may hold any text of users."""
    item = entry.item
    yield f"{item.id}  {item.status}  {item.type}  {_whose(item.scope)}"
    yield f"  says      {item.text or '(forgotten)'}"
    yield f"  about     {' '.join(item.key) or '-'}"
    yield f"  holds     from {_moment(item.valid_from)} to {_moment(item.valid_to)}; ends {_moment(item.expires_at)}"
    yield f"  decided   {_moment(item.decided_at)} by {item.decided_by or 'nobody'}; confidence {item.confidence:g}"
    for each in item.sources:
        lines = f":{each.first}-{each.last}" if each.first else ""
        yield f"  source    {each.kind} {each.ref}{lines}  {each.quote}"
    for other in entry.replaces:
        yield f"  replaces  {other.id}, once it is accepted: {other.text}"
    if item.superseded_by is not None:
        yield f"  replaced  by {item.superseded_by}"
    for change in entry.history:
        path = f"{change.before or 'new'} -> {change.after}"
        yield f"  {_moment(change.at)}  {change.item}  {change.trigger}: {path}, by {change.by or 'nobody'}"


def turn_line(turn: StoredTurn) -> bytes:
    """Return a message or an answer as a line of JSON."""
    said = msgspec.to_builtins(turn)
    del said["remark"]["cites"]  # a turn is kept without
    return msgspec.json.encode({"kind": "turn", "id": turn.id, "scope": said["scope"], **said["remark"]})


def entry_line(entry: ArchiveEntry) -> bytes:
    """Return an item, with its sources and history, as a line of JSON."""
    line: dict[str, Any] = {"kind": "item", **msgspec.to_builtins(entry.item)}
    line["history"] = msgspec.to_builtins(entry.history)
    line["replaces"] = [each.id for each in entry.replaces]
    return msgspec.json.encode(line)
