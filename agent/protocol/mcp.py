"""Speaks the Model Context Protocol as a server that answers each POST with one JSON value; pure.

    POST /mcp  {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {...}}}
      -> {"jsonrpc": "2.0", "id": 1, "result": {...}}, or in place of `result` an `error`: {"code", "message", "data"}
      the methods are `initialize`, `ping`, `tools/list` and `tools/call`
    a notification or a response -> 202 without a body; `notifications/cancelled` ends the request of its session
      that it names, whose answer is then an error
    a request that is refused before its id is known -> a status of 400 or more, and an error whose id is null

The revisions are those in `VERSIONS`, and the transport is their "streamable HTTP" without streams:
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. The id of a session comes with the answer to
`initialize`; it tells the requests of clients apart, and nothing is kept of a session. Earlier revisions have batches,
which these removed.

A tool's result is a JSON object, in `structuredContent` and as text in `content`. A refused answer is an ordinary
result. An argument that does not fit, a file that does not exist and a server that cannot answer are results with
`isError`, so that a language model reads the sentence and can call again.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from ..config import MAX_ID, MAX_TEXT
from ..errors import BadRequest
from ..lang import Lang
from .problems import ProblemError, decode
from .routes import API_VERSION

T = TypeVar("T")

VERSIONS: Final = ("2025-06-18", "2025-11-25")
"""The revisions of the protocol that are spoken, oldest first."""
VERSION_HEADER: Final = b"mcp-protocol-version"
SESSION_HEADER: Final = b"mcp-session-id"
CANCELLED: Final = "notifications/cancelled"
SECTIONS_MOST: Final = 20
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
REQUEST_CANCELLED = -32800  # as in the Language Server Protocol; MCP names no number

_BY_CODE: Mapping[str, int] = {"bad_json": -32700, "bad_request": -32600, "internal": -32603}
_REFUSED = -32000  # the first of the numbers that JSON-RPC leaves to servers
_MESSAGE = (
    "Send one JSON-RPC 2.0 message: an object with jsonrpc, method, and, for a request, an id that is a text of at "
    f"most {MAX_ID} characters or a whole number."
)
_INSTRUCTIONS = (
    "Answers questions from this server's documents. ask gives an answer whose numbers are verified against its "
    "citations; search finds sections; source shows the lines of a file that a citation or a section names."
)
_EXACT = 2**53  # whole numbers up to here are exact in every JSON reader
_encode = msgspec.json.Encoder().encode

RpcId: TypeAlias = Annotated[str, Meta(max_length=MAX_ID)] | Annotated[int, Meta(ge=-_EXACT, le=_EXACT)]


class RpcMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a client: a request, a notification (without an `id`), or a response (without a `method`)."""

    jsonrpc: Literal["2.0"]
    id: RpcId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class RpcErrorData(msgspec.Struct, frozen=True):
    """The server's word for an error."""

    code: str


class RpcError(msgspec.Struct, frozen=True):
    """An error of JSON-RPC: its number, a sentence with the remedy, and a word for programs."""

    code: int
    message: str
    data: RpcErrorData


class RpcAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request: a `result`, or an `error`. The `id` is null where the request's is not known."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str | int | None
    result: dict[str, Any] | UnsetType = UNSET
    error: RpcError | UnsetType = UNSET


