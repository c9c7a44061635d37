"""An MCP server of the SDK's own, over stdio, that can be killed and kept waiting."""

import os

import anyio
from mcp.server import MCPServer

calls: list[int] = []


def add(a: int, b: int) -> int:
    """Add two numbers."""
    calls.append(a)
    return a + b


def known() -> str:
    """Tell the process, and how often numbers were added."""
    return f"{os.getpid()} {len(calls)}"


def fail() -> str:
    """Fail."""
    raise ValueError("no room")


async def hang() -> str:
    """Answer after a minute."""
    await anyio.sleep(60)
    return ""


if __name__ == "__main__":
    server = MCPServer("proof")
    for tool in (add, known, fail, hang):
        server.add_tool(tool, structured_output=tool is not known)
    server.run()
