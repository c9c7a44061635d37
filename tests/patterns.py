"""Every regular expression of the package, how it is used, and texts that a quadratic one takes long for.

Strategy: all modules are imported, and compiled patterns are looked for in their globals, in classes, in containers and
in records, so that those that are made of a language's words are among them. A pattern that is only ever matched from
one place on is measured so; every other one is searched for, which tries each place. The texts are made of the pattern
itself: of each part that may be repeated, and of what may stand before it.
"""

import ast
import importlib
import pkgutil
import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from time import thread_time
from types import ModuleType
from typing import Any

import agent

ROOT = Path(agent.__file__).parent
ONCE = frozenset({"match", "fullmatch"})
METHODS = ONCE | {"search", "finditer", "findall", "split", "sub", "subn"}
PLAIN = (" ", "1", "a", "é", "\n", "-", ".", "?", '"', "1 ", "a ", "x, ", "A b. ")
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
TRIED = "xa1 -.,\n#~é"


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, the module and the name that it was found by, and the methods that are called on that name."""

    pattern: re.Pattern[str]
    module: str
    name: str
    uses: frozenset[str]

    @property
    def searched(self) -> bool:
        """Whether it may be tried at each place of a text."""
        return not self.uses or not self.uses <= ONCE


def modules() -> Iterator[ModuleType]:
    """Import all modules of the package, but for those whose extra is not installed."""
    for each in pkgutil.walk_packages(agent.__path__, "agent."):
        if not each.name.endswith("__main__"):
            try:
                yield importlib.import_module(each.name)
            except ModuleNotFoundError as missing:
                if str(missing.name).startswith("agent"):
                    raise


@cache
def called_on(place: str) -> Mapping[str, frozenset[str]]:
    """Return the methods of patterns that are called on each name in a file; "" are names of no pattern's."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for node in ast.walk(ast.parse(Path(place).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            of = node.value
            while isinstance(of, ast.Subscript):
                of = of.value
            name = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
            found[name if name.isupper() else ""].add(node.attr)
    return {name: frozenset(uses) for name, uses in found.items()}


def uses_of(module: ModuleType, name: str) -> frozenset[str]:
    """Return how a global is used: in its own file where it is private, else in the whole package.

    One that is used under no name of its own, from a table, is used as the module's other values are.
    """
    own = called_on(str(module.__file__))
    files = [module.__file__] if name.startswith("_") else ROOT.rglob("*.py")
    return frozenset().union(*(called_on(str(each)).get(name, ()) for each in files)) or own.get(
        "", frozenset()
    )


def patterns() -> list[Found]:
    """Return every compiled pattern of text that can be reached from a module."""
    found: dict[tuple[str, int], Found] = {}
    for module in modules():
        seen: set[int] = set()
        for name, value in vars(module).items():
            for pattern in _within(value, seen, module.__name__):
                place = pattern.pattern, pattern.flags
                if place not in found:
                    found[place] = Found(pattern, module.__name__, name, uses_of(module, name))
    return [*found.values()]


def _within(value: Any, seen: set[int], module: str) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
        return
    if id(value) in seen or isinstance(value, str | bytes | int | float | ModuleType | None):
        return
    seen.add(id(value))
    inner: list[Any] = []
    if isinstance(value, Mapping):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = [*value]
    elif isinstance(value, type):
        inner = [*vars(value).values()] if value.__module__ == module else []
    elif type(value).__module__.startswith("agent"):
        names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
        inner = [getattr(value, name, None) for name in names]
    for each in inner:
        yield from _within(each, seen, module)


# --- hostile texts


