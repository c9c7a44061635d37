"""The MCP servers of an operator's file, and the tools that a server says it has; pure.

Strategy: the file is written as for other MCP clients, so an entry may be copied from one. What would be ignored here
is refused, since it may have been meant to make something stricter. Of what a server says of a tool only its name, its
description and its schema are taken, and these go through the same gate as everybody's. Its hints are not even looked
at: whether a tool needs approval, and how risky it is, stands in the operator's file alone.

A tool is offered as `SERVER.TOOL`. No server's name has a dot, so two servers never share a tool's name and the first
dot always tells the server; and no other tool may have such a name, whether the server is there or not.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from ..config import MCP_NAME, MCP_SERVERS
from ..errors import BadTool
from ..ports.mcp import McpServer
from ..ports.tools import Arguments, Risk, ToolDefinition
from .definitions import definition
from .places import place
from .proposing import PREFIX

NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MCP_NAME - 1}}}")
_KEYS = frozenset(("type", "command", "args", "env", "cwd", "auto", "risk", "disabled"))
_REMOTE = frozenset(("url", "serverUrl", "httpUrl", "headers"))
_APPROVED = frozenset(("autoApprove", "alwaysAllow", "trust"))


def servers_of(raw: object) -> tuple[McpServer, ...]:
    """Return the servers that `mcpServers` of a file names, but for those that are disabled, in its order.

    raw: `{NAME: {command, args, env, cwd, auto, risk}}`, of which the command alone is needed. Raises `BadTool`, with
    the pointer into it, without a value of it.
    """
    if not isinstance(raw, dict):
        raise BadTool('must be an object like {"NAME": {"command": "..."}}')
    if len(raw) > MCP_SERVERS:
        raise BadTool(f"there are {len(raw)} servers; {MCP_SERVERS} are the most")
    servers = []
    taken: set[str] = set()
    for name, each in raw.items():
        at = place((name,))
        if NAME.fullmatch(name) is None:
            raise BadTool(
                f"a server's name is a letter and then at most {MCP_NAME - 1} of A-Z a-z 0-9 _ -", at
            )
        if belongs(PREFIX, (name,)):
            raise BadTool(f"names that begin with {PREFIX} are this server's own; give it another", at)
        if name.lower() in taken:
            raise BadTool("another server has this name", at)
        taken.add(name.lower())
        try:
            server = _server(name, each)
        except BadTool as bad:
            raise BadTool(bad.why, at + bad.pointer) from None
        if server is not None:
            servers.append(server)
    return tuple(servers)


def belongs(name: str, servers: Iterable[str]) -> bool:
    """Return whether a name is one that a tool of some servers may have, also with other capitals."""
    before, dot, _ = name.partition(".")
    return bool(dot) and any(before.lower() == server.lower() for server in servers)


def tool_of(server: McpServer, raw: Mapping[str, Any], arguments: Arguments) -> ToolDefinition:
    """Return a tool that a server says it has, as it is offered.

    raw: `{name, description, inputSchema}`; what stands beside says nothing. arguments: compiles the schema.
    Raises `BadTool`.
    """
    name = raw.get("name")
    if not isinstance(name, str) or not name:
        raise BadTool("must be a text", "/name")
    described = raw.get("description")
    taken = {
        "name": f"{server.name}.{name}",
        "description": "" if described is None else described,
        "inputSchema": raw.get("inputSchema"),
        "requires_approval": name not in server.auto,
        "risk": server.risk,
    }
    return definition(taken, "operator", arguments, runs_at="mcp")


def _server(name: str, raw: object) -> McpServer | None:
    if not isinstance(raw, dict):
        raise BadTool('must be an object like {"command": "..."}')
    remote = sorted(_REMOTE.intersection(raw))
    if remote or raw.get("type", "stdio") != "stdio":
        at = place((remote[0],)) if remote else "/type"
        raise BadTool("only servers that a command starts (stdio) can be asked; give command, not url", at)
    for key in raw:
        if key in _APPROVED:
            raise BadTool("name the tools that need no approval in auto", place((key,)))
        if key not in _KEYS:
            raise BadTool("is nothing that a server has here", place((key,)))
    command = raw.get("command")
    if not _is_text(command) or not command:
        raise BadTool("must be the command that starts the server", "/command")
    env = raw.get("env", {})
    if not isinstance(env, dict) or not all(
        key and "=" not in key and _is_text(key) and _is_text(each) for key, each in env.items()
    ):
        raise BadTool("must be an object of texts", "/env")
    cwd = raw.get("cwd")
    if cwd is not None and (not _is_text(cwd) or not cwd):
        raise BadTool("must be a folder", "/cwd")
    risk = raw.get("risk", "medium")
    if risk not in get_args(Risk):
        raise BadTool("must be low, medium or high", "/risk")
    disabled = raw.get("disabled", False)
    if not isinstance(disabled, bool):
        raise BadTool("must be true or false", "/disabled")
    args, auto = _texts(raw, "args"), _texts(raw, "auto")
    return None if disabled else McpServer(name, command, args, env, cwd, frozenset(auto), risk)


def _texts(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = raw.get(key, [])
    if not isinstance(texts, list) or not all(map(_is_text, texts)):
        raise BadTool("must be an array of texts", place((key,)))
    return tuple(texts)


def _is_text(value: object) -> bool:
    """Return whether a value can be handed to a process: no text with a NUL can."""
    return isinstance(value, str) and "\0" not in value
