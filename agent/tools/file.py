"""The operator's tools, read from a file: `{"tools": [...]}`, each as `definition` takes an operator's."""

from pathlib import Path

import msgspec

from ..config import TOOLS_FILE_BYTES
from ..errors import BadTool, UsageError
from ..ports.tools import Arguments, RunsAt, ToolDefinition
from .catalogue import Catalogue
from .definitions import Definitions


def read_tools(path: Path, arguments: Arguments, runs_at: RunsAt = "record") -> tuple[ToolDefinition, ...]:
    """Return the tools of a file, by name. Blocks; called once, at the start.

    runs_at: where those run that do not say it. Raises `agent.errors.UsageError`, one line that names the file, the
    tool and the part, for what cannot be used.
    """
    try:
        return _tools(_read(path), arguments, runs_at)
    except OSError as error:
        raise UsageError(f"tools {path}: cannot be read ({error.strerror})") from None
    except BadTool as bad:
        at = f"/tools{bad.pointer}: " if bad.pointer else ""
        raise UsageError(f"tools {path}: {at}{bad.why}") from None


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(TOOLS_FILE_BYTES + 1)
    if len(data) > TOOLS_FILE_BYTES:
        raise BadTool(f"the file has over {TOOLS_FILE_BYTES} bytes")
    return data


def _tools(data: bytes, arguments: Arguments, runs_at: RunsAt) -> tuple[ToolDefinition, ...]:
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadTool(" ".join(str(error).split())) from None
    if not isinstance(content, dict) or "tools" not in content:
        raise BadTool('the file must be a JSON object like {"tools": [...]}')
    if "mcpServers" in content:
        raise BadTool("mcpServers is not supported yet; give each tool its own entry in tools")
    if len(content) > 1:
        raise BadTool("the file can have tools at its top and nothing else")
    return Catalogue(Definitions(arguments).read(content["tools"], "operator", runs_at)).tools