def hostile(pattern: re.Pattern[str]) -> list[Callable[[int], str]]:
    """Return what makes texts of so many characters that this pattern might take long for."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    units = set(PLAIN)
    after: set[tuple[str, str]] = set()
    for before, repeated in _repeats(tree, ""):
        units |= {repeated, before + repeated} | ({before} if before else set())
        after.add((before, repeated))
    made: list[Callable[[int], str]] = [partial(_filled, unit) for unit in sorted(units)]
    return [*made, *(partial(_led, *each) for each in sorted(after))]


def _filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _led(before: str, repeated: str, size: int) -> str:
    return before + _filled(repeated, size) + "\0"


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield for each part that may be repeated a text that leads to it, and one that it matches once."""
    for code, argument in tree:
        inner: list[Any] = []
        if code in REPEATS:
            repeated = _example(argument[2])
            if argument[1] > 8 and repeated:
                yield before, repeated
            inner = [argument[2]]
        elif code is op.SUBPATTERN:
            inner = [argument[3]]
        elif code is op.ATOMIC_GROUP:
            inner = [argument]
        elif code is op.BRANCH:
            inner = argument[1]
        elif code in (op.ASSERT, op.ASSERT_NOT):
            inner = [argument[1]]
        for each in inner:
            yield from _repeats(each, before)
        before += _one(code, argument)


def _example(tree: Any) -> str:
    """Return a short text that a part of a pattern matches, or nearly."""
    return "".join(_one(code, argument) for code, argument in tree)


def _one(code: Any, argument: Any) -> str:
    if code is op.LITERAL:
        return chr(argument)
    if code is op.IN:
        return next((each for each in (*_named(argument), *TRIED) if _is_in(argument, each)), "x")
    if code in (op.NOT_LITERAL, op.ANY):
        return "x" if argument != ord("x") else "y"
    if code is op.BRANCH:
        return _example(argument[1][0])
    if code is op.SUBPATTERN:
        return _example(argument[3])
    if code is op.ATOMIC_GROUP:
        return _example(argument)
    if code in REPEATS:
        return _example(argument[2]) * int(argument[0])
    return ""


def _named(items: Any) -> list[str]:
    return [
        chr(each if code is op.LITERAL else each[0]) for code, each in items if code in (op.LITERAL, op.RANGE)
    ]


def _is_in(items: Any, character: str) -> bool:
    inside = any(_is_one_of(code, each, character) for code, each in items)
    return bool(inside != (items[0][0] is op.NEGATE))


def _is_one_of(code: Any, item: Any, character: str) -> bool:
    if code is op.LITERAL:
        return bool(ord(character) == item)
    if code is op.RANGE:
        return bool(item[0] <= ord(character) <= item[1])
    if code is op.CATEGORY:
        word = character.isalnum() or character == "_"
        kinds = {"DIGIT": character.isdigit(), "SPACE": character.isspace(), "WORD": word}
        name = str(item).removeprefix("CATEGORY_")
        return kinds.get(name.removeprefix("NOT_"), False) != name.startswith("NOT_")
    return False


# --- the measure


def seconds(found: Found, text: str, most: float, times: int = 3) -> float:
    """Return the CPU that a pattern takes for a text: the least of some times, as others work here too."""
    least = float("inf")
    for _ in range(times):
        began = thread_time()
        if found.searched:
            for _each in found.pattern.finditer(text):
                pass
        if "fullmatch" in found.uses:
            found.pattern.fullmatch(text)
        if "match" in found.uses:
            found.pattern.match(text)
        least = min(least, thread_time() - began)
        if least < most:
            break
    return least


def slow(found: Found, size: int = 8000, floor: float = 0.002, ratio: float = 7.0) -> str:
    """Return the text for which a pattern takes more than linearly long, shortened; "" where there is none.

    A text of `size` characters may take `ratio` times as long as one of a quarter of it, and in any case `floor`.
    """
    for make in hostile(found.pattern):
        small = size // 16
        if seconds(found, make(small), floor / 16, 2) < floor / 64:
            text = make(size // 4)
            if seconds(found, text, floor / 16, 1) < floor / 16:
                continue
        if _grows(found, make, size // 4, floor / 4, ratio) or _grows(found, make, size, floor, ratio):
            return make(12)
    return ""


def _grows(found: Found, make: Callable[[int], str], size: int, floor: float, ratio: float) -> bool:
    """Return whether a text takes over `ratio` times as long as a quarter of it, each time that this is looked at."""
    for times in (1, 3, 9):
        whole = seconds(found, make(size), floor, times)
        if whole <= floor or whole <= ratio * seconds(found, make(size // 4), 0.0, 3 * times):
            return False
    return True
