"""Resolves the anchors of mutants, `module:Qualified.name` and a fragment, and tells where a lost one may have gone."""

import ast
import builtins
import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from .fragments import (
    FragmentError,
    Run,
    Slot,
    collapse,
    find_definitions,
    find_fragment,
    list_definitions,
    read_fragment,
    replace_slot,
)

_NEAREST = 3  # candidates that a message names
_ALIKE = 0.4  # of 1: the least likeness of a statement that is worth naming


class AnchorError(ValueError):
    """An anchor that names no place, or several; the message names the nearest candidates."""


class Package:
    """The modules below a folder, each parsed once; `find_place` and `apply` resolve anchors in them."""

    def __init__(self, root: Path, trees: Mapping[str, ast.Module] | None = None) -> None:
        """Look for modules below `root`. `trees`: of modules that were parsed before, by their path below it."""
        self._root = root
        self._trees = dict(trees or {})

    def find_file(self, module: str) -> Path:
        """Return the file of a module, below the folder; raises AnchorError when there is none."""
        path = Path(*module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if (self._root / file).is_file():
                return file
        raise AnchorError(f"there is no module {module}")

    def find_place(self, at: str, find: str, replace: str, nth: int | None = None) -> tuple[Run, Slot]:
        """Return the replacement of a fragment, and the one slot that the fragment fills in the definition `at`.

        nth: which of several equal slots it is, from 1. Raises AnchorError unless there is exactly that one slot.
        """
        module, _, name = at.partition(":")
        return self._find_in(self._read_module(module, at, find, replace), at, name, find, replace, nth)

    def mutate_module(self, text: str, at: str, find: str, replace: str, nth: int | None = None) -> str:
        """Return the source of a module with the fragment replaced; raises AnchorError as `find_place` does."""
        tree = ast.parse(text)
        name = at.partition(":")[2]
        replacement, slot = self._find_in(tree, at, name, find, replace, nth)
        try:
            replace_slot(slot, replacement)
            mutated = ast.unparse(collapse(tree))
            ast.parse(mutated)
        except (FragmentError, SyntaxError) as error:
            raise AnchorError(f"{at}: {error}") from error
        return mutated

    def _find_in(
        self, tree: ast.Module, at: str, name: str, find: str, replace: str, nth: int | None
    ) -> tuple[Run, Slot]:
        scopes = list(find_definitions(tree, name))
        if not scopes:
            raise AnchorError(f"{at} is not there; {self._suggest_homes(at, find, replace)}")
        try:
            readings = read_fragment(find, replace)
        except FragmentError as error:
            raise AnchorError(f"{at}: {error}") from error
        replacement, slots = find_fragment(readings, scopes)
        if not slots:
            nearest = (_name_alike(find, scopes), self._suggest_homes(at, find, replace, is_there=True))
            raise AnchorError("; ".join([f"{at} has no `{_shorten(find)}`", *filter(None, nearest)]))
        if nth is None and len(slots) > 1:
            lines = ", ".join(str(_find_line(slot)) for slot in slots)
            raise AnchorError(f"{at} has `{_shorten(find)}` {len(slots)} times, in lines {lines}: add `nth`")
        if nth is not None and not 1 <= nth <= len(slots):
            raise AnchorError(f"{at} has `{_shorten(find)}` {len(slots)} times, and nth is {nth}")
        if unknown := _list_unbound(replacement) - _list_names(tree) - vars(builtins).keys():
            raise AnchorError(f"{at}: its module has no {', '.join(sorted(unknown))}")
        return replacement, slots[(nth or 1) - 1]

    def _read_module(self, module: str, at: str, find: str, replace: str) -> ast.Module:
        try:
            file = self.find_file(module)
        except AnchorError as error:
            raise AnchorError(f"{at}: {error}; {self._suggest_homes(at, find, replace)}") from error
        return self._parse(file)

    def _parse(self, file: Path) -> ast.Module:
        key = file.as_posix()
        if key not in self._trees:
            self._trees[key] = ast.parse((self._root / file).read_text(encoding="utf-8"))
        return self._trees[key]

    # --- where a lost one may have gone

    @cached_property
    def _modules(self) -> dict[str, ast.Module]:
        """The name and tree of every module."""
        found = {}
        for path in sorted(self._root.rglob("*.py")):
            file = path.relative_to(self._root)
            name = file.parent if file.name == "__init__.py" else file.with_suffix("")
            found[".".join(name.parts)] = self._parse(file)
        return found

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        """The identifiers of every module: one without those of a fragment need not be searched."""
        return {module: set(_list_words(tree)) for module, tree in self._modules.items()}

    @cached_property
    def _homes(self) -> dict[str, list[str]]:
        """The last part of each definition's name, and the anchors of the definitions that have it."""
        found: dict[str, list[str]] = {}
        for module, tree in self._modules.items():
            for name, _ in list_definitions(tree):
                found.setdefault(name.rpartition(".")[2], []).append(f"{module}:{name}")
        return found

    def _suggest_homes(self, at: str, find: str, replace: str, is_there: bool = False) -> str:
        """Name the definitions that have the fragment, else those of the same name: in the module, then elsewhere.

        is_there: the definition `at` has only lost the fragment, so names that are like it say nothing.
        """
        module, _, name = at.partition(":")
        if having := sorted(self._find_fragment_anywhere(find, replace), key=lambda home: _rank(home, at)):
            return f"the fragment is in {', '.join(having[:_NEAREST])}"
        last = name.rpartition(".")[2]
        others = [home for home in dict.fromkeys(self._homes.get(last, ())) if home != at]
        if others:
            others.sort(key=lambda home: _rank(home, at))
            return f"`{last}` is also {', '.join(others[:_NEAREST])}"
        if is_there:
            return ""
        near = [home for names in self._homes.values() for home in names if home.startswith(f"{module}:")]
        alike = difflib.get_close_matches(at, near, _NEAREST)
        return (
            f"the most similar names are {', '.join(alike)}" if alike else "nothing in the package is like it"
        )

    def _find_fragment_anywhere(self, find: str, replace: str) -> Iterator[str]:
        """Find the innermost definitions of the package that have a fragment."""
        try:
            readings = read_fragment(find, replace)
        except FragmentError:
            return
        words = {word for reading in readings for node in reading.pattern for word in _list_words(node)}
        for module, tree in self._modules.items():
            if not words <= self._words[module]:
                continue
            _, slots = find_fragment(readings, list(find_definitions(tree, "")))
            if not slots:
                continue
            homes = list(list_definitions(tree))
            for line in {_find_line(slot) for slot in slots}:
                around = [
                    home
                    for home, slot in homes
                    for node in slot.read_nodes()
                    if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
                ]
                yield f"{module}:{around[-1]}" if around else module


def _list_words(top: ast.AST) -> Iterator[str]:
    for node in ast.walk(top):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _list_unbound(fragment: Run) -> set[str]:
    """Return the names that a fragment reads and does not set."""
    names = [node for top in fragment for node in ast.walk(top) if isinstance(node, ast.Name)]
    bound = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return {each.id for each in names} - bound


def _list_names(module: ast.Module) -> set[str]:
    """Return all names that a module reads, sets, imports or takes as parameters."""
    found: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.add(name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def _rank(home: str, at: str) -> tuple[bool, bool, str]:
    """Sort definitions of the same module first, then those of the same name."""
    same_module = home.partition(":")[0] == at.partition(":")[0]
    same_name = home.partition(":")[2].rpartition(".")[2] == at.partition(":")[2].rpartition(".")[2]
    return not same_module, not same_name, home


def _name_alike(find: str, scopes: list[Slot]) -> str:
    """Name the statements and expressions of these definitions that are most like a fragment, with their lines."""
    lines: dict[str, int] = {}
    for scope in scopes:
        for top in scope.read_nodes():
            for node in ast.walk(top):
                if isinstance(node, ast.stmt | ast.expr) and not isinstance(node, ast.Name | ast.Constant):
                    lines.setdefault(ast.unparse(node).partition("\n")[0], node.lineno)
    wanted = " ".join(find.split())
    ratios = {
        text: difflib.SequenceMatcher(None, wanted, text, autojunk=False).ratio()
        for text in lines
        if len(text) < 4 * len(wanted) + 40
    }
    best = sorted((text for text in ratios if ratios[text] > _ALIKE), key=lambda text: -ratios[text])
    if not best:
        return ""
    named = "; ".join(f"line {lines[text]} `{_shorten(text)}`" for text in best[:_NEAREST])
    return f"most similar there: {named}"


def _shorten(text: str) -> str:
    flat = re.sub(r"\s+", " ", text.strip())
    return flat if len(flat) <= 90 else f"{flat[:87]}..."


def _find_line(slot: Slot) -> int:
    for node in (*slot.read_nodes(), slot.parent):
        for each in ast.walk(node):
            if hasattr(each, "lineno"):
                return int(each.lineno)
    return 1
