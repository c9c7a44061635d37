"""The settings of the tools that a turn may call (`ToolSettings`).

Above them, the limits that modules of this room share.
"""

from dataclasses import dataclass
from pathlib import Path

from ..config import ROUNDS_MOST, check
from ..ports.tools import Risk

TOOLS_BYTES = 128 * 1024  # of all tools of a request, or of the operator, written as JSON
ARGUMENT_NEEDS = 512  # of one call, numbers, identifiers and words, that are each looked for in its sources


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The tools that a turn may call, and the calls that need approval.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        tools: Tools that a turn may call. Either a JSON file, {"tools": [...], "mcpServers": {...}} or one of both; or
            a Python module, package.module, whose functions are marked with @tool. mcpServers need
            agent-server[mcp].
        approve_from: Risk from which every call of a tool waits for approval: low, medium or high. The definition of a
            tool can ask for approval below that.
        client_tools: Take tools that arrive with a message too, and run their calls where actions run.
        rounds: Most calls in one turn, 1 to 8. After them the turn answers or asks.
    """

    tools: Path | None = None
    approve_from: Risk = "high"
    client_tools: bool = False
    rounds: int = 4

    def __post_init__(self) -> None:
        """Check the conditions that types cannot express."""
        check(
            (self.approve_from not in ("low", "medium", "high"), "approve-from must be low, medium or high"),
            (not 1 <= self.rounds <= ROUNDS_MOST, f"rounds must be 1 to {ROUNDS_MOST}"),
        )
