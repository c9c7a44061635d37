"""Measures the words of the package: names of classes and functions, and the prose of docstrings.

A room is a folder of `agent/`. `tests/test_house.py` holds the figures to their bounds.

    python -m tests.words             every room's figures, and names that the rules do not allow
    python -m tests.words ROOM ...    the same of some rooms, with the place of each finding
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from agent.diagrams import PACKAGE, parse_modules, walk_statements

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Documented: TypeAlias = ast.Module | ast.ClassDef | Function

RIDDLES: Final = re.compile(
    r"\b(?:what|who|whom|whose|whoever|whomever|whatever|whichever|nobody)\b", re.IGNORECASE
)
"""Words that stand in place of a name."""

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'’]*")
_CODE: Final = re.compile(r"``?[^`\n]+``?")
_IRREGULAR_WORDS: Final = """
asked been begun bound broken brought built bought caught chosen dealt done drawn driven fallen felt fought found
forgotten frozen given gone got grown had heard held hidden kept known laid led left lent lost made meant met paid read
risen said sold seen sent shown sought spent spoken stood stolen struck taken taught thought thrown told undone
understood unread unsaid untold unwritten withheld woken won worn written
"""
_IRREGULAR: Final = frozenset(_IRREGULAR_WORDS.split())  # but for those that are verbs too: `split`, `put`
_VERBS: Final = frozenset(("embed", "exceed", "feed", "heed", "need", "proceed", "seed", "speed", "succeed"))
FIELDS: Final = 6
"""Fields from which a record is given by name alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one room. The last two are per 1,000 words of its docstrings."""

    functions: int
    participles: int
    words: int
    riddles: float
    code_names: float


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that a rule does not allow. file: below the package."""

    file: str
    line: int
    name: str


def room_of(file: str) -> str:
    """Return the room of a module; modules beside the rooms are in `agent`."""
    return file.split("/")[0] if "/" in file else "agent"


def is_participle(name: str) -> bool:
    """Tell whether the name of a function is one bare participle, such as `said` or `_counted`."""
    bare = name.strip("_")
    if bare in _VERBS:
        return False
    return bare in _IRREGULAR or (bare.endswith("ed") and "_" not in bare)


@cache
def list_definitions(tree: ast.Module) -> tuple[Documented, ...]:
    """Return the module, and every class and function in it."""
    return tuple(node for node in walk_statements(tree) if isinstance(node, Documented))


def find_functions(tree: ast.Module) -> Iterator[Function]:
    """Yield every function and method of a module but those that Python names."""
    for node in list_definitions(tree):
        if isinstance(node, Function) and not node.name.startswith("__"):
            yield node


def find_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every docstring of a module."""
    for node in list_definitions(tree):
        text = ast.get_docstring(node)
        if text is not None:
            yield getattr(node, "lineno", 1), text


def measure_rooms(modules: dict[str, ast.Module]) -> dict[str, Figures]:
    """Return the figures of every room, by its name."""
    by_room: dict[str, list[ast.Module]] = defaultdict(list)
    for file, tree in modules.items():
        by_room[room_of(file)].append(tree)
    return {room: _measure(trees) for room, trees in sorted(by_room.items())}


def _measure(trees: Sequence[ast.Module]) -> Figures:
    functions = [node.name for tree in trees for node in find_functions(tree)]
    text = "\n".join(text for tree in trees for _, text in find_docstrings(tree))
    words = len(_WORD.findall(text))
    return Figures(
        functions=len(functions),
        participles=sum(map(is_participle, functions)),
        words=words,
        riddles=1000 * len(RIDDLES.findall(text)) / max(words, 1),
        code_names=1000 * len(_CODE.findall(text)) / max(words, 1),
    )


def find_participles(modules: dict[str, ast.Module]) -> list[Finding]:
    """Return every function whose name is a bare participle."""
    return [
        Finding(file, node.lineno, node.name)
        for file, tree in modules.items()
        for node in find_functions(tree)
        if is_participle(node.name)
    ]


def find_shared_classes(modules: dict[str, ast.Module]) -> dict[str, list[Finding]]:
    """Return the classes whose name, less a leading underscore, another class has too, by that name."""
    by_name: dict[str, list[Finding]] = defaultdict(list)
    for file, tree in modules.items():
        for node in list_definitions(tree):
            if isinstance(node, ast.ClassDef):
                by_name[node.name.lstrip("_")].append(Finding(file, node.lineno, node.name))
    return {name: found for name, found in sorted(by_name.items()) if len(found) > 1}


def find_positional_records(modules: dict[str, ast.Module]) -> list[Finding]:
    """Return the dataclasses and structs with six fields or more whose fields can be given by position."""
    found = []
    for file, tree in modules.items():
        for node in list_definitions(tree):
            if isinstance(node, ast.ClassDef) and _is_record(node) and not _is_keyword_only(node):
                fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and _is_field(each)]
                if len(fields) >= FIELDS:
                    found.append(Finding(file, node.lineno, node.name))
    return found


def _is_record(node: ast.ClassDef) -> bool:
    decorators = {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
    bases = {ast.unparse(each).rpartition(".")[2] for each in node.bases}
    structs = {keyword.arg for keyword in node.keywords} & {"frozen", "tag", "array_like", "kw_only"}
    return bool(decorators & {"dataclass", "dataclasses.dataclass"} or "Struct" in bases or structs)


def _is_keyword_only(node: ast.ClassDef) -> bool:
    given = [
        *node.keywords,
        *(key for each in node.decorator_list if isinstance(each, ast.Call) for key in each.keywords),
    ]
    return any(key.arg == "kw_only" and ast.unparse(key.value) == "True" for key in given)


def _is_field(node: ast.AnnAssign) -> bool:
    text = ast.unparse(node)
    return "ClassVar" not in text and "init=False" not in text


def describe(modules: dict[str, ast.Module], rooms: Sequence[str]) -> Iterator[str]:
    """Yield the figures of the rooms, of all where none is named, and each finding of the named ones."""
    for room, each in measure_rooms(modules).items():
        if not rooms or room in rooms:
            share = 100 * each.participles / max(each.functions, 1)
            yield (
                f"{room:12} words {each.words:6}  riddles {each.riddles:5.1f}  code names {each.code_names:5.1f}"
                f"  functions {each.functions:4}  participles {each.participles:3} ({share:.1f} %)"
            )
    shared, positional = find_shared_classes(modules), find_positional_records(modules)
    yield f"class names in several places: {len(shared)}"
    yield f"records of {FIELDS} fields or more that take them by position: {len(positional)}"
    for found in find_participles(modules):
        if room_of(found.file) in rooms:
            yield f"participle   {found.file}:{found.line} {found.name}"
    for name, places in shared.items():
        if any(room_of(found.file) in rooms for found in places):
            yield f"shared class {name}: {' '.join(f'{found.file}:{found.line}' for found in places)}"
    for found in positional:
        if room_of(found.file) in rooms:
            yield f"positional   {found.file}:{found.line} {found.name}"
    for file, tree in modules.items():
        for line, text in find_docstrings(tree) if room_of(file) in rooms else ():
            if RIDDLES.search(text):
                yield f"riddle       {file}:{line} {text.splitlines()[0][:90]}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in describe(parse_modules(PACKAGE), sys.argv[1:]))
