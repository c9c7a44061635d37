"""Reads the MCP servers of an operator's file, and the tools that a server declares; pure.

Strategy: the file has the form that other MCP clients use, so an entry may be copied from one. A key that this server
would ignore is refused, since it may have been meant to make a tool stricter. Of a declared tool only the name, the
description and the schema are taken, and these pass the same checks as any other tool's. Its hints are not even read:
approval and risk stand in the operator's file alone.

A tool is offered as `SERVER.TOOL`. No server's name has a dot, so two servers never share a tool's name, and the text
before the first dot is always the server. No other tool may have such a name, whether the server is running or not.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from ..errors import BadTool
from ..ports.mcp import McpServer
from ..ports.tools import CheckerFactory, Risk, ToolDefinition
from .definitions import read_definition
from .fault_places import place_of
from .memory_tools import PREFIX

MCP_SERVERS = 16  # that an operator's file may name
MCP_NAME = 63  # characters of a server's name

NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MCP_NAME - 1}}}")
_KEYS = frozenset(("type", "command", "args", "env", "cwd", "auto", "risk", "disabled"))
_REMOTE = frozenset(("url", "serverUrl", "httpUrl", "headers"))
_APPROVED = frozenset(("autoApprove", "alwaysAllow", "trust"))


def read_servers(raw: object) -> tuple[McpServer, ...]:
    """Return the servers that `mcpServers` of a file names, in its order, without the disabled ones.

    `raw`: `{NAME: {command, args, env, cwd, auto, risk}}`; only the command is required. Raises `BadTool`, with the
    pointer into `raw` and without any value of it.
    """
    if not isinstance(raw, dict):
        raise BadTool('must be an object like {"NAME": {"command": "..."}}')
    if len(raw) > MCP_SERVERS:
        raise BadTool(f"there are {len(raw)} servers; {MCP_SERVERS} are the most")
    servers = []
    taken: set[str] = set()
    for name, each in raw.items():
        at = place_of((name,))
        if NAME.fullmatch(name) is None:
            raise BadTool(
                f"a server's name is a letter and then at most {MCP_NAME - 1} of A-Z a-z 0-9 _ -", at
            )
        if is_server_tool(PREFIX, (name,)):
            raise BadTool(f"names that begin with {PREFIX} are this server's own; give it another", at)
        if name.lower() in taken:
            raise BadTool("another server has this name", at)
        taken.add(name.lower())
        try:
            server = _read_server(name, each)
        except BadTool as bad:
            raise BadTool(bad.why, at + bad.pointer) from None
        if server is not None:
            servers.append(server)
    return tuple(servers)


def is_server_tool(name: str, servers: Iterable[str]) -> bool:
    """Return whether `name` is one that a tool of `servers` may have, in any capitals."""
    before, dot, _ = name.partition(".")
    return bool(dot) and any(before.lower() == server.lower() for server in servers)


def make_tool(server: McpServer, raw: Mapping[str, Any], arguments: CheckerFactory) -> ToolDefinition:
    """Return a tool that a server declares, as it is offered.

    `raw`: `{name, description, inputSchema}`; other keys are ignored. `arguments`: compiles the schema. Raises
    `BadTool`.
    """
    name = raw.get("name")
    if not isinstance(name, str) or not name:
        raise BadTool("must be a text", "/name")
    description = raw.get("description")
    fields = {
        "name": f"{server.name}.{name}",
        "description": "" if description is None else description,
        "inputSchema": raw.get("inputSchema"),
        "requires_approval": name not in server.auto,
        "risk": server.risk,
    }
    return read_definition(fields, "operator", arguments, runs_at="mcp")


def _read_server(name: str, raw: object) -> McpServer | None:
    if not isinstance(raw, dict):
        raise BadTool('must be an object like {"command": "..."}')
    remote = sorted(_REMOTE.intersection(raw))
    if remote or raw.get("type", "stdio") != "stdio":
        at = place_of((remote[0],)) if remote else "/type"
        raise BadTool("only servers that a command starts (stdio) can be asked; give command, not url", at)
    for key in raw:
        if key in _APPROVED:
            raise BadTool("name the tools that need no approval in auto", place_of((key,)))
        if key not in _KEYS:
            raise BadTool("is no key of a server in this file", place_of((key,)))
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
    args, auto = _read_texts(raw, "args"), _read_texts(raw, "auto")
    return (
        None
        if disabled
        else McpServer(
            name=name, command=command, args=args, env=env, cwd=cwd, auto=frozenset(auto), risk=risk
        )
    )


def _read_texts(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = raw.get(key, [])
    if not isinstance(texts, list) or not all(map(_is_text, texts)):
        raise BadTool("must be an array of texts", place_of((key,)))
    return tuple(texts)


def _is_text(value: object) -> bool:
    """Return whether a value can be passed to a process: a text without NUL."""
    return isinstance(value, str) and "\0" not in value
