"""Diagrams that are drawn from the code: `agent diagrams` writes them, `agent diagrams --check` finds stale ones.

Strategy: each file is a pure function of the state tables, the message types or the import statements, so the same
code gives the same bytes. Imports are read from the syntax trees, not by importing.
"""

import ast
import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from .actions.suggestions import TABLE as SUGGESTION
from .fsm import StateTable, draw_matrix, draw_mermaid
from .memory.states import TABLE as ITEM
from .protocol import asyncapi, openapi
from .session.states import TABLE as SESSION
from .stories.versions import CHAPTERS, VERSIONS
from .voice.states import LISTENING, MOUTH, UTTERANCE
from .wire.life import TABLE as CONNECTION

PACKAGE = Path(__file__).resolve().parent

Imports = Mapping[str, frozenset[str]]

_PICTURES = (".png", ".svg")


def render() -> dict[str, str]:
    """Return every diagram: the path below the diagrams folder, and the file's text."""
    return {
        "session.md": _table(SESSION, "agent/session/states.py"),
        "suggestion.md": _table(SUGGESTION, "agent/actions/suggestions.py"),
        "item.md": _table(ITEM, "agent/memory/states.py"),
        "version.md": _table(VERSIONS, "agent/stories/versions.py"),
        "chapter.md": _table(CHAPTERS, "agent/stories/versions.py"),
        "connection.md": _table(CONNECTION, "agent/wire/life.py"),
        "listening.md": _table(LISTENING, "agent/voice/states.py"),
        "utterance.md": _table(UTTERANCE, "agent/voice/states.py"),
        "mouth.md": _table(MOUTH, "agent/voice/states.py"),
        "layers.md": _layers(PACKAGE),
        "asyncapi.json": asyncapi.document().decode(),
        "openapi.json": openapi.document().decode(),
    }


def write(folder: Path) -> list[str]:
    """Write every diagram into `folder`, made if absent, and return the names of the changed files."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, text in render().items():
        path = folder / name
        if _read(path) != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(name)
    return changed


def check(folder: Path) -> str:
    """Return a unified diff from the files in `folder` to the diagrams of the code; empty when nothing is stale.

    A file without a diagram of its name counts as stale too, unless it is a picture, which no code here draws.
    """
    fresh = render()
    files = (path for path in folder.glob("*") if path.is_file() and path.suffix not in _PICTURES)
    present = (path.name for path in files if not path.name.startswith("."))
    names = sorted({*fresh, *present})
    return "".join(_diff(folder / name, fresh.get(name)) for name in names)


@cache
def imports(package: Path) -> Imports:
    """Return, for each room of `package`, the rooms that it imports from.

    A room is a module or a folder directly below the package. The result is cached for the process.
    """
    found: dict[str, set[str]] = {}
    for file, tree in parse_modules(package).items():
        folder, name = file.split("/")[:-1], file.rpartition("/")[2]
        if not folder and name == "__init__.py":
            continue
        room = folder[0] if folder else name.removesuffix(".py")
        found.setdefault(room, set()).update(_rooms(tree, tuple(folder), package.name) - {room})
    return {room: frozenset(targets & set(found)) for room, targets in found.items()}


@cache
def parse_modules(package: Path) -> dict[str, ast.Module]:
    """Return the syntax tree of each module of `package`, by its path below `package`.

    The result is cached for the process, so that no caller may change a tree.
    """
    return {
        path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8"), path.name)
        for path in sorted(package.rglob("*.py"))
    }


def walk_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield `tree` and every statement, handler and case in it; expressions, which are most of a tree, are skipped."""
    remaining: list[ast.AST] = [tree]
    while remaining:
        node = remaining.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            remaining += getattr(node, field, ())


def _rooms(tree: ast.Module, folder: tuple[str, ...], package: str) -> set[str]:
    """Return the first part, below `package`, of every import of a module in `folder`."""
    targets: set[str] = set()
    for node in walk_statements(tree):
        if isinstance(node, ast.Import):
            targets |= {each.name.split(".")[1] for each in node.names if each.name.startswith(package + ".")}
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                path = folder[: len(folder) - node.level + 1] + module
            elif module[0] == package:
                path = module[1:]
            else:
                continue
            targets |= {path[0]} if path else {each.name for each in node.names}
    return targets


def _table(table: StateTable[Any, Any, Any, Any], source: str) -> str:
    return (
        f"# {table.title}\n\n"
        f"Drawn from `{source}` by `agent diagrams`; change the table, not this file. An arrow reads: trigger,\n"
        f"[guard], / what is done. Guards of one state and trigger are tried from top to bottom.\n\n"
        f"```mermaid\n{draw_mermaid(table)}```\n\n"
        f"What each state makes of each trigger (a dash: refused, nothing changes):\n\n"
        f"{draw_matrix(table)}"
    )


def _layers(package: Path) -> str:
    rooms = imports(package)
    heights = _heights(rooms)
    order = sorted(rooms, key=lambda room: (-heights[room], room))
    arrows = [
        f"    {_node(room)} --> {_node(each)}" for room in order for each in sorted(_direct(room, rooms))
    ]
    lines = [
        "# Layers",
        "",
        "Drawn from the import statements of `agent/` by `agent diagrams`. An arrow points to what is imported;",
        "one that follows from others is left out of the picture, not of the table.",
        "",
        "```mermaid",
        "flowchart TD",
        *(f"    {_node(room)}[{room}]" for room in order),
        *arrows,
        "```",
        "",
        "| room | imports |",
        "| --- | --- |",
        *(f"| {room} | {', '.join(sorted(rooms[room])) or 'nothing of its own package'} |" for room in order),
    ]
    return "\n".join(lines) + "\n"


def _direct(room: str, rooms: Imports) -> set[str]:
    """Return the imports of `room` that none of its other imports already leads to."""
    return {
        each
        for each in rooms[room]
        if not any(each in _below(other, rooms) for other in rooms[room] if other != each)
    }


def _below(room: str, rooms: Imports) -> set[str]:
    """Return every room that `room` leads to; a cycle is walked once."""
    seen: set[str] = set()
    waiting = [room]
    while waiting:
        for each in rooms[waiting.pop()] - seen:
            seen.add(each)
            waiting.append(each)
    return seen


def _heights(rooms: Imports) -> dict[str, int]:
    """Return the longest way down from each room; quickly where no rooms import each other."""
    try:
        order = [*TopologicalSorter(rooms).static_order()]
    except CycleError:
        return {room: _height(room, rooms, ()) for room in rooms}
    heights: dict[str, int] = {}
    for room in order:
        heights[room] = 1 + max((heights[each] for each in rooms[room]), default=-1)
    return heights


def _height(room: str, rooms: Imports, above: tuple[str, ...]) -> int:
    """Return the longest way down from `room`."""
    below = [each for each in rooms[room] if each not in above]
    return 1 + max((_height(each, rooms, (*above, room)) for each in below), default=-1)


def _node(room: str) -> str:
    return room.strip("_") + "_"  # "end" and the like are keywords of Mermaid


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _diff(path: Path, fresh: str | None) -> str:
    stale = _read(path)
    if stale == fresh is not None:
        return ""
    lines = difflib.unified_diff(
        (stale or "").splitlines(keepends=True),
        (fresh or "").splitlines(keepends=True),
        f"{path} (in the folder)",
        f"{path} (from the code)",
    )
    text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    return text or f"{path}: differs in what cannot be shown as text\n"
