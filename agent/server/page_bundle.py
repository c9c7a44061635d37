"""Joins the ES modules of a page into one script when the server starts, so that a page loads few files.

The modules stay as they are written, each readable by itself; no other program builds them. They keep to a few forms,
and anything else raises `ValueError` with the module's name:

- imports are named ones, each on a line of its own: `import { a, b as c } from "/static/x.js";`
- exports are declarations: `export function`, `export async function`, `export class` and `export const`;
- the imports have no cycle.

Each module becomes a function that is called at once and returns its exports, after the modules that it imports.
"""

import re
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter

_IMPORT = re.compile(r'^import \{([\w$ ,]+)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) +([\w$]+))", re.MULTILINE)
_REST = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def join_modules(entry: str, read: Callable[[str], str]) -> str:
    """Return the module at the address `entry` with all that it imports, as one script that imports nothing.

    `read` returns the text of the module at an address.
    """
    texts: dict[str, str] = {}
    imported: dict[str, list[str]] = {}
    waiting = [entry]
    while waiting:
        address = waiting.pop()
        if address not in texts:
            texts[address] = read(address)
            imported[address] = [found[2] for found in _IMPORT.finditer(texts[address])]
            waiting += imported[address]
    try:
        order = [*TopologicalSorter(imported).static_order()]
    except CycleError as error:
        raise ValueError(f"modules import each other: {' -> '.join(error.args[1])}") from None
    names = {address: f"module{number}" for number, address in enumerate(order)}
    parts = [_wrap_module(address, texts[address], names) for address in order]
    return '"use strict";\n' + "".join(parts)


def _wrap_module(address: str, text: str, names: dict[str, str]) -> str:
    exports = [found[1] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: _bind_imports(found, names), text))
    if rest := _REST.search(body):
        raise ValueError(f"{address}: a page's module may not have the line {rest[0]!r}")
    return f"const {names[address]} = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();\n"


def _bind_imports(found: "re.Match[str]", names: dict[str, str]) -> str:
    wanted = (each.strip().replace(" as ", ": ") for each in found[1].split(","))
    return f"const {{ {', '.join(wanted)} }} = {names[found[2]]};"
