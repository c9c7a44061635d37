"""Finds a fragment of Python source inside one definition, and replaces it; both are compared as syntax trees.

White space, line breaks, quotes and comments do not matter, nor does anything outside the definition. A fragment is

    an expression           `now >= self.deadline`, anywhere in the definition
    statements              `self._scope.cancel()`, one or several that follow each other in one block
    keyword arguments       `shield=True`
    items of a dictionary   `"risk": server.risk`
    an `except` or `case`   `except ValueError as error: ...`

In a fragment `...` stands for anything: as a statement for any statements of its block, among arguments or elements
for any of them (as the last argument for the keyword arguments too), elsewhere for any expression. A string that begins
and ends with three dots, as `"...WHERE id = 1..."`, is any string with that part in it once. In the replacement each
`...`, in turn, is what the fragment's `...` stood for. An empty replacement leaves the fragment out.
"""

import ast
import copy
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_UNSEEN = {"ctx", "type_comment", "kind"}  # what `ast` adds to a node and no source shows
_BLOCKS = ("body", "orelse", "finalbody")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ITEMS = "keys, values"  # what a slot of a dictionary calls its keys and values
_IN_STEP = (
    "keys",
    "values",
    "defaults",
    "kw_defaults",
    "comparators",
    "ops",
)  # lists that go in step with another

Run = list[ast.AST]


