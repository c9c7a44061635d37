"""The operator's file: `{"tools": [...], "mcpServers": {...}}`, at least one of the two.

Each tool is as `definition` takes an operator's, and each server as `servers_of` does.
"""

from pathlib import Path

import msgspec

from ..config import TOOLS_FILE_BYTES
from ..errors import BadTool, UsageError
from ..ports.tools import Arguments, RunsAt
from .catalogue import Catalogue
from .definitions import Definitions
from .offering import Offering
from .servers import servers_of

_LIKE = 'the file must be a JSON object like {"tools": [...]}'


def read_tools(path: Path, arguments: Arguments, runs_at: RunsAt = "record") -> Offering:
    """Return the tools of a file, by name, and its servers, none of which is there yet. Blocks; called once.

    runs_at: where those run that do not say it. Raises `agent.errors.UsageError`, one line that names the file, the
    tool and the part, for what cannot be used.
    """
    try:
        return _offering(_read(path), arguments, runs_at)
    except OSError as error:
        raise UsageError(f"tools {path}: cannot be read ({error.strerror})") from None
    except BadTool as bad:
        raise UsageError(f"tools {path}: {bad}") from None


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(TOOLS_FILE_BYTES + 1)
    if len(data) > TOOLS_FILE_BYTES:
        raise BadTool(f"the file has over {TOOLS_FILE_BYTES} bytes")
    return data


def _offering(data: bytes, arguments: Arguments, runs_at: RunsAt) -> Offering:
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadTool(" ".join(str(error).split())) from None
    if not isinstance(content, dict) or not content.keys() & {"tools", "mcpServers"}:
        raise BadTool(_LIKE)
    if not content.keys() <= {"tools", "mcpServers"}:
        raise BadTool("the file can have tools and mcpServers at its top and nothing else")
    try:
        tools = Catalogue(Definitions(arguments).read(content.get("tools", []), "operator", runs_at)).tools
    except BadTool as bad:
        raise BadTool(bad.why, bad.pointer and f"/tools{bad.pointer}") from None
    try:
        servers = servers_of(content.get("mcpServers", {}))
    except BadTool as bad:
        raise BadTool(bad.why, f"/mcpServers{bad.pointer}") from None
    return Offering(tools, servers)
