"""Questions over plain HTTP: `POST /v1/chat/completions` and `POST /ask`; `GET /v1/models` names the model.

`agent.protocol.completions` describes the requests and answers. A question counts against its address's messages. No
action runs from here, because a plain request has no user to confirm one.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import trio

from ...config import OUTBOX_DELTAS
from ...ports.brain import Question
from ...ports.conversation import Scope
from ...protocol.completions import (
    STILL_HERE,
    ChunkEncoder,
    HttpQuestion,
    decode_ask,
    decode_chat,
    encode_answer,
    encode_completion,
    encode_models,
)
from ...protocol.outbound import Response
from ...protocol.routes import Route
from ...session.single_turn import AnswerFailure, SingleTurn
from ...session.turn import SessionContext
from ..http_exchange import HttpExchange
from ..request_head import Head, Refusal
from ..responses import EVENTS, Answer, encode_chunk, render_head
from ..service import AdmittedRequest, DoorHandler
from .answers import answer_refusal

DEFAULT_MODEL = "agent"  # the model's name if the operator gave none
_DECODERS: Mapping[str, Callable[[bytes], HttpQuestion]] = {
    "chat_completions": decode_chat,
    "ask": decode_ask,
}
_FAILED: Mapping[str, int] = {"internal": 500, "timeout": 504, "shutting_down": 503}


class Questions:
    """Answers questions that come as plain requests (implements `agent.server.service.RouteService`).

    `unready` returns the reason that no question can be answered now, or "". `limit`: seconds that a turn may think.
    `name`: the operator's name for the server, and so the model's.
    """

    def __init__(
        self, parts: SessionContext, unready: Callable[[], str], limit: float, name: str = ""
    ) -> None:
        self._parts = parts
        self._unready = unready
        self._limit = limit
        self._model = name or DEFAULT_MODEL
        self._since = parts.clock.now_ms() // 1000
        self.door_handlers: Mapping[str, DoorHandler] = {"list_models": self._models}

    async def _models(self, _: Head, __: Mapping[str, str]) -> Answer:
        """Answer with the list of models, which holds one."""
        return Answer(status=200, content=encode_models(self._model, self._since))

    def refuse(self, route: Route) -> Refusal | None:
        """Return the refusal of a question while none can be answered, or None."""
        why = self._unready() if route.turn else ""
        return Refusal(503, why, {"Retry-After": "2"}) if why else None

    def decode(self, admitted: AdmittedRequest, body: bytes) -> HttpQuestion | Answer:
        """Return the question, or the `Answer` that refuses it while none can be answered."""
        refusal = self.refuse(admitted.route)
        return _DECODERS[admitted.route.name](body) if refusal is None else answer_refusal(refusal, "openai")

    async def work(
        self,
        admitted: AdmittedRequest,
        body: HttpQuestion,
        exchange: HttpExchange,
        client_scope: trio.CancelScope,
    ) -> None:
        """Answer a question. If its client leaves, its turn has ended when this returns, and no task of it is left."""
        id = self._parts.new_id()
        scope = Scope(self._parts.project, id)
        question = Question(
            id=id, text=body.text, lang=body.lang, at=trio.current_time(), scope=scope, history=body.history
        )
        chunks = ChunkEncoder(f"chatcmpl-{id}", self._model, self._parts.clock.now_ms() // 1000)
        if body.stream:
            await self._stream_answer(exchange, question, chunks)
            return
        outcome = await SingleTurn(self._parts, question, self._limit).run()
        if isinstance(outcome, AnswerFailure):
            answer = answer_refusal(self._make_refusal(outcome), "openai")
        elif admitted.route.name == "ask":
            answer = Answer(status=200, content=encode_answer(outcome))
        else:
            answer = Answer(
                status=200, content=encode_completion(chunks.id, chunks.model, chunks.created, outcome)
            )
        await exchange.answer(answer)

    async def _stream_answer(self, exchange: HttpExchange, question: Question, chunks: ChunkEncoder) -> None:
        """Stream an answer. The turn hands its pieces to a task that writes: no turn's scope holds a write."""
        chunked = exchange.head.version == b"1.1"
        framed = encode_chunk if chunked else bytes
        sender, receiver = trio.open_memory_channel[bytes](OUTBOX_DELTAS)

        async def send_delta(delta: str) -> None:
            await sender.send(framed(chunks.encode_delta(delta)))

        def keep_alive() -> None:
            with suppress(trio.WouldBlock):  # a full channel has bytes to write anyway
                sender.send_nowait(framed(STILL_HERE))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(_write_all, exchange, receiver))
            async with sender:
                coding = {"Transfer-Encoding": "chunked"} if chunked else {}
                sender.send_nowait(render_head({**EVENTS, **coding}) + framed(chunks.encode_start()))
                outcome = await SingleTurn(self._parts, question, self._limit, send_delta, keep_alive).run()
                last = self._encode_last(chunks, outcome)
                await sender.send(framed(last) + (encode_chunk(b"") if chunked else b""))

    def _encode_last(self, chunks: ChunkEncoder, outcome: Response | AnswerFailure) -> bytes:
        if isinstance(outcome, AnswerFailure):
            return chunks.encode_failure(self._make_refusal(outcome).as_error())
        return chunks.encode_end(outcome)

    def _make_refusal(self, failure: AnswerFailure) -> Refusal:
        self._parts.observer.count("errors", failure.code)
        status = _FAILED[failure.code]
        headers = {"Retry-After": "2"} if status == 503 else {}
        return Refusal(status, failure.message, headers, failure.code)


async def _write_all(exchange: HttpExchange, pieces: "trio.MemoryReceiveChannel[bytes]") -> None:
    async with pieces:
        async for piece in pieces:
            await exchange.write(piece)
