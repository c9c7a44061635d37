"""Questions over plain HTTP: `POST /v1/chat/completions` and `POST /ask`; `GET /v1/models` says who answers.

    head -> path, token, method, type, length, readiness, rate -> a place -> body -> one turn -> the answer -> closed

What is sent and answered is described in `agent.protocol.completions`. A question takes a place as a WebSocket does,
and gives it to a newcomer while its body is still on its way; it counts against its address's messages. No action can
be had here: there is nobody who could confirm one.

These paths are served on the connection itself. The ASGI server behind the others never sees a body, and a path that
is spelt otherwise (percent escapes, a slash more) is none of these: it goes there, and finds nothing. While a turn runs
one task reads the connection: what comes is dropped, and its end means that the client has left, which cancels the
turn. So a client must not close its half before it has its answer.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import trio

from ...config import OUTBOX_DELTAS
from ...errors import BadRequest
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
from ...session.asking import Asking, Failure
from ...session.turn import Parts
from ..admission import NEEDS_TOKEN, Admission
from ..body import announced, read_body
from ..limits import Cap
from ..sniff import Head, Refusal, hang_up
from .plain import EVENTS, Seated, chunk, is_json, opening, until_it_leaves, whole, write

CHAT, ASK, MODELS = b"/v1/chat/completions", b"/ask", b"/v1/models"
ROUTES: Mapping[bytes, tuple[bytes, ...]] = {CHAT: (b"POST",), ASK: (b"POST",), MODELS: (b"GET", b"HEAD")}
_DECODERS: Mapping[bytes, Callable[[bytes], Asked]] = {CHAT: decode_chat, ASK: decode_ask}
NAMELESS = "agent"  # what the model is called where the operator gave no name
_NOT_JSON = Refusal(
    415, "Send Content-Type: application/json, and no Content-Encoding.", code="unsupported_media_type"
)
_TOO_OFTEN = Refusal(
    429,
    "Too many messages from your address; wait a moment before you ask again.",
    {"Retry-After": "1"},
    "rate_limited",
)
_GIVEN_WAY = Refusal(503, "Others are waiting and your question did not come.", {"Retry-After": "2"})
_FAILED: Mapping[str, int] = {"internal": 500, "timeout": 504, "shutting_down": 503}


class Questions:
    """Answers questions that come as plain requests, each on a connection of its own.

    unready: says why no question can be answered now, "" when one can. limit: seconds that a turn may think. name: what
    the operator calls the server, and so the model.
    """

    def __init__(
        self,
        parts: Parts,
        admission: Admission,
        cap: Cap,
        unready: Callable[[], str],
        limit: float,
        name: str = "",
    ) -> None:
        self._parts = parts
        self._admission = admission
        self._cap = cap
        self._unready = unready
        self._limit = limit
        self._model = name or NAMELESS
        self._since = parts.clock.now_ms() // 1000

    own_keys = False

    def serves(self, head: Head) -> bool:
        """Whether a request is for one of the paths here, by whatever method."""
        return head.path in ROUTES

    def render(self, refusal: Refusal, head: Head) -> bytes:
        """Return a refusal in the shape of OpenAI's errors."""
        return refusal.render(body=head.method != b"HEAD", as_error=True)

    async def admit(self, head: Head, address: str | None) -> Refusal | bytes | Seated:
        """Return why a request is not served, or the models, or what answers its question."""
        refusal = self.refusal(head, address)
        if refusal is not None:
            return refusal
        return self.models(head) if head.path == MODELS else partial(self.answer, head)

    def refusal(self, head: Head, address: str | None) -> Refusal | None:
        """Return why a request for one of them is not served, or None; a question counts for its address then."""
        methods = ROUTES[head.path]
        if not self._admission.authorised(head):
            return NEEDS_TOKEN
        if head.method not in methods:
            allowed = ", ".join(each.decode() for each in methods)
            return Refusal(405, f"Use {allowed} here.", {"Allow": allowed})
        if head.path == MODELS:
            return None
        refusal = None if is_json(head) else _NOT_JSON
        refusal = refusal or announced(head) or self._closed()
        if refusal is None and not self._cap.messages.take(address, trio.current_time()):
            self._parts.observer.count("limited", "messages")
            return _TOO_OFTEN
        return refusal

    def models(self, head: Head) -> bytes:
        """Return the answer to a request for the models: the one there is."""
        content = models(self._model, self._since)
        return whole(content) if head.method == b"GET" else whole(content).removesuffix(content)

    async def answer(
        self, head: Head, stream: trio.abc.Stream, reading: trio.CancelScope, keep: Callable[[], None]
    ) -> None:
        """Read the question, answer it and hang up.

        reading: cancelled while the body is read, the client has given its place away. keep: called when it is read.
        Raises WireClosed when the client does not take its answer within WRITE_TIMEOUT. Cancelled, or left by the
        client, the turn has ended when this returns, and nothing of it is left.
        """
        with reading:
            body = await read_body(stream, head)
        if reading.cancel_called:
            self._parts.observer.count("limited", "silent")
            body = _GIVEN_WAY
        keep()
        asked = self._asked(head, body) if isinstance(body, bytes) else body
        if asked is None:
            return
        if isinstance(asked, Refusal):
            self._parts.observer.count("rejections", str(asked.status))
            await hang_up(stream, asked.render(as_error=True))
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_it_leaves, stream, nursery.cancel_scope)
            await self._tell(stream, head, asked)
            nursery.cancel_scope.cancel()
        await hang_up(stream)

    def _asked(self, head: Head, body: bytes) -> Asked | Refusal:
        try:
            return self._closed() or _DECODERS[head.path](body)
        except BadRequest as wrong:
            return Refusal(400, wrong.message, code=wrong.code)

    def _closed(self) -> Refusal | None:
        why = self._unready()
        return Refusal(503, why, {"Retry-After": "2"}) if why else None

    async def _tell(self, stream: trio.abc.Stream, head: Head, asked: Asked) -> None:
        id = self._parts.new_id()
        scope = Scope(self._parts.project, id)
        question = Question(id, asked.text, asked.lang, trio.current_time(), scope, asked.history)
        chunks = Chunks(f"chatcmpl-{id}", self._model, self._parts.clock.now_ms() // 1000)
        if asked.stream:
            await self._tell_as_it_stands(stream, head, question, chunks)
            return
        ended = await Asking(self._parts, question, self._limit).run()
        if isinstance(ended, Failure):
            answer = self._failed(ended).render(as_error=True)
        elif head.path == CHAT:
            answer = whole(completion(chunks.id, chunks.model, chunks.created, ended))
        else:
            answer = whole(answered(ended))
        await write(stream, answer, self._parts.observer)

    async def _tell_as_it_stands(
        self, stream: trio.abc.Stream, head: Head, question: Question, chunks: Chunks
    ) -> None:
        """Stream an answer. The turn hands its pieces to a task that writes: no turn's scope holds a write."""
        chunked = head.version == b"1.1"
        framed = chunk if chunked else bytes
        waiting, taken = trio.open_memory_channel[bytes](OUTBOX_DELTAS)

        async def say(delta: str) -> None:
            await waiting.send(framed(chunks.say(delta)))

        def still_here() -> None:
            with suppress(trio.WouldBlock):  # there is something to be written anyway
                waiting.send_nowait(framed(STILL_HERE))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(self._write_all, stream, taken))
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

    async def _write_all(self, stream: trio.abc.Stream, pieces: "trio.MemoryReceiveChannel[bytes]") -> None:
        async with pieces:
            async for piece in pieces:
                await write(stream, piece, self._parts.observer)
