"""Reads the tools of a Python module: the functions that `functions.tool` marks.

Strategy: a signature becomes a `msgspec.Struct`, the one source of both the JSON Schema of a tool's parameters and the
conversion of a call's arguments, so that the two cannot differ. The definition then passes the same checks as a tool of
a file. Descriptions come from the docstring. Every fault is found at the start and names the function and the remedy.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import getdoc, isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from pathlib import Path
from typing import Any

from ..errors import BadTool, UsageError
from ..operator_module import describe_exception, import_operator_module
from ..ports.tools import CheckerFactory, ToolDefinition, ToolFunction
from ..structured.signatures import make_schema, make_struct, read_arguments, read_docstring
from .catalogue import Catalogue
from .definitions import NAME, DefinitionReader
from .functions import find_mark

_TYPES = "use types that JSON has: str, int, float, bool, list[...], dict[str, ...], Literal, a date or a dataclass"


def is_module_name(given: Path) -> bool:
    """Return whether `--tools` names a module and not a file: `package.module`, or a `.py` file by mistake."""
    if given.suffix in (".py", ".json"):
        return given.suffix == ".py"
    return all(part.isidentifier() for part in str(given).split(".")) and not given.is_file()


def read_module(
    name: str, arguments: CheckerFactory
) -> tuple[tuple[ToolDefinition, ...], Mapping[str, ToolFunction]]:
    """Import a module and return the tools of its marked functions, in order of name, and the functions by name.

    Modules are found where Python finds them and, after that, in the current folder. Raises
    `agent.errors.UsageError`, one line that names the module, the function and the remedy.
    """
    if name.endswith(".py"):
        raise UsageError(f"tools {name}: name the module without .py, with dots for folders")
    module = import_operator_module(name, "tools")
    marked = {id(value): value for value in vars(module).values() if find_mark(value) is not None}
    if not marked:
        place = getattr(module, "__file__", None) or "built in"
        raise UsageError(f"tools {name}: no function of the module ({place}) is marked: put @tool above each")
    return read_functions(f"tools {name}", tuple(marked.values()), arguments)


def read_functions(
    where: str, functions: Sequence[Callable[..., Any]], arguments: CheckerFactory
) -> tuple[tuple[ToolDefinition, ...], Mapping[str, ToolFunction]]:
    """Return the tools of marked `functions`, in order of name, and the functions by name.

    `where`: begins the text of an error. Raises `agent.errors.UsageError` as `read_module` does.
    """
    for each in functions:
        if find_mark(each) is None:
            raise UsageError(f"{where}: {_name_of(each)} is not marked: put @tool above it")
    described = [_describe_function(f"{where}: {_name_of(each)}", each) for each in functions]
    try:
        reader = DefinitionReader(arguments)
        tools = Catalogue(reader.read_list([raw for raw, _ in described], "operator", "function")).tools
    except BadTool as bad:
        raise UsageError(f"{where}: {bad}") from None
    return tools, {raw["name"]: function for raw, function in described}


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _describe_function(where: str, function: Callable[..., Any]) -> tuple[dict[str, Any], ToolFunction]:
    """Return the definition of a function, as JSON has it, and the function. `where`: begins the text of an error."""
    name = _name_of(function)
    if NAME.fullmatch(name) is None:
        raise UsageError(f"{where}: rename the function: a letter, then letters, digits or _, of A-Z and a-z")
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise UsageError(f"{where}: the function yields: return one value, such as a list")
    try:
        description, described = read_docstring(getdoc(function) or "")
        struct = make_struct(where, name, function, described)
        schema = make_schema(struct)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001  annotations are code of the operator, which raises anything
        raise UsageError(f"{where}: cannot be described ({describe_exception(error)}); {_TYPES}") from None
    mark = find_mark(function)
    assert mark is not None
    raw = {
        "name": name,
        "description": description,
        "parameters": schema,
        "requires_approval": mark.requires_approval,
        "risk": mark.risk,
    }
    return raw, ToolFunction(
        function,
        partial(read_arguments, struct),
        is_async=iscoroutinefunction(function),
        only_reads=not mark.requires_approval,
    )
