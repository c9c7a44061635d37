"""Questions over plain HTTP: `POST /v1/chat/completions`, `POST /v1/responses` and `POST /ask`; `GET /v1/models` names
the model, and `POST /v1/embeddings` is `agent.server.api.embeddings`.

`agent.protocol.completions` describes the requests, `agent.protocol.completion_answers` the answers, and
`agent.protocol.responses_api` those of the second route. A question counts against its address's messages. No action
runs from here, because a plain request has no user to confirm one. The tools of a request run at its caller: a call of
one is the answer, and the next request brings its result.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

import trio

from ...config import OUTBOX_DELTAS
from ...errors import BadRequest, BadTool
from ...ports.brain import Proposal, Question
from ...ports.conversation import Scope
from ...ports.decide import CallResult
from ...ports.draft import Charter
from ...ports.tools import ToolDefinition
from ...protocol.completion_answers import (
    NO_USAGE,
    STILL_HERE,
    ChunkEncoder,
    HandedCall,
    JsonAnswer,
    WrittenAnswer,
    encode_answer,
    encode_model,
    encode_models,
)
from ...protocol.completions import HttpQuestion, ToolReport, ToolUse, decode_ask, decode_chat
from ...protocol.embeddings import EmbeddingTexts, decode_embedding
from ...protocol.outbound import Response
from ...protocol.responses_api import ResponseEncoder, decode_response_request
from ...protocol.route import Route
from ...session.context import SessionContext
from ...session.single_turn import AnswerFailure, SingleTurn
from ...tools.results import format_outcome
from ..http_exchange import HttpExchange
from ..request_head import Head, Refusal
from ..responses import EVENTS, Answer, encode_chunk, render_head
from ..service import AdmittedRequest, DoorHandler
from .answers import answer_refusal, catch_errors
from .embeddings import EmbeddingService

DEFAULT_MODEL = "agent"  # the model's name if the operator gave none
_DECODERS: Mapping[str, Callable[[bytes], HttpQuestion]] = {
    "chat_completions": decode_chat,
    "responses": decode_response_request,
    "ask": decode_ask,
}
_FAILED: Mapping[str, int] = {"internal": 500, "timeout": 504, "shutting_down": 503}


class Questions:
    """Answers questions that come as plain requests (implements `agent.server.service.RouteService`).

    `parts_for`: makes the parts of a turn, by the charter of its caller. `wait_ready` waits a bounded time until a
    question can be answered, and returns the reason that none can, or "". `limit`: seconds that a turn may think.
    `name`: the operator's name for the server, and so the model's.
    """

    def __init__(
        self,
        parts: SessionContext,
        parts_for: Callable[[Charter], SessionContext],
        wait_ready: Callable[[], Awaitable[str]],
        limit: float,
        embeddings: EmbeddingService,
        name: str = "",
    ) -> None:
        self._parts = parts
        self._parts_for = parts_for
        self._wait_ready = wait_ready
        self._embeddings = embeddings
        self._limit = limit
        self._model = name or DEFAULT_MODEL
        self._since = parts.clock.now_ms() // 1000
        self.door_handlers: Mapping[str, DoorHandler] = {
            "list_models": self._list_models,
            "get_model": self._get_model,
        }

    async def _list_models(self, _: Head, __: Mapping[str, str]) -> Answer:
        """Answer with the list of models, which holds one."""
        return Answer(status=200, content=encode_models(self._model, self._since))

    async def _get_model(self, _: Head, names: Mapping[str, str]) -> Answer:
        """Answer with the one model, if the path names it."""
        if unquote(names["model"]) != self._model:
            words = "There is no such model; GET /v1/models names the one that answers."
            return answer_refusal(Refusal(404, words, code="model_not_found"), "openai")
        return Answer(status=200, content=encode_model(self._model, self._since))

    def refuse(self, route: Route) -> Refusal | None:
        """Return None: a question waits in its place until it can be answered."""
        return None

    def decode(self, admitted: AdmittedRequest, body: bytes) -> "_PlainQuestion | EmbeddingTexts":
        """Return the question, or the texts to embed."""
        if admitted.route.name == "embeddings":
            return decode_embedding(body)
        sent = _DECODERS[admitted.route.name](body)
        parts = self._parts_for(Charter(sent.instructions))
        return _PlainQuestion(parts, _make_question(parts, sent), sent.stream, sent.with_usage)

    async def answer(self, sent: HttpQuestion) -> Response | AnswerFailure:
        """Answer a question without tools, for a client of another protocol. Cancelled, nothing of its turn is left."""
        parts = self._parts_for(Charter(sent.instructions))
        outcome = await SingleTurn(parts, _make_question(parts, sent), self._limit).run()
        assert not isinstance(outcome, Proposal), "no call runs at the client of a question without tools"
        if isinstance(outcome, AnswerFailure):
            self._parts.observer.count("errors", outcome.code)
        return outcome

    async def work(
        self,
        admitted: AdmittedRequest,
        body: "_PlainQuestion | EmbeddingTexts",
        exchange: HttpExchange,
        client_scope: trio.CancelScope,
    ) -> None:
        """Answer a question. If its client leaves, its turn has ended when this returns, and no task of it is left."""
        why = await self._wait_ready()
        if why:
            await exchange.answer(answer_refusal(Refusal(503, why, {"Retry-After": "2"}), "openai"))
            return
        if isinstance(body, EmbeddingTexts):
            embed = partial(self._embeddings.answer, body)
            await exchange.answer(await catch_errors(embed, self._parts.new_id, "openai"))
            return
        encoder = self._make_encoder(admitted.route, body.question.id)
        if body.stream:
            await self._stream_answer(exchange, body, encoder)
            return
        turn = SingleTurn(body.parts, body.question, self._limit)
        outcome = self._hand_over(body.question, await turn.run())
        if isinstance(outcome, AnswerFailure):
            answer = answer_refusal(self._make_refusal(outcome), "openai")
        elif admitted.route.name == "ask" and isinstance(outcome, Response):
            answer = Answer(status=200, content=encode_answer(outcome))
        else:
            answer = Answer(status=200, content=encoder.encode_whole(outcome, turn.usage))
        await exchange.answer(answer)

    async def _stream_answer(
        self, exchange: HttpExchange, body: "_PlainQuestion", encoder: ChunkEncoder | ResponseEncoder
    ) -> None:
        """Stream an answer. The turn hands its pieces to a task that writes: no turn's scope holds a write."""
        chunked = exchange.head.version == b"1.1"
        framed = encode_chunk if chunked else bytes
        sender, receiver = trio.open_memory_channel[bytes](OUTBOX_DELTAS)

        async def send_delta(delta: str) -> None:
            await sender.send(framed(encoder.encode_delta(delta)))

        def keep_alive() -> None:
            with suppress(trio.WouldBlock):  # a full channel has bytes to write anyway
                sender.send_nowait(framed(STILL_HERE))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(_write_all, exchange, receiver))
            async with sender:
                coding = {"Transfer-Encoding": "chunked"} if chunked else {}
                sender.send_nowait(render_head({**EVENTS, **coding}) + framed(encoder.encode_start()))
                say = None if body.question.form else send_delta  # JSON is sent whole, when it is valid
                turn = SingleTurn(body.parts, body.question, self._limit, say, keep_alive)
                outcome = self._hand_over(body.question, await turn.run())
                if isinstance(outcome, AnswerFailure):
                    refusal = self._make_refusal(outcome)
                    last = encoder.encode_failure(refusal.code, refusal.words)
                else:
                    last = encoder.encode_end(outcome, turn.usage if body.with_usage else NO_USAGE)
                await sender.send(framed(last) + (encode_chunk(b"") if chunked else b""))

    def _make_encoder(self, route: Route, id: str) -> ChunkEncoder | ResponseEncoder:
        created = self._parts.clock.now_ms() // 1000
        if route.name == "responses":
            return ResponseEncoder(id, self._model, created)
        return ChunkEncoder(f"chatcmpl-{id}", self._model, created)

    def _hand_over(
        self, question: Question, outcome: Response | Proposal | AnswerFailure
    ) -> WrittenAnswer | AnswerFailure:
        """Return the end of a turn as it is sent: a call gets the id that its result comes back with."""
        if isinstance(outcome, AnswerFailure):
            return outcome
        if isinstance(outcome, Proposal) and outcome.action != question.form:
            return HandedCall(f"call_{self._parts.new_id()}", outcome)
        return JsonAnswer(outcome) if question.form or isinstance(outcome, Proposal) else outcome

    def _make_refusal(self, failure: AnswerFailure) -> Refusal:
        self._parts.observer.count("errors", failure.code)
        status = _FAILED[failure.code]
        headers = {"Retry-After": "2"} if status == 503 else {}
        return Refusal(status, failure.message, headers, failure.code)