class InitializeParams(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of `initialize`; the client's name and capabilities make no difference."""

    protocol_version: str


class CancelParams(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of `notifications/cancelled`; its reason makes no difference."""

    request_id: RpcId


class CallParams(msgspec.Struct, frozen=True):
    """The parameters of `tools/call`."""

    name: str
    arguments: Raw | UnsetType = UNSET


_Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
_Line: TypeAlias = Annotated[int, Meta(ge=1, le=_EXACT)]


class AskArguments(msgspec.Struct, frozen=True):
    """The arguments of `ask`."""

    text: Annotated[_Text, Meta(description="The question, which stands alone.")]
    lang: Annotated[Lang | None, Meta(description="The language of the answer, if not the question's.")] = (
        None
    )


class SearchArguments(msgspec.Struct, frozen=True):
    """The arguments of `search`."""

    text: Annotated[_Text, Meta(description="A question, or words to look for.")]
    lang: Annotated[Lang | None, Meta(description="The language to search in first.")] = None
    limit: Annotated[int, Meta(ge=1, le=SECTIONS_MOST, description="The most sections to return.")] = 5


class SourceArguments(msgspec.Struct, frozen=True):
    """The arguments of `source`."""

    file: Annotated[str, Meta(description="The file, as a citation or a section names it.")]
    lines: Annotated[
        Annotated[list[_Line], Meta(min_length=2, max_length=2)] | None,
        Meta(description="The first and the last line; without them the file is shown from its beginning."),
    ] = None


class SectionHit(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A section that matches. `lines`: its first and its last. `snippets`: its statements that match, best first."""

    file: str
    heading: str | None = None
    lines: tuple[int, int]
    snippets: tuple[str, ...]


class SectionHits(msgspec.Struct, frozen=True):
    """The result of `search`, best section first."""

    sections: tuple[SectionHit, ...]


class SourceLine(msgspec.Struct, frozen=True):
    """A line as it stands in the file. `line`: its number; null for the header of a table, above its rows."""

    line: int | None
    text: str


class SourceSection(msgspec.Struct, frozen=True):
    """Lines under one heading."""

    heading: str
    lines: tuple[SourceLine, ...]


class SourceExcerpt(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `source`. `whole`: this is all of the file. `next_line`: the line at which it was cut off."""

    file: str
    sections: tuple[SourceSection, ...]
    whole: bool
    next_line: int | None


class ToolRow(NamedTuple):
    """A row of `TOOLS`. `arguments`: their type."""

    arguments: type[msgspec.Struct]
    title: str
    description: str


TOOLS: Mapping[str, ToolRow] = {
    "ask": ToolRow(
        AskArguments,
        "Ask the documents",
        "Answer a question from the documents. Each number in the answer stands in one of its citations; a question "
        "that the documents do not answer is refused, and blocked says why.",
    ),
    "search": ToolRow(
        SearchArguments,
        "Search the documents",
        "Find the sections of the documents that match a text, with the statements in them that match.",
    ),
    "source": ToolRow(
        SourceArguments,
        "Show a source",
        "Show a file of the documents around some lines, or from its beginning, with the number of each line.",
    ),
}
"""The tools, by name."""


def decode_message(body: bytes) -> RpcMessage:
    """Return the message of a POST. Raises `agent.errors.BadRequest`, which never repeats a value of `body`."""
    try:
        message = decode(RpcMessage, body)
    except ProblemError as problem:
        code = problem.code
    else:
        if message.method is not UNSET or (message.result, message.error) != (UNSET, UNSET):
            return message
        code = "bad_request"
    # Raised out here so that the error of the decoder does not travel along as context.
    raise BadRequest(code, _MESSAGE)


def decode_params(kind: type[T], params: Raw | UnsetType) -> T:
    """Return the parameters of a request, or the arguments of a tool, as a Struct; those left out are none.

    Raises `ProblemError` as `agent.protocol.problems.decode` does.
    """
    return decode(kind, bytes(params) if isinstance(params, Raw) else b"{}")


def describe_faults(problem: ProblemError) -> str:
    """Return a sentence for each place of arguments or parameters that do not fit."""
    return " ".join(f"{each.pointer or 'The whole'}: {each.detail}" for each in problem.errors)


def choose_version(wanted: str) -> str:
    """Return the revision to speak with a client that wants `wanted`: that one, or else the newest."""
    return wanted if wanted in VERSIONS else VERSIONS[-1]


def describe_server(version: str, name: str) -> dict[str, Any]:
    """Return the result of `initialize`. `version`: of the protocol. `name`: the operator's name for the server."""
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": API_VERSION},
        "instructions": _INSTRUCTIONS,
    }


def describe_tools() -> dict[str, Any]:
    """Return the result of `tools/list`."""
    return {"tools": [_describe_tool(name) for name in TOOLS]}


def _describe_tool(name: str) -> dict[str, Any]:
    row = TOOLS[name]
    _, schemas = msgspec.json.schema_components([row.arguments])
    return {
        "name": name,
        "title": row.title,
        "description": row.description,
        "inputSchema": schemas[row.arguments.__name__],
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def describe_outcome(outcome: msgspec.Struct) -> dict[str, Any]:
    """Return the result of a tool that was run."""
    text = _encode(outcome).decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": msgspec.to_builtins(outcome),
        "isError": False,
    }


def describe_failure(words: str) -> dict[str, Any]:
    """Return the result of a tool that could not be run, with the reason."""
    return {"content": [{"type": "text", "text": words}], "isError": True}


def encode_result(id: str | int, result: dict[str, Any]) -> bytes:
    """Return the answer to a request that was done."""
    return _encode(RpcAnswer(id=id, result=result))


def encode_rpc_error(number: int, message: str, code: str, id: str | int | None = None) -> bytes:
    """Return the answer to a request that was not done. `code`: a word for programs."""
    return _encode(RpcAnswer(id=id, error=RpcError(number, message, RpcErrorData(code))))


def encode_rpc_refusal(message: str, code: str) -> bytes:
    """Return the answer to a request that was refused before its id was known. `code`: a word for programs."""
    return encode_rpc_error(_BY_CODE.get(code, _REFUSED), message, code)
