"""Opens what checks the arguments of tools' calls; jsonschema-rs is imported only when something needs it."""

from importlib.util import find_spec

from ..errors import UsageError
from ..ports.tools import Arguments


def open_arguments() -> Arguments:
    """Return what checks arguments. Raises `agent.errors.UsageError` when jsonschema-rs is not installed."""
    if find_spec("jsonschema_rs") is None:
        raise UsageError("tools need jsonschema-rs: pip install 'agent-server[structured]'")
    from .arguments import SchemaArguments

    return SchemaArguments()
