"""Reads a tool, or a list of tools, from JSON into `ToolDefinition`s; pure.

Strategy: the sender of a tool may be hostile or mistaken. So an unknown field is refused with its place, and no field
is dropped that could have made a tool stricter. Each tool is encoded as JSON once, so that the checked value is also
the stored value, and is bounded before it is compiled. The spellings of OpenAI, Anthropic and MCP are accepted too;
their additions (hints, titles, caches) are ignored and loosen no check. Lists of tools are cached by digest.
"""

import re
from collections import OrderedDict
from hashlib import sha256
from typing import Any, get_args

import msgspec

from ..config import TOOLS_OPERATOR, TOOLS_REQUEST
from ..errors import BadTool
from ..memory.item_suggestions import REMEMBER
from ..ports.tools import CheckerFactory, Origin, Risk, RunsAt, ToolDefinition
from ..protocol.url import is_web_address
from ..structured.pointer import is_json
from .bounds import check_bounds, count_patterns
from .fault_places import place_of
from .memory_tools import PREFIX
from .parameters import is_simple, schema_of
from .settings import TOOLS_BYTES

TOOL_NAME = 128  # characters
TOOL_DESCRIPTION = 2000  # characters
TOOLS_PATTERNS = 64  # of all tools of a request: each takes some 40 us to compile, on the event loop
TOOLS_KEPT_BYTES = 2 * 1024 * 1024  # of the cache of read tools, written as JSON

NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_.:-]{{0,{TOOL_NAME - 1}}}")
_PARAMETERS = ("parameters", "input_schema", "inputSchema")  # ours and OpenAI's, Anthropic's, MCP's
_OWN_FIELDS = frozenset(("name", "description", "requires_approval", "risk", "runs_at", "url"))
_OPERATOR_FIELDS = ("runs_at", "url")
# The places that a definition can name.
_NAMEABLE_PLACES = tuple(word for word in get_args(RunsAt) if word not in ("mcp", "function"))
_IGNORED_FIELDS = frozenset(
    (
        *("type", "strict", "defer_loading"),  # OpenAI, and the last of these Anthropic
        *("cache_control", "input_examples", "eager_input_streaming", "allowed_callers"),  # Anthropic
        *("title", "annotations", "outputSchema", "icons", "execution", "_meta"),  # MCP
    )
)
_KINDS = (None, "function", "custom")
_NULL = re.compile(rb"[:,\[]null")
_ENTRY_BYTES = 1024  # of a cached list beside its text


def read_definition(
    raw: object, origin: Origin, arguments: CheckerFactory | None = None, *, runs_at: RunsAt = "record"
) -> ToolDefinition:
    """Return the tool that a JSON object describes.

    `raw`: `{name, description, parameters, requires_approval, risk}`, or the form of OpenAI, Anthropic or MCP; only the
    name is required. An operator's tool may have `runs_at` and `url` too. `arguments`: compiles the parameters; None
    leaves that to the later check of arguments. `runs_at`: for a tool that does not name its own. Raises `BadTool`,
    with the pointer into `raw`, for any `raw` that is no tool.
    """
    return _read_object(_as_json(raw)[0], origin, arguments, runs_at)


class DefinitionReader:
    """Reads lists of tools and caches them: at most `TOOLS_KEPT_BYTES` of the last used ones.

    `arguments`: compiles the parameters of the tools.
    """

    def __init__(self, arguments: CheckerFactory) -> None:
        self._arguments = arguments
        self._cached: OrderedDict[bytes, tuple[int, tuple[ToolDefinition, ...]]] = OrderedDict()
        self._bytes = 0

    def read_list(
        self, raw: object, origin: Origin, runs_at: RunsAt = "record"
    ) -> tuple[ToolDefinition, ...]:
        """Return the tools of a JSON array, in its order.

        `raw`: an array of objects as `read_definition` takes them. Raises `BadTool`, with the pointer into the list.
        """
        decoded, text = _as_json(raw, decode=False)
        if len(text) > TOOLS_BYTES:
            raise BadTool(f"all tools have {len(text)} bytes; {TOOLS_BYTES} are the most")
        key = sha256(b"%s %s %s" % (origin.encode(), runs_at.encode(), text)).digest()
        if key in self._cached:
            self._cached.move_to_end(key)
            return self._cached[key][1]
        decoded = msgspec.json.decode(text)
        if origin == "request" and b'"pattern' in text and count_patterns(decoded) > TOOLS_PATTERNS:
            raise BadTool(f"all tools have over {TOOLS_PATTERNS} patterns")
        most = TOOLS_OPERATOR if origin == "operator" else TOOLS_REQUEST
        if not isinstance(decoded, list):
            raise BadTool("tools must be an array")
        if len(decoded) > most:
            raise BadTool(f"there are {len(decoded)} tools; {most} are the most")
        tools = tuple(self._read_item(index, each, origin, runs_at) for index, each in enumerate(decoded))
        self._cache(key, len(text) + _ENTRY_BYTES, tools)
        return tools

    def _read_item(self, index: int, raw: Any, origin: Origin, runs_at: RunsAt) -> ToolDefinition:
        try:
            return _read_object(raw, origin, self._arguments, runs_at)
        except BadTool as bad:
            name_note = f" (tool {name_of(raw)})" if origin == "operator" and name_of(raw) else ""
            raise BadTool(bad.why + name_note, f"/{index}{bad.pointer}") from None

    def _cache(self, key: bytes, size: int, tools: tuple[ToolDefinition, ...]) -> None:
        self._cached[key] = (size, tools)
        self._bytes += size
        while self._bytes > TOOLS_KEPT_BYTES:
            self._bytes -= self._cached.popitem(last=False)[1][0]


