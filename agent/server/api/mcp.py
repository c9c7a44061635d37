"""The server as a tool server of the Model Context Protocol: `POST /mcp`.

`agent.protocol.mcp` describes messages and tools. Each POST is a message of its own. A client cancels a request when it
closes its connection, or sends `notifications/cancelled` with the id of the same session: ids of sessions cannot be
guessed, so that no client reaches another's requests. `ask` runs the same verified turn as `POST /ask`, without
actions; `search` and `source` show the documents as the index holds them. Every POST counts against its address's
messages.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import trio

from ...config import HTTP_TIMEOUT
from ...errors import BadRequest
from ...grounding.view import FileView, view_source
from ...ports.search import Hit, Library, Passage, Query
from ...protocol.completion_answers import AskAnswer
from ...protocol.completions import HttpQuestion
from ...protocol.mcp import (
    CANCELLED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    SESSION_HEADER,
    TOOLS,
    VERSION_HEADER,
    VERSIONS,
    AskArguments,
    CallParams,
    CancelParams,
    InitializeParams,
    RpcMessage,
    SearchArguments,
    SectionHit,
    SectionHits,
    SourceArguments,
    SourceExcerpt,
    SourceLine,
    SourceSection,
    choose_version,
    decode_message,
    decode_params,
    describe_failure,
    describe_faults,
    describe_outcome,
    describe_server,
    describe_tools,
    encode_result,
    encode_rpc_error,
)
from ...protocol.outbound import Response
from ...protocol.problems import ProblemError
from ...protocol.records import from_record
from ...protocol.route import Route
from ...session.context import SessionContext
from ...session.single_turn import AnswerFailure
from ...text.language import detect_language
from ..http_exchange import HttpExchange
from ..request_head import Refusal
from ..responses import Answer, plain_text
from ..service import AdmittedRequest, DoorHandler
from .answers import catch_errors

STATEMENTS = 40  # that a search may find; those of one section are shown together
_VERSION = f"Set MCP-Protocol-Version to {' or '.join(VERSIONS)}, or send initialize to agree on one of them."
_NO_METHOD = "There is no such method here; initialize, ping, tools/list and tools/call are."
_NO_TOOL = "There is no such tool here; tools/list names them."
_TOO_SLOW = "The search took too long; try again in a moment."
_NO_FILE = "There is no such file in the index; search names files, and so does each citation of ask."
_NO_LINES = "The index holds nothing of these lines; leave out lines to see the file from its beginning."


class SourceLibrary(Library, Protocol):
    """The documents as they change, and the sections of their files."""

    def sections(self, file: str) -> Sequence[Passage] | None:
        """Return the sections of `file` in their order: `()` for an unknown file, `None` until all are read."""
        ...


class ToolFailed(Exception):
    """A call of a tool that cannot be done; the message is a sentence for the client."""


class McpTools:
    """Serves the clients of the Model Context Protocol (implements `agent.server.service.RouteService`).

    `ask` answers a question. `library`: the documents, `None` where another brain answers without them. `wait_ready`
    waits a bounded time until a tool can be called, and returns the reason that none can, or "". `name`: the operator's
    name for the server.
    """

    def __init__(
        self,
        ask: Callable[[HttpQuestion], Awaitable[Response | AnswerFailure]],
        library: SourceLibrary | None,
        wait_ready: Callable[[], Awaitable[str]],
        parts: SessionContext,
        name: str = "",
    ) -> None:
        self._ask_question = ask
        self._library = library
        self._wait_ready = wait_ready
        self._parts = parts
        self._name = name or "agent"
        self._in_progress: dict[tuple[bytes, str | int], trio.CancelScope] = {}  # by session and request
        self.door_handlers: Mapping[str, DoorHandler] = {}
        self._tools: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
            "ask": self._ask,
            "search": self._search,
            "source": self._show_source,
        }

    def refuse(self, route: Route) -> Refusal | None:
        """Return None: a client is told in the result of a tool that none can be called now."""
        return None

    def decode(self, admitted: AdmittedRequest, body: bytes) -> RpcMessage:
        """Return the message. Raises `BadRequest` for any other body, and for a revision that is not spoken here."""
        if any(value.decode("latin-1") not in VERSIONS for value in admitted.head.values(VERSION_HEADER)):
            raise BadRequest("unsupported_version", _VERSION)
        return decode_message(body)

    async def work(
        self,
        admitted: AdmittedRequest,
        body: RpcMessage,
        exchange: HttpExchange,
        client_scope: trio.CancelScope,
    ) -> None:
        """Answer a message. If its client leaves, its turn has ended when this returns, and no task of it is left."""
        session = next(iter(admitted.head.values(SESSION_HEADER)), b"")
        answer = partial(self._answer_in_session, session, body)
        await exchange.answer(await catch_errors(answer, self._parts.new_id, "rpc"))

    async def _answer_in_session(self, session: bytes, message: RpcMessage) -> Answer:
        """Return the answer to a message; a request can be cancelled from its `session`, b"" for none."""
        if not isinstance(message.id, str | int) or not isinstance(message.method, str):
            if message.method == CANCELLED and session:
                self._cancel_request(session, message)
            return plain_text("", 202)
        if not session:
            return await self._answer(message.id, message.method, message)
        key = session, message.id
        with trio.CancelScope() as scope:
            self._in_progress[key] = scope
            try:
                return await self._answer(message.id, message.method, message)
            finally:
                if self._in_progress.get(key) is scope:
                    del self._in_progress[key]
        content = encode_rpc_error(REQUEST_CANCELLED, "The client cancelled this.", "cancelled", message.id)
        return Answer(status=200, content=content)

    def _cancel_request(self, session: bytes, message: RpcMessage) -> None:
        with suppress(ProblemError):
            cancelled = decode_params(CancelParams, message.params)
            scope = self._in_progress.get((session, cancelled.request_id))
            if scope is not None:
                scope.cancel()

    async def _answer(self, id: str | int, method: str, message: RpcMessage) -> Answer:
        try:
            result = await self._run_method(method, message)
        except ProblemError as problem:
            words = f"Change the parameters. {describe_faults(problem)}"
            content = encode_rpc_error(INVALID_PARAMS, words, problem.code, id)
        except BadRequest as bad:
            number = METHOD_NOT_FOUND if bad.code == "unknown_method" else INVALID_PARAMS
            content = encode_rpc_error(number, bad.message, bad.code, id)
        else:
            content = encode_result(id, result)
        opened = {"Mcp-Session-Id": self._parts.new_id()} if method == "initialize" else {}
        return Answer(status=200, content=content, headers=opened)

    async def _run_method(self, method: str, message: RpcMessage) -> dict[str, Any]:
        """Return the result of a request. Raises `BadRequest` and `ProblemError` for one that cannot be done."""
        if method == "initialize":
            wanted = decode_params(InitializeParams, message.params).protocol_version
            return describe_server(choose_version(wanted), self._name)
        if method == "ping":
            return {}
        if method == "tools/list":
            return describe_tools()
        if method != "tools/call":
            raise BadRequest("unknown_method", _NO_METHOD)
        call = decode_params(CallParams, message.params)
        if call.name not in self._tools:
            raise BadRequest("unknown_tool", _NO_TOOL)
        try:
            return describe_outcome(await self._call_tool(call))
        except ToolFailed as failed:
            return describe_failure(str(failed))

    async def _call_tool(self, call: CallParams) -> Any:
        """Return the outcome of a call as a Struct. Raises `ToolFailed`."""
        why = await self._wait_ready()
        if why:
            raise ToolFailed(why)
        try:
            arguments = decode_params(TOOLS[call.name].arguments, call.arguments)
        except ProblemError as problem:
            raise ToolFailed(f"Change the arguments. {describe_faults(problem)}") from None
        return await self._tools[call.name](arguments)

    async def _ask(self, arguments: AskArguments) -> AskAnswer:
        outcome = await self._ask_question(HttpQuestion(text=arguments.text, lang=arguments.lang))
        if isinstance(outcome, AnswerFailure):
            raise ToolFailed(outcome.message)
        return from_record(AskAnswer, outcome)

    async def _search(self, arguments: SearchArguments) -> SectionHits:
        if self._library is None:
            return SectionHits(())
        text = arguments.text
        lang = arguments.lang or detect_language(text) or self._parts.lang
        with trio.move_on_after(HTTP_TIMEOUT):
            retriever = await self._library.load_snapshot()
            hits = await retriever.search(Query(text, lang, STATEMENTS))
            return SectionHits(_group_hits(hits)[: arguments.limit])
        raise ToolFailed(_TOO_SLOW)

    async def _show_source(self, arguments: SourceArguments) -> SourceExcerpt:
        passages = self._library.sections(arguments.file) if self._library is not None else ()
        if not passages:
            raise ToolFailed(_NO_FILE)
        first, last = arguments.lines or (0, 0)
        view = view_source(passages, (first, last) if arguments.lines else None)
        if view is None:
            raise ToolFailed(_NO_LINES)
        return _make_excerpt(view)


def _group_hits(hits: Sequence[Hit]) -> tuple[SectionHit, ...]:
    """Return the sections of some hits, in the order of the best hit of each."""
    found: dict[Passage, list[str]] = {}
    for hit in hits:
        found.setdefault(hit.passage, []).append(hit.snippet.text)
    return tuple([_make_section(passage, snippets) for passage, snippets in found.items()])


def _make_section(passage: Passage, snippets: Sequence[str]) -> SectionHit:
    every = passage.snippets
    return SectionHit(
        file=passage.file,
        heading=" › ".join(passage.headings) or None,
        lines=(min(each.first for each in every), max(each.last for each in every)),
        snippets=tuple(dict.fromkeys(snippets)),
    )


def _make_excerpt(view: FileView) -> SourceExcerpt:
    sections = [
        SourceSection(
            " › ".join(part.headings), tuple([SourceLine(each.line, each.text) for each in part.pieces])
        )
        for part in view.parts
    ]
    return SourceExcerpt(file=view.file, sections=tuple(sections), whole=view.whole, next_line=view.below)
