"""Values that a language model writes, checked by JSON Schema: requested until they are valid, and repaired by patches.

`from agent.structured import Extractor` is for programs, and so are the other names of `_MODULES`; each is imported
when it is used. `extract.py` is the entry point: an `Extractor` asks a model, `check.py` lists all problems of its
answer, and `rounds.py` decides on the next request. `calls.py` and `slots.py` hold the calls of one request, `patch.py`
is JSON Patch, and `instructions.py` words the messages to the model. `arguments.py` checks the arguments of tool calls
behind the port `CheckerFactory`. Start reading in `extract.py`, then `rounds.py`. The room imports `agent.ports`,
`agent.protocol`, `agent.config`, `agent.errors` and `agent.host`.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:  # which type checkers take to be true
    from typing import Any

    from .extract import Extractor as Extractor
    from .outcome import Doc as Doc
    from .outcome import Extraction as Extraction
    from .outcome import NotExtracted as NotExtracted

_MODULES = {
    "Extractor": "agent.structured.extract",
    "Doc": "agent.structured.outcome",
    "Extraction": "agent.structured.outcome",
    "NotExtracted": "agent.structured.outcome",
    "extract_values": "agent.models.extraction",
    "open_model": "agent.models.extraction",
}


def __getattr__(name: str) -> "Any":
    """Import a public name from its module. Raises AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
