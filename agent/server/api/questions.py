"""Questions over plain HTTP: `POST /v1/chat/completions` and `POST /ask`; `GET /v1/models` says who answers.

What is sent and answered is described in `agent.protocol.completions`. A question counts against its address's
messages. No action can be had here: there is nobody who could confirm one.
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
    Asked,
    Chunks,
    answered,
    completion,
    decode_ask,
    decode_chat,
    models,
)
from ...protocol.outbound import Response
from ...protocol.routes import Route
from ...session.asking import Asking, Failure
from ...session.turn import Parts
from ..admitted import Admitted, AtTheDoor
from ..answers import EVENTS, Answer, chunk, opening
from ..exchange import Exchange
from ..sniff import Head, Refusal
from .answers import tell

NAMELESS = "agent"  # what the model is called where the operator gave no name
_DECODERS: Mapping[str, Callable[[bytes], Asked]] = {"chat_completions": decode_chat, "ask": decode_ask}
_FAILED: Mapping[str, int] = {"internal": 500, "timeout": 504, "shutting_down": 503}


class Questions:
    """Answers questions that come as plain requests (implements `agent.server.admitted.Service`).

    unready: says why no question can be answered now, "" when one can. limit: seconds that a turn may think. name: what
    the operator calls the server, and so the model.
    """

    def __init__(self, parts: Parts, unready: Callable[[], str], limit: float, name: str = "") -> None:
        self._parts = parts
        self._unready = unready
        self._limit = limit
        self._model = name or NAMELESS
        self._since = parts.clock.now_ms() // 1000
        self.at_the_door: Mapping[str, AtTheDoor] = {"list_models": self._models}

    async def _models(self, _: Head, __: Mapping[str, str]) -> Answer:
        """Return the models: the one there is."""
        return Answer(200, models(self._model, self._since))

    def refuse(self, route: Route) -> Refusal | None:
        """Return why no question can be answered now, if none can."""
        why = self._unready() if route.turn else ""
        return Refusal(503, why, {"Retry-After": "2"}) if why else None

    def decode(self, admitted: Admitted, body: bytes) -> Asked | Answer:
        """Return the question, or why none can be answered now."""
        refusal = self.refuse(admitted.route)
        return _DECODERS[admitted.route.name](body) if refusal is None else tell(refusal, "openai")

    async def work(self, admitted: Admitted, body: Asked, exchange: Exchange, left: trio.CancelScope) -> None:
        """Answer a question; left by its client, its turn has ended when this returns, and nothing of it is left."""
        id = self._parts.new_id()
        scope = Scope(self._parts.project, id)
        question = Question(id, body.text, body.lang, trio.current_time(), scope, body.history)
        chunks = Chunks(f"chatcmpl-{id}", self._model, self._parts.clock.now_ms() // 1000)
        if body.stream:
            await self._tell_as_it_stands(exchange, question, chunks)
            return
        ended = await Asking(self._parts, question, self._limit).run()
        if isinstance(ended, Failure):
            answer = tell(self._failed(ended), "openai")
        elif admitted.route.name == "ask":
            answer = Answer(200, answered(ended))
        else:
            answer = Answer(200, completion(chunks.id, chunks.model, chunks.created, ended))
        await exchange.answer(answer)

    async def _tell_as_it_stands(self, exchange: Exchange, question: Question, chunks: Chunks) -> None:
        """Stream an answer. The turn hands its pieces to a task that writes: no turn's scope holds a write."""
        chunked = exchange.head.version == b"1.1"
        framed = chunk if chunked else bytes
        waiting, taken = trio.open_memory_channel[bytes](OUTBOX_DELTAS)

        async def say(delta: str) -> None:
            await waiting.send(framed(chunks.say(delta)))

        def still_here() -> None:
            with suppress(trio.WouldBlock):  # there is something to be written anyway
                waiting.send_nowait(framed(STILL_HERE))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(_write_all, exchange, taken))
            async with waiting:
                coding = {"Transfer-Encoding": "chunked"} if chunked else {}
                waiting.send_nowait(opening({**EVENTS, **coding}) + framed(chunks.begin()))
                ended = await Asking(self._parts, question, self._limit, say, still_here).run()
                last = self._last(chunks, ended)
                await waiting.send(framed(last) + (chunk(b"") if chunked else b""))

    def _last(self, chunks: Chunks, ended: Response | Failure) -> bytes:
        if isinstance(ended, Failure):
            return chunks.fail(self._failed(ended).as_error())
        return chunks.end(ended)

    def _failed(self, failure: Failure) -> Refusal:
        self._parts.observer.count("errors", failure.code)
        status = _FAILED[failure.code]
        headers = {"Retry-After": "2"} if status == 503 else {}
        return Refusal(status, failure.message, headers, failure.code)


async def _write_all(exchange: Exchange, pieces: "trio.MemoryReceiveChannel[bytes]") -> None:
    async with pieces:
        async for piece in pieces:
            await exchange.write(piece)
