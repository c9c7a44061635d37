"""Opens the checker of tool arguments; jsonschema-rs is imported only when it is needed."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from ..errors import UsageError
from ..ports.tools import Checker, CheckerFactory


def can_check() -> bool:
    """Return whether jsonschema-rs is installed."""
    return find_spec("jsonschema_rs") is not None


def open_arguments() -> CheckerFactory:
    """Return the `Arguments` that check calls. Raises `agent.errors.UsageError` when jsonschema-rs is not installed."""
    if not can_check():
        raise UsageError("tools need jsonschema-rs: pip install 'agent-server[structured]'")
    from .arguments import SchemaArguments

    return SchemaArguments()


class LazyArguments:
    """Makes checkers (an `Arguments`), and imports jsonschema-rs with the first: most servers never check any."""

    def __init__(self) -> None:
        self._opened: CheckerFactory | None = None

    def make_checker(self, parameters: Mapping[str, Any]) -> Checker:
        """Return the checker of `parameters`. Raises as the port does, and `UsageError` as `open_arguments` does."""
        self._opened = self._opened or open_arguments()
        return self._opened.make_checker(parameters)
