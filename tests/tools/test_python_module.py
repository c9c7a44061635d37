"""A Python module whose marked functions are tools: definitions of signatures and docstrings, and every fault."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agent.compose.tools import read_toolbox
from agent.errors import UsageError
from agent.ports.tools import ToolDefinition, ToolFunction
from agent.settings import Settings
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Noon
from agent.tools.file import read_tools
from agent.tools.python_module import is_module_name, read_module

SHOP = '''
from __future__ import annotations
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal
from agent import tool

@dataclass
class Line:
    article: str
    count: int = 1

@tool(requires_approval=False, risk="low")
def get_order(order_id: str) -> dict:
    """An order's status by its id.

    Also of old orders.

    Args:
        order_id: The id, as it is
            printed on the order.

    Returns:
        The status.
    """
    return {"status": "sent", "order_id": order_id}

@tool
async def book(
    lines: list[Line], on: Annotated[date, "The day of delivery."], kind: Literal["box", "bag"] = "box"
) -> None:
    """Book a delivery."""

again = get_order

def helper(anything): ...
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, which is empty; what is imported of it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    importlib.invalidate_caches()


def read(text: str, name: str = "shop_tools") -> tuple[dict[str, ToolDefinition], Any]:
    """The tools and functions of a module of this text, by name."""
    Path(f"{name}.py").write_text(text, encoding="utf-8")
    importlib.invalidate_caches()
    tools, functions = read_module(name, SchemaArguments())
    return {each.name: each for each in tools}, functions


def test_a_marked_function_is_a_tool() -> None:
    """Its name, docstring, parameters and rules are the definition; others and other names of it are left alone."""
    tools, functions = read(SHOP)
    assert list(tools) == ["book", "get_order"]
    assert tools["get_order"] == ToolDefinition(
        name="get_order",
        description="An order's status by its id.\n\nAlso of old orders.",
        parameters={
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "description": "The id, as it is printed on the order."}
            },
            "required": ["order_id"],
            "additionalProperties": False,
        },
        requires_approval=False,
        risk="low",
        runs_at="function",
        origin="operator",
    )
    assert (tools["book"].requires_approval, tools["book"].risk) == (True, "medium")
    assert [functions[name].is_async for name in ("book", "get_order")] == [True, False]


def test_types_are_checked_and_converted_alike() -> None:
    """The schema knows lists, dataclasses, dates and words; the function gets these types, and its own defaults."""
    tools, functions = read(SHOP)
    checker = SchemaArguments().make_checker(tools["book"].parameters)
    given = {"lines": [{"article": "A-17"}], "on": "2026-03-01"}
    assert checker.find_problems(given) == ()
    read_as = functions["book"].read_arguments(given)
    assert (read_as["lines"][0].count, read_as["on"]) == (1, date(2026, 3, 1))
    assert set(read_as) == {"lines", "on"}
    on = tools["book"].parameters["properties"]["on"]
    assert (on["description"], on["format"]) == ("The day of delivery.", "date")
    for wrong in ({}, {**given, "kind": "jar"}, {**given, "lines": [{}]}, {**given, "more": 1}):
        assert checker.find_problems(wrong)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("def f(a): ...", "f: the parameter a has no type: write a: str"),
        ("def f(*a: str): ...", r"f: the parameter \*a: str cannot be given by name: list named parameters"),
        ("def f(**a: str): ...", r"f: the parameter \*\*a: str cannot be given by name"),
        ("def f(a: str, /): ...", "f: the parameter a: str cannot be given by name"),
        ("def f(a: object.__class__): ...", "f: cannot be described .*; use types that JSON has"),
        (
            "def f(a: 'Missing'): ...",
            "f: cannot be described .NameError: name 'Missing' is not defined.; use",
        ),
        ("def f(a: complex): ...", "f: cannot be described .*; use types that JSON has"),
        ("def f(a: list[str] = ['x']): ...", "f: cannot be described .*; use types"),
        ("def f(): yield 1", "f: the function yields: return one value, such as a list"),
        ("async def f(): yield 1", "f: the function yields"),
        ("def _f(): ...", "_f: rename the function"),
        ("def händelse(): ...", "händelse: rename the function"),
        ("def remember(): ...", "the name remember is the server's own"),
    ],
)
def test_a_function_without_a_description_is_named(function: str, expected: str) -> None:
    """One line with the module, the function and the remedy."""
    with pytest.raises(UsageError, match=f"^tools shop_tools: .*{expected}[^\n]*$"):
        read(f"from agent import tool\n@tool\n{function}\n")


def test_rules_that_are_none_are_named() -> None:
    """The mark takes any value; the definition does not."""
    with pytest.raises(UsageError, match=r"risk: must be low, medium or high \(tool f\)"):
        read("from agent import tool\n@tool(risk='none')\ndef f(): ...\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 0", "cannot be imported .ZeroDivisionError: division by zero."),
        ("def", "cannot be imported .SyntaxError: invalid syntax .shop_tools.py, line 1.."),
        ("import shop_missing", "cannot be imported .ModuleNotFoundError: No module named 'shop_missing'."),
        ("raise SystemExit('enough\\nlines')", "cannot be imported .SystemExit: enough.lines."),
        ("def f(): ...", "no function of the module .*shop_tools.py. is marked: put @tool above each"),
    ],
)
def test_a_module_that_cannot_be_used_is_explained(text: str, expected: str) -> None:
    """One line with the exception's type and text."""
    with pytest.raises(UsageError, match=f"^tools shop_tools: {expected}$"):
        read(text)


