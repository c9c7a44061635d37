"""A tool as somebody wrote it, read into a `ToolDefinition`, and a list of them; pure.

Strategy: whoever sends a tool may mean harm or be mistaken, so what is not understood is refused with its place, and
nothing is dropped that could have made a tool stricter. Each tool goes through JSON once, so that what was checked is
what is kept, and is bounded before anything compiles it. OpenAI's, Anthropic's and MCP's spellings are taken too; what
those add beside (hints, titles, caches) says nothing here and lowers nothing. Lists that were read are kept by digest.
"""

import re
from collections import OrderedDict
from hashlib import sha256
from typing import Any, get_args

import msgspec

from ..config import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOLS_BYTES,
    TOOLS_KEPT_BYTES,
    TOOLS_OPERATOR,
    TOOLS_PATTERNS,
    TOOLS_REQUEST,
)
from ..errors import BadTool
from ..memory.asking import REMEMBER
from ..ports.tools import Arguments, Origin, Risk, RunsAt, ToolDefinition
from ..protocol.url import is_web_address
from ..structured.pointer import is_json
from .bounds import bounded, patterns_in
from .parameters import is_simple, schema_of
from .places import place
from .proposing import PREFIX

NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_.:-]{{0,{TOOL_NAME - 1}}}")
_PARAMETERS = ("parameters", "input_schema", "inputSchema")  # ours and OpenAI's, Anthropic's, MCP's
_OURS = frozenset(("name", "description", "requires_approval", "risk", "runs_at", "url"))
_OPERATORS = ("runs_at", "url")
_PLACES: tuple[RunsAt, ...] = (
    "record",
    "webhook",
    "caller",
)  # that can be written; what is an MCP server's is not
_BESIDE = frozenset(
    (
        *("type", "strict", "defer_loading"),  # OpenAI, and the last of these Anthropic
        *("cache_control", "input_examples", "eager_input_streaming", "allowed_callers"),  # Anthropic
        *("title", "annotations", "outputSchema", "icons", "execution", "_meta"),  # MCP
    )
)
_KINDS = (None, "function", "custom")
_NULL = re.compile(rb"[:,\[]null")
_ENTRY_BYTES = 1024  # that a list takes beside its text


def definition(
    raw: object, origin: Origin, arguments: Arguments | None = None, *, runs_at: RunsAt = "record"
) -> ToolDefinition:
    """Return the tool that a JSON object describes.

    raw: `{name, description, parameters, requires_approval, risk}`, or as OpenAI, Anthropic or MCP write it, of which
    the name alone is needed; an operator's may have `runs_at` and `url` too. arguments: compiles the parameters; None
    leaves that to whoever checks arguments. runs_at: where a tool runs that does not say it.
    Raises `BadTool`, with the pointer into `raw`, whatever `raw` is.
    """
    return _definition(_as_json(raw)[0], origin, arguments, runs_at)


class Definitions:
    """Reads lists of tools, and keeps those that it has read: at most TOOLS_KEPT_BYTES of them, the last used.

    arguments: compiles their parameters.
    """

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._kept: OrderedDict[bytes, tuple[int, tuple[ToolDefinition, ...]]] = OrderedDict()
        self._bytes = 0

    def read(self, raw: object, origin: Origin, runs_at: RunsAt = "record") -> tuple[ToolDefinition, ...]:
        """Return the tools of a JSON array, in its order.

        raw: as `definition` takes each. Raises `BadTool`, with the pointer into the list.
        """
        decoded, text = _as_json(raw, decode=False)
        if len(text) > TOOLS_BYTES:
            raise BadTool(f"all tools have {len(text)} bytes; {TOOLS_BYTES} are the most")
        key = sha256(b"%s %s %s" % (origin.encode(), runs_at.encode(), text)).digest()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][1]
        decoded = msgspec.json.decode(text)
        if origin == "request" and b'"pattern' in text and patterns_in(decoded) > TOOLS_PATTERNS:
            raise BadTool(f"all tools have over {TOOLS_PATTERNS} patterns")
        most = TOOLS_OPERATOR if origin == "operator" else TOOLS_REQUEST
        if not isinstance(decoded, list):
            raise BadTool("tools must be an array")
        if len(decoded) > most:
            raise BadTool(f"there are {len(decoded)} tools; {most} are the most")
        tools = tuple(self._each(index, each, origin, runs_at) for index, each in enumerate(decoded))
        self._keep(key, len(text) + _ENTRY_BYTES, tools)
        return tools

    def _each(self, index: int, raw: Any, origin: Origin, runs_at: RunsAt) -> ToolDefinition:
        try:
            return _definition(raw, origin, self._arguments, runs_at)
        except BadTool as bad:
            named = f" (tool {name_of(raw)})" if origin == "operator" and name_of(raw) else ""
            raise BadTool(bad.why + named, f"/{index}{bad.pointer}") from None

    def _keep(self, key: bytes, size: int, tools: tuple[ToolDefinition, ...]) -> None:
        self._kept[key] = (size, tools)
        self._bytes += size
        while self._bytes > TOOLS_KEPT_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1][0]