def name_of(raw: object) -> str:
    """Return the name of a tool that may be broken elsewhere; "" when `raw` has no name that can be shown."""
    inner = raw.get("function", raw) if isinstance(raw, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) and NAME.fullmatch(name) else ""


def _as_json(raw: object, *, decode: bool = True) -> tuple[Any, bytes]:
    """Return a value as JSON has it (None unless `decode`), and its text. Raises `BadTool` when it is no JSON."""
    try:
        text = msgspec.json.encode(raw)
        # NaN and infinities become null there, so only a text with null needs the slow check
        if _NULL.search(text) and not is_json(raw):
            raise BadTool("is not JSON")
        return (msgspec.json.decode(text) if decode else None), text
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise BadTool("is not JSON") from None


def _read_object(
    raw: Any, origin: Origin, arguments: CheckerFactory | None, runs_at: RunsAt
) -> ToolDefinition:
    fields, at = _merge_function(raw)
    for key in fields:
        if key not in _OWN_FIELDS and key not in _PARAMETERS and key not in _IGNORED_FIELDS:
            raise BadTool("is no field of a tool: leave it out", _pointer_of(at, key))
        if origin != "operator" and key in _OPERATOR_FIELDS:
            raise BadTool("only the operator says where a tool runs", _pointer_of(at, key))
    name = _read_name(fields.get("name"), _pointer_of(at, "name"))
    description = fields.get("description", "")
    if not isinstance(description, str) or len(description) > TOOL_DESCRIPTION:
        raise BadTool(
            f"must be a text of at most {TOOL_DESCRIPTION} characters", _pointer_of(at, "description")
        )
    approval = fields.get("requires_approval", True)
    if not isinstance(approval, bool):
        raise BadTool("must be true or false", _pointer_of(at, "requires_approval"))
    risk = fields.get("risk", "medium")
    if risk not in get_args(Risk):
        raise BadTool("must be low, medium or high", _pointer_of(at, "risk"))
    where, url = _read_runs_at(fields, at, runs_at)
    parameters = _read_parameters(fields, at, arguments)
    return ToolDefinition(
        name=name,
        description=description,
        parameters=parameters,
        requires_approval=approval,
        risk=risk,
        runs_at=where,
        url=url,
        origin=origin,
    )


def _read_name(name: Any, at: str) -> str:
    """Return the name of a tool.

    Raises `BadTool` for a name of the server's own tools, which may change the memory.
    """
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise BadTool(f"must be a letter and then at most {TOOL_NAME - 1} of A-Z a-z 0-9 _ . : -", at)
    if name.lower().startswith(PREFIX):
        raise BadTool(f"names that begin with {PREFIX} are the server's own; give the tool another", at)
    if name.lower() == REMEMBER:
        raise BadTool(f"the name {REMEMBER} is the server's own; give the tool another", at)
    return name


def _merge_function(raw: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of a tool in one object, and the pointer of each field inside OpenAI's `function`."""
    if not isinstance(raw, dict):
        raise BadTool("must be an object")
    inner = raw.get("function", {})
    if not isinstance(inner, dict):
        raise BadTool("must be an object", "/function")
    outer = {key: each for key, each in raw.items() if key != "function"}
    for key in outer:
        if key in inner:
            raise BadTool("stands in the function too", place_of((key,)))
    fields = {**outer, **inner}
    if fields.get("type") not in _KINDS:
        raise BadTool("must be function", "/type")
    return fields, dict.fromkeys(inner, "/function")


def _pointer_of(at: dict[str, str], key: str) -> str:
    return at.get(key, "") + place_of((key,))


def _read_runs_at(fields: dict[str, Any], at: dict[str, str], otherwise: RunsAt) -> tuple[RunsAt, str | None]:
    url = fields.get("url")
    if url is not None and not (isinstance(url, str) and is_web_address(url)):
        raise BadTool("must be a URL like https://example.com/hook", _pointer_of(at, "url"))
    where = fields.get("runs_at", otherwise if url is None else "webhook")
    if where not in _NAMEABLE_PLACES and (where != otherwise or "runs_at" in fields):
        raise BadTool(
            f"must be {', '.join(_NAMEABLE_PLACES[:-1])} or {_NAMEABLE_PLACES[-1]}",
            _pointer_of(at, "runs_at"),
        )
    if url is not None and where != "webhook":
        raise BadTool("belongs to a webhook, and this tool does not run at one", _pointer_of(at, "url"))
    return where, url


def _read_parameters(
    fields: dict[str, Any], at: dict[str, str], arguments: CheckerFactory | None
) -> dict[str, Any]:
    spellings = [key for key in _PARAMETERS if fields.get(key) is not None]
    if len(spellings) > 1:
        raise BadTool(f"parameters stand in {spellings[0]} too", _pointer_of(at, spellings[1]))
    key = spellings[0] if spellings else "parameters"
    simple = False
    try:
        schema = schema_of(fields.get(key))
        simple = bool(spellings) and is_simple(fields[key])
        check_bounds(schema, msgspec.json.encode(schema))
        if arguments is not None:
            arguments.make_checker(schema)
    except BadTool as bad:
        inside = bad.pointer.removeprefix("/properties") if simple else bad.pointer
        raise BadTool(bad.why, _pointer_of(at, key) + inside) from None
    return schema
