"""Opens the checker of tool arguments; jsonschema-rs is imported only when it is needed."""

from collections.abc import Mapping
from typing import Any

from ..ports.tools import Checker, CheckerFactory


def open_arguments() -> CheckerFactory:
    """Return the `CheckerFactory` for calls."""
    from .arguments import SchemaArguments

    return SchemaArguments()


class LazyArguments:
    """Makes checkers (a `CheckerFactory`), and imports jsonschema-rs with the first: most servers never check any."""

    def __init__(self) -> None:
        self._opened: CheckerFactory | None = None

    def make_checker(self, parameters: Mapping[str, Any]) -> Checker:
        """Return the checker of `parameters`. Raises as the port does."""
        self._opened = self._opened or open_arguments()
        return self._opened.make_checker(parameters)