def name_of(raw: object) -> str:
    """Return the name of a tool that may be broken elsewhere; "" where it has none that could be shown."""
    inner = raw.get("function", raw) if isinstance(raw, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) and NAME.fullmatch(name) else ""


def _as_json(raw: object, *, decode: bool = True) -> tuple[Any, bytes]:
    """Return a value as JSON has it, if it is to be decoded, and its text. Raises `BadTool` where it has none."""
    try:
        text = msgspec.json.encode(raw)
        # NaN and infinities become null there, so only a text with one needs the slow look
        if _NULL.search(text) and not is_json(raw):
            raise BadTool("is not JSON")
        return (msgspec.json.decode(text) if decode else None), text
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise BadTool("is not JSON") from None


def _definition(raw: Any, origin: Origin, arguments: Arguments | None, runs_at: RunsAt) -> ToolDefinition:
    given, at = _flat(raw)
    for key in given:
        if key not in _OURS and key not in _PARAMETERS and key not in _BESIDE:
            raise BadTool("is nothing that a tool has", _of(at, key))
        if origin != "operator" and key in _OPERATORS:
            raise BadTool("only the operator says where a tool runs", _of(at, key))
    name = _name(given.get("name"), _of(at, "name"))
    description = given.get("description", "")
    if not isinstance(description, str) or len(description) > TOOL_DESCRIPTION:
        raise BadTool(f"must be a text of at most {TOOL_DESCRIPTION} characters", _of(at, "description"))
    approval = given.get("requires_approval", True)
    if not isinstance(approval, bool):
        raise BadTool("must be true or false", _of(at, "requires_approval"))
    risk = given.get("risk", "medium")
    if risk not in get_args(Risk):
        raise BadTool("must be low, medium or high", _of(at, "risk"))
    where, url = _place_of_work(given, at, runs_at)
    parameters = _parameters(given, at, arguments)
    return ToolDefinition(name, description, parameters, approval, risk, where, url, origin)


def _name(name: Any, at: str) -> str:
    """Return the name of a tool. Raises `BadTool` for one of the server's own: those calls may change what is true."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise BadTool(f"must be a letter and then at most {TOOL_NAME - 1} of A-Z a-z 0-9 _ . : -", at)
    if name.lower().startswith(PREFIX):
        raise BadTool(f"names that begin with {PREFIX} are the server's own; give the tool another", at)
    if name.lower() == REMEMBER:
        raise BadTool(f"the name {REMEMBER} is the server's own; give the tool another", at)
    return name


def _flat(raw: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what a tool says in one object, and which of it stands in the `function` of OpenAI's chat spelling."""
    if not isinstance(raw, dict):
        raise BadTool("must be an object")
    inner = raw.get("function", {})
    if not isinstance(inner, dict):
        raise BadTool("must be an object", "/function")
    outer = {key: each for key, each in raw.items() if key != "function"}
    for key in outer:
        if key in inner:
            raise BadTool("stands in the function too", place((key,)))
    given = {**outer, **inner}
    if given.get("type") not in _KINDS:
        raise BadTool("must be function", "/type")
    return given, dict.fromkeys(inner, "/function")


def _of(at: dict[str, str], key: str) -> str:
    return at.get(key, "") + place((key,))


def _place_of_work(given: dict[str, Any], at: dict[str, str], otherwise: RunsAt) -> tuple[RunsAt, str | None]:
    url = given.get("url")
    if url is not None and not (isinstance(url, str) and is_web_address(url)):
        raise BadTool("must be a URL like https://example.com/hook", _of(at, "url"))
    where = given.get("runs_at", otherwise if url is None else "webhook")
    if where not in _PLACES and (where != otherwise or "runs_at" in given):
        raise BadTool("must be record, webhook or caller", _of(at, "runs_at"))
    if url is not None and where != "webhook":
        raise BadTool("is of a webhook, and the tool runs at none", _of(at, "url"))
    return where, url


def _parameters(given: dict[str, Any], at: dict[str, str], arguments: Arguments | None) -> dict[str, Any]:
    written = [key for key in _PARAMETERS if given.get(key) is not None]
    if len(written) > 1:
        raise BadTool(f"parameters stand in {written[0]} too", _of(at, written[1]))
    key = written[0] if written else "parameters"
    simple = False
    try:
        schema = schema_of(given.get(key))
        simple = bool(written) and is_simple(given[key])
        bounded(schema, msgspec.json.encode(schema))
        if arguments is not None:
            arguments.checker(schema)
    except BadTool as bad:
        inside = bad.pointer.removeprefix("/properties") if simple else bad.pointer
        raise BadTool(bad.why, _of(at, key) + inside) from None
    return schema