@dataclass(frozen=True, slots=True)
class _PlainQuestion:
    """A question with the parts of its turn. `stream`, `with_usage`: as its request asks."""

    parts: SessionContext
    question: Question
    stream: bool
    with_usage: bool


def _make_question(parts: SessionContext, sent: HttpQuestion) -> Question:
    """Return the question of a request, in a thread of its own. Raises `BadRequest` for its tools."""
    id = parts.new_id()
    tools, form = _read_tools(parts, sent.tool_use), _read_form(parts, sent.tool_use)
    if any(tool.name == form_tool.name for tool in tools for form_tool in form):
        raise BadRequest("bad_format", "Give the schema of the answer a name that no tool has.")
    return Question(
        id=id,
        text=sent.text,
        lang=sent.lang,
        at=trio.current_time(),
        scope=Scope(parts.project, id),
        history=sent.history,
        tools=(*tools, *form),
        must_call=sent.tool_use.must_call,
        form=form[0].name if form else "",
        results=tuple(map(_make_result, sent.tool_use.reports)),
    )


def _read_tools(parts: SessionContext, use: ToolUse) -> tuple[ToolDefinition, ...]:
    """Return the tools that a question may call. Raises `BadRequest`."""
    try:
        tools = parts.read_tools(use.definitions) if use.definitions else ()
    except BadTool as bad:
        raise BadRequest("bad_tool", f"Change the tools of the request: {bad}.") from None
    if not use.named:
        return tools
    named = tuple(tool for tool in tools if tool.name == use.named)
    if not named:
        raise BadRequest("bad_tool_choice", "Offer the tool that tool_choice names.")
    return named


def _read_form(parts: SessionContext, use: ToolUse) -> tuple[ToolDefinition, ...]:
    """Return the tool whose arguments are the answer, () for an answer in text. Raises `BadRequest`."""
    try:
        return () if use.form is None else parts.read_tools((use.form,))
    except BadTool as bad:
        raise BadRequest("bad_format", f"Change the schema of the answer: {bad}.") from None


def _make_result(report: ToolReport) -> CallResult:
    shown = format_outcome(True, {"data": report.result})
    return CallResult(
        call_id=report.call_id,
        tool=report.tool,
        arguments=report.arguments,
        ok=True,
        lines=shown.lines,
        cut=shown.cut,
    )


async def _write_all(exchange: HttpExchange, pieces: "trio.MemoryReceiveChannel[bytes]") -> None:
    async with pieces:
        async for piece in pieces:
            await exchange.write(piece)
