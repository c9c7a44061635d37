"""The arguments of the commands, shared by all the command lines of a run.

Cyclopts reads the signature of a command for each command line. A program reads one command line; a run of the tests
reads some four hundred, of a dozen commands, and each took seven milliseconds.

Where pydantic is imported, cyclopts also has it validate each argument, which it builds a validator for. Pydantic comes
with a library of the tests and is not imported by the program, so that its command lines are read without it.
"""

from collections.abc import Callable, Iterable
from copy import copy
from types import SimpleNamespace
from typing import Any

from cyclopts import ArgumentCollection
from cyclopts.argument import _argument

_Arguments: Any = ArgumentCollection  # it has no types
_read: dict[object, Any] = {}
_build = _Arguments._from_callable


def share_arguments() -> None:
    """Let every command line that is read from now on have copies of the arguments that another has read."""
    _Arguments._from_callable = _copy_arguments
    vars(_argument)["sys"] = SimpleNamespace(modules={})  # where it looks for pydantic


def _copy_arguments(
    function: Callable[..., object], *parameters: Any, reserved: Iterable[str] | None = None, **options: Any
) -> Any:
    flags = tuple(reserved or ())
    if not function.__module__.startswith("agent."):
        return _build(function, *parameters, reserved=flags, **options)
    key = (function, parameters, flags, *sorted(options.items()))
    if key not in _read:
        _read[key] = _build(function, *parameters, reserved=flags, **options)
    copies = {id(each): copy(each) for each in _read[key]}
    for each in copies.values():
        each.tokens = []
        each.children = _Arguments(copies[id(child)] for child in each.children)
    return _Arguments(copies.values())
