"""Reads the operator's file: `{"tools": [...], "mcpServers": {...}}`, at least one of the two.

Each tool has the form that `read_definition` takes from an operator, and each server the form that `read_servers`
takes.
"""

from pathlib import Path

import msgspec

from ..errors import BadTool, UsageError
from ..ports.tools import CheckerFactory, RunsAt
from .catalogue import Catalogue
from .definitions import DefinitionReader
from .offering import Offering
from .servers import read_servers

TOOLS_FILE_BYTES = 1024 * 1024  # of the operator's file, blanks and all

_EXPECTED = 'the file must be a JSON object like {"tools": [...]}'


def read_tools(path: Path, arguments: CheckerFactory, runs_at: RunsAt = "record") -> Offering:
    """Return the tools of a file, by name, and its servers, none of which is started. Blocks; called once.

    `runs_at`: for tools that do not name their own. Raises `agent.errors.UsageError`, one line that names the file, the
    tool and the part, for any fault.
    """
    try:
        return _make_offering(_read_bytes(path), arguments, runs_at)
    except OSError as error:
        raise UsageError(f"tools {path}: cannot be read ({error.strerror})") from None
    except BadTool as bad:
        raise UsageError(f"tools {path}: {bad}") from None


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(TOOLS_FILE_BYTES + 1)
    if len(data) > TOOLS_FILE_BYTES:
        raise BadTool(f"the file has over {TOOLS_FILE_BYTES} bytes")
    return data


def _make_offering(data: bytes, arguments: CheckerFactory, runs_at: RunsAt) -> Offering:
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadTool(" ".join(str(error).split())) from None
    if not isinstance(content, dict) or not content.keys() & {"tools", "mcpServers"}:
        raise BadTool(_EXPECTED)
    if not content.keys() <= {"tools", "mcpServers"}:
        raise BadTool("the file can have tools and mcpServers at its top and nothing else")
    try:
        tools = Catalogue(
            DefinitionReader(arguments).read_list(content.get("tools", []), "operator", runs_at)
        ).tools
    except BadTool as bad:
        raise BadTool(bad.why, bad.pointer and f"/tools{bad.pointer}") from None
    try:
        servers = read_servers(content.get("mcpServers", {}))
    except BadTool as bad:
        raise BadTool(bad.why, f"/mcpServers{bad.pointer}") from None
    return Offering(tools, servers)
