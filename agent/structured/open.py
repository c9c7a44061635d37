"""Opens what checks the arguments of tools' calls; jsonschema-rs is imported only when something needs it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ..errors import UsageError
from ..ports.tools import Arguments, Checker


def can_check() -> bool:
    """Return whether jsonschema-rs is installed."""
    return find_spec("jsonschema_rs") is not None


def open_arguments() -> Arguments:
    """Return what checks arguments. Raises `agent.errors.UsageError` when jsonschema-rs is not installed."""
    if not can_check():
        raise UsageError("tools need jsonschema-rs: pip install 'agent-server[structured]'")
    from .arguments import SchemaArguments

    return SchemaArguments()


class ArgumentsLater:
    """Makes checkers (an `Arguments`), and imports what they need with the first: most servers never check any."""

    def __init__(self) -> None:
        self._opened: Arguments | None = None

    def checker(self, parameters: Mapping[str, Any]) -> Checker:
        """Return what checks against some parameters. Raises as the port says, and UsageError as `open_arguments`."""
        self._opened = self._opened or open_arguments()
        return self._opened.checker(parameters)