class FragmentError(ValueError):
    """A fragment that is no Python, that is not there, or that is there more than once."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The nodes `start:stop` of a list of nodes, or with `start` None the one node, that a parent has in a field.

    captured: the nodes that each `...` of the pattern stood for.
    """

    parent: ast.AST
    field: str
    start: int | None = None
    stop: int = 0
    captured: tuple[Run, ...] = ()

    def read_nodes(self) -> Run:
        """Return the nodes of the slot."""
        if self.field == _ITEMS:
            assert isinstance(self.parent, ast.Dict)
            return list(self.parent.values[self.start : self.stop])
        value = getattr(self.parent, self.field)
        return [value] if self.start is None else list(value[self.start : self.stop])


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a fragment and its replacement: `find_slots` looks for `pattern` below one slot."""

    pattern: Run
    replacement: Run
    find_slots: Callable[[Run, Slot], Iterator[Slot]] = field(repr=False)


# --- definitions


def find_definitions(tree: ast.Module, name: str) -> Iterator[Slot]:
    """Find the definitions of a qualified name: a function, a class, or an assignment of a module or class body.

    name: as in `Class.method.nested`; "" is the whole module.
    """
    if not name:
        yield from (Slot(tree, "body", 0, len(tree.body)),)
    yield from (slot for known, slot in list_definitions(tree) if known == name)


def list_definitions(tree: ast.Module) -> Iterator[tuple[str, Slot]]:
    """List every definition of a module with its qualified name."""
    yield from _list_below(tree, "", assigned=True)


def _list_below(parent: ast.AST, prefix: str, assigned: bool) -> Iterator[tuple[str, Slot]]:
    for block in (*_BLOCKS, "handlers", "cases"):
        for place, node in enumerate(getattr(parent, block, ())):
            slot = Slot(parent, block, place, place + 1)
            if isinstance(node, _DEFINITIONS):
                yield f"{prefix}{node.name}", slot
                inner = f"{prefix}{node.name}."
                yield from _list_below(node, inner, assigned=isinstance(node, ast.ClassDef))
                continue
            if assigned:
                yield from ((f"{prefix}{name}", slot) for name in _read_targets(node))
            yield from _list_below(node, prefix, assigned)


def _read_targets(node: ast.AST) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        for target in targets:
            yield from (each.id for each in ast.walk(target or node) if isinstance(each, ast.Name))


# --- what a fragment may be read as


def read_fragment(find: str, replace: str) -> list[Reading]:
    """Return the ways to read a fragment and its replacement, the likeliest first; raises FragmentError for none."""
    readings = []
    for parse, find_slots in _KINDS:
        try:
            pattern = parse(find)
            replacement = parse(replace) if replace.strip() else []
        except SyntaxError:
            continue
        if pattern:
            readings.append(Reading(pattern, replacement, find_slots))
    if not readings:
        raise FragmentError("the fragment and its replacement cannot be read as Python of one kind")
    if not replace.strip():  # a call that stands alone is left out as the statement that it is
        readings.sort(key=lambda reading: reading.find_slots is not find_statements)
    return readings


def _parse_expression(text: str) -> Run:
    return [ast.parse(f"({text}\n)" if "\n" in text else text.strip(), mode="eval").body]


def _parse_statements(text: str) -> Run:
    return list(ast.parse(textwrap.dedent(text).strip("\n")).body)


def _parse_keywords(text: str) -> Run:
    call = ast.parse(f"_({text}\n)", mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        raise SyntaxError
    return list(call.keywords)


def _parse_items(text: str) -> Run:
    shown = ast.parse(f"{{{text}\n}}", mode="eval").body
    if not isinstance(shown, ast.Dict):
        raise SyntaxError
    return [shown]


def _parse_handlers(text: str) -> Run:
    attempt = ast.parse(f"try: pass\n{textwrap.dedent(text).strip()}").body[0]
    if not isinstance(attempt, ast.Try | ast.TryStar):
        raise SyntaxError
    return list(attempt.handlers)


def _parse_cases(text: str) -> Run:
    choice = ast.parse(f"match _:\n{textwrap.indent(textwrap.dedent(text).strip(), ' ')}").body[0]
    if not isinstance(choice, ast.Match):
        raise SyntaxError
    return list(choice.cases)


# --- finding


def find_fragment(readings: Sequence[Reading], scopes: Sequence[Slot]) -> tuple[Run, list[Slot]]:
    """Find a fragment in these definitions by the first reading that is there.

    Return the replacement of that reading and every slot that the fragment fills, in the order of the source.
    """
    for reading in readings:
        if slots := [slot for scope in scopes for slot in reading.find_slots(reading.pattern, scope)]:
            return reading.replacement, slots
    return [], []


def find_expressions(pattern: Run, scope: Slot) -> Iterator[Slot]:
    """Find every expression below a slot that `pattern`, one expression, is."""
    for slot in _list_slots(scope):
        for place, node in enumerate(slot.read_nodes()):
            captured = match(pattern[0], node)
            if isinstance(node, ast.expr) and captured is not None:
                start = None if slot.start is None else slot.start + place
                yield Slot(slot.parent, slot.field, start, (start or 0) + 1, tuple(captured))


def find_statements(pattern: Run, scope: Slot) -> Iterator[Slot]:
    """Find every run of nodes in a list below a slot that `pattern`, a run of its own, is."""
    for slot in _list_slots(scope):
        if slot.start is None:
            continue
        nodes = slot.read_nodes()
        for first in range(len(nodes)):
            if found := _match_start(pattern, nodes[first:]):
                length, captured = found
                start = slot.start + first
                yield Slot(slot.parent, slot.field, start, start + length, tuple(captured))


def find_items(pattern: Run, scope: Slot) -> Iterator[Slot]:
    """Find every run of items in a dictionary below a slot that the items of `pattern`, a dictionary, are."""
    (shown,) = pattern
    assert isinstance(shown, ast.Dict)
    for top in scope.read_nodes():
        for node in ast.walk(top):
            if isinstance(node, ast.Dict):
                length = len(shown.keys)
                for first in range(len(node.keys) - length + 1):
                    part = ast.Dict(node.keys[first : first + length], node.values[first : first + length])
                    captured = match(shown, part)
                    if captured is not None:
                        yield Slot(node, _ITEMS, first, first + length, tuple(captured))


_KINDS: tuple[tuple[Callable[[str], Run], Callable[[Run, Slot], Iterator[Slot]]], ...] = (
    (_parse_expression, find_expressions),
    (_parse_statements, find_statements),
    (_parse_keywords, find_statements),
    (_parse_items, find_items),
    (_parse_handlers, find_statements),
    (_parse_cases, find_statements),
)


def _list_slots(scope: Slot) -> Iterator[Slot]:
    """List a slot, and every field with nodes below it, in the order of the source."""
    yield scope
    for node in scope.read_nodes():
        for name, value in () if node is None else ast.iter_fields(node):  # None: `**` in a dictionary
            if isinstance(value, ast.AST):
                yield from _list_slots(Slot(node, name))
            elif isinstance(value, list) and any(isinstance(each, ast.AST) for each in value):
                yield from _list_slots(Slot(node, name, 0, len(value)))


# --- matching


def match(pattern: object, node: object) -> list[Run] | None:
    """Return what each `...` of a pattern stands for in a node; None when the node is another."""
    if isinstance(pattern, ast.AST) and _is_gap(pattern) and isinstance(node, ast.expr):
        return [[node]]
    if (part := _read_part(pattern)) is not None:
        return _match_part(part, node)
    if type(pattern) is not type(node):
        return None
    if isinstance(pattern, list) and isinstance(node, list):
        return _match_run(pattern, node)
    if not isinstance(pattern, ast.AST):
        return [] if pattern == node else None
    captured: list[Run] = []
    open_call = isinstance(pattern, ast.Call) and _ends_open(pattern)
    for name in pattern._fields:
        if name in _UNSEEN:
            continue
        if open_call and name == "keywords":
            captured[-1] += node.keywords  # type: ignore[attr-defined]
            continue
        found = match(getattr(pattern, name, None), getattr(node, name, None))
        if found is None:
            return None
        captured += found
    return captured


def _match_run(pattern: Run, nodes: Run) -> list[Run] | None:
    """Match two whole lists; a gap takes as few nodes as it can."""
    if not pattern:
        return None if nodes else []
    if _is_gap(pattern[0]):
        for length in range(len(nodes) + 1):
            rest = _match_run(pattern[1:], nodes[length:])
            if rest is not None:
                return [nodes[:length], *rest]
        return None
    first = match(pattern[0], nodes[0]) if nodes else None
    rest = None if first is None else _match_run(pattern[1:], nodes[1:])
    return None if first is None or rest is None else [*first, *rest]


def _match_start(pattern: Run, nodes: Run) -> tuple[int, list[Run]] | None:
    """Match a pattern with the first nodes of a list, of which a gap at its end takes all; return how many it took."""
    if match(pattern[0], nodes[0]) is None:
        return None
    open_end = _is_gap(pattern[-1])
    for length in range(len(nodes) if open_end else 1, len(nodes) + 1):
        captured = _match_run(pattern, nodes[:length])
        if captured is not None:
            return length, captured
    return None


def _is_gap(node: object) -> bool:
    inner = node.value if isinstance(node, ast.Expr) else node
    return isinstance(inner, ast.Constant) and inner.value is ...


def _read_part(node: object) -> str | None:
    """Return what is between the dots of a string that stands for any with that part; None for any other node."""
    text = node.value if isinstance(node, ast.Constant) else None
    dotted = isinstance(text, str) and len(text) > 6 and text.startswith("...") and text.endswith("...")
    return text[3:-3] if dotted and isinstance(text, str) else None


def _match_part(part: str, node: object) -> list[Run] | None:
    text = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(text, str) or text.count(part) != 1:
        return None
    before, _, after = text.partition(part)
    return [[ast.Constant(before), ast.Constant(after)]]


def _ends_open(call: ast.Call) -> bool:
    return bool(call.args) and _is_gap(call.args[-1]) and not call.keywords


# --- replacing


def replace_slot(slot: Slot, replacement: Run) -> None:
    """Put a replacement into a slot, in place; raises FragmentError where nothing can be left out."""
    captured = list(slot.captured)
    nodes = _fill_list(copy.deepcopy(replacement), captured)
    if slot.start is None:
        if len(nodes) != 1:
            raise FragmentError(f"the {slot.field} of a {type(slot.parent).__name__} cannot be left out")
        setattr(slot.parent, slot.field, nodes[0])
        return
    if slot.field == _ITEMS:
        shown = nodes[0] if nodes else ast.Dict([], [])
        assert isinstance(shown, ast.Dict)
        assert isinstance(slot.parent, ast.Dict)
        slot.parent.keys[slot.start : slot.stop] = shown.keys
        slot.parent.values[slot.start : slot.stop] = shown.values
        return
    if not nodes and slot.field in _IN_STEP and not isinstance(slot.parent, ast.BoolOp):
        raise FragmentError(f"one of the {slot.field} of a {type(slot.parent).__name__} cannot be left out")
    inside = getattr(slot.parent, slot.field)
    inside[slot.start : slot.stop] = nodes
    if slot.field == "body" and not inside:
        inside.append(ast.Pass())


def collapse(tree: ast.Module) -> ast.Module:
    """Make `and` and `or` of one value that value, where the other was left out."""

    class Collapse(ast.NodeTransformer):
        def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
            self.generic_visit(node)
            return node if len(node.values) > 1 else node.values[0]

    Collapse().visit(tree)
    return tree


def _fill(node: ast.AST, captured: list[Run]) -> ast.AST:
    """Replace every gap below a node by what it stood for."""
    open_call = isinstance(node, ast.Call) and _ends_open(node)
    if (part := _read_part(node)) is not None and isinstance(node, ast.Constant):
        before, after = (
            str(each.value) for each in _take_captured(captured) if isinstance(each, ast.Constant)
        )
        node.value = before + part + after
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(node, name, _fill_list(value, captured))
        elif _is_gap(value) and not isinstance(node, ast.Expr):
            setattr(node, name, _take_captured(captured)[0])
        elif isinstance(value, ast.AST):
            _fill(value, captured)
    if open_call and isinstance(node, ast.Call):
        node.keywords = [each for each in node.args if isinstance(each, ast.keyword)]
        node.args = [each for each in node.args if not isinstance(each, ast.keyword)]
    return node


def _fill_list(nodes: Run, captured: list[Run]) -> Run:
    filled: Run = []
    for each in nodes:
        if _is_gap(each):
            filled += _take_captured(captured)
        else:
            filled.append(_fill(each, captured) if isinstance(each, ast.AST) else each)
    return filled


def _take_captured(captured: list[Run]) -> Run:
    if not captured:
        raise FragmentError("the replacement has more `...` than the fragment")
    return captured.pop(0)
