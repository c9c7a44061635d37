"""Imports modules of the operator: `--tools package.module` and `--model package.module:Class`."""

import os
import sys
from importlib import import_module
from types import ModuleType

from .errors import UsageError

_ERROR_CHARACTERS = 300  # of the exception's text


def import_operator_module(name: str, setting: str) -> ModuleType:
    """Import the module `name`, found where Python finds modules and, after that, in the current folder. Blocks.

    Raises `agent.errors.UsageError`, one line that begins with `setting`, for any exception of its code.
    """
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)  # the last, so that no file there takes the place of the server's own imports
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  code of the operator: its fault becomes one line
        raise UsageError(f"{setting} {name}: cannot be imported ({describe_exception(error)})") from None


def describe_exception(error: BaseException) -> str:
    """Return the type and the bounded text of an exception of the operator's code, on one line."""
    return " ".join(f"{type(error).__name__}: {error}"[:_ERROR_CHARACTERS].split())