def test_a_module_is_named_as_python_does(folder: Path) -> None:
    """Dots for folders, without .py; no file of the current folder takes the place of another module."""
    (folder / "shop").mkdir()
    tools, _ = read("from agent import tool\n@tool\ndef f(): ...\n", "shop/tools".replace("/", "_"))
    assert list(tools) == ["f"]
    (folder / "shop" / "inner.py").write_text("from agent import tool\n@tool\ndef g(): ...\n")
    assert [each.name for each in read_module("shop.inner", SchemaArguments())[0]] == ["g"]
    (folder / "colorsys.py").write_text("1 / 0")
    with pytest.raises(UsageError, match=r"no function of the module .*python.*colorsys.py. is marked"):
        read_module("colorsys", SchemaArguments())
    with pytest.raises(UsageError, match=r"tools shop_tools.py: name the module without .py"):
        read_module("shop_tools.py", SchemaArguments())


def test_a_file_and_a_module_are_told_apart(folder: Path) -> None:
    """By the name's ending; a name without one is a file when there is such a file."""
    (folder / "shop").mkdir()
    names = ("shop", "shop.tools", "shop_tools.py", "tools.json", "./shop", "/etc/tools", "shop-tools")
    assert [is_module_name(Path(name)) for name in names] == [True, True, True, False, True, False, False]
    (folder / "definitions").write_text('{"tools": [{"name": "a"}]}', encoding="utf-8")
    assert not is_module_name(Path("definitions"))


def test_a_file_cannot_name_a_function(folder: Path) -> None:
    """Only a module can: a definition alone has no code."""
    (folder / "tools.json").write_text('{"tools": [{"name": "a", "runs_at": "function"}]}', encoding="utf-8")
    with pytest.raises(UsageError, match="runs_at: must be record, webhook or caller"):
        read_tools(folder / "tools.json", SchemaArguments())


def test_the_setting_names_a_module() -> None:
    """What is composed has its tools and its functions."""
    read(SHOP)
    toolbox = read_toolbox(settings=Settings.of(tools=Path("shop_tools")), clock=Noon())
    assert [each.name for each in toolbox.operator] == ["book", "get_order"]
    assert isinstance(toolbox.functions["book"], ToolFunction)
    assert toolbox.sockets is not None
    assert len(toolbox.sockets.operator) == 2


def test_a_program_imports_no_server() -> None:
    """`import agent` imports nothing else, and its `tool` only the mark; another name is an error."""
    code = """
import importlib, sys
before = set(sys.modules)
import agent
assert set(sys.modules) - before == {"agent"}
from agent import tool
from agent.tools.functions import tool as same
assert tool is same and tool(print_it := lambda: 1) is print_it
assert not {"trio", "msgspec", "agent.app", "agent.tools.python_module"} & set(sys.modules)
try:
    agent.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
