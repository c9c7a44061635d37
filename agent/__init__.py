"""A realtime agent server on Trio. Gives a program's own code `tool` and `serve`; the rest is in the rooms.

A public name is imported when it is used, so `import agent` imports no other module, not even `typing`.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it to be true; `typing` is not imported for it
if TYPE_CHECKING:  # a program imports these names when it uses them, in `__getattr__`
    from .program import serve as serve
    from .tools.functions import tool as tool

_MODULES = {"serve": "agent.program", "tool": "agent.tools.functions"}


def __getattr__(name: str) -> object:
    """Import a public name from its module. Raises AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    return value
